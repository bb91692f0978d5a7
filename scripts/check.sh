#!/bin/sh
# Installs what the tests need and runs them. The last line printed is `N passed, N failed`.
#   scripts/check.sh          gcc: unit, conformance, Python and differential tests, of each file's a
#                             twentieth; the C tests with AddressSanitizer and UndefinedBehaviorSanitizer
#   scripts/check.sh --all    all of these, of what the Python tests generate a third; the Python tests with
#                             these sanitizers, clang, ThreadSanitizer, distcheck, every Python, pip,
#                             lint, type stubs and API reference, CUDA sources where nvcc is found, and a
#                             sample of CPython's own tests with every function decorated
#   scripts/check.sh --slow   what takes too long for every change: all of the Python tests with gcc, more
#                             of them with the sanitizers, clang and every Python; the CUDA sources for sm_80 to
#                             sm_90, without warnings and with a table of registers and spills; the
#                             differential programs on the emulated device in all ways; CPython's
#                             own tests of 180 modules and parts of the language, decorated;
#                             every allocation of small programs failing, with the sanitizers too;
#                             an hour of ops at random and half an hour of mutated modules and
#                             models, with the sanitizers; wheels for every Python and Debian
#                             packages, made and tried
#   scripts/check.sh --only NAME...    only these steps: gcc stdlib asan asanpy lint clang tsan
#                             distcheck pythons pip docs cuda archs emulated stdlib_all allocations
#                             fuzz wheels deb
# Builds lie in build/check (JANUS_CHECK_DIR=DIR: elsewhere). Safe to repeat.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
work=${JANUS_CHECK_DIR:-$root/build/check}
logs=$work/logs
mkdir -p "$logs" || exit 1
. "$root/scripts/lib.sh"

steps='gcc asan'
light=5 gcc_light=1 quick=
case $1 in
'') quick=1 gcc_light=20 ;;
--all) steps='lint gcc stdlib asan asanpy clang tsan distcheck pythons pip docs cuda' light=20 gcc_light=3 ;;
--slow) steps='gcc asanpy clang pythons archs emulated stdlib_all allocations fuzz wheels deb' ;;
--only)
  shift
  steps=$*
  ;;
*)
  sed -n '2,20s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac

passed=0 failed=0 skipped=0 failures=

# count STEP PASSED FAILED SKIPPED SECONDS: adds to the totals and prints one line.
count() {
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
  [ "$3" = 0 ] || failures="$failures $1"
  text="$2 passed, $3 failed"
  [ "$4" = 0 ] || text="$text, $4 skipped"
  printf '%-22s %s (%s s)\n' "$1" "$text" "$5"
}

now() {
  date +%s
}

# logged STEP COMMAND...: runs it with a time limit and its output in logs/STEP.log.
logged() {
  logged_step=$1
  shift
  timeout "${limit:-1500}" "$@" >>"$logs/$logged_step.log" 2>&1 </dev/null
}

show_failure() {
  {
    say "--- $1 failed; the end of $logs/$1.log:"
    tail -n "${2:-40}" "$logs/$1.log" | sed 's/^/    /'
  } | tee -a "$logs/failures"
}

# configured STEP CONFIGURE-ARGUMENT...: configures in $work/STEP; says why if it cannot.
# A folder is configured again only when its arguments, configure or the tools changed.
configured() {
  build_step=$1
  shift
  mkdir -p "$work/$build_step"
  : >"$logs/$build_step.log"
  # shellcheck disable=SC2154
  key="$root $* $(cksum "$root/configure" | cut -d' ' -f1) $packages_key"
  if [ "$(cat "$work/$build_step/janus-key" 2>/dev/null)" != "$key" ]; then
    rm -rf "${work:?}/$build_step"
    mkdir -p "$work/$build_step"
    (cd "$work/$build_step" && logged "$build_step" "$root/configure" --quiet "$@") || {
      show_failure "$build_step"
      return 1
    }
    printf '%s' "$key" >"$work/$build_step/janus-key"
  fi
}

# build STEP CONFIGURE-ARGUMENT...: configures and builds in $work/STEP; says why if it cannot.
build() {
  configured "$@" || return 1
  (cd "$work/$build_step" && logged "$build_step" make -k -j"$jobs" all) || {
    grep -E -A3 '(error|Error|undefined reference)' "$logs/$build_step.log" | head -n 40 | sed 's/^/    /'
    show_failure "$build_step" 10
    return 1
  }
}

