#!/bin/sh
# The differential programs with every tensor on the emulated device (tests/cuda/emulate.cuh).
#   JANUS_SLOW_TESTS=1   both numerics, and every assert failing once (1.5 minutes, else 15 s)
# Left out: three programs whose products and trees are large enough to be cut into pieces, which take
# a minute each where a thread is a fiber; GPUs run them (scripts/check-gpu.sh).
# SPDX-License-Identifier: Apache-2.0
module=$JANUS_BUILD/.libs/libjanus_cuda_emulated.so
src=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
if [ ! -f "$module" ]; then
  echo "SKIP: the compiler is no C++ compiler, or this is a sanitizer build"
  exit 77
fi
if ! "$src/run" python3 -c 'import pytest' 2>/dev/null; then
  echo "SKIP: this Python has no pytest"
  exit 77
fi
JANUS_CUDA_MODULE=$module JANUS_DEVICE=cuda JANUS_EMULATED_OPEN=1
export JANUS_CUDA_MODULE JANUS_DEVICE JANUS_EMULATED_OPEN
which='test_program and fast'
[ -z "$JANUS_SLOW_TESTS" ] || which='(test_program or test_every)'
exec "$src/run" python3 -m pytest -p no:cacheprovider -q --tb=short $PYTEST_ARGS \
  -k "$which and not so_many_products and not large_enough_for_lanes and not no_cache_holds" "$src/tests/py/diff"
