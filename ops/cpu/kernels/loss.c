/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses: of classes (cross_entropy, nll_loss) and of pairs (mse_loss, bce_with_logits, smooth_l1).
 *
 * With JN_REDUCTION_ROWS in `reduction` every operand has one more dim in front, and each of its
 * rows has a loss of its own: that is how frames are batched.  Sums are of fixed pieces, in double
 * from piece to piece, whatever the number of threads.
 */
#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/take.h"
#include "ops/nn_rules.h"
#include "ops/rules.h"

enum { GRAIN = 16384, PIECE = 65536, BLOCK = 512, FEW = 64 };

static void reference(const jn_kargs *k, unsigned op) {
    jn_sig sig = {&jn_ops[op], k->in, k->out, k->n_in, k->n_out, k->attrs};
    jn_op_impls[op].ref (&sig)(k);
}

static void store(const jn_view *v, int64_t i, double x) {
    if (v->dtype == JANUS_F32)
        ((float *)v->data)[i] = (float)x;
    else
        ((double *)v->data)[i] = x;
}
static double load(const jn_view *v, int64_t i) {
    return v->dtype == JANUS_F32 ? (double)((const float *)v->data)[i]
                                 : ((const double *)v->data)[i];
}

/* ---- of classes
 * ---------------------------------------------------------------------------------- */

/* Samples are laid out [.., n, inner], n classes each; a group of them has one result. */
typedef struct classes {
    const jn_kargs *k;
    const jn_view *x, *t, *dy;
    int64_t n, inner, samples, group, ignore, reduction;
    bool log_probs;
    double *losses; /* of the samples */
    int64_t *valid; /* gradient of a mean: samples of a group that count */
} classes;

static classes classes_of(const jn_kargs *k, const jn_view *x, const jn_view *t, int64_t reduction,
                          int64_t ignore) {
    classes c = {.k = k, .x = x, .t = t, .ignore = ignore, .inner = 1};
    int rows = (reduction & JN_REDUCTION_ROWS) != 0, rank = x->rank - rows;
    int axis = rows + (rank > 1);
    c.reduction = reduction & ~JN_REDUCTION_ROWS;
    c.n = x->dims[axis];
    c.group = rank > 1 ? x->dims[axis - 1] : 1;
    for (int d = axis + 1; d < x->rank; d++)
        c.inner *= x->dims[d];
    c.group *= c.inner;
    c.samples = rows ? x->dims[0] * c.group : c.group;
    return c;
}

/* Classes as targets, not probabilities, without smoothing, as rows of the memory. */
static bool simple(const classes *c, double smoothing) {
    return c->inner == 1 && smoothing == 0 && c->t->dtype != JANUS_F32 && c->t->dtype != JANUS_F64;
}

/* Class of a sample; -1: it does not count. */
static int64_t class_at(const classes *c, int64_t i) {
    int64_t t = jn_index_at(c->t, i);
    if (t == c->ignore)
        return -1;
    if (t < 0 || t >= c->n) {
        __atomic_fetch_or(c->k->flags, JN_KFLAG_INDEX, __ATOMIC_RELAXED);
        return -1;
    }
    return t;
}
/* Where the score of class t of a sample is. */
static int64_t score_at(const classes *c, int64_t i, int64_t t) {
    return (i / c->inner * c->n + t) * c->inner + i % c->inner;
}

static double minus_score(const classes *c, int64_t i, int64_t t) {
    return t < 0 ? 0 : -load(c->x, score_at(c, i, t));
}

static void loss_range(void *arg, int64_t begin, int64_t end) {
    const classes *c = arg;
    int d = c->x->dtype;
    size_t size = jn_elem_size(d);
    bool few = !c->log_probs && c->n <= JN_FEW && c->n > 0;
    for (int64_t at = begin; at < end; at += BLOCK) {
        int64_t m = end - at < BLOCK ? end - at : BLOCK;
        double lse[BLOCK];
        const char *x = (const char *)c->x->data + (size_t)(at * c->n) * size;
        jn_view v = {lse, NULL, NULL, 0, (uint8_t)d, true};
        if (few)
            jn_isa.few_classes[d](x, m, c->n, lse, NULL);
        for (int64_t i = 0; i < m; i++) {
            int64_t t = class_at(c, at + i);
            double loss = minus_score(c, at + i, t);
            /* A large logarithm has lost what it was asked for in f32. */
            if (t >= 0 && few && fabs(load(&v, i)) < 16)
                loss += load(&v, i);
            else if (t >= 0 && !c->log_probs)
                loss += jn_isa.logsumexp[d](x + (size_t)(i * c->n) * size, c->n);
            c->losses[at + i] = loss;
        }
    }
}

static void run_samples(const jn_kargs *k, classes *c, int64_t each, jn_range_fn body) {
    if (c->samples * each >= 2 * GRAIN)
        k->par->run(k->par, c->samples, GRAIN / (each + 1) + 1, body, c);
    else
        body(c, 0, c->samples);
}

