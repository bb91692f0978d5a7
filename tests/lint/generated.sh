#!/bin/sh
# Files made from the op table are as the table says; `make regen` writes them.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

opdoc=$build/tools/janus-opdoc
[ -x "$opdoc" ] || {
  echo "skipped: tools/janus-opdoc is not built"
  exit 77
}
for pair in --c:include/janus_ops.h --md:docs/ops.md; do
  "$opdoc" "${pair%%:*}" | cmp -s - "${pair#*:}" || problem "${pair#*:} is stale: run 'make regen'"
done
exit $lint_failed
