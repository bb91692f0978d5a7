#!/bin/sh
# Runs the Python tests against the uninstalled build; PYTEST_ARGS adds arguments.
# SPDX-License-Identifier: Apache-2.0
src=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
run=$src/run
if ! "$run" python3 -c 'import pytest, numpy' 2>/dev/null; then
  echo "Python tests skipped: this Python has no pytest or no numpy"
  exit 77
fi
exec "$run" python3 -m pytest -p no:cacheprovider -q $PYTEST_ARGS "$src/tests/py"
