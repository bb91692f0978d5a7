/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x[i0, i1, ...] with index tensors: reading (index) and writing (index_put).
 *
 * The indices are broadcast together; each of their positions stands for an offset in x.  The other
 * dims of x are walked: those in front, those between, and the run of those behind all indexed
 * ones, which moves as one piece.
 */
#include "ops/index_rules.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/take.h"
#include "ops/rules.h"

typedef struct plan {
    int64_t n_front, n_index, n_mid, run; /* sizes of the four nested walks */
    int64_t *front, *index, *mid;         /* offsets in x; of an index out of range -1 */
    int64_t *memory;
} plan;

/* Offsets of all positions of some dims of x, row-major. */
static void offsets(const jn_view *x, const bool *in, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, o = 0;
        for (int d = x->rank - 1; d >= 0; d--)
            if (in[d]) {
                o += rest % x->dims[d] * x->strides[d];
                rest /= x->dims[d];
            }
        out[i] = o;
    }
}

static void index_offsets(const jn_kargs *k, unsigned first, janus_ints axes, const jn_view *x,
                          int rank, const int64_t *dims, plan *p) {
    for (int64_t i = 0; i < p->n_index; i++) {
        int64_t o = 0;
        for (size_t a = 0; a < axes.n && o >= 0; a++) {
            const jn_view *t = &k->in[first + a];
            int axis = (int)(axes.data[a] < 0 ? axes.data[a] + x->rank : axes.data[a]);
            int64_t rest = i, from = 0;
            for (int d = rank - 1; d >= 0; d--) {
                int at = d - (rank - t->rank);
                if (at >= 0 && t->dims[at] != 1)
                    from += rest % dims[d] * t->strides[at];
                rest /= dims[d];
            }
            int64_t v = jn_index_checked(k, jn_index_at(t, from), x->dims[axis]);
            o = v < 0 ? -1 : o + v * x->strides[axis];
        }
        p->index[i] = o;
    }
}

/* x is row-major. */
static bool make_plan(const jn_kargs *k, unsigned first, janus_ints axes, const jn_view *x,
                      plan *p) {
    bool indexed[JN_MAX_RANK], front[JN_MAX_RANK] = {false}, mid[JN_MAX_RANK] = {false};
    int64_t dims[JN_MAX_RANK];
    int place, rank = 0, last = 0;
    jn_index_layout(axes, x->rank, indexed, &place);
    *p = (plan){1, 1, 1, 1, NULL, NULL, NULL, NULL};
    for (int d = 0; d < x->rank; d++)
        last = indexed[d] ? d : last;
    for (int d = 0; d < x->rank; d++) {
        if (indexed[d])
            continue;
        front[d] = d < place;
        mid[d] = d >= place && d < last;
        *(front[d] ? &p->n_front : mid[d] ? &p->n_mid : &p->run) *= x->dims[d];
    }
    for (size_t a = 0; a < axes.n; a++)
        rank = k->in[first + a].rank > rank ? k->in[first + a].rank : rank;
    for (int d = 0; d < rank; d++) {
        dims[d] = 1;
        for (size_t a = 0; a < axes.n; a++) {
            const jn_view *t = &k->in[first + a];
            int at = d - (rank - t->rank);
            if (at >= 0 && t->dims[at] != 1)
                dims[d] = t->dims[at];
        }
        p->n_index *= dims[d];
    }
    p->memory = jn_alloc((size_t)(p->n_front + p->n_index + p->n_mid) * sizeof(int64_t));
    if (!p->memory) {
        *k->flags |= JN_KFLAG_MEMORY;
        return false;
    }
    p->front = p->memory;
    p->index = p->front + p->n_front;
    p->mid = p->index + p->n_index;
    offsets(x, front, p->n_front, p->front);
    offsets(x, mid, p->n_mid, p->mid);
    index_offsets(k, first, axes, x, rank, dims, p);
    return true;
}

static inline void copy_run(char *to, const char *from, size_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, bytes);
}

typedef struct taking {
    const plan *p;
    const jn_view *x, *y;
} taking;

