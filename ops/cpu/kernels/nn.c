/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax, cross entropy and layer normalisation: rows for the kernels of isa_nn.c.
 *
 * Along another axis than the last a line is gathered, computed as a row and put back, so the axis
 * does not change the bits.  Targets given as probabilities or smoothed go to the reference
 * kernels.
 */
#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/nn_rules.h"
#include "ops/rules.h"

enum {
    GRAIN = 8192,
    LINE = 8192, /* bytes of a gathered line on the stack */
    PLANES = 64  /* of a channel, whose moments are on the stack */
};

static jn_oni split_at(const jn_view *v, int64_t axis) {
    jn_oni s = {1, 1, 1};
    axis = axis < 0 ? axis + v->rank : axis;
    for (int d = 0; d < v->rank; d++)
        *(d < axis ? &s.outer : d == axis ? &s.n : &s.inner) *= v->dims[d];
    return s;
}

static void gather_line(char *to, const char *from, jn_oni s, size_t size) {
    for (int64_t i = 0; i < s.n; i++)
        memcpy(to + (size_t)i * size, from + (size_t)(i * s.inner) * size, size);
}
static void scatter_line(char *to, const char *from, jn_oni s, size_t size) {
    for (int64_t i = 0; i < s.n; i++)
        memcpy(to + (size_t)(i * s.inner) * size, from + (size_t)i * size, size);
}

typedef struct lines {
    const jn_kargs *k;
    jn_oni s;
    bool logarithm;
    unsigned n_in; /* 1: softmax of in[0]; 2: its gradient */
} lines;

static void lines_range(void *arg, int64_t begin, int64_t end) {
    const lines *l = arg;
    int d = l->k->out[0].dtype;
    size_t size = jn_elem_size(d), line_bytes = (size_t)l->s.n * size;
    _Alignas(64) char stack[3 * LINE];
    char *work = stack;
    if (l->s.inner > 1 && line_bytes > LINE) {
        work = jn_alloc_aligned(3 * line_bytes);
        if (!work) {
            __atomic_fetch_or(l->k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
            return;
        }
    }
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)(i / l->s.inner * l->s.n * l->s.inner + i % l->s.inner) * size;
        const char *in[2] = {(const char *)l->k->in[0].data + at, NULL};
        char *out = (char *)l->k->out[0].data + at, *to = out;
        if (l->n_in == 2)
            in[1] = (const char *)l->k->in[1].data + at;
        if (l->s.inner > 1) {
            for (unsigned j = 0; j < l->n_in; j++) {
                gather_line(work + j * line_bytes, in[j], l->s, size);
                in[j] = work + j * line_bytes;
            }
            to = work + 2 * line_bytes;
        }
        if (l->n_in == 2)
            jn_isa.softmax_grad[d](in[0], in[1], to, l->s.n, l->logarithm);
        else
            jn_isa.softmax[d](in[0], to, l->s.n, l->logarithm);
        if (l->s.inner > 1)
            scatter_line(out, to, l->s, size);
    }
    if (work != stack)
        jn_free_aligned(work);
}

/* Softmax and its gradient where a line has few elements: so many lines at once. */
enum { LINES = 64 };

static void few_lines(const lines *l, const void *const *in, int64_t n, void *to) {
    int d = l->k->out[0].dtype;
    if (l->n_in == 2)
        jn_isa.few_grad[d](in[0], in[1], n, l->s.n, to);
    else
        jn_isa.few_classes[d](in[0], n, l->s.n, NULL, to);
}

