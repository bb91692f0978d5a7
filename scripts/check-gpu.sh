#!/bin/sh
# Checks janus on a machine with a GPU in one call of at most 9 minutes and prints one table.
#   scripts/check-gpu.sh --pack DIR   here: makes the archive DIR/janus-gpu.tar.gz (make dist, with
#                                     uthash.h); needs a configured build (JANUS_BUILD, else build)
#   scripts/check-gpu.sh [BUILD]      there, in the unpacked archive or a checkout: configures and
#                                     builds in BUILD (default build-gpu) and runs the checks
# Needs a driver, nvcc and a C compiler there; Python headers, pytest, oneDNN, CUnit,
# compute-sanitizer, cuBLASLt and PyTorch are used where they are, and what is left out is said.
# On a machine without the tools that make `configure`, use the archive.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
begun=$(date +%s)
limit=${JANUS_GPU_SECONDS:-540}

if [ "$1" = --pack ]; then
  to=${2:?check-gpu.sh --pack DIR}
  build=${JANUS_BUILD:-$root/build}
  mkdir -p "$to" && to=$(cd "$to" && pwd) || exit 1
  rm -f "$build"/janus-*.tar.gz
  (cd "$build" && make dist >"$to/dist.log" 2>&1) || {
    tail -n 20 "$to/dist.log"
    exit 1
  }
  rm -rf "$to/unpacked" && mkdir "$to/unpacked" && tar -xzf "$build"/janus-*.tar.gz -C "$to/unpacked" || exit 1
  header=$(echo '#include <uthash.h>' | ${CC:-cc} -E - 2>/dev/null | sed -n 's/^# 1 "\(.*uthash\.h\)".*/\1/p' | head -n 1)
  [ -n "$header" ] || {
    echo "check-gpu.sh: uthash.h not found"
    exit 1
  }
  mv "$to"/unpacked/janus-* "$to/unpacked/janus" && mkdir "$to/unpacked/janus/uthash" &&
    cp "$header" "$to/unpacked/janus/uthash/" && tar -czf "$to/janus-gpu.tar.gz" -C "$to/unpacked" janus || exit 1
  rm -rf "$to/unpacked" "$to/dist.log"
  echo "$to/janus-gpu.tar.gz; there: tar xzf janus-gpu.tar.gz && janus/scripts/check-gpu.sh"
  exit 0
fi

build=${1:-$root/build-gpu}
mkdir -p "$build/logs" && build=$(cd "$build" && pwd) || exit 1
table=$build/logs/table left=$build/logs/left_out
: >"$table"
: >"$left"
failed=0

# row NAME RESULT SECONDS [NOTE]
row() { printf '%-22s %-8s %5s s  %s\n' "$1" "$2" "$3" "$4" >>"$table"; }
left_out() { echo "$*" >>"$left"; }
remaining() { echo $((limit - $(date +%s) + begun)); }

# check NAME SECONDS COMMAND...: with a limit, its output in logs/NAME.log; 77 means skipped.
check() {
  name=$1 most=$2
  shift 2
  have=$(remaining)
  if [ "$have" -lt 15 ]; then
    left_out "$name: no time was left"
    return 0
  fi
  [ "$most" -le "$have" ] || most=$have
  from=$(date +%s)
  timeout "$most" "$@" >"$build/logs/$name.log" 2>&1
  status=$?
  took=$(($(date +%s) - from))
  note=$(tail -n 1 "$build/logs/$name.log" | cut -c 1-100)
  case $status in
  0) row "$name" passed "$took" "$note" ;;
  77)
    row "$name" skipped "$took" "$note"
    left_out "$name: $note"
    ;;
  124 | 137)
    row "$name" FAILED "$took" "took longer than $most s"
    failed=$((failed + 1))
    ;;
  *)
    row "$name" FAILED "$took" "$note"
    failed=$((failed + 1))
    tail -n 15 "$build/logs/$name.log" | sed "s/^/    $name: /"
    ;;
  esac
  return "$status"
}

