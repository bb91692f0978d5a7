/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor asks of a row's attributes: bounds of indices, how a product sums, what lies
 * behind what, which dims number rows. */
#include "config.h"

#include "ops/attrs.h"
#include "ops/rules.h"

bool jn_bounds_table(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,
                     int64_t *bound, int64_t *other) {
    (void)attrs, (void)rank, (void)dtype1;
    *bound = dims[0];
    *other = 0;
    return true;
}

bool jn_bounds_axis(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,
                    int64_t *bound, int64_t *other) {
    (void)dtype1;
    int64_t axis = ((const janus_index_select_attrs *)attrs)->axis;
    *bound = dims[axis < 0 ? axis + rank : axis];
    *other = 0;
    return true;
}

bool jn_bounds_cross_entropy(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,
                             int64_t *bound, int64_t *other) {
    *bound = dims[rank > 1];
    *other = ((const janus_cross_entropy_attrs *)attrs)->ignore_index;
    return !jn_dtype_is_float(dtype1); /* else probabilities */
}

bool jn_bounds_nll_loss(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,
                        int64_t *bound, int64_t *other) {
    (void)dtype1;
    *bound = dims[rank > 1];
    *other = ((const janus_nll_loss_attrs *)attrs)->ignore_index;
    return true;
}

bool jn_summed_matmul(const void *attrs) {
    const janus_matmul_attrs *a = attrs;
    return a->transpose_a && !a->transpose_b;
}

int64_t jn_skips_embedding_grad(const void *attrs) {
    return ((const janus_embedding_grad_attrs *)attrs)->padding_idx;
}

int jn_joined_concat(const void *attrs, int rank) {
    int axis = (int)((const janus_concat_attrs *)attrs)->axis;
    return axis < 0 ? axis + rank : axis;
}

int jn_rows_axis(const void *attrs, int rank) { /* every such row's attributes begin so */
    int axis = (int)((const janus_softmax_attrs *)attrs)->axis;
    return axis < 0 ? axis + rank : axis;
}

int jn_rows_dims(const void *attrs, int rank) { /* the same */
    janus_ints dims = ((const janus_sum_attrs *)attrs)->dims;
    int first = dims.n ? rank : 0;
    for (size_t i = 0; i < dims.n; i++) {
        int d = (int)(dims.data[i] < 0 ? dims.data[i] + rank : dims.data[i]);
        if (d < first)
            first = d;
    }
    return first;
}
