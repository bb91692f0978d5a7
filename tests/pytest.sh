#!/bin/sh
# Runs the Python tests against the uninstalled build; PYTEST_ARGS adds arguments. The tests are dealt
# out to one process for each processor, at most four (tests/py/conftest.py, JANUS_SHARE). pytest-xdist
# would do the same, but its workers have a second thread, beside which verified speculation cannot
# tell a wrong graph from a program that somebody else disturbed.
# SPDX-License-Identifier: Apache-2.0
src=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
run=$src/run
if ! "$run" python3 -c 'import pytest, numpy' 2>/dev/null; then
  echo "Python tests skipped: this Python has no pytest or no numpy"
  exit 77
fi
n=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
[ "$n" -le 4 ] || n=4

# share I: the tests I, I + n, ... of all
share() {
  JANUS_SHARE=$1/$n "$run" python3 -m pytest -p no:cacheprovider -q $PYTEST_ARGS "$src/tests/py"
}

logs=$(mktemp -d) || exit 99
trap 'rm -rf "$logs"' EXIT
trap 'kill $pids 2>/dev/null; exit 130' INT TERM
i=1 pids=
while [ $i -lt "$n" ]; do
  share $i >"$logs/$i" 2>&1 &
  pids="$pids $!"
  i=$((i + 1))
done
status=0
share 0 || status=1
for pid in $pids; do
  wait "$pid" || status=1
done
[ "$n" = 1 ] || cat "$logs"/*
exit $status