static int64_t count_valid(const classes *c, int64_t group) {
    int64_t n = 0;
    for (int64_t i = group * c->group; i < (group + 1) * c->group; i++)
        n += class_at(c, i) >= 0;
    return n;
}

static void class_loss(const jn_kargs *k, classes *c) {
    double few[FEW];
    c->losses = c->samples <= FEW ? few : jn_alloc((size_t)c->samples * sizeof(double));
    if (!c->losses) {
        *k->flags |= JN_KFLAG_MEMORY;
        return;
    }
    run_samples(k, c, c->log_probs ? 4 : c->n, loss_range);
    if (c->reduction == JN_REDUCTION_NONE) {
        for (int64_t i = 0; i < c->samples; i++)
            store(&k->out[0], i, c->losses[i]);
    } else {
        int64_t groups = jn_numel(&k->out[0]);
        for (int64_t g = 0; g < groups; g++) {
            double total = 0;
            for (int64_t i = g * c->group; i < (g + 1) * c->group; i++)
                total += c->losses[i];
            if (c->reduction == JN_REDUCTION_MEAN)
                total /= (double)count_valid(c, g);
            store(&k->out[0], g, total);
        }
    }
    if (c->losses != few)
        jn_free(c->losses);
}

static void cross_entropy(const jn_kargs *k) {
    const janus_cross_entropy_attrs *a = k->attrs;
    classes c = classes_of(k, &k->in[0], &k->in[1], a->reduction, a->ignore_index);
    if (simple(&c, a->label_smoothing))
        class_loss(k, &c);
    else
        reference(k, JN_OP_ID_cross_entropy);
}

static void nll_loss(const jn_kargs *k) {
    const janus_nll_loss_attrs *a = k->attrs;
    classes c = classes_of(k, &k->in[0], &k->in[1], a->reduction, a->ignore_index);
    c.log_probs = true;
    class_loss(k, &c);
}

/* The cotangent of a sample's loss. */
static double sample_dy(const classes *c, int64_t i) {
    if (c->reduction == JN_REDUCTION_NONE)
        return load(c->dy, i);
    int64_t group = i / c->group;
    double g = load(c->dy, c->dy->rank == 0 ? 0 : group); /* one for all groups, or each its own */
    return c->reduction == JN_REDUCTION_MEAN ? g / (double)c->valid[group] : g;
}

/* dx = (softmax - 1 at t) g */
#define ONE_GRAD(T)                                                                                \
    static void one_grad_##T(T *p, int64_t n, int64_t t, T g) {                                    \
        p[t] -= 1;                                                                                 \
        for (int64_t j = 0; j < n; j++)                                                            \
            p[j] *= g;                                                                             \
    }
ONE_GRAD(float)
ONE_GRAD(double)

static void loss_grad_range(void *arg, int64_t begin, int64_t end) {
    const classes *c = arg;
    const jn_view *out = &c->k->out[0];
    int d = c->x->dtype;
    size_t row = (size_t)c->n * jn_elem_size(d);
    bool few = c->n <= JN_FEW && c->n > 0;
    if (few)
        jn_isa.few_classes[d]((const char *)c->x->data + (size_t)begin * row, end - begin, c->n,
                              NULL, (char *)out->data + (size_t)begin * row);
    for (int64_t i = begin; i < end; i++) {
        int64_t t = class_at(c, i);
        char *dx = (char *)out->data + (size_t)i * row;
        if (t < 0) {
            memset(dx, 0, row);
            continue;
        }
        double g = sample_dy(c, i);
        if (!few)
            jn_isa.softmax[d]((const char *)c->x->data + (size_t)i * row, dx, c->n, false);
        if (d == JANUS_F32)
            one_grad_float((float *)dx, c->n, t, (float)g);
        else
            one_grad_double((double *)dx, c->n, t, g);
    }
}

static void nll_grad_range(void *arg, int64_t begin, int64_t end) {
    const classes *c = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t t = class_at(c, i);
        if (t >= 0)
            store(&c->k->out[0], score_at(c, i, t), -sample_dy(c, i));
    }
}

static void class_grad(const jn_kargs *k, classes *c) {
    int64_t few[FEW], groups = c->group ? c->samples / c->group : 0;
    c->dy = &k->in[0];
    c->valid = few;
    if (c->reduction == JN_REDUCTION_MEAN) {
        if (groups > FEW && !(c->valid = jn_alloc((size_t)groups * sizeof(int64_t)))) {
            *k->flags |= JN_KFLAG_MEMORY;
            return;
        }
        for (int64_t g = 0; g < groups; g++)
            c->valid[g] = count_valid(c, g);
    }
    run_samples(k, c, c->n, c->log_probs ? nll_grad_range : loss_grad_range);
    if (c->valid != few)
        jn_free(c->valid);
}