static void few_lines_range(void *arg, int64_t begin, int64_t end) {
    const lines *l = arg;
    size_t size = jn_elem_size(l->k->out[0].dtype), line = (size_t)l->s.n * size;
    char *out = l->k->out[0].data;
    const void *in[2] = {NULL, NULL};
    if (l->s.inner == 1) {
        for (unsigned j = 0; j < l->n_in; j++)
            in[j] = (const char *)l->k->in[j].data + (size_t)begin * line;
        few_lines(l, in, end - begin, out + (size_t)begin * line);
        return;
    }
    _Alignas(64) char work[3][LINES * JN_FEW * sizeof(double)];
    for (; begin < end; begin += LINES) {
        int64_t n = end - begin < LINES ? end - begin : LINES;
        size_t at[LINES];
        for (int64_t i = 0; i < n; i++)
            at[i] = (size_t)((begin + i) / l->s.inner * l->s.n * l->s.inner +
                             (begin + i) % l->s.inner) *
                    size;
        for (unsigned j = 0; j < l->n_in; j++) {
            in[j] = work[j];
            for (int64_t i = 0; i < n; i++)
                gather_line(work[j] + (size_t)i * line, (const char *)l->k->in[j].data + at[i],
                            l->s, size);
        }
        few_lines(l, in, n, work[2]);
        for (int64_t i = 0; i < n; i++)
            scatter_line(out + at[i], work[2] + (size_t)i * line, l->s, size);
    }
}

static void run_lines(const jn_kargs *k, int64_t axis, bool logarithm, unsigned n_in) {
    lines l = {k, split_at(&k->out[0], axis), logarithm, n_in};
    int64_t items = l.s.outer * l.s.inner;
    bool few = !logarithm && l.s.n > 0 && l.s.n <= JN_FEW;
    if (items * l.s.n >= 2 * GRAIN)
        k->par->run(k->par, items, GRAIN / (l.s.n + 1) + 1, few ? few_lines_range : lines_range,
                    &l);
    else if (few)
        few_lines_range(&l, 0, items);
    else
        lines_range(&l, 0, items);
}

static void softmax(const jn_kargs *k) {
    run_lines(k, ((const janus_softmax_attrs *)k->attrs)->axis, false, 1);
}
static void log_softmax(const jn_kargs *k) {
    run_lines(k, ((const janus_log_softmax_attrs *)k->attrs)->axis, true, 1);
}

