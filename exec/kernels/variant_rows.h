/* SPDX-License-Identifier: Apache-2.0 */
/* How operands and results of a node lie in the rows of a group, while a variant is made. */
#ifndef JN_EXEC_VARIANT_ROWS_H
#define JN_EXEC_VARIANT_ROWS_H

#include "exec/kernels/kernels.h"

typedef struct jn_maker {
    jn_seginst *inst;
    jn_variant *v;
    jn_arena *a;
} jn_maker;

/* An operand or result per row, before rows are added. */
typedef struct jn_row_view {
    jn_view view;     /* per-row dims and strides */
    int64_t step;     /* elements from row to row; 0: shared */
    bool rowed, like; /* like: only its shape is used */
} jn_row_view;

bool jn_input_rowed(const jn_variant *v, uint32_t i);
/* A value of the segment, or an operand of a node. */
jn_row_view jn_value_rows(const jn_maker *m, uint32_t value);
jn_row_view jn_operand_rows(const jn_maker *m, const jn_src *src);
bool jn_view_is_dense(const jn_view *v);
/* Each of these fills the node's views for a call with all rows; false: it cannot be done so, or
 * there is no memory.  Elementwise: operands aligned to one rank, rows in front, dims that are 1
 * everywhere dropped; when every rowed operand is dense and the shared ones are single elements,
 * one flat vector. */
bool jn_rows_aligned(jn_maker *m, jn_row_view *r, unsigned n_in, jn_row_view *o, unsigned n_out,
                     jn_vnode *vn);
/* As the op's row in the table says (jn_batch). */
bool jn_rows_batched(jn_maker *m, jn_row_view *r, unsigned n_in, jn_row_view *o, unsigned n_out,
                     jn_vnode *vn);
/* The products and sums that add all rows to an accumulator in one call. */
bool jn_rows_accumulated(jn_maker *m, jn_row_view *r, unsigned n_in, const jn_row_view *o,
                         jn_vnode *vn);

#endif