# tests STEP [MAKE-ARGUMENT...]: make check in $work/STEP, counted; failing tests are named and shown.
tests() {
  tests_step=$1
  shift
  rm -f "$logs"/sanitizer.*
  find "$work/$tests_step" \( -name '*.trs' -o -name 't_*.log' -o -name '*.sh.log' \) -delete
  (cd "$work/$tests_step" && logged "$tests_step" make -k -j"$jobs" check "$@")
  tests_status=$?
  find "$work/$tests_step" -name '*.trs' | sed 's/trs$/log/' >"$logs/$tests_step.list"
  # shellcheck disable=SC2046
  set -- $(xargs awk -f "$root/scripts/count_results.awk" <"$logs/$tests_step.list" /dev/null)
  for trs in $(find "$work/$tests_step" -name '*.trs' -exec grep -lE ':test-result: (FAIL|ERROR|XPASS)' {} +); do
    {
      say "--- $tests_step: ${trs%.trs} failed:"
      grep -E '^(FAILED|ERROR|E  )|^ +[0-9]+\. |ERROR: |runtime error|SUMMARY' "${trs%.trs}.log" | head -n 30 |
        sed 's/^/    /'
      # where a crash was, of which the end says only how pytest was started
      grep -a -A 25 '^Fatal Python error' "${trs%.trs}.log" | head -n 30 | sed 's/^/    /'
      tail -n 15 "${trs%.trs}.log" | sed 's/^/    /'
      cat "$logs"/sanitizer.* 2>/dev/null | grep -a -A 12 -E 'ERROR: |WARNING: Thread|runtime error' | head -n 60 |
        sed 's/^/    /'
    } | tee -a "$logs/failures"
  done
  # A test program that could not be built leaves no log of its own.
  if [ $tests_status -ne 0 ] && [ "$2" = 0 ]; then
    show_failure "$tests_step"
    set -- "$1" $(($2 + 1)) "$3"
  fi
  count "$tests_step" "$1" "$2" "$3" $(($(now) - started))
}

# build_and_test STEP CONFIGURE-ARGUMENT...
build_and_test() {
  started=$(now)
  if build "$@"; then
    tests "$1"
  else
    count "$1" 0 1 0 $(($(now) - started))
  fi
}

# test_venv VERSION PYTHON: the environment for the tests of that Python; sets $python_for_tests.
test_venv() {
  if venv "$work/venv-$1" "$2" pytest numpy pytest-timeout; then
    python_for_tests=$work/venv-$1/bin/python
    PYTEST_ARGS='--timeout=300'
  else
    # Builds all the same; the Python tests then skip, unless this Python has pytest and NumPy itself.
    python_for_tests=$2
    PYTEST_ARGS=
  fi
  export PYTEST_ARGS
}

sanitizer_env() {
  # pytest keeps what a test prints and dies with it, so reports go to files.
  reports=log_path=$logs/sanitizer
  export ASAN_OPTIONS=$reports:abort_on_error=0:allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1
  export UBSAN_OPTIONS=$reports:print_stacktrace=1:halt_on_error=1
  export TSAN_OPTIONS=$reports:halt_on_error=1:second_deadlock_stack=1
}

# with_gcc COMMAND: build, or build_and_test, of the build that most steps use.
with_gcc() {
  "$1" gcc CC="${ccache}gcc" PYTHON="$main_python" --without-cuda CPPFLAGS=-DJANUS_MUTATIONS
}

step_gcc() {
  limit=3600 with_gcc build_and_test
}

