#!/bin/sh
# cppcheck finds no error or warning in the C sources.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
need cppcheck
cppcheck --quiet --std=c11 --enable=warning --error-exitcode=1 --inline-suppr \
  -j "$(nproc 2>/dev/null || echo 2)" --suppressions-list=tests/lint/cppcheck.txt -D__x86_64__ -D__GNUC__ \
  -I. -Iinclude -I"$build" $(files '*.c' | grep -v '^tests/')
