#!/bin/sh
# The main job on a fresh Debian or Ubuntu machine: installs what is missing, builds janus with the
# compiler's best instruction set chosen at run time, and trains the recursive tree network of
# samples/tree_classifier.py, imperatively and through @janus.function.
# Arguments go to the sample: scripts/demo.sh --epochs 2. Builds lie in build/demo. Safe to repeat.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
work=${JANUS_DEMO_DIR:-$root/build/demo}
logs=$work/logs
mkdir -p "$logs" || exit 1
. "$root/scripts/lib.sh"

fail() {
  say "demo.sh: $1"
  [ -z "$2" ] || tail -n 30 "$2" | sed 's/^/    /'
  exit 1
}

install_debian gcc libc6-dev make uthash-dev libdnnl-dev ccache
command -v gcc >/dev/null && command -v make >/dev/null || fail "building needs gcc and make"
ensure_configure || fail "no configure script could be made"
use_ccache
python=$(default_python)
[ -n "$python" ] || fail "no Python from 3.10 to 3.14 with headers was found (Debian, Ubuntu: python3-dev python3-venv)"
# An environment of its own: PyPI's `janus` is another project and must not be beside this one.
venv "$work/venv" "$python" numpy || {
  say "going on without NumPy"
  venv "$work/venv" "$python" || fail "no virtual environment could be made"
}

mkdir -p "$work/build"
cd "$work/build" || exit 1
key="$(cksum "$root/configure") $python"
if [ "$(cat janus-key 2>/dev/null)" != "$key" ]; then
  say "configuring"
  "$root/configure" --quiet --without-cuda --disable-werror CC="${ccache}gcc" \
    PYTHON="$work/venv/bin/python" >"$logs/configure.log" 2>&1 || fail "configure failed" "$logs/configure.log"
  printf '%s' "$key" >janus-key
fi
say "building"
make -j"$jobs" >"$logs/make.log" 2>&1 || fail "the build failed" "$logs/make.log"
cd "$root" || exit 1
JANUS_BUILD=$work/build exec "$root/run" python3 "$root/samples/tree_classifier.py" "$@"
