/* SPDX-License-Identifier: Apache-2.0 */
/* Reference kernels of softmax and losses. */
#include "config.h"

#include "ops/nn_rules.h"
#include "ops/ref/ref.h"

#include <math.h>

/* A line of values along an axis. */
typedef struct line {
    const jn_view *v;
    int64_t at, stride, n;
} line;
static double line_f(const line *l, int64_t i) { return jn_load_f(l->v, l->at + i * l->stride); }

/* log of the sum of exp over a line */
static double logsumexp(const line *l) {
    double m = -INFINITY, s = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double f = line_f(l, i);
        m = isnan(f) || f > m ? f : m;
    }
    if (isinf(m))
        return m;
    for (int64_t i = 0; i < l->n; i++)
        s += exp(line_f(l, i) - m);
    return log(s) + m;
}

static void softmax(const jn_kargs *k, bool logarithm) {
    const janus_softmax_attrs *a = k->attrs; /* log_softmax's is alike */
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    int64_t stride = jn_line_stride(y, axis);
    jn_walk w;
    jn_walk_lines(&w, x, axis);
    jn_walk_add_line(&w, y, axis);
    JN_WALK(&w) {
        line l = {x, w.off[0], jn_line_stride(x, axis), jn_line_size(x, axis)};
        double lse = logsumexp(&l);
        for (int64_t i = 0; i < l.n; i++) {
            double f = line_f(&l, i) - lse;
            jn_store_f(y, w.off[1] + i * stride, logarithm ? f : exp(f));
        }
    }
}
static void k_softmax(const jn_kargs *k) { softmax(k, false); }
static void k_log_softmax(const jn_kargs *k) { softmax(k, true); }

static void softmax_grad(const jn_kargs *k, bool logarithm) {
    const janus_softmax_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *y = &k->in[1], *dx = &k->out[0];
    int axis = jn_axis(a->axis, dx->rank);
    jn_walk w;
    jn_walk_lines(&w, dy, axis);
    jn_walk_add_line(&w, y, axis);
    jn_walk_add_line(&w, dx, axis);
    JN_WALK(&w) {
        line ld = {dy, w.off[0], jn_line_stride(dy, axis), jn_line_size(dy, axis)};
        line ly = {y, w.off[1], jn_line_stride(y, axis), ld.n};
        double s = 0;
        for (int64_t i = 0; i < ld.n; i++)
            s += logarithm ? line_f(&ld, i) : line_f(&ld, i) * line_f(&ly, i);
        for (int64_t i = 0; i < ld.n; i++)
            jn_store_f(dx, w.off[2] + i * jn_line_stride(dx, axis),
                       logarithm ? line_f(&ld, i) - exp(line_f(&ly, i)) * s
                                 : line_f(&ly, i) * (line_f(&ld, i) - s));
    }
}
static void k_softmax_grad(const jn_kargs *k) { softmax_grad(k, false); }
static void k_log_softmax_grad(const jn_kargs *k) { softmax_grad(k, true); }

/* ---- classification -----------------------------------------------------------------------------
 */

static int class_axis(const jn_view *x) { return x->rank == 1 ? 0 : 1; }

/* Where the loss of one row (a line of class scores) comes from and goes to. */
typedef struct row {
    line scores;
    int64_t target; /* class; with probabilities: unused */
    line probs;     /* probabilities, one a class */
    int64_t index;  /* of the row, in row-major order */
    bool by_class;  /* the target is a class, else probabilities */
    bool valid;     /* not ignored */
} row;

/* A walk over rows: slot 0 scores, slot 1 targets. */
static void rows_init(jn_walk *w, const jn_view *x, const jn_view *t) {
    int axis = class_axis(x);
    jn_walk_lines(w, x, axis);
    if (t->rank == x->rank && jn_is_float(t))
        jn_walk_add_line(w, t, axis);
    else
        jn_walk_add(w, t);
}

