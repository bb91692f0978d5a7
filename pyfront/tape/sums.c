/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients that are added to the sum so far without being made: bit for bit what adding them
 * gives, for which one as large as the sum would be written and read.
 *
 * Rows that were read of a table: the rule makes a table of zeros with those rows.  Where each is
 * read once they are added alone: the others get a zero added, which changes -0 only, and a sum in
 * which such a table has arrived has none.
 *
 * Products of a column and a row, gradients of a weight that multiplies one row: each element is
 * one product, so they are made and added piece by piece.
 */
#include "config.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/tape/record.h"

enum {
    MOST_ROWS = 32,        /* of one look-up: each is compared with those before it */
    LEAST_BYTES = 4 << 20, /* of a product: what is smaller stays in a cache */
    PIECE_BYTES = 1 << 20,
    PIECE_ROWS = 8 /* at least: then pieces are made as the whole is */
};
#define NONE_SKIPPED INT64_MIN

jpy_adds jpy_node_adds(jpy_node *n) {
    if (n->cls != &jpy_op_class)
        return JPY_ADDS_NOTHING;
    switch (((const jpy_op_data *)jpy_node_data(n))->op->id) {
    case JN_OP_ID_embedding:
    case JN_OP_ID_index_select:
    case JN_OP_ID_index:
        return JPY_ADDS_ROWS;
    case JN_OP_ID_matmul:
    case JN_OP_ID_linear:
        return JPY_ADDS_PRODUCT;
    default:
        return JPY_ADDS_NOTHING;
    }
}

static bool is_plain(const janus_tensor *sum, const janus_tensor *dy) {
    return (sum->dtype == JANUS_F32 || sum->dtype == JANUS_F64) && sum->rank > 0 &&
           sum->numel > 0 && !sum->storage->device && dy->dtype == sum->dtype;
}

static int check_saved(jpy_node *n) {
    const jpy_op_data *d = jpy_node_data(n);
    for (unsigned i = 0; i < (unsigned)n->n_in + n->n_out; i++)
        if (jpy_saved_check(&d->saved[i], d->op->name, NULL) < 0)
            return -1;
    return 0;
}

/* to += from, in place */
static janus_status add(janus_tensor *to, janus_tensor *from) {
    jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = to},
                            {.kind = JANUS_KIND_TENSOR, .t = from}};
    return jn_eager_into(JN_OP(add), args, 2, NULL, to);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static bool is_first_axis(int64_t axis, const janus_tensor *sum) {
    return axis == 0 || axis == -sum->rank;
}

/* Whether the rows are those of its first dim; *skipped: the one that gets nothing. */
static bool reads_first_axis(const jpy_node *n, const jpy_op_data *d, const janus_tensor *sum,
                             int64_t *skipped) {
    *skipped = NONE_SKIPPED;
    if (d->op->id == JN_OP_ID_embedding) {
        int64_t padding = ((const janus_embedding_attrs *)d->attrs)->padding_idx;
        *skipped = padding >= 0 ? padding : NONE_SKIPPED;
        return true;
    }
    if (d->op->id == JN_OP_ID_index_select)
        return is_first_axis(((const janus_index_select_attrs *)d->attrs)->axis, sum);
    janus_ints axes = ((const janus_index_attrs *)d->attrs)->axes;
    return n->n_in == 2 && axes.n == 1 && is_first_axis(axes.data[0], sum);
}

/* The numbers of the rows, none of them twice; 0: they are none such.  Those that are skipped are
 * -1. */
static unsigned find_rows(const jpy_saved *index, int64_t n_rows, int64_t skipped, int64_t *row) {
    if (index->kind != JANUS_KIND_TENSOR || index->t->storage->device || !index->t->contiguous ||
        index->t->numel > MOST_ROWS ||
        !(index->t->dtype == JANUS_I64 || index->t->dtype == JANUS_I32))
        return 0;
    char *data;
    if (jn_tensor_data(index->t, &data) != JANUS_OK)
        return 0;
    for (unsigned i = 0; i < index->t->numel; i++) {
        int64_t at = index->t->dtype == JANUS_I64 ? ((const int64_t *)(const void *)data)[i]
                                                  : ((const int32_t *)(const void *)data)[i];
        bool skip = at == skipped;
        at += at < 0 ? n_rows : 0;
        row[i] = skip ? -1 : at;
        for (unsigned k = 0; k < i && !skip; k++)
            if (row[k] == at)
                return 0;
        if (!skip && (at < 0 || at >= n_rows))
            return 0;
    }
    return (unsigned)index->t->numel;
}

/* to[at ...] += from[from_at ...], a row. */
static janus_status add_row(janus_tensor *to, int64_t at, janus_tensor *from, int64_t from_at,
                            int64_t numel) {
    int64_t one = 1;
    janus_tensor *a, *b;
    JN_TRY(jn_tensor_view(to, 1, &numel, &one, at, &a));
    janus_status st = jn_tensor_view(from, 1, &numel, &one, from_at, &b);
    if (st == JANUS_OK) {
        st = add(a, b);
        janus_tensor_release(b);
    }
    janus_tensor_release(a);
    return st;
}

