#!/bin/sh
# Checks janus on a machine with a GPU in one call of at most 9 minutes and prints one table.
#   scripts/check-gpu.sh --pack DIR   here: makes the archive DIR/janus-gpu.tar.gz (make dist, with
#                                     uthash.h); needs a configured build (JANUS_BUILD, else build)
#   scripts/check-gpu.sh [BUILD]      there, in the unpacked archive or a checkout: configures and
#                                     builds in BUILD (default build-gpu) and runs the checks
#   scripts/check-gpu.sh --emulated [BUILD]  a rehearsal without a GPU: the same stages, the kernels
#                                     run on the host (tests/cuda/emulate.cuh)
#   --only STAGE,...                  before BUILD: builds what is new and runs these stages only
# Needs a driver, nvcc and a C compiler there, and no network.  Python and its headers (the archive
# has those of this machine's Pythons, and pytest), oneDNN, CUnit, compute-sanitizer, cuBLASLt and
# cuDNN are used where they are, and what is left out is said.  Every stage has a time limit of its
# own and the rest goes on when one fails; JANUS_GPU_SECONDS=N instead of 540 stretches them all.  The table is also written to
# bench/results/gpu-check.json.  Exit status 0: nothing failed.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
begun=$(date +%s)
limit=${JANUS_GPU_SECONDS:-540}
export LC_ALL=C
unset JANUS_DEVICE JANUS_CUDA_MODULE PYTHONPATH PYTHONHOME MAKEFLAGS

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
  there=$to/unpacked/janus
  mv "$to"/unpacked/janus-* "$there" && mkdir "$there/uthash" && cp "$header" "$there/uthash/" || exit 1
  # headers and pytest for a machine that has Python alone and no network
  for candidate in python3.10 python3.11 python3.12 python3.13 python3 /usr/bin/python3 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    found=$("$candidate" -c 'import sys, sysconfig
assert sys.version_info >= (3, 10)
print("%d.%d" % sys.version_info[:2], sysconfig.get_path("include"))' 2>/dev/null) || continue
    version=${found%% *} include=${found#* }
    [ -f "$include/Python.h" ] && [ ! -d "$there/python-headers/$version" ] || continue
    mkdir -p "$there/python-headers" && cp -RL "$include" "$there/python-headers/$version" || exit 1
  done
  python3 -m pip install -q --no-compile --target "$there/python-packages" pytest exceptiongroup tomli \
    >"$to/pip.log" 2>&1 || {
    echo "without pytest: $(tail -n 1 "$to/pip.log")"
    rm -rf "$there/python-packages"
  }
  tar -czf "$to/janus-gpu.tar.gz" -C "$to/unpacked" janus || exit 1
  rm -rf "$to/unpacked" "$to/dist.log" "$to/pip.log"
  echo "$to/janus-gpu.tar.gz; there: tar xzf janus-gpu.tar.gz && janus/scripts/check-gpu.sh"
  exit 0
fi

emulated=
only=
while :; do
  case $1 in
  --emulated) emulated=yes ;;
  --only)
    only=$2
    shift
    ;;
  *) break ;;
  esac
  shift
done
build=${1:-$root/build-gpu}
mkdir -p "$build/logs" && build=$(cd "$build" && pwd) || exit 1
table=$build/logs/table left=$build/logs/left_out
: >"$table"
: >"$left"
failed=0

# row NAME RESULT SECONDS [NOTE]
row() {
  printf '%-22s %-8s %5s s  %s\n' "$1" "$2" "$3" "$4" >>"$table"
  printf '%-22s %-8s %5s s  %s\n' "$1" "$2" "$3" "$4"
}
left_out() { echo "$*" >>"$left"; }
remaining() { echo $((limit - $(date +%s) + begun)); }
# at_most SECONDS: so many, or what remains if that is less
at_most() {
  have=$(($(remaining) - 15))
  [ "$1" -le "$have" ] && echo "$1" || echo "$have"
}
wanted() {
  case ,$only, in
  ,, | *,"$1",*) return 0 ;;
  esac
  return 1
}

