/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JN_EXEC_LIST_ROWS_H
#define JN_EXEC_LIST_ROWS_H
/* Which rows of lists get a gradient, by their keys (docs/adr/0054-rows-of-lists.md). */

#include "exec/state/state.h"

/* The first key of the rows of a new list. */
int64_t jn_list_rows_new(jn_run *r);
/* The row with this key has a gradient. */
janus_status jn_list_rows_mark(jn_run *r, int64_t key);
/* Whether it has; it is forgotten. */
bool jn_list_rows_take(jn_run *r, int64_t key);
void jn_list_rows_free(jn_run *r);

#endif
