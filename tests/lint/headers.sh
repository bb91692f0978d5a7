#!/bin/sh
# Every header compiles alone as C; janus.h also as C11 and C++.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
python=$("$(pwd)/run" python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
for f in $(files '*.h'); do
  case $f in
  *_body.h | *_table.h | ops/fields_*.h) continue ;; # a piece of text, to be included several times
  pyfront/*)
    [ -n "$python" ] || continue
    extra="-I$python"
    ;;
  tests/unit/*)
    echo '#include <CUnit/Basic.h>' | ${CC:-cc} -E - >/dev/null 2>&1 || continue
    extra=
    ;;
  *) extra= ;;
  esac
  # shellcheck disable=SC2086
  printf '#include "%s"\n' "$f" |
    ${CC:-cc} -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I"$build" -I. -Iinclude $extra -x c - ||
    problem "$f does not compile alone"
done
for std in c11 c17; do
  echo '#include <janus.h>' | ${CC:-cc} -std=$std -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c - ||
    problem "janus.h does not compile as $std"
done
if command -v c++ >/dev/null; then
  echo '#include <janus.h>' | c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ - ||
    problem "janus.h does not compile as C++"
fi
exit $lint_failed