finish() {
  echo
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
  cat "$table"
  if [ -s "$left" ]; then
    echo "left out:"
    sed 's/^/  /' "$left"
  fi
  [ ! -f "$build/logs/bench.log" ] || sed 's/^/  bench: /' "$build/logs/bench.log"
  echo "$(grep -c ' passed ' "$table") passed, $failed failed, $(($(date +%s) - begun)) s"
  [ "$failed" = 0 ]
  exit $?
}

# -- what there is -------------------------------------------------------------------------------
nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
if [ -z "$nvcc" ]; then
  echo "check-gpu.sh: nvcc not found"
  exit 1
fi
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ')
case $arch in
'' | *[!0-9]*)
  left_out "everything that runs on a GPU: nvidia-smi names none"
  arch=80
  ;;
esac
[ -x "$root/configure" ] || (cd "$root" && ./autogen.sh) >"$build/logs/autogen.log" 2>&1 || {
  echo "check-gpu.sh: no configure here; use the archive that --pack makes"
  exit 1
}
cppflags=
if ! echo '#include <uthash.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
  cppflags=-I$root/uthash
fi
python=
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
  command -v "$candidate" >/dev/null || continue
  include=$("$candidate" -c 'import sys, sysconfig; assert sys.version_info >= (3, 10); print(sysconfig.get_path("include"))' 2>/dev/null)
  [ -f "$include/Python.h" ] && python=$candidate && break
done
set -- --with-cuda=yes --disable-werror JANUS_CUDA_ARCHS="$arch" NVCC="$nvcc"
if [ -n "$python" ]; then
  set -- "$@" PYTHON="$python"
else
  set -- "$@" --without-python
  left_out "Python: no Python 3.10 or later with headers"
fi
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# -- build ---------------------------------------------------------------------------------------
cd "$build" || exit 1
check configure 120 "$root/configure" --quiet "$@" CPPFLAGS="$CPPFLAGS $cppflags" || finish
# the kernels first: nvcc takes longest.  Few cores: all the time there is
build_most=300
[ "$jobs" -ge 8 ] || build_most=$(remaining)
check build "$build_most" sh -c "make -j$jobs libjanus_cuda.la && make -j$jobs all tests/conformance/device bench/device_ops" || finish
grep -q '^#define HAVE_ONEDNN' config.h || left_out "oneDNN: not found; the CPU's own kernels are compared with"
srcdir=$root JANUS_BUILD=$build
export srcdir JANUS_BUILD
JANUS_CUDA_MODULE=$build/.libs/libjanus_cuda.so
export JANUS_CUDA_MODULE

# -- checks --------------------------------------------------------------------------------------
check conformance 90 tests/conformance/device cuda
check libraries 60 sh -c 'make tests/cuda/t_libs >/dev/null && tests/cuda/t_libs'
if grep -q '^HAVE_CUNIT_TRUE = *$' Makefile 2>/dev/null; then
  check host-logic 60 sh -c 'make tests/unit/t_device tests/unit/t_schedule >/dev/null && tests/unit/t_device && tests/unit/t_schedule'
else
  left_out "unit tests of the host logic: no CUnit"
fi
if [ -n "$python" ] && "$python" -c 'import pytest' 2>/dev/null; then
  check python 120 ./run python3 -m pytest -q -p no:cacheprovider "$root/tests/py/test_cuda.py"
  JANUS_DEVICE=cuda
  export JANUS_DEVICE
  check differential 150 ./run python3 -m pytest -q -p no:cacheprovider "$root/tests/py/diff"
  unset JANUS_DEVICE
elif [ -n "$python" ]; then
  left_out "Python and differential tests: no pytest"
fi
sanitizer=$(command -v compute-sanitizer || { [ -x "$(dirname "$nvcc")/compute-sanitizer" ] && echo "$(dirname "$nvcc")/compute-sanitizer"; })
program=tests/conformance/device
[ ! -x tests/conformance/.libs/device ] || program=tests/conformance/.libs/device
if [ -n "$sanitizer" ]; then
  check memcheck 120 "$sanitizer" --tool memcheck --error-exitcode 9 "$program" cuda
  check racecheck 120 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda sum
  check racecheck-softmax 60 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda softmax
  check racecheck-matmul 60 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda matmul
else
  left_out "compute-sanitizer: not found"
fi
check bench 60 bench/device_ops cuda
left_out "the model zoo and the figures beside PyTorch: not written yet"
finish