/* The gradient rows broadcast their operands; kernels are for equal ones. */
static bool same_dims(const jn_kargs *k) {
    return jn_ew_plain(&k->in[0], &k->out[0]) && jn_ew_plain(&k->in[1], &k->out[0]) &&
           k->in[0].rank == k->out[0].rank && k->in[1].rank == k->out[0].rank;
}
static void reference(const jn_kargs *k, unsigned op) {
    jn_sig sig = {&jn_ops[op], k->in, k->out, k->n_in, k->n_out, k->attrs};
    jn_kernel_fn f = jn_op_impls[op].ref(&sig);
    f(k);
}
static void softmax_grad(const jn_kargs *k) {
    if (same_dims(k))
        run_lines(k, ((const janus_softmax_grad_attrs *)k->attrs)->axis, false, 2);
    else
        reference(k, JN_OP_ID_softmax_grad);
}
static void log_softmax_grad(const jn_kargs *k) {
    if (same_dims(k))
        run_lines(k, ((const janus_log_softmax_grad_attrs *)k->attrs)->axis, true, 2);
    else
        reference(k, JN_OP_ID_log_softmax_grad);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(softmax)
SELECT(log_softmax)
SELECT(softmax_grad)
SELECT(log_softmax_grad)

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

/* ---- layer normalisation
 * --------------------------------------------------------------------------
 */

typedef struct norm {
    const jn_kargs *k;
    int64_t n;
    double eps;
    const void *w, *b;
} norm;

static void norm_range(void *arg, int64_t begin, int64_t end) {
    const norm *j = arg;
    int d = j->k->in[0].dtype;
    size_t size = jn_elem_size(d);
    double mean[2], m2[2];
    for (int64_t i = begin, which = 0; i < end; i++, which ^= 1) {
        size_t at = (size_t)(i * j->n) * size;
        const char *x = (const char *)j->k->in[0].data + at;
        if (which == 0 && i + 1 < end && d == JANUS_F32)
            jn_isa.moments_of_two((const float *)(const void *)x,
                                  (const float *)(const void *)x + j->n, j->n, mean, m2);
        else if (which == 0 || d != JANUS_F32)
            m2[which] = jn_isa.moments[d](x, j->n, &mean[which]);
        double invstd = 1.0 / sqrt(m2[which] / (double)j->n + j->eps);
        jn_isa.affine[d](x, j->w, j->b, (char *)j->k->out[0].data + at, j->n, mean[which], invstd);
        store(&j->k->out[1], i, mean[which]);
        store(&j->k->out[2], i, invstd);
    }
}

static bool present(const jn_kargs *k, unsigned i) { return i < k->n_in && k->in[i].rank >= 0; }

static void layer_norm(const jn_kargs *k) {
    const janus_layer_norm_attrs *a = k->attrs;
    jn_oni s = split_at(&k->in[0], a->axis);
    norm j = {.k = k, .n = s.n * s.inner, .eps = a->eps};
    if (j.n == 0)
        return;
    j.w = present(k, 1) ? k->in[1].data : NULL;
    j.b = present(k, 2) ? k->in[2].data : NULL;
    if (s.outer * j.n >= 2 * GRAIN)
        k->par->run(k->par, s.outer, GRAIN / (j.n + 1) + 1, norm_range, &j);
    else
        norm_range(&j, 0, s.outer);
}

SELECT(layer_norm)

/* dweight and dbias are sums over rows, in order; where frames are batched, each has its own. */
static void layer_norm_grad(const jn_kargs *k) {
    const janus_layer_norm_grad_attrs *a = k->attrs;
    jn_oni s = split_at(&k->in[1], a->axis);
    int d = k->in[0].dtype, rank = k->in[1].rank;
    int64_t n = s.n * s.inner, axis = a->axis < 0 ? a->axis + rank : a->axis;
    int64_t frames = k->out[1].rank > rank - axis ? k->out[1].dims[0] : 1;
    int64_t each = frames > 0 ? s.outer / frames : 0;
    size_t row = (size_t)n * jn_elem_size(d);
    memset(k->out[1].data, 0, row * (size_t)frames);
    memset(k->out[2].data, 0, row * (size_t)frames);
    for (int64_t i = 0; i < s.outer && n > 0; i++) {
        size_t at = (size_t)i * row, sum = (size_t)(i / each) * row;
        jn_isa.layer_norm_grad[d]((const char *)k->in[0].data + at,
                                  (const char *)k->in[1].data + at,
                                  present(k, 2) ? k->in[2].data : NULL, (char *)k->out[0].data + at,
                                  (char *)k->out[1].data + sum, (char *)k->out[2].data + sum, n,
                                  load(&k->in[3], i), load(&k->in[4], i));
    }
}
SELECT(layer_norm_grad)

/* ---- batch normalisation: planes of [N,C,...] ---------------------------------------------------
 */

typedef struct planes {
    const jn_kargs *k;
    int dtype;
    int64_t n, c, m; /* m elements per plane */
    size_t bytes;    /* of a plane */
} planes;

static planes planes_of(const jn_kargs *k, const jn_view *x) {
    planes p = {.k = k, .dtype = x->dtype, .n = x->dims[0], .c = x->dims[1], .m = 1};
    for (int d = 2; d < x->rank; d++)
        p.m *= x->dims[d];
    p.bytes = (size_t)p.m * jn_elem_size(p.dtype);
    return p;
}
static double param(const jn_kargs *k, unsigned i, int64_t c, double otherwise) {
    return present(k, i) ? load(&k->in[i], c) : otherwise;
}

/* Of a plane: its mean, and the sum of squared distances from it. */
typedef struct moments {
    double mean, m2;
} moments;

/* Mean and variance of a channel, from those of its planes, which each are read once.  The order of
 * the sums is that of planes. */
static void channel_moments(const planes *p, int64_t c, moments *of, double *mean, double *var) {
    double sum = 0, m2 = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const char *x = (const char *)p->k->in[0].data + (size_t)(i * p->c + c) * p->bytes;
        of[i].m2 = jn_isa.moments[p->dtype](x, p->m, &of[i].mean);
        sum += of[i].mean;
    }
    *mean = sum / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) {
        m2 += of[i].m2;
        m2 += (double)p->m * (of[i].mean - *mean) * (of[i].mean - *mean);
    }
    *var = m2 / ((double)p->n * (double)p->m);
}

