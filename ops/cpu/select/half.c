/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f16 and bf16: the kernels of f32 between two conversions.
 *
 * An op that computes with a half operand or makes a half result runs in f32 and is rounded once,
 * to nearest, ties to even, when the result is stored; so sums accumulate in f32.  Elementwise ops
 * are done in tiles that stay in the cache, whatever the operands' strides; of the others whole
 * operands are converted.  Ops that only move elements (JN_OP_MOVES) have kernels that go by the
 * elements' size and run as they are.  There is no other kernel for halves on the CPU.
 *
 * A kernel is not told which op it is: one function per row of the table passes that on.
 */
#include "config.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "graph/ir/ir.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/select/select.h"
#include "ops/random_rules.h"
#include "ops/rules.h"

enum {
    TILE = 512,             /* elements per operand */
    MOST = JN_MAX_RANK + 8, /* operands and results of an op */
    ON_STACK = 8192         /* bytes of operands small enough to need no allocation */
};

static bool is_half(int dtype) { return dtype == JANUS_F16 || dtype == JANUS_BF16; }

static bool any_half(const jn_view *v, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (is_half(v[i].dtype))
            return true;
    return false;
}

/* The f32 kernel for views whose halves were replaced. */
static jn_kernel_fn wide_kernel(const jn_op *op, const jn_kargs *k, const jn_view *in,
                                const jn_view *out) {
    jn_sig sig = {op, in, out, k->n_in, k->n_out, k->attrs};
    return jn_cpu_own[op->id].select(&sig);
}

static void convert(const jn_kargs *k, const jn_view *from, const jn_view *to) {
    jn_kargs c = {.in = from, .out = to, .n_in = 1, .n_out = 1, .flags = k->flags, .par = k->par};
    jn_isa.cast[from->dtype][to->dtype](&c);
}

/* ---- elementwise --------------------------------------------------------------------------------
 */

typedef struct tiles {
    const jn_kargs *k;
    unsigned n_tensors; /* the first operands; scalars follow */
    jn_kernel_fn kernel;
} tiles;

static void tile_row(void *out, const void *const *in, int64_t n, const void *ctx) {
    _Alignas(64) float wide[JN_EW_MAX_IN][TILE], result[TILE];
    const tiles *t = ctx;
    const jn_kargs *k = t->k;
    int64_t m = 0, one = 1;
    jn_view views[MOST], half = {NULL, &m, &one, 1, 0, true};
    jn_view made = {NULL, &m, &one, 1, k->out[0].dtype, true};
    jn_kargs args = *k, c = {.in = &half, .n_in = 1, .n_out = 1, .par = &jn_par_serial};
    uint32_t flags = 0;
    bool narrows = is_half(made.dtype);
    memcpy(views, k->in, k->n_in * sizeof *views);
    for (unsigned i = 0; i < t->n_tensors; i++)
        views[i] = (jn_view){wide[i], &m, &one, 1, k->in[i].dtype, true};
    if (narrows) {
        made.data = result;
        made.dtype = JANUS_F32;
    }
    args.in = views;
    args.out = &made;
    args.par = &jn_par_serial;
    args.flags = c.flags = &flags;
    for (int64_t done = 0; done < n; done += m) {
        m = n - done < TILE ? n - done : TILE;
        for (unsigned i = 0; i < t->n_tensors; i++) {
            int dtype = k->in[i].dtype;
            const char *from = (const char *)in[i] + done * (int64_t)jn_elem_size(dtype);
            if (!is_half(dtype)) {
                views[i].data = (void *)(uintptr_t)from;
                continue;
            }
            half.data = (void *)(uintptr_t)from;
            half.dtype = (uint8_t)dtype;
            views[i].dtype = JANUS_F32;
            c.out = &views[i];
            jn_isa.cast[dtype][JANUS_F32](&c);
        }
        char *to = (char *)out + done * (int64_t)jn_elem_size(k->out[0].dtype);
        if (!narrows)
            made.data = to;
        t->kernel(&args);
        if (narrows) {
            jn_view y = {to, &m, &one, 1, k->out[0].dtype, true};
            jn_kargs back = {.in = &made,
                             .out = &y,
                             .n_in = 1,
                             .n_out = 1,
                             .flags = &flags,
                             .par = &jn_par_serial};
            jn_isa.cast[JANUS_F32][y.dtype](&back);
        }
    }
    if (flags)
        __atomic_fetch_or(k->flags, flags, __ATOMIC_RELAXED);
}

static void elementwise(const jn_op *op, const jn_kargs *k) {
    jn_view in[MOST], out = k->out[0];
    tiles t = {.k = k};
    for (unsigned i = 0; i < k->n_in; i++) {
        in[i] = k->in[i];
        if (is_half(in[i].dtype))
            in[i].dtype = JANUS_F32;
        t.n_tensors += jn_op_accept(op, i) == JN_ACCEPT_TENSOR;
    }
    if (is_half(out.dtype))
        out.dtype = JANUS_F32;
    t.kernel = wide_kernel(op, k, in, &out);
    jn_ew(k, t.n_tensors, JN_EW_GRAIN / 4, tile_row, &t);
}

/* ---- whole operands -----------------------------------------------------------------------------
 */

/* An f32 copy of a view: dense, in the order of the original's memory, broadcast dims left so. */
typedef struct wide {
    jn_view view;
    int64_t strides[JN_MAX_RANK];
    int order[JN_MAX_RANK], n; /* dims that are in memory, outermost first */
    int64_t numel;
} wide;

