#!/bin/sh
# The C files are as clang-format 14 with the project's .clang-format writes them.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
need clang-format
case $(clang-format --version) in
*'version 14.'*) ;;
*)
  echo "skipped: $(clang-format --version); another version than 14 lays out differently"
  exit 77
  ;;
esac
bad=$(files '*.c' '*.h' | grep -v '^include/janus_ops.h$' | xargs clang-format --dry-run 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning.*/\1/p' | sort | uniq -c)
[ -z "$bad" ] || problem "run clang-format -i on (places, file):
$bad"
exit $lint_failed