/* y = (x - mean) * scale + shift of a channel. */
typedef struct channel_norm {
    double mean, scale, shift;
} channel_norm;

/* Stores what a gradient needs of them. */
static channel_norm norm_of(const jn_kargs *k, int64_t c, double mean, double var) {
    double invstd = 1 / sqrt(var + ((const janus_batch_norm_attrs *)k->attrs)->eps);
    store(&k->out[1], c, mean);
    store(&k->out[2], c, invstd);
    return (channel_norm){mean, invstd * param(k, 1, c, 1), param(k, 2, c, 0)};
}

static void batch_norm_range(void *arg, int64_t begin, int64_t end) {
    const planes *p = arg;
    const jn_kargs *k = p->k;
    const janus_batch_norm_attrs *a = k->attrs;
    moments stack[PLANES], *of = stack;
    if (a->training && p->n > PLANES) {
        of = jn_alloc_aligned((size_t)p->n * sizeof *of);
        if (!of) {
            __atomic_fetch_or(k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
            return;
        }
    }
    for (int64_t c = begin; c < end; c++) {
        double mean = param(k, 3, c, 0), var = param(k, 4, c, 1);
        if (a->training)
            channel_moments(p, c, of, &mean, &var);
        channel_norm f = norm_of(k, c, mean, var);
        for (int64_t i = 0; i < p->n; i++) {
            size_t at = (size_t)(i * p->c + c) * p->bytes;
            jn_isa.scale_shift[p->dtype]((const char *)k->in[0].data + at,
                                         (char *)k->out[0].data + at, p->m, f.mean, f.scale,
                                         f.shift);
        }
    }
    if (of != stack)
        jn_free_aligned(of);
}

/* A channel's gradient is p * dy + q * x + r. */
typedef struct channel_grad {
    double p, q, r;
} channel_grad;

/* Of the sums of dy and of dy * (x - mean); stores those of the weight and the bias. */
static channel_grad grad_of(const planes *p, int64_t c, double s, double sx) {
    const jn_kargs *k = p->k;
    bool training = ((const janus_batch_norm_grad_attrs *)k->attrs)->training;
    double mean = load(&k->in[3], c), invstd = load(&k->in[4], c), n = (double)p->n * (double)p->m;
    store(&k->out[1], c, sx * invstd);
    store(&k->out[2], c, s);
    channel_grad g = {.p = param(k, 2, c, 1) * invstd};
    g.q = training ? -g.p * sx * invstd * invstd / n : 0;
    g.r = training ? -g.p * s / n - g.q * mean : 0;
    return g;
}

static void batch_norm_grad_range(void *arg, int64_t begin, int64_t end) {
    const planes *p = arg;
    const jn_kargs *k = p->k;
    for (int64_t c = begin; c < end; c++) {
        double mean = load(&k->in[3], c), s = 0, sx = 0, a, b;
        for (int64_t i = 0; i < p->n; i++) {
            size_t at = (size_t)(i * p->c + c) * p->bytes;
            jn_isa.dots[p->dtype]((const char *)k->in[0].data + at,
                                  (const char *)k->in[1].data + at, p->m, mean, &a, &b);
            s += a;
            sx += b;
        }
        channel_grad g = grad_of(p, c, s, sx);
        for (int64_t i = 0; i < p->n; i++) {
            size_t at = (size_t)(i * p->c + c) * p->bytes;
            jn_isa.combine[p->dtype]((const char *)k->in[0].data + at,
                                     (const char *)k->in[1].data + at, (char *)k->out[0].data + at,
                                     p->m, g.p, g.q, g.r);
        }
    }
}

/* Of small planes those of a channel are put together, in order, since each call of a row's kernel
 * costs more than a few elements do. */
enum { SMALL_PLANE = 32, SMALL_CHANNEL = 2048 };
typedef union channel_room {
    _Alignas(64) float f[SMALL_CHANNEL];
    double d[SMALL_CHANNEL];
} channel_room;

static bool is_small(const planes *p) {
    return p->m <= SMALL_PLANE && p->n > 1 && p->n * p->m <= SMALL_CHANNEL;
}

/* n pieces of `bytes`, apart and together; sizes that the compiler knows are no calls. */
static void move_pieces(char *to, size_t to_step, const char *from, size_t from_step, int64_t n,
                        size_t bytes) {
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
        if (bytes == 4)
            memcpy(to, from, 4);
        else if (bytes == 16)
            memcpy(to, from, 16);
        else if (bytes == 64)
            memcpy(to, from, 64);
        else
            memcpy(to, from, bytes);
}
static void together(const planes *p, unsigned operand, int64_t c, channel_room *room) {
    size_t step = (size_t)p->c * p->bytes;
    move_pieces((char *)room, p->bytes, (const char *)p->k->in[operand].data + (size_t)c * p->bytes,
                step, p->n, p->bytes);
}
static void apart(const planes *p, int64_t c, const channel_room *room) {
    size_t step = (size_t)p->c * p->bytes;
    move_pieces((char *)p->k->out[0].data + (size_t)c * p->bytes, step, (const char *)room,
                p->bytes, p->n, p->bytes);
}

static void small_range(void *arg, int64_t begin, int64_t end) {
    const planes *p = arg;
    const jn_kargs *k = p->k;
    const janus_batch_norm_attrs *a = k->attrs;
    int64_t n = p->n * p->m;
    channel_room x, y;
    for (int64_t c = begin; c < end; c++) {
        double mean = param(k, 3, c, 0), var = param(k, 4, c, 1);
        together(p, 0, c, &x);
        if (a->training)
            var = jn_isa.moments[p->dtype](&x, n, &mean) / (double)n;
        channel_norm f = norm_of(k, c, mean, var);
        jn_isa.scale_shift[p->dtype](&x, &y, n, f.mean, f.scale, f.shift);
        apart(p, c, &y);
    }
}

static void small_grad_range(void *arg, int64_t begin, int64_t end) {
    const planes *p = arg;
    int64_t n = p->n * p->m;
    channel_room d, x, y;
    for (int64_t c = begin; c < end; c++) {
        double s, sx;
        together(p, 0, c, &d);
        together(p, 1, c, &x);
        jn_isa.dots[p->dtype](&d, &x, n, load(&p->k->in[3], c), &s, &sx);
        channel_grad g = grad_of(p, c, s, sx);
        jn_isa.combine[p->dtype](&d, &x, &y, n, g.p, g.q, g.r);
        apart(p, c, &y);
    }
}

static void run_channels(planes *p, jn_range_fn body) {
    int64_t each = p->n * p->m;
    if (each * p->c >= 2 * GRAIN)
        p->k->par->run(p->k->par, p->c, GRAIN / (each + 1) + 1, body, p);
    else
        body(p, 0, p->c);
}
static void batch_norm(const jn_kargs *k) {
    planes p = planes_of(k, &k->in[0]);
    run_channels(&p, is_small(&p) ? small_range : batch_norm_range);
}
static void batch_norm_grad(const jn_kargs *k) {
    planes p = planes_of(k, &k->in[1]);
    run_channels(&p, is_small(&p) ? small_grad_range : batch_norm_grad_range);
}
SELECT(batch_norm)
SELECT(batch_norm_grad)