static row row_at(const jn_kargs *k, const jn_walk *w, const jn_view *x, const jn_view *t,
                  int64_t ignore_index, int64_t index) {
    int axis = class_axis(x);
    row r = {.scores = {x, w->off[0], jn_line_stride(x, axis), jn_line_size(x, axis)},
             .index = index,
             .by_class = !jn_is_float(t),
             .valid = true};
    if (!r.by_class) {
        r.probs = (line){t, w->off[1], jn_line_stride(t, axis), r.scores.n};
        return r;
    }
    r.target = jn_load_i(t, w->off[1]);
    if (r.target == ignore_index) {
        r.valid = false;
    } else if (r.target < 0 || r.target >= r.scores.n) {
        *k->flags |= JN_KFLAG_INDEX;
        r.valid = false;
    }
    return r;
}

/* Weight of class c in the target distribution. */
static double target_weight(const row *r, int64_t c, double smoothing) {
    double p = r->by_class ? c == r->target : line_f(&r->probs, c);
    return p * (1 - smoothing) + smoothing / (double)r->scores.n;
}

static double cross_entropy_row(const row *r, double smoothing) {
    double lse = logsumexp(&r->scores), loss = 0;
    if (r->by_class && smoothing == 0)
        return lse - line_f(&r->scores, r->target);
    for (int64_t c = 0; c < r->scores.n; c++)
        loss += target_weight(r, c, smoothing) * (lse - line_f(&r->scores, c));
    return loss;
}

/* Ignored rows do not count in the mean; nor is 0/0 hidden when all are. */
static int64_t count_valid(const jn_kargs *k, const jn_view *x, const jn_view *t, int64_t ignore) {
    int64_t n = 0;
    jn_walk w;
    rows_init(&w, x, t);
    JN_WALK(&w)
    n += row_at(k, &w, x, t, ignore, 0).valid;
    return n;
}

static void classify(const jn_kargs *k, int64_t reduction, int64_t ignore, double smoothing,
                     bool log_probs) {
    const jn_view *x = &k->in[0], *t = &k->in[1], *y = &k->out[0];
    double sum = 0;
    int64_t n = 0, index = 0;
    jn_walk w;
    rows_init(&w, x, t);
    JN_WALK(&w) {
        row r = row_at(k, &w, x, t, ignore, index++);
        double loss = 0;
        if (r.valid)
            loss = log_probs ? -line_f(&r.scores, r.target) : cross_entropy_row(&r, smoothing);
        sum += loss;
        n += r.valid;
        if (reduction == JN_REDUCTION_NONE)
            jn_store_f(y, r.index, loss);
    }
    if (reduction != JN_REDUCTION_NONE)
        jn_store_f(y, 0, reduction == JN_REDUCTION_MEAN ? sum / (double)n : sum);
}

static void k_cross_entropy(const jn_kargs *k) {
    const janus_cross_entropy_attrs *a = k->attrs;
    classify(k, a->reduction, a->ignore_index, a->label_smoothing, false);
}
static void k_nll_loss(const jn_kargs *k) {
    const janus_nll_loss_attrs *a = k->attrs;
    classify(k, a->reduction, a->ignore_index, 0, true);
}

/* dy of row `index`: one number, or one per row. */
static double row_dy(const jn_view *dy, const jn_walk *w, int64_t reduction, int64_t n_valid) {
    if (reduction == JN_REDUCTION_NONE)
        return jn_load_f(dy, jn_offset(dy, w->idx));
    double f = jn_load_f(dy, 0);
    return reduction == JN_REDUCTION_MEAN ? f / (double)n_valid : f;
}

static void k_cross_entropy_grad(const jn_kargs *k) {
    const janus_cross_entropy_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *x = &k->in[1], *t = &k->in[2], *dx = &k->out[0];
    int64_t n_valid = count_valid(k, x, t, a->ignore_index), index = 0;
    int64_t stride = jn_line_stride(dx, class_axis(x));
    jn_walk w;
    rows_init(&w, x, t);
    jn_walk_add_line(&w, dx, class_axis(x));
    JN_WALK(&w) {
        row r = row_at(k, &w, x, t, a->ignore_index, index++);
        double g = row_dy(dy, &w, a->reduction, n_valid), lse = logsumexp(&r.scores), total = 0;
        for (int64_t c = 0; c < r.scores.n; c++)
            total += r.valid ? target_weight(&r, c, a->label_smoothing) : 0;
        for (int64_t c = 0; c < r.scores.n; c++) {
            double p = exp(line_f(&r.scores, c) - lse);
            double d = total * p - target_weight(&r, c, a->label_smoothing);
            jn_store_f(dx, w.off[2] + c * stride, r.valid ? g * d : 0);
        }
    }
}

