#!/bin/sh
# Stands for the C unit tests where CUnit is missing: skipped, with the reason in the log.
# SPDX-License-Identifier: Apache-2.0
echo "C unit tests skipped: configure found no CUnit (Debian, Ubuntu: libcunit1-dev)"
exit 77
