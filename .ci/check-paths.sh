#!/bin/sh
# Fails if a tracked file names a folder of somebody's machine.
set -eu
cd "$(dirname "$0")/.."
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0 # a source archive has no index
if git grep -nIE '(^|[^A-Za-z0-9_.~}/-])/(root|work|tmp|home/[a-z]+|Users/[A-Za-z]+)([^A-Za-z0-9_-]|$)' -- ':!uv.lock'; then
    echo "The lines above name a path of one machine; write it relative to the checkout." >&2
    exit 1
fi