static void plan_wide(wide *w, const jn_view *v) {
    w->n = 0;
    w->numel = 1;
    w->view = *v;
    w->view.dtype = JANUS_F32;
    w->view.strides = w->strides;
    for (int d = 0; d < v->rank; d++) {
        w->strides[d] = 0;
        if (v->dims[d] == 0)
            w->numel = 0;
        if (v->strides[d] == 0 || v->dims[d] == 1)
            continue;
        int at = w->n++;
        for (; at > 0 && v->strides[w->order[at - 1]] < v->strides[d]; at--)
            w->order[at] = w->order[at - 1];
        w->order[at] = d;
    }
    int64_t step = 1;
    for (int i = w->n - 1; i >= 0; i--) {
        w->strides[w->order[i]] = step;
        step *= v->dims[w->order[i]];
    }
    w->numel = w->numel ? step : 0;
    /* dims of 1 may have any stride: those of a row-major tensor */
    step = 1;
    w->view.contiguous = true;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dims[d] == 1)
            w->strides[d] = step;
        w->view.contiguous = w->view.contiguous && (w->strides[d] == step || w->numel == 0);
        step *= v->dims[d];
    }
}

static void widen(const jn_kargs *k, const wide *w, const jn_view *v) {
    int64_t dims[JN_MAX_RANK], from[JN_MAX_RANK], to[JN_MAX_RANK], step = 1;
    if (w->numel == 0)
        return;
    jn_view a = {v->data, dims, from, (int16_t)w->n, v->dtype, true};
    jn_view b = {w->view.data, dims, to, (int16_t)w->n, JANUS_F32, true};
    for (int i = w->n - 1; i >= 0; i--) {
        dims[i] = v->dims[w->order[i]];
        from[i] = v->strides[w->order[i]];
        to[i] = step;
        a.contiguous = a.contiguous && from[i] == step;
        step *= dims[i];
    }
    convert(k, &a, &b);
}

static size_t rounded(int64_t numel) { return ((size_t)numel * sizeof(float) + 63) & ~(size_t)63; }

/* Operand or result i, results after the operands. */
static const jn_view *value_at(const jn_kargs *k, unsigned i) {
    return i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
}

/* Whether value i has elements to convert: of LIKE operands only the shape is there. */
static bool converts(const jn_op *op, const jn_kargs *k, unsigned i) {
    const jn_view *v = value_at(k, i);
    return v->rank >= 0 && is_half(v->dtype) &&
           (i >= k->n_in || jn_op_accept(op, i) != JN_ACCEPT_LIKE);
}

static void whole(const jn_op *op, const jn_kargs *k) {
    _Alignas(64) char little[ON_STACK];
    wide wides[MOST];
    jn_view in[MOST], out[MOST];
    size_t bytes = 0;
    unsigned n = k->n_in + k->n_out;
    for (unsigned i = 0; i < n; i++)
        if (converts(op, k, i)) {
            plan_wide(&wides[i], value_at(k, i));
            bytes += rounded(wides[i].numel);
        }
    char *memory = bytes <= sizeof little ? little : jn_alloc_aligned(bytes), *at = memory;
    if (!memory) {
        __atomic_fetch_or(k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        const jn_view *v = value_at(k, i);
        jn_view *to = i < k->n_in ? &in[i] : &out[i - k->n_in];
        *to = *v;
        if (v->rank >= 0 && is_half(v->dtype))
            to->dtype = JANUS_F32;
        if (!converts(op, k, i))
            continue;
        wides[i].view.data = at;
        at += rounded(wides[i].numel);
        if (i < k->n_in || k->accumulate)
            widen(k, &wides[i], v);
        *to = wides[i].view;
    }
    jn_kargs args = *k;
    args.in = in;
    args.out = out;
    wide_kernel(op, k, in, out)(&args);
    for (unsigned i = 0; i < k->n_out; i++)
        if (is_half(k->out[i].dtype) && wides[k->n_in + i].numel)
            convert(k, &out[i], &k->out[i]);
    if (op->id == JN_OP_ID_uniform) {
        const janus_uniform_attrs *a = k->attrs;
        jn_rng_keep_below(&k->out[0], a->low, a->high);
    }
    if (memory != little)
        jn_free_aligned(memory);
}

/* ---- selection ----------------------------------------------------------------------------------
 */

static void run(const jn_op *op, const jn_kargs *k) {
    if (op->flags & JN_OP_ELEMENTWISE)
        elementwise(op, k);
    else
        whole(op, k);
}

#define OP_NAMED(op, text, ...)                                                                    \
    static void half_##op(const jn_kargs *k) { run(JN_OP(op), k); }
#include "ops/ops.def"

#define OP_NAMED(op, text, ...) [JN_OP_ID_##op] = half_##op,
static const jn_kernel_fn halves[JN_OP_ID_COUNT] = {
#include "ops/ops.def"
};

jn_kernel_fn jn_cpu_half(const jn_sig *sig) {
    const jn_op *op = sig->op;
    if (!any_half(sig->in, sig->n_in) && !any_half(sig->out, sig->n_out))
        return NULL;
    if (op->id == JN_OP_ID_cast && jn_isa.cast[sig->in[0].dtype][sig->out[0].dtype])
        return jn_isa.cast[sig->in[0].dtype][sig->out[0].dtype];
    if (op->flags & JN_OP_MOVES)
        return NULL;
    if ((unsigned)sig->n_in + sig->n_out > MOST)
        return jn_cpu_fallback(sig);
    return halves[op->id];
}