static void k_nll_loss_grad(const jn_kargs *k) {
    const janus_nll_loss_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *t = &k->in[1], *dx = &k->out[0];
    int64_t n_valid = count_valid(k, dx, t, a->ignore_index), index = 0;
    jn_walk w;
    jn_zero(dx);
    rows_init(&w, dx, t);
    JN_WALK(&w) {
        row r = row_at(k, &w, dx, t, a->ignore_index, index++);
        if (r.valid)
            jn_store_f(dx, w.off[0] + r.target * r.scores.stride,
                       -row_dy(dy, &w, a->reduction, n_valid));
    }
}

/* ---- losses of pairs ----------------------------------------------------------------------------
 */

typedef double (*pair_fn)(double x, double t, double beta);

static double mse_pair(double x, double t, double beta) {
    (void)beta;
    return (x - t) * (x - t);
}
static double bce_pair(double x, double t, double beta) {
    (void)beta;
    return (x > 0 ? x : 0) - x * t + log1p(exp(-fabs(x)));
}
static double smooth_l1_pair(double x, double t, double beta) {
    double d = fabs(x - t);
    return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
}

static void pair_loss(const jn_kargs *k, pair_fn fn, int64_t reduction, double beta) {
    const jn_view *x = &k->in[0], *t = &k->in[1], *y = &k->out[0];
    int rank = x->rank > t->rank ? x->rank : t->rank;
    int64_t dims[JN_MAX_RANK], at = 0;
    double sum = 0;
    for (int i = 0; i < rank; i++) {
        int ix = i - (rank - x->rank), it = i - (rank - t->rank);
        dims[i] = ix < 0 || x->dims[ix] == 1 ? (it < 0 ? 1 : t->dims[it]) : x->dims[ix];
    }
    jn_walk w;
    jn_walk_init(&w, rank, dims);
    jn_walk_add(&w, x);
    jn_walk_add(&w, t);
    int64_t n = w.left;
    JN_WALK(&w) {
        double loss = fn(jn_load_f(x, w.off[0]), jn_load_f(t, w.off[1]), beta);
        sum += loss;
        if (reduction == JN_REDUCTION_NONE)
            jn_store_f(y, at++, loss);
    }
    if (reduction != JN_REDUCTION_NONE)
        jn_store_f(y, 0, reduction == JN_REDUCTION_MEAN ? sum / (double)n : sum);
}

static void k_mse_loss(const jn_kargs *k) {
    pair_loss(k, mse_pair, ((const janus_mse_loss_attrs *)k->attrs)->reduction, 0);
}
static void k_bce_with_logits(const jn_kargs *k) {
    pair_loss(k, bce_pair, ((const janus_bce_with_logits_attrs *)k->attrs)->reduction, 0);
}
static void k_smooth_l1(const jn_kargs *k) {
    const janus_smooth_l1_attrs *a = k->attrs;
    pair_loss(k, smooth_l1_pair, a->reduction, a->beta);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(softmax)
SELECT(log_softmax)
SELECT(softmax_grad)
SELECT(log_softmax_grad)

/* The losses, where batch rules ask for one per row; a cotangent without dims is that of all. */
#define SELECT_ROWS(name, rowed)                                                                   \
    static void rows_##name(const jn_kargs *k) {                                                   \
        janus_##name##_attrs a = *(const janus_##name##_attrs *)k->attrs;                          \
        if (!(a.reduction & JN_REDUCTION_ROWS)) {                                                  \
            k_##name(k);                                                                           \
            return;                                                                                \
        }                                                                                          \
        a.reduction &= ~(int64_t)JN_REDUCTION_ROWS;                                                \
        jn_each_row(k, &a, k->in[0].rank == 0 ? (rowed) & ~1U : (rowed), k_##name);                \
    }                                                                                              \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return rows_##name;                                                                        \
    }
SELECT_ROWS(cross_entropy, 3)
SELECT_ROWS(cross_entropy_grad, 7)
SELECT_ROWS(nll_loss, 3)
SELECT_ROWS(nll_loss_grad, 3)
SELECT_ROWS(mse_loss, 3)
SELECT_ROWS(bce_with_logits, 3)
SELECT_ROWS(smooth_l1, 3)
