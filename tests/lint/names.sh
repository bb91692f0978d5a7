#!/bin/sh
# Ops tell, the executor asks: exec/ and graph/ name no row that has a kernel, nor its attributes.  Rows without one
# (NO_KERNELS: scalars, control, host operations) are instructions, which exec/plan and exec/strand are there to compile and run.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

# The ids of rows with a kernel.
rows=$(awk '
  match($0, /^OP(_NAMED)?\([a-z_0-9]+/) { id = substr($0, RSTART, RLENGTH); sub(/.*\(/, "", id); all[id] = 1 }
  /NO_KERNELS/ { delete all[id] }
  END { for (id in all) print id }' ops/def/*.def | sort)
[ "$(echo "$rows" | wc -l)" -gt 100 ] || problem "the rows of ops/def/*.def are not found"
pattern=$(echo "$rows" | paste -sd'|' -)
bad=$(find exec graph -name '*.[ch]' -exec grep -nE "JN_OP\\(($pattern)\\)|JN_OP_ID_($pattern)\\b|\\bjanus_($pattern)_attrs\\b" {} +)
[ -z "$bad" ] || problem "ops with kernels are named; make it a property of their rows (ops/ops.def, ops/kernel.h):
$bad"
exit $lint_failed