# CPython's own tests, decorated (tests/stdlib); $1: --sample, or nothing for all of them.
step_stdlib() {
  [ "$main_python" != : ] || return 0
  started=$(now)
  : >"$logs/stdlib.log"
  if with_gcc build; then
    limit=7200 logged stdlib "$work/gcc/run" "$main_python" "$root/tests/stdlib/compare.py" "${1---sample}"
    grep -E -A 12 ' [1-9][0-9]* differ,' "$logs/stdlib.log" | head -n 60 | sed 's/^/    /'
    # shellcheck disable=SC2046
    set -- $(awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { print $1, $3, $5 }' "$logs/stdlib.log")
    count stdlib "${1:-0}" "${2:-1}" "${3:-0}" $(($(now) - started))
  else
    count stdlib 0 1 0 $(($(now) - started))
  fi
}

step_stdlib_all() {
  step_stdlib --jobs=2
}

step_asan() {
  export JANUS_FUZZ_SECONDS=60
  [ -z "$quick" ] || JANUS_FUZZ_SECONDS=10
  build_and_test asan CC="${ccache}gcc" --enable-asan --enable-ubsan --without-python --without-cuda \
    CFLAGS="-O1 -g"
  unset JANUS_FUZZ_SECONDS
}

# An hour of ops at random, and half an hour of mutated modules and models, with the sanitizers.
step_fuzz() {
  started=$(now)
  if build asan CC="${ccache}gcc" --enable-asan --enable-ubsan --without-python --without-cuda \
    CFLAGS="-O1 -g" && (cd "$work/asan" &&
      limit=4000 logged asan make tests/fuzz/fuzz_ops tests/fuzz/fuzz_parse tests/fuzz/fuzz_model &&
      srcdir=$root && export srcdir &&
      limit=1200 logged asan tests/fuzz/fuzz_parse --seconds 900 --seed "$started" &&
      limit=1200 logged asan tests/fuzz/fuzz_model --seconds 900 --seed "$started" &&
      limit=4000 logged asan tests/fuzz/fuzz_ops --seconds 3600 --seed "$started"); then
    tail -n 1 "$logs/asan.log"
    count fuzz 1 0 0 $(($(now) - started))
  else
    show_failure asan
    count fuzz 0 1 0 $(($(now) - started))
  fi
}

step_asanpy() {
  [ "$main_python" != : ] || return 0
  started=$(now)
  if build asanpy CC="${ccache}gcc" --enable-asan --enable-ubsan PYTHON="$main_python" --without-cuda \
    CFLAGS="-O1 -g"; then
    # a report goes to stderr and ends the process: pytest must not keep it
    PYTEST_ARGS="$PYTEST_ARGS --capture=sys"
    tests asanpy TESTS=tests/pytest.sh
  else
    count asanpy 0 1 0 $(($(now) - started))
  fi
}

step_clang() {
  if ! command -v clang >/dev/null; then
    cannot "check with clang: not found"
    return
  fi
  build_and_test clang CC="${ccache}clang" PYTHON="$main_python" --without-cuda
}

step_tsan() {
  build_and_test tsan CC="${ccache}gcc" --enable-tsan --without-python --without-cuda CFLAGS="-O1 -g"
}

step_distcheck() {
  started=$(now)
  : >"$logs/distcheck.log"
  if configured distcheck-source CC="${ccache}gcc" PYTHON="$main_python" --without-cuda --disable-werror &&
    (cd "$work/distcheck-source" && logged distcheck make distcheck \
      DISTCHECK_CONFIGURE_FLAGS="--without-cuda CC='${ccache}gcc' PYTHON='$main_python'" \
      AM_MAKEFLAGS=-j"$jobs"); then
    count distcheck 1 0 0 $(($(now) - started))
  else
    show_failure distcheck
    count distcheck 0 1 0 $(($(now) - started))
  fi
}

step_pythons() {
  [ "$main_python" != : ] || return 0
  main_version=$("$main_python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  find_pythons >"$logs/pythons"
  while read -r version interpreter <&3; do
    [ "$version" = "$main_version" ] && continue
    test_venv "$version" "$interpreter"
    started=$(now)
    if build "python$version" CC="${ccache}gcc" PYTHON="$python_for_tests" --without-cuda \
      CPPFLAGS=-DJANUS_MUTATIONS; then
      tests "python$version" TESTS=tests/pytest.sh
    else
      count "python$version" 0 1 0 $(($(now) - started))
    fi
  done 3<"$logs/pythons"
  for version in 3.10 3.11 3.12 3.13; do
    grep -q "^$version " "$logs/pythons" || cannot "check Python $version: not found on PATH or in pyenv"
  done
}

step_pip() {
  [ "$main_python" != : ] || return 0
  started=$(now)
  : >"$logs/pip-install.log"
  rm -rf "$work/venv-pip"
  if "$main_python" -m venv "$work/venv-pip" &&
    CC="${ccache}gcc" logged pip-install "$work/venv-pip/bin/python" -m pip install --no-index \
      -C configure=--without-cuda "$root" &&
    (cd "$work" && logged pip-install "$work/venv-pip/bin/python" -c \
      'import janus; assert "venv-pip" in janus.__file__, janus.__file__'); then
    count pip-install 1 0 0 $(($(now) - started))
  else
    show_failure pip-install
    count pip-install 0 1 0 $(($(now) - started))
  fi
}

# What needs tools that nothing else does: mypy over the type stubs, Sphinx for the API reference.
step_docs() {
  [ "$main_python" != : ] || return 0
  started=$(now)
  : >"$logs/docs.log"
  if ! venv "$work/venv-docs" "$main_python" mypy sphinx pytest numpy pytest-timeout; then
    count docs 0 0 1 $(($(now) - started))
  elif with_gcc build &&
    (cd "$root" && logged docs "$work/gcc/run" "$work/venv-docs/bin/python" -m pytest -q -p no:cacheprovider \
      tests/py/test_types.py) &&
    (JANUS_SPHINX=$work/venv-docs/bin/python && export JANUS_SPHINX &&
      logged docs "$root/scripts/reference.sh" "$work/gcc"); then
    count docs 2 0 0 $(($(now) - started))
  else
    show_failure docs
    count docs 0 1 0 $(($(now) - started))
  fi
}

# A script that makes packages, tries them and prints `N passed, N failed`; status 77: they cannot be made here.
packages() {
  started=$(now)
  : >"$logs/$1.log"
  limit=5400 logged "$1" "$root/scripts/$1.sh" "$work/$1"
  case $? in
  77)
    tail -n 2 "$logs/$1.log"
    count "$1" 0 0 1 $(($(now) - started))
    ;;
  *)
    packages_step=$1
    # shellcheck disable=SC2046
    set -- $(awk '/^[0-9]+ passed, [0-9]+ failed$/ { print $1, $3 }' "$logs/$1.log")
    [ "${2:-1}" = 0 ] || show_failure "$packages_step"
    count "$packages_step" "${1:-0}" "${2:-1}" 0 $(($(now) - started))
    ;;
  esac
}

