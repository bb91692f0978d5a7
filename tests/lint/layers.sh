#!/bin/sh
# An #include only points down, and the core does not know CPython, print, exit or allocate on its own.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

# below FOLDER ALLOWED: its project includes must match the extended regular expression.
below() {
  bad=$(find "$1" -name '*.[ch]' ! -path '*/.libs/*' -exec grep -nE '^ *# *include +"' {} + |
    grep -vE "\"($2)|\"config\\.h\"|\"(include/)?janus\\.h\"")
  [ -z "$bad" ] || problem "$1 may include only $2, config.h and janus.h:
$bad"
}

below graph/base 'graph/base/'
below graph 'graph/'
below ops 'graph/|ops/'
below exec 'graph/|ops/|exec/'
below pyfront 'graph/|ops/|exec/|pyfront/|include/'
below samples 'samples/'
below include 'include/'

bad=$(grep -rnE '^ *# *include +[<"](Python|structmember)\.h' graph ops exec include --include='*.[ch]' --include='*.cu')
[ -z "$bad" ] || problem "only pyfront knows CPython:
$bad"

# Comments and strings hold prose: what follows is looked for in code only.
for f in $(find graph ops exec -name '*.c' ! -path '*/.libs/*' | sort); do
  case $f in
  graph/base/alloc.c | graph/base/large.c) pattern='abort|exit|_exit|printf|puts' ;;
  graph/base/log.c) pattern='abort|exit|_exit|malloc|calloc|realloc|free|strdup' ;;
  *) pattern='abort|exit|_exit|printf|puts|malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign' ;;
  esac
  bad=$(sed -E 's/"([^"\\]|\\.)*"/""/g' "$f" | awk '
    { line = $0
      while (1) {
        if (in_comment) {
          end = index(line, "*/")
          if (!end) { line = ""; break }
          line = substr(line, end + 2); in_comment = 0
        }
        start = index(line, "/*")
        if (!start) break
        out = out substr(line, 1, start - 1); line = substr(line, start + 2); in_comment = 1
      }
      print NR ":" out line; out = "" }' | grep -E "(^|[^A-Za-z0-9_.>])($pattern) *\\(")
  [ -z "$bad" ] || problem "$f calls what the library must not (use jn_alloc, jn_error, jn_log):
$bad"
done
exit $lint_failed