# check NAME SECONDS COMMAND...: with a limit, its output in logs/NAME.log; 77 means skipped.  With
# partial=yes a command that did not end in time has only been cut short.
check() {
  name=$1 most=$2
  shift 2
  case $name in
  configure | build*) ;;
  *) wanted "$name" || return 0 ;;
  esac
  rm -f "$build/logs/$name.log"
  most=$((most * limit / 540))
  have=$(remaining)
  if [ "$have" -lt 15 ]; then
    left_out "$name: no time was left"
    return 0
  fi
  [ "$most" -le "$have" ] || most=$have
  from=$(date +%s)
  timeout -k 5 "$most" "$@" >"$build/logs/$name.log" 2>&1 </dev/null
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
    if [ -n "$partial" ]; then
      row "$name" partly "$took" "no error in $most s; cut short"
      return 0
    fi
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

# The table as JSON: the device, versions, a line per stage, what was measured.
quoted() { printf '%s\n' "$1" | tr '\t\r\033' '   ' | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/"/; 1q'; }
write_json() {
  json=$root/bench/results/gpu-check.json
  mkdir -p "$root/bench/results" 2>/dev/null
  [ -w "$root/bench/results" ] || json=$build/gpu-check.json
  {
    printf '{"what": "scripts/check-gpu.sh", "date": "%s",\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    printf ' "device": %s, "driver": %s,\n' "$(quoted "$device")" "$(quoted "$driver")"
    printf ' "nvcc": %s, "compiler": %s, "python": %s, "cores": %s,\n' \
      "$(quoted "$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')")" \
      "$(quoted "$(${CC:-cc} --version 2>/dev/null | head -n 1)")" \
      "$(quoted "$("${python:-false}" -V 2>/dev/null)")" "$jobs"
    printf ' "passed": %s, "failed": %s, "seconds": %s,\n "stages": [' \
      "$(grep -c ' passed ' "$table")" "$failed" $(($(date +%s) - begun))
    comma=
    while read -r name result took unit note; do
      printf '%s\n  {"name": %s, "result": "%s", "seconds": %s, "note": %s}' "$comma" \
        "$(quoted "$name")" "$result" "$took" "$(quoted "$note")"
      comma=,
    done <"$table"
    printf '],\n "left_out": ['
    comma=
    while IFS= read -r line; do
      printf '%s\n  %s' "$comma" "$(quoted "$line")"
      comma=,
    done <"$left"
    printf '],\n "bench": ['
    comma=
    for stage in bench zoo networks trees; do
      sed "s/^/$stage: /" "$build/logs/$stage.log" 2>/dev/null
    done >"$build/logs/figures"
    while IFS= read -r line; do
      printf '%s\n  %s' "$comma" "$(quoted "$line")"
      comma=,
    done <"$build/logs/figures"
    printf ']}\n'
  } >"$json"
  echo "written: $json"
}

finish() {
  echo
  echo "${device:-no GPU}, driver ${driver:-none}"
  cat "$table"
  if [ -s "$left" ]; then
    echo "left out:"
    sed 's/^/  /' "$left"
  fi
  for stage in bench zoo networks trees; do
    [ ! -f "$build/logs/$stage.log" ] || sed "s/^/  $stage: /" "$build/logs/$stage.log"
  done
  write_json
  echo "$(grep -c ' passed ' "$table") passed, $failed failed, $(($(date +%s) - begun)) s"
  [ "$failed" = 0 ]
  exit $?
}

# -- what there is -------------------------------------------------------------------------------
nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
if [ -z "$nvcc" ] && [ -z "$emulated" ]; then
  echo "check-gpu.sh: nvcc not found"
  exit 1
fi
PATH=$PATH:$(dirname "${nvcc:-/}")
export PATH
device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
[ -z "$emulated" ] || device="emulated on the host"
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ')
case $arch in
'' | *[!0-9]*)
  [ -n "$emulated" ] || left_out "what needs a GPU: nvidia-smi names none"
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
# A Python with headers of its own, else one that the archive has headers for.
python= headers=
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3}; do
  found=$("$candidate" -c 'import sys, sysconfig
assert sys.version_info >= (3, 10)
print("%d.%d" % sys.version_info[:2], sysconfig.get_path("include"))' 2>/dev/null) || continue
  version=${found%% *} include=${found#* }
  if [ -f "$include/Python.h" ]; then
    python=$candidate headers=
    break
  elif [ -z "$python" ] && echo '#include <Python.h>' |
    ${CC:-cc} -I"$root/python-headers/$version" -E - >/dev/null 2>&1; then
    python=$candidate headers=$root/python-headers/$version
  fi
done
set -- --disable-werror JANUS_CUDA_ARCHS="$arch"
if [ -n "$nvcc" ]; then
  set -- "$@" --with-cuda=yes NVCC="$nvcc"
else
  set -- "$@" --without-cuda
  left_out "the CUDA module itself: no nvcc"
fi
if [ -n "$python" ]; then
  set -- "$@" PYTHON="$python"
  [ -z "$headers" ] || set -- "$@" PYTHON_INCLUDE="$headers"
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
modules=
[ -z "$nvcc" ] || modules=libjanus_cuda.la
[ -z "$emulated" ] || modules="$modules libjanus_cuda_emulated.la"
check build "$build_most" sh -c "make -j$jobs $modules && make -j$jobs tests/conformance/device bench/device_ops" || finish
check build-rest 150 make -j"$jobs" all || {
  [ -z "$python" ] || left_out "Python and differential tests: not built"
  python=
}
grep -q '^#define HAVE_ONEDNN' config.h || left_out "oneDNN: not found; the CPU's own kernels are compared with"
srcdir=$root JANUS_BUILD=$build
export srcdir JANUS_BUILD
JANUS_CUDA_MODULE=$build/.libs/libjanus_cuda.so
if [ -n "$emulated" ]; then
  JANUS_CUDA_MODULE=$build/.libs/libjanus_cuda_emulated.so
  JANUS_EMULATED_OPEN=1
  export JANUS_EMULATED_OPEN
fi
export JANUS_CUDA_MODULE
# cuBLASLt and cuDNN: the toolkit's, and what Python's packages have (the Python front finds those
# itself, C programs are told)
if [ -z "$JANUS_CUDA_PATH" ]; then
  for folder in $(dirname "${nvcc:-/}")/../lib64 $("${python:-false}" -c 'import glob, os, sys
for root in sys.path: print(*glob.glob(os.path.join(root, "nvidia", "*", "lib")))' 2>/dev/null); do
    [ ! -d "$folder" ] || JANUS_CUDA_PATH=${JANUS_CUDA_PATH:+$JANUS_CUDA_PATH:}$folder
  done
fi
export JANUS_CUDA_PATH

# -- checks: what matters most first -------------------------------------------------------------
check conformance 90 tests/conformance/device cuda
check bench 60 bench/device_ops cuda ${emulated:+64}
if [ -n "$nvcc" ]; then
  check libraries 60 sh -c 'make tests/cuda/t_libs tests/cuda/t_dnn tests/cuda/t_attention >/dev/null &&
    tests/cuda/t_libs && tests/cuda/t_dnn && tests/cuda/t_attention'
fi
if grep -q "^HAVE_CUNIT_TRUE=''" config.log; then
  check host-logic 60 sh -c 'make tests/unit/t_device tests/unit/t_schedule >/dev/null && tests/unit/t_device && tests/unit/t_schedule'
else
  left_out "unit tests of the host logic: no CUnit"
fi
if [ -d "$root/python-packages" ] && [ -n "$python" ] && ! "$python" -c 'import pytest' 2>/dev/null; then
  PYTHONPATH=$root/python-packages # ./run puts janus before it
  export PYTHONPATH
fi
if [ -n "$python" ] && "$python" -c 'import pytest' 2>/dev/null; then
  # a minute each on the host: products and trees large enough to be cut apart
  slow='test_program and fast and not so_many_products and not large_enough_for_lanes'
  [ -n "$emulated" ] || slow=
  # side by side where pytest-xdist is there: a minute and a half of 16 cores in place of ten
  many=
  ! "$python" -c 'import xdist' 2>/dev/null || many="-n $jobs"
  # shellcheck disable=SC2086
  check python 120 ./run "$python" -m pytest $many -q -p no:cacheprovider "$root/tests/py/test_cuda.py" \
    "$root/tests/py/test_cuda_chains.py"
  JANUS_DEVICE=cuda
  export JANUS_DEVICE
  # shellcheck disable=SC2086
  check differential 240 ./run "$python" -m pytest $many -q --tb=line -p no:cacheprovider -k "$slow" \
    "$root/tests/py/diff"
  unset JANUS_DEVICE
elif [ -n "$python" ]; then
  left_out "Python and differential tests: no pytest"
fi
sanitizer=$(command -v compute-sanitizer)
program=tests/conformance/device
[ ! -x tests/conformance/.libs/device ] || program=tests/conformance/.libs/device
if [ -n "$emulated" ]; then
  left_out "compute-sanitizer: there is no GPU"
elif [ -n "$sanitizer" ]; then
  partial=yes
  check racecheck 40 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda sum
  check racecheck-softmax 30 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda softmax
  check racecheck-matmul 30 "$sanitizer" --tool racecheck --error-exitcode 9 "$program" cuda matmul
  check memcheck 60 "$sanitizer" --tool memcheck --error-exitcode 9 "$program" cuda
  # kernels of cuDNN read what they have not written of the workspace (nhwcToNchwKernel, f16 and bf16)
  check initcheck 60 "$sanitizer" --tool initcheck --kernel-name-exclude kns=cudnn --error-exitcode 9 "$program" cuda
  check synccheck 60 "$sanitizer" --tool synccheck --error-exitcode 9 "$program" cuda
  partial=
else
  left_out "compute-sanitizer: not found"
fi
# Figures, beside PyTorch where this Python has it: the zoo at batch 1, training and text, trees.
# With --only they have more time.
share() {
  factor=2
  [ -z "$only" ] || factor=5
  at_most $(($1 * factor / 2))
}
if [ -n "$python" ]; then
  partial=yes
  # the emulated device is no place for images
  zoo="--device cpu --seconds 25 --size 75 --nets mobilenet_v2"
  networks="--device cpu --rounds 1 --seconds 0.1 --budget 25"
  trees="--device cuda --model treelstm --hidden 8 --batch 1 --trees 2 --mode train --seconds 1 --shape random --systems janus-imperative,janus"
  if [ -z "$emulated" ]; then
    zoo="--device cuda --seconds $(share 90)"
    networks="--device cuda --rounds 5 --patience ${only:+1}40 --budget $(share 90)"
    trees="--device cuda --model treelstm --hidden 128 --batch 25 --patience 60 --seconds 12"
    "$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); from treebench import inputs; sys.exit(not inputs.find_sst(""))' \
      "$root/bench" 2>/dev/null || trees="$trees --shape random"
  fi
  check branches 30 ./run "$python" "$root/bench/branches.py" ${emulated:+--calls 1}
  # shellcheck disable=SC2086
  check zoo "$(share 100)" ./run "$python" "$root/bench/zoo.py" $zoo
  [ -n "$emulated" ] || networks="${networks% *} $(share 90)"
  # shellcheck disable=SC2086
  check networks "$(share 110)" ./run "$python" "$root/bench/networks.py" $networks
  # shellcheck disable=SC2086
  check trees "$(share 70)" ./run "$python" "$root/bench/trees.py" $trees
  partial=
fi
"${python:-false}" -c 'import torch' 2>/dev/null || left_out "the figures beside PyTorch: this Python has none"
finish
