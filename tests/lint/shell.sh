#!/bin/sh
# The shell scripts parse, and shellcheck finds no error in them where it is installed.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
for f in autogen.sh run build-aux/python-tree scripts/*.sh tests/*.sh tests/lint/*.sh; do
  sh -n "$f" || problem "$f does not parse"
  if command -v shellcheck >/dev/null; then
    shellcheck -S error "$f" || problem "$f: see above"
  fi
done
exit $lint_failed
