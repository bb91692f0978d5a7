#!/bin/sh
# The converter keeps no pointer into a table that may grow, and has none that a longjmp jumps over.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

# look TITLE PATTERN: no line of the converter matches.
look() {
  bad=$(grep -nE "$2" pyfront/convert/*/*.c)
  [ -z "$bad" ] || problem "$1:
$bad"
}

look 'slots are written by jcv_put, which computes place and value first' 'slots\.data\[.*\] *=[^=]'
look 'an element is written by a call that may move the table: take the value first' \
  '\.data\[[^=]*\] *[-+|]?= *[^;]*[a-z_]+\(c,'
look 'the place of an element is a call that may move the table: take the place first' \
  '\.data\[[a-z_]+\(c,'
look 'the address of an element is lost when the table grows' '[=(,] ?&[a-z][a-z>.-]*\.data\[[^]]*\](\.[a-z_]+)?[,;)]'

# emit.c, gradient.c, history.c and lower.c return statuses: nothing in them jumps.
bad=$(grep -nE 'JN_VEC\(' pyfront/convert/*/*.c | grep -vE '^pyfront/convert/(finish/(emit|gradient|history)|tree/lower)\.c:')
[ -z "$bad" ] || problem "a vector that a longjmp jumps over is never freed: take JCV_LIST of list.h:
$bad"
exit $lint_failed