static void take_range(void *arg, int64_t begin, int64_t end) {
    const taking *t = arg;
    const plan *p = t->p;
    size_t size = jn_elem_size(t->x->dtype), run = (size_t)p->run * size;
    for (int64_t i = begin; i < end; i++) {
        int64_t o = p->index[i % p->n_index];
        const char *from =
            (const char *)t->x->data + (p->front[i / p->n_index] + o) * (int64_t)size;
        char *to = (char *)t->y->data + (size_t)(i * p->n_mid) * run;
        if (o < 0)
            memset(to, 0, (size_t)p->n_mid * run);
        else
            for (int64_t m = 0; m < p->n_mid; m++)
                copy_run(to + (size_t)m * run, from + p->mid[m] * (int64_t)size, run);
    }
}

static void take(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    plan p;
    if (jn_numel(y) == 0 || !make_plan(k, 1, ((const janus_index_attrs *)k->attrs)->axes, x, &p))
        return;
    taking t = {&p, x, y};
    int64_t n = p.n_front * p.n_index, each = p.n_mid * p.run;
    if (n * each >= 2 * JN_EW_GRAIN)
        k->par->run(k->par, n, JN_EW_GRAIN / (each + 1) + 1, take_range, &t);
    else
        take_range(&t, 0, n);
    jn_free(p.memory);
}

#define ADD(T, U)                                                                                  \
    {                                                                                              \
        T *y = to;                                                                                 \
        const T *x = from;                                                                         \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (T)((U)y[i] + (U)x[i * step]);                                                  \
    }
/* step 0: one element for all */
static void add_run(int dtype, void *to, const void *from, int64_t n, int64_t step) {
    if (step == 1 && (dtype == JANUS_F32 || dtype == JANUS_F64))
        jn_isa.add_to[dtype](to, from, n);
    else if (dtype == JANUS_F32)
        ADD(float, float)
    else if (dtype == JANUS_F64)
        ADD(double, double)
    else if (dtype == JANUS_I32)
        ADD(int32_t, uint32_t)
    else
        ADD(int64_t, uint64_t)
}

/* Whether the dims that are not indexed have elements; an indexed one without lets no index in. */
static bool any_place(janus_ints axes, const jn_view *y) {
    bool indexed[JN_MAX_RANK], any = true;
    int place;
    jn_index_layout(axes, y->rank, indexed, &place);
    for (int d = 0; d < y->rank; d++)
        any = any && (indexed[d] || y->dims[d] != 0);
    return any;
}

static void index_put(const jn_kargs *k) {
    const janus_index_put_attrs *a = k->attrs;
    const jn_view *src = &k->in[1], *y = &k->out[0];
    size_t size = jn_elem_size(y->dtype);
    int64_t step = jn_numel(src) == 1 ? 0 : 1;
    plan p;
    memcpy(y->data, k->in[0].data, (size_t)jn_numel(y) * size);
    if (!any_place(a->axes, y) || !make_plan(k, 2, a->axes, y, &p))
        return;
    if (step && jn_numel(src) != p.n_front * p.n_index * p.n_mid * p.run) { /* broadcast */
        jn_sig sig = {&jn_ops[JN_OP_ID_index_put], k->in, k->out, k->n_in, k->n_out, k->attrs};
        jn_free(p.memory);
        jn_cpu_fallback (&sig)(k);
        return;
    }
    const char *from = src->data;
    for (int64_t f = 0; f < p.n_front; f++)
        for (int64_t i = 0; i < p.n_index; i++)
            for (int64_t m = 0; m < p.n_mid; m++, from += (size_t)(step * p.run) * size) {
                char *to = (char *)y->data + (p.front[f] + p.index[i] + p.mid[m]) * (int64_t)size;
                if (p.index[i] < 0)
                    continue;
                if (a->accumulate)
                    add_run(y->dtype, to, from, p.run, step);
                else if (step)
                    copy_run(to, from, (size_t)p.run * size);
                else
                    for (int64_t e = 0; e < p.run; e++)
                        memcpy(to + (size_t)e * size, from, size);
            }
    jn_free(p.memory);
}

jn_kernel_fn jn_cpu_index(const jn_sig *sig) {
    (void)sig;
    return take;
}
jn_kernel_fn jn_cpu_index_put(const jn_sig *sig) {
    const janus_index_put_attrs *a = sig->attrs;
    int d = sig->in[0].dtype;
    bool adds = d == JANUS_F32 || d == JANUS_F64 || d == JANUS_I32 || d == JANUS_I64;
    return !a->accumulate || adds ? index_put : jn_cpu_fallback(sig);
}