step_wheels() {
  packages wheels
}

step_deb() {
  packages deb
}

step_lint() {
  started=$(now)
  if with_gcc build; then
    p=0 f=0 s=0
    for script in "$root"/tests/lint/*.sh; do
      name=lint-$(basename "$script" .sh)
      [ $name != lint-common ] || continue
      : >"$logs/$name.log"
      (
        cd "$work/gcc" || exit 1
        export srcdir="$root" JANUS_BUILD="$work/gcc"
        logged "$name" "$script"
      )
      case $? in
      0) p=$((p + 1)) ;;
      77)
        s=$((s + 1))
        tail -n 1 "$logs/$name.log"
        ;;
      *)
        f=$((f + 1))
        show_failure "$name"
        ;;
      esac
    done
    count lint $p $f $s $(($(now) - started))
  else
    count lint 0 1 0 $(($(now) - started))
  fi
}

step_cuda() {
  sources=$(find "$root/ops" "$root/exec" -name '*.cu')
  nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
  if [ -z "$sources" ]; then
    return
  elif [ -z "$nvcc" ]; then
    cannot "compile the CUDA sources: nvcc not found"
    return
  fi
  started=$(now)
  if build cuda CC="${ccache}gcc" --without-python --with-cuda=yes JANUS_CUDA_ARCHS="${JANUS_CUDA_ARCHS:-80}"; then
    count cuda 1 0 0 $(($(now) - started))
  else
    count cuda 0 1 0 $(($(now) - started))
  fi
}

# Every architecture: warnings are failures, and so are registers that had to be kept in memory.
step_archs() {
  nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
  if [ -z "$nvcc" ]; then
    cannot "compile the CUDA sources: nvcc not found"
    return
  fi
  started=$(now)
  f=0
  # compiled anew each time: what ptxas says is read
  rm -f "$work"/archs/ops/cuda/*.lo
  if build archs CC="${ccache}gcc" --without-python --with-cuda=yes JANUS_CUDA_ARCHS='80 86 89 90' \
    NVCCFLAGS='--resource-usage'; then
    awk '
      /Compiling entry function/ { arch = $NF; gsub(/\047/, "", arch); n[arch]++ }
      /spill stores/ { if ($5 + $9 > 0) spills[arch]++ }
      /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used" && $(i + 1) > most[arch]) most[arch] = $(i + 1) }
      END { for (a in n) printf "  %s: %d kernels, at most %d registers, %d with spills\n", a, n[a], most[a], spills[a] }
    ' "$logs/archs.log" | sort | tee "$logs/archs.table"
    if grep -E '(^|[: ])warning[: #]' "$logs/archs.log" | head -n 20; then f=1; fi
    [ "$(grep -c ' 0 with spills' "$logs/archs.table")" = 4 ] || f=1
  else
    f=1
  fi
  count archs $((1 - f)) $f 0 $(($(now) - started))
}

step_emulated() {
  [ "$main_python" != : ] || return 0
  started=$(now)
  if build emulated CC="${ccache}gcc" PYTHON="$main_python" --without-cuda; then
    export JANUS_SLOW_TESTS=1
    tests emulated TESTS='tests/cuda/emulated.sh tests/cuda/differential.sh'
    unset JANUS_SLOW_TESTS
  else
    count emulated 0 1 0 $(($(now) - started))
  fi
}

# Every position of tests/py/test_allocations.py, with gcc and with the sanitizers.
step_allocations() {
  [ "$main_python" != : ] || return 0
  export JANUS_SLOW_TESTS=1
  for kind in gcc asanpy; do
    started=$(now)
    [ $kind = gcc ] && set -- --without-cuda CPPFLAGS=-DJANUS_MUTATIONS
    [ $kind = asanpy ] && set -- --enable-asan --enable-ubsan --without-cuda CFLAGS="-O1 -g"
    if build $kind CC="${ccache}gcc" PYTHON="$main_python" "$@" &&
      (cd "$root" && limit=3600 logged $kind "$work/$kind/run" python3 -m pytest -q -p no:cacheprovider \
        tests/py/test_allocations.py); then
      count "allocations, $kind" 36 0 0 $(($(now) - started))
    else
      show_failure $kind
      count "allocations, $kind" 0 1 0 $(($(now) - started))
    fi
  done
  unset JANUS_SLOW_TESTS
}

install_debian gcc libc6-dev make uthash-dev libcunit1-dev libdnnl-dev libcjson-dev ccache
case " $steps " in
*' lint '* | *' clang '*) install_debian g++ clang clang-format clang-tidy cppcheck ;;
esac
command -v gcc >/dev/null && command -v make >/dev/null || {
  cannot "build without gcc and make"
  say "0 passed, 1 failed"
  exit 1
}
ensure_configure || {
  say "0 passed, 1 failed"
  exit 1
}
use_ccache
sanitizer_env
# A new compiler or library asks for a new configure run.
packages_key=$(dpkg-query -W -f '${Version} ' gcc clang libdnnl-dev libcjson-dev libcunit1-dev uthash-dev 2>/dev/null | cksum | cut -d' ' -f1)

main=$(default_python)
if [ -n "$main" ]; then
  test_venv "$("$main" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$main"
  main_python=$python_for_tests main_pytest_args=$PYTEST_ARGS
else
  cannot "find a Python from 3.10 to 3.14 with headers: only the C library is checked"
  main_python=:
fi

: >"$logs/failures"
for step in $steps; do
  PYTEST_ARGS=$main_pytest_args
  # Of what the Python tests generate (tests/py/conftest.py): a third with gcc, a twentieth elsewhere where all steps have 90
  # minutes on two cores of which nobody knows how fast they are; all of it and a fifth where there is time.
  case $step in
  gcc) JANUS_LIGHT_TESTS=$gcc_light ;;
  asanpy | clang | pythons) JANUS_LIGHT_TESTS=$light ;;
  distcheck) JANUS_LIGHT_TESTS=20 ;;
  *) JANUS_LIGHT_TESTS=1 ;;
  esac
  export JANUS_LIGHT_TESTS
  case $step in
  gcc | stdlib | stdlib_all | asan | asanpy | clang | tsan | distcheck | pythons | pip | docs | lint | cuda | archs | emulated | allocations | fuzz | wheels | deb)
    "step_$step"
    ;;
  *)
    say "check.sh: no step is called $step"
    failed=$((failed + 1))
    ;;
  esac
done

# Said once more at the end: of a long output often the end alone is kept.
if [ -n "$failures" ]; then
  tail -n 100 "$logs/failures"
  say "failed:$failures"
fi
[ "$skipped" = 0 ] || say "$skipped skipped; the logs say why"
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
