#!/bin/sh
# libjanus exports exactly the functions janus.h declares; the extension exports its init function.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
need nm
lib=$build/.libs/libjanus.so
[ -f "$lib" ] || {
  echo "skipped: no shared library in $build"
  exit 77
}
exported=$(nm -D --defined-only "$lib" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort -u)
foreign=$(echo "$exported" | grep -v '^janus_')
[ -z "$foreign" ] || problem "libjanus exports $foreign"

# The preprocessor takes comments away and expands what declares in bulk.
declared=$(${CC:-cc} -E -P -Iinclude include/janus.h | grep -v '^#' | tr '\n' ' ' | tr ';{}' '\n\n\n' |
  grep 'visibility' | grep -oE '\bjanus_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u)
for name in $declared; do
  echo "$exported" | grep -qx "$name" || problem "janus.h declares $name; libjanus does not have it"
done
for name in $exported; do
  echo "$declared" | grep -qx "$name" || problem "libjanus exports $name, which janus.h does not declare"
done

for ext in "$build"/pyfront/.libs/_C*.so; do
  [ -f "$ext" ] || continue
  foreign=$(nm -D --defined-only "$ext" | awk '$2 ~ /[TDBR]/ { print $3 }' | grep -vx 'PyInit__C')
  [ -z "$foreign" ] || problem "the extension exports $foreign"
done
exit $lint_failed
