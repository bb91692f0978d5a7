#!/bin/sh
# No source file above 1000 lines, none without licence, no tabs or trailing blanks in C.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

for f in $(files '*.c' '*.h' '*.cu' '*.py' '*.sh' '*.def'); do
  lines=$(wc -l <"$f")
  [ "$lines" -le 1000 ] || [ "$f" = include/janus_ops.h ] || # generated
    problem "$f: $lines lines; divide it (limit 1000)"
  [ "$lines" -eq 0 ] || head -n 20 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || problem "$f: no SPDX line at its top"
done
bad=$(files '*.c' '*.h' | xargs grep -nE "[[:blank:]]+\$|$(printf '\t')" | head -n 20)
[ -z "$bad" ] || problem "tabs or blanks at line ends:
$bad"
exit $lint_failed
