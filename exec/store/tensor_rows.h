/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor of which a run has made some rows only: the others are zero, or those of a base.
 *
 * It has no data until somebody asks for its elements or makes a view of it: then it is filled.
 * Three things are done with it unfilled: nothing at all (a gradient that the next step forgets), a
 * step of an optimizer (exec/eager/eager_rows.h), and storing it to its base; both write the rows
 * alone.
 */
#ifndef JN_EXEC_TENSOR_ROWS_H
#define JN_EXEC_TENSOR_ROWS_H

#include "exec/store/tensor.h"

/* Rows `index[0..n)` of the first dim, each once, with the elements `rows`; all copied.  `base`: a
 * row-major tensor of the same dims, retained; NULL: zeros. */
janus_status jn_tensor_of_rows(janus_dtype dtype, int rank, const int64_t *dims, uint32_t n,
                               const uint32_t *index, const void *rows, janus_tensor *base,
                               janus_tensor **out);
static inline bool jn_tensor_is_rows(const janus_tensor *t) {
    return t->storage->state == JN_STORAGE_ROWS;
}
/* The same elements as rows, where most rows are zero: a new tensor; NULL: they are not, or t is no
 * row-major matrix that is alone in host memory of its own. */
janus_status jn_tensor_squeeze(const janus_tensor *t, janus_tensor **out);
janus_status jn_tensor_copy_of_rows(const janus_tensor *t, janus_tensor **out);
/* What a tensor of rows consists of; borrowed. */
typedef struct jn_rows_view {
    uint32_t n;
    size_t row_bytes;
    const uint32_t *index;    /* each row once */
    const char *data;         /* row i, one behind the other, is row index[i] of the tensor */
    const janus_tensor *base; /* the other rows; NULL: zeros */
} jn_rows_view;
jn_rows_view jn_tensor_rows(const janus_tensor *t);
/* Makes it an ordinary tensor; nothing for one that is. On failure it stays as it is. */
janus_status jn_tensor_fill(janus_tensor *t);
/* Whether t is rows of `target`'s memory; then target[...] = t writes those rows alone. */
bool jn_tensor_rows_fit(const janus_tensor *target, const janus_tensor *t);
void jn_tensor_store_rows(janus_tensor *target, const janus_tensor *t);
/* Of rows of a base: a jn_storage_print() of all that is in the base's storage beside them; 0: out
 * of memory. */
uint32_t jn_tensor_print_beside(const janus_tensor *t);

#endif
