/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of lists get a gradient: a set of keys.  Keys are made by the run that makes the list
 * and live in its frames; the gradient, which may be a run of its own, finds the rows by them.
 */
#include "config.h"

#include <uthash.h>

#include "exec/heap/list_rows.h"
#include "exec/state/state.h"
#include "graph/base/alloc.h"
#include "graph/base/status.h"

typedef struct jn_list_row {
    int64_t key;
    UT_hash_handle hh;
} jn_list_row;

enum { KEY_BITS = 32 }; /* of the rows of a list */

int64_t jn_list_rows_new(jn_run *r) { return r->of_heap.n_lists++ << KEY_BITS; }

static jn_list_row *find(const jn_run *r, int64_t key) {
    jn_list_row *row = NULL;
    HASH_FIND(hh, r->of_heap.rows, &key, sizeof key, row);
    return row;
}

janus_status jn_list_rows_mark(jn_run *r, int64_t key) {
    if (find(r, key))
        return JANUS_OK;
    jn_list_row *row = jn_calloc(1, sizeof *row);
    if (!row)
        return JN_NO_MEMORY();
    row->key = key;
    HASH_ADD(hh, r->of_heap.rows, key, sizeof key, row);
    if (row->hh.tbl)
        return JANUS_OK;
    jn_free(row);
    return JN_NO_MEMORY();
}

bool jn_list_rows_take(jn_run *r, int64_t key) {
    jn_list_row *row = find(r, key);
    if (!row)
        return false;
    HASH_DEL(r->of_heap.rows, row);
    jn_free(row);
    return true;
}

void jn_list_rows_free(jn_run *r) {
    jn_list_row *row, *next;
    HASH_ITER(hh, r->of_heap.rows, row, next) {
        HASH_DEL(r->of_heap.rows, row);
        jn_free(row);
    }
}
