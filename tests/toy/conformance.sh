#!/bin/sh
# The conformance suite on the toy device (tests/toy/toy.c).
# SPDX-License-Identifier: Apache-2.0
exec "$JANUS_BUILD/tests/conformance/device" toy "$@"
