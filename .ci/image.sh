#!/bin/sh
# Builds the image of the Dockerfile with podman, buildah or docker, and runs a command in it.
#
# Where the base image cannot be fetched, Debian's own Python is the base: debootstrap makes it from the mirror
# of this machine. buildah runs without a daemon and needs no rights but those of root in a container.
set -eu
cd "$(dirname "$0")/.."
image=localhost/conjury
base=
say() { printf 'image: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

if ! have buildah; then
    if have podman || have docker; then
        tool=podman
        have podman || tool=docker
        "$tool" build --tag "$image" .
        exec "$tool" run --rm "$image" doctor
    fi
    apt-get install -y -q buildah >/dev/null || { say "no podman, buildah or docker, and none can be installed" >&2; exit 1; }
fi
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
if ! buildah pull --quiet python:3.12-slim-bookworm >/dev/null 2>&1; then
    base=localhost/conjury-base
fi
if [ -n "$base" ] && ! buildah inspect --type image "$base" >/dev/null 2>&1; then
    say "no registry of images; the base is made of Debian's packages"
    have debootstrap || apt-get install -y -q debootstrap >/dev/null
    root=$(mktemp -d)
    debootstrap --variant=minbase --include=python3-venv,ca-certificates bookworm "$root" >/dev/null
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$root" / >/dev/null
    buildah commit --quiet --rm "$container" "$base" >/dev/null
    rm -rf "$root"
fi
# pip inside asks the index that pip outside asks, with the same certificates.
set --
for path in /etc/pip.conf /etc/ssl/certs; do
    if [ -e "$path" ]; then set -- "$@" --volume "$path:$path:ro"; fi
done
buildah build --quiet ${base:+--build-arg BASE="$base"} "$@" --tag "$image" .
container=$(buildah from "$image")
buildah run "$container" -- conjury doctor
# As with docker run --user: somebody without a home, in a folder of the machine.
study=$(mktemp -d)
cp data/examples/judge/comments.csv "$study"
chmod -R a+rwX "$study"
buildah run --user 4321 --volume "$study:/study" "$container" -- \
    conjury judge comments.csv --human ann,ben,eva --html judge.html 2>"$study/warnings.txt"
cat "$study/warnings.txt" >&2
test -s "$study/judge.html"
test ! -s "$study/warnings.txt"
rm -rf "$study"
say "$(buildah images --format '{{.Size}}' "$image")"
buildah rm "$container" >/dev/null
