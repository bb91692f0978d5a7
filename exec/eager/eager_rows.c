/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on some rows: see exec/eager/eager_rows.h. */
#include "config.h"

#include "exec/eager/eager_rows.h"

#include <math.h>
#include <string.h>

enum { MOST_IN = 5 };

/* x + value * 0 is x where the factors are finite; of one number that is seen at once. */
static bool is_finite(const jn_eager_arg *a) {
    jn_view v;
    if (a->kind != JANUS_KIND_TENSOR)
        return a->kind != JANUS_KIND_FLOAT || isfinite(a->s.f);
    if (a->t->rank || a->t->storage->device || jn_tensor_as_view(a->t, &v) != JANUS_OK)
        return false;
    return v.dtype == JANUS_F32   ? isfinite(*(const float *)v.data)
           : v.dtype == JANUS_F64 ? isfinite(*(const double *)v.data)
                                  : false;
}

static bool like(const janus_tensor *t, const janus_tensor *dst) {
    return t->dtype == dst->dtype && t->rank == dst->rank && !t->storage->device && t->contiguous &&
           !memcmp(t->dims, dst->dims, (size_t)t->rank * sizeof *t->dims);
}

/* Whether the other rows stay as they are. */
static bool possible(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                     const janus_tensor *dst) {
    const janus_tensor *by = in[1].t;
    if (!(op->flags & JN_OP_KEEPS0) || n_in > MOST_IN || in[0].kind != JANUS_KIND_TENSOR ||
        in[0].t != dst || dst->storage == by->storage || !like(dst, by) || jn_tensor_rows(by).base)
        return false;
    for (unsigned i = 2; i < n_in; i++) {
        if (in[i].kind == JANUS_KIND_TENSOR && in[i].t != by && in[i].t->storage == by->storage)
            return false; /* reading its elements would end the rows */
        /* the step of Adagrad says so itself of a zero gradient, whatever it is divided by */
        bool any =
            in[i].kind == JANUS_KIND_TENSOR && op->flags & JN_OP_KEEPS0_ANY && like(in[i].t, dst);
        bool same = in[i].kind == JANUS_KIND_TENSOR && in[i].t == by;
        if (!any && !same && !is_finite(&in[i]))
            return false;
    }
    return true;
}

/* Those rows of t, as a new tensor; `whole`: all of them, in order, t is where they come from. */
static janus_status take(janus_tensor *t, const jn_rows_view *rows, bool whole,
                         janus_tensor **out) {
    int64_t dims[JN_MAX_RANK];
    const char *from = rows->data;
    char *to;
    memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    dims[0] = rows->n;
    if (!whole) {
        char *data;
        JN_TRY(jn_tensor_data(t, &data));
        from = data;
    }
    JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, dims, out));
    to = jn_tensor_ready_data(*out);
    for (uint32_t i = 0; i < rows->n; i++)
        memcpy(to + i * rows->row_bytes, from + (whole ? i : rows->index[i]) * rows->row_bytes,
               rows->row_bytes);
    return JANUS_OK;
}

janus_status jn_eager_rows_into(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                                const void *attrs, janus_tensor *dst, bool *done) {
    *done = false;
    if (!possible(op, in, n_in, dst))
        return JANUS_OK;
    const jn_rows_view rows = jn_tensor_rows(in[1].t);
    jn_eager_arg part[MOST_IN];
    janus_tensor *made[MOST_IN] = {NULL};
    char *to = NULL;
    janus_status st = jn_tensor_data(dst, &to);
    for (unsigned i = 0; i < n_in && st == JANUS_OK; i++) {
        part[i] = in[i];
        if (in[i].kind != JANUS_KIND_TENSOR || in[i].t->rank == 0)
            continue;
        st = take(in[i].t, &rows, in[i].t == in[1].t, &made[i]);
        part[i].t = made[i];
    }
    if (st == JANUS_OK)
        st = jn_eager_into(op, part, n_in, attrs, made[0]);
    if (st == JANUS_OK) {
        const char *from = jn_tensor_ready_data(made[0]);
        for (uint32_t i = 0; i < rows.n; i++)
            memcpy(to + rows.index[i] * rows.row_bytes, from + i * rows.row_bytes, rows.row_bytes);
        *done = true;
    }
    for (unsigned i = 0; i < n_in; i++)
        if (made[i])
            janus_tensor_release(made[i]);
    return st;
}
