#!/bin/sh
# The conformance suite on a GPU; skips, with the reason, where there is none.
# SPDX-License-Identifier: Apache-2.0
unset JANUS_CUDA_MODULE
[ ! -f "$JANUS_BUILD/.libs/libjanus_cuda.so" ] || JANUS_CUDA_MODULE=$JANUS_BUILD/.libs/libjanus_cuda.so
export JANUS_CUDA_MODULE
exec "$JANUS_BUILD/tests/conformance/device" cuda "$@"