int jpy_node_add_rows(jpy_node *n, janus_tensor *dy, janus_tensor *sum) {
    const jpy_op_data *d = jpy_node_data(n);
    int64_t row[MOST_ROWS], skipped;
    if (!is_plain(sum, dy) || n->freed || !reads_first_axis(n, d, sum, &skipped))
        return 0;
    int64_t numel = sum->numel / sum->dims[0];
    unsigned n_rows = find_rows(&d->saved[1], sum->dims[0], skipped, row);
    if (!n_rows || dy->numel != n_rows * numel)
        return 0;
    janus_tensor *dense;
    if (check_saved(n) < 0 || jpy_check(jn_tensor_contiguous(dy, &dense)) < 0)
        return -1;
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < n_rows && st == JANUS_OK; i++)
        if (row[i] >= 0)
            st = add_row(sum, row[i] * numel, dense, i * numel, numel);
    janus_tensor_release(dense);
    return jpy_check(st) < 0 ? -1 : 1;
}

/* ---- products -----------------------------------------------------------------------------------
 */

/* A row of n elements: some of those of a vector, which lie together. */
static janus_status row_of(janus_tensor *vector, int64_t at, int64_t n, janus_tensor **out) {
    return jn_tensor_view(vector, 2, (int64_t[]){1, n}, (int64_t[]){n, 1}, at, out);
}

/* sum[at ... at + n] += column' row */
static janus_status add_piece(janus_tensor *sum, janus_tensor *column, janus_tensor *row,
                              int64_t at, int64_t n) {
    int64_t cols = sum->dims[1];
    janus_matmul_attrs attrs = {.struct_size = sizeof attrs, .transpose_a = true};
    janus_tensor *a, *b = NULL, *to = NULL, *made = NULL;
    JN_TRY(row_of(column, at, n, &a));
    janus_status st = row_of(row, 0, cols, &b);
    if (st == JANUS_OK)
        st = jn_tensor_view(sum, 2, (int64_t[]){n, cols}, (int64_t[]){cols, 1}, at * cols, &to);
    if (st == JANUS_OK) {
        jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = a},
                                {.kind = JANUS_KIND_TENSOR, .t = b}};
        st = jn_eager(JN_OP(matmul), args, 2, &attrs, &made, 1);
    }
    if (st == JANUS_OK)
        st = add(to, made);
    janus_tensor_release(made);
    janus_tensor_release(to);
    janus_tensor_release(b);
    janus_tensor_release(a);
    return st;
}

static janus_status add_pieces(janus_tensor *sum, janus_tensor *column, janus_tensor *row) {
    int64_t rows = sum->dims[0],
            bytes = sum->dims[1] * (int64_t)jn_dtype_size((janus_dtype)sum->dtype);
    int64_t step = PIECE_BYTES / bytes > PIECE_ROWS ? PIECE_BYTES / bytes : PIECE_ROWS;
    for (int64_t at = 0, n; at < rows; at += n) {
        n = rows - at < 2 * step ? rows - at : step;
        JN_TRY(add_piece(sum, column, row, at, n));
    }
    return JANUS_OK;
}

int jpy_node_add_product(jpy_node *n, janus_tensor *dy, janus_tensor *sum) {
    const jpy_op_data *d = jpy_node_data(n);
    const jpy_saved *x = &d->saved[0];
    bool linear = d->op->id == JN_OP_ID_linear;
    if (sum->numel * (int64_t)jn_dtype_size((janus_dtype)sum->dtype) < LEAST_BYTES ||
        !is_plain(sum, dy) || n->freed || sum->rank != 2 || x->kind != JANUS_KIND_TENSOR)
        return 0;
    const janus_matmul_attrs *turned = linear ? NULL : d->attrs;
    bool turns = turned && (turned->transpose_a || turned->transpose_b);
    bool one_row = !turns && x->t->rank == 2 && x->t->dims[0] == 1 && dy->rank == 2 &&
                   dy->dims[0] == 1 && x->t->dtype == sum->dtype && !x->t->storage->device &&
                   sum->dims[!linear] == dy->dims[1] && sum->dims[linear] == x->t->dims[1];
    if (!one_row)
        return 0;
    janus_tensor *in, *out;
    if (check_saved(n) < 0 || jpy_check(jn_tensor_contiguous(x->t, &in)) < 0)
        return -1;
    janus_status st = jn_tensor_contiguous(dy, &out);
    if (st == JANUS_OK) {
        PyThreadState *released = PyEval_SaveThread();
        st = linear ? add_pieces(sum, out, in) : add_pieces(sum, in, out);
        PyEval_RestoreThread(released);
        janus_tensor_release(out);
    }
    janus_tensor_release(in);
    return jpy_check(st) < 0 ? -1 : 1;
}
