#!/bin/sh
# The memory of a storage is reached by jn_tensor_data() and its like, which look at the storage's state.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

bad=$(files '*.c' '*.h' '*.cu' | grep -vE '^exec/store/tensor(_copy|_rows|_state)?\.[ch]$' | xargs grep -nE '(->|\.)raw\b')
[ -z "$bad" ] || problem "only exec/store/tensor*.[ch] may touch raw; use jn_tensor_data(), jn_tensor_as_view() or jn_tensor_ready_data():
$bad"
exit $lint_failed