static void cross_entropy_grad(const jn_kargs *k) {
    const janus_cross_entropy_grad_attrs *a = k->attrs;
    classes c = classes_of(k, &k->in[1], &k->in[2], a->reduction, a->ignore_index);
    if (simple(&c, a->label_smoothing))
        class_grad(k, &c);
    else
        reference(k, JN_OP_ID_cross_entropy_grad);
}

static void nll_loss_grad(const jn_kargs *k) {
    const janus_nll_loss_grad_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    classes c = classes_of(k, y, &k->in[1], a->reduction, a->ignore_index);
    c.log_probs = true;
    memset(y->data, 0, (size_t)jn_numel(y) * jn_elem_size(y->dtype));
    class_grad(k, &c);
}

/* ---- of pairs
 * ------------------------------------------------------------------------------------ */

typedef struct pairs {
    int kind, dtype;
    double beta;
    const char *x, *t;
    int64_t n, pieces; /* of a group */
    double *sums;      /* of the pieces */
} pairs;

static void pieces_range(void *arg, int64_t begin, int64_t end) {
    const pairs *p = arg;
    size_t size = jn_elem_size(p->dtype);
    _Alignas(64) char block[BLOCK * 8];
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % p->pieces * PIECE, to = from + PIECE < p->n ? from + PIECE : p->n;
        double total = 0;
        for (int64_t at = from; at < to; at += BLOCK) {
            jn_oni s = {1, to - at < BLOCK ? to - at : BLOCK, 1};
            size_t off = (size_t)(i / p->pieces * p->n + at) * size;
            jn_isa.pair_loss[p->kind][p->dtype](p->x + off, p->t + off, block, s.n, p->beta);
            union {
                float f;
                double d;
            } sum;
            jn_isa.reduce[JN_RED_SUM][p->dtype](block, &sum, s, 0, 1, false);
            total += p->dtype == JANUS_F32 ? (double)sum.f : sum.d;
        }
        p->sums[i] = total;
    }
}

static void pair_loss(const jn_kargs *k, int kind, unsigned op, int64_t reduction, double beta) {
    const jn_view *x = &k->in[0], *t = &k->in[1], *y = &k->out[0];
    if (!jn_ew_plain(t, x) || !jn_ew_plain(x, t)) { /* one is broadcast */
        reference(k, op);
        return;
    }
    int64_t n = jn_numel(x), groups = reduction & JN_REDUCTION_ROWS ? x->dims[0] : 1;
    pairs p = {.kind = kind, .dtype = x->dtype, .beta = beta, .x = x->data, .t = t->data};
    reduction &= ~JN_REDUCTION_ROWS;
    if (reduction == JN_REDUCTION_NONE) {
        jn_isa.pair_loss[kind][x->dtype](x->data, t->data, y->data, n, beta);
        return;
    }
    p.n = groups ? n / groups : 0;
    p.pieces = (p.n + PIECE - 1) / PIECE;
    double few[FEW];
    p.sums =
        groups * p.pieces <= FEW ? few : jn_alloc((size_t)(groups * p.pieces) * sizeof(double));
    if (!p.sums) {
        *k->flags |= JN_KFLAG_MEMORY;
        return;
    }
    if (n >= 2 * PIECE)
        k->par->run(k->par, groups * p.pieces, GRAIN / (p.n + 1) + 1, pieces_range, &p);
    else
        pieces_range(&p, 0, groups * p.pieces);
    for (int64_t g = 0; g < groups; g++) {
        double total = 0;
        for (int64_t i = 0; i < p.pieces; i++)
            total += p.sums[g * p.pieces + i];
        store(y, g, reduction == JN_REDUCTION_MEAN ? total / (double)p.n : total);
    }
    if (p.sums != few)
        jn_free(p.sums);
}

static void mse_loss(const jn_kargs *k) {
    const janus_mse_loss_attrs *a = k->attrs;
    pair_loss(k, JN_PAIR_MSE, JN_OP_ID_mse_loss, a->reduction, 0);
}
static void bce_with_logits(const jn_kargs *k) {
    const janus_bce_with_logits_attrs *a = k->attrs;
    pair_loss(k, JN_PAIR_BCE, JN_OP_ID_bce_with_logits, a->reduction, 0);
}
static void smooth_l1(const jn_kargs *k) {
    const janus_smooth_l1_attrs *a = k->attrs;
    pair_loss(k, JN_PAIR_SMOOTH_L1, JN_OP_ID_smooth_l1, a->reduction, a->beta);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        int d = sig->out[0].dtype;                                                                 \
        return d == JANUS_F32 || d == JANUS_F64 ? name : jn_cpu_fallback(sig);                     \
    }
SELECT(cross_entropy)
SELECT(cross_entropy_grad)
SELECT(nll_loss)
SELECT(nll_loss_grad)
SELECT(mse_loss)
SELECT(bce_with_logits)
SELECT(smooth_l1)
