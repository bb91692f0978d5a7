#!/bin/sh
# The conformance suite of the CUDA kernels on the host (tests/cuda/emulate.cuh).
# SPDX-License-Identifier: Apache-2.0
module=$JANUS_BUILD/.libs/libjanus_cuda_emulated.so
if [ ! -f "$module" ]; then
  echo "SKIP: the compiler is no C++ compiler, or this is a sanitizer build"
  exit 77
fi
JANUS_CUDA_MODULE=$module
export JANUS_CUDA_MODULE
exec "$JANUS_BUILD/tests/conformance/device" cuda "$@"
