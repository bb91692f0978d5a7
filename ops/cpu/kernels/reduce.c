/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: which dims go, merged into runs, and the runs handed to the kernels of
 * isa_reduce.c as [outer, n, inner].
 *
 * Reduced dims in several runs (dims 0, 2, 3 of NCHW) are done run by run from the last, through
 * temporaries; what has no such form (several runs of var, norm, logsumexp) goes to the reference
 * kernels.  One very long row is cut into pieces of a fixed size, so that threads can share it;
 * the pieces, and so the result, do not depend on how many threads there are.
 */
#include "ops/reduce_attrs.h"

#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"
#include "ops/steps.h"

enum { GRAIN = 32768, PIECE = 65536 };

/* Runs of dims alternately kept and reduced, sizes of 1 left out. */
typedef struct runs {
    int n;
    int64_t size[JN_MAX_RANK + 1];
    bool reduced[JN_MAX_RANK + 1];
    int n_reduced;
} runs;

static void add_dim(runs *r, int64_t size, bool reduced) {
    if (size == 1)
        return;
    if (r->n > 0 && r->reduced[r->n - 1] == reduced) {
        r->size[r->n - 1] *= size;
        return;
    }
    r->size[r->n] = size;
    r->reduced[r->n++] = reduced;
    r->n_reduced += reduced;
}

static runs runs_of_dims(const jn_view *x, janus_ints dims) {
    runs r = {.n = 0};
    bool set[JN_MAX_RANK] = {false};
    for (size_t i = 0; i < dims.n && x->rank > 0; i++)
        set[dims.data[i] < 0 ? dims.data[i] + x->rank : dims.data[i]] = true;
    for (int d = 0; d < x->rank; d++)
        add_dim(&r, x->dims[d], dims.n == 0 || set[d]);
    return r;
}

/* The last reduced run: [outer, n, inner]. */
static jn_oni last_run(const runs *r) {
    jn_oni s = {1, 1, 1};
    int at = r->n - 1;
    for (; at >= 0 && !r->reduced[at]; at--)
        s.inner *= r->size[at];
    if (at >= 0)
        s.n = r->size[at];
    for (int d = 0; d < at; d++)
        s.outer *= r->size[d];
    return s;
}

static void drop_last_run(runs *r) {
    runs left = {.n = 0};
    int at = r->n - 1;
    while (!r->reduced[at])
        at--;
    for (int d = 0; d < r->n; d++)
        if (d != at)
            add_dim(&left, r->size[d], r->reduced[d]);
    *r = left;
}

typedef struct job {
    int op, dtype, out_dtype;
    jn_oni s;
    const void *x;
    void *out;
    bool accumulate;
} job;

static void job_range(void *arg, int64_t begin, int64_t end) {
    const job *j = arg;
    jn_isa.reduce[j->op][j->dtype](j->x, j->out, j->s, begin, end, j->accumulate);
}

static void pieces_range(void *arg, int64_t begin, int64_t end) {
    const job *j = arg; /* out: one partial result per piece */
    for (int64_t i = begin; i < end; i++) {
        jn_oni s = {1, j->s.n - i * PIECE < PIECE ? j->s.n - i * PIECE : PIECE, 1};
        const char *x = (const char *)j->x + i * PIECE * (int64_t)jn_elem_size(j->dtype);
        char *out = (char *)j->out + i * (int64_t)jn_elem_size(j->out_dtype);
        jn_isa.reduce[j->op][j->dtype](x, out, s, 0, 1, false);
    }
}

static bool run_job(const jn_kargs *k, job *j) {
    int64_t items = j->s.inner == 1 ? j->s.outer : j->s.outer * j->s.inner;
    if (items == 1 && j->s.n >= 2 * PIECE) {
        int64_t pieces = (j->s.n + PIECE - 1) / PIECE;
        job part = *j;
        part.out = jn_alloc_aligned((size_t)pieces * jn_elem_size(j->out_dtype));
        if (!part.out)
            return false;
        k->par->run(k->par, pieces, 1, pieces_range, &part);
        jn_oni s = {1, pieces, 1};
        jn_isa.reduce[j->op][j->out_dtype](part.out, j->out, s, 0, 1, j->accumulate);
        jn_free_aligned(part.out);
        return true;
    }
    if (items * j->s.n >= 2 * GRAIN && items > 1 && k->par->threads > 1) {
        int64_t grain = GRAIN / (j->s.n + 1) + 1;
        if (j->s.inner > 1 && grain < 64)
            grain = 64; /* whole tiles of columns */
        k->par->run(k->par, items, grain, job_range, j);
    } else {
        job_range(j, 0, items);
    }
    return true;
}

static void reduce_runs(const jn_kargs *k, int op, runs r) {
    job j = {.op = op,
             .dtype = k->in[0].dtype,
             .out_dtype = k->out[0].dtype,
             .x = k->in[0].data,
             .accumulate = k->accumulate};
    void *temp = NULL;
    while (r.n_reduced > 1) {
        j.s = last_run(&r);
        job part = j;
        part.accumulate = false;
        part.out =
            jn_alloc_aligned((size_t)(j.s.outer * j.s.inner + 1) * jn_elem_size(j.out_dtype));
        bool ok = part.out && run_job(k, &part);
        jn_free_aligned(temp);
        temp = part.out;
        if (!ok) {
            *k->flags |= JN_KFLAG_MEMORY;
            jn_free_aligned(temp);
            return;
        }
        j.x = temp;
        j.dtype = j.out_dtype;
        drop_last_run(&r);
    }
    j.s = last_run(&r);
    j.out = k->out[0].data;
    if (!run_job(k, &j))
        *k->flags |= JN_KFLAG_MEMORY;
    jn_free_aligned(temp);
}

static void reference(const jn_kargs *k, unsigned op) {
    jn_sig sig = {&jn_ops[op], k->in, k->out, k->n_in, k->n_out, k->attrs};
    jn_kernel_fn f = jn_op_impls[op].ref(&sig);
    f(k);
}

static int64_t reduced_count(const jn_view *x, janus_ints dims) {
    runs r = runs_of_dims(x, dims);
    int64_t n = 1;
    for (int i = 0; i < r.n; i++)
        n *= r.reduced[i] ? r.size[i] : 1;
    return n;
}

static janus_ints dims_of(const jn_kargs *k) {
    return ((const janus_sum_attrs *)k->attrs)->dims; /* every such row begins so */
}

#define PLAIN(name, OP, id)                                                                        \
    static void name(const jn_kargs *k) { reduce_runs(k, OP, runs_of_dims(&k->in[0], dims_of(k))); }
PLAIN(sum, JN_RED_SUM, sum)
PLAIN(prod, JN_RED_PROD, prod)
PLAIN(any, JN_RED_ANY, any)
PLAIN(all, JN_RED_ALL, all)

static void max_or_min(const jn_kargs *k, int red, unsigned op) {
    if (reduced_count(&k->in[0], dims_of(k)) == 0)
        reference(k, op);
    else
        reduce_runs(k, red, runs_of_dims(&k->in[0], dims_of(k)));
}
static void max(const jn_kargs *k) { max_or_min(k, JN_RED_MAX, JN_OP_ID_max); }
static void min(const jn_kargs *k) { max_or_min(k, JN_RED_MIN, JN_OP_ID_min); }

static void mean(const jn_kargs *k) {
    sum(k);
    int64_t n = jn_numel(&k->out[0]);
    double by = (double)reduced_count(&k->in[0], dims_of(k));
    for (int64_t i = 0; i < n; i++)
        if (k->out[0].dtype == JANUS_F32)
            ((float *)k->out[0].data)[i] = (float)(((float *)k->out[0].data)[i] / by);
        else
            ((double *)k->out[0].data)[i] /= by;
}

/* ---- sums block by block: ops/steps.h ----------------------------------------------------------
 */

bool jn_sum_knows(const jn_sig *sig) {
    return (sig->op->id == JN_OP_ID_sum || sig->op->id == JN_OP_ID_mean) && sig->n_in == 1 &&
           sig->n_out == 1 && sig->in[0].dtype == JANUS_F32 && sig->out[0].dtype == JANUS_F32 &&
           sig->in[0].contiguous && jn_numel(&sig->out[0]) == 1 && jn_numel(&sig->in[0]) > 1;
}

float jn_sum_block(const float *x, int64_t n) {
    float sum;
    jn_isa.reduce[JN_RED_SUM][JANUS_F32](x, &sum, (jn_oni){1, n, 1}, 0, 1, false);
    return sum;
}

/* Blocks are added in double, a long row's piece by piece: see run_job. */
void jn_sum_finish(const jn_op *op, const float *blocks, int64_t numel, float *to) {
    int64_t n = (numel + JN_SUM_AT_ONCE - 1) / JN_SUM_AT_ONCE, m = 0;
    int64_t of_piece = numel < 2 * PIECE ? n : PIECE / JN_SUM_AT_ONCE;
    float piece[JN_SUM_AT_ONCE], sum;
    double total = 0;
    for (int64_t i = 0; i < n; i += of_piece) {
        double part = 0;
        for (int64_t k = i; k < n && k < i + of_piece; k++)
            part += (double)blocks[k];
        piece[m++] = (float)part;
        if (m == JN_SUM_AT_ONCE || i + of_piece >= n) {
            total += (double)jn_sum_block(piece, m);
            m = 0;
        }
    }
    sum = (float)total;
    *to = op->id == JN_OP_ID_mean ? (float)(sum / (double)numel) : sum;
}

/* What takes a line at a time; lines that are not rows of the memory are copied to one first. */
typedef struct row_job {
    const jn_kargs *k;
    jn_oni s;
    double param;
    unsigned op;
} row_job;

static double norm_of(int d, const char *x, int64_t n, double p) {
    double sum = 0, sum_xx;
    if (p == 2) {
        jn_isa.dots[d](x, x, n, 0, &sum, &sum_xx);
        return sqrt(sum_xx);
    }
    for (int64_t i = 0; i < n; i++) {
        double a = fabs(d == JANUS_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i]);
        if (isinf(p))
            sum = !(a <= sum) && !isnan(sum) ? a : sum;
        else
            sum += p == 1 ? a : p == 0 ? (double)(a != 0) : pow(a, p);
    }
    return p == 1 || p == 0 || isinf(p) ? sum : pow(sum, 1 / p);
}

static void row_range(void *arg, int64_t begin, int64_t end) {
    const row_job *j = arg;
    int d = j->k->in[0].dtype;
    size_t size = jn_elem_size(d);
    char *line = NULL;
    if (j->s.inner > 1 && !(line = jn_alloc((size_t)j->s.n * size))) {
        __atomic_fetch_or(j->k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const char *x = (const char *)j->k->in[0].data +
                        (size_t)(i / j->s.inner * j->s.n * j->s.inner + i % j->s.inner) * size;
        for (int64_t e = 0; line && e < j->s.n; e++)
            memcpy(line + (size_t)e * size, x + (size_t)(e * j->s.inner) * size, size);
        x = line ? line : x;
        double m, r;
        if (j->op == JN_OP_ID_var) {
            double by = (double)j->s.n - j->param;
            r = jn_isa.moments[d](x, j->s.n, &m) / (by > 0 ? by : 0);
        } else if (j->op == JN_OP_ID_norm) {
            r = norm_of(d, x, j->s.n, j->param);
        } else {
            r = jn_isa.logsumexp[d](x, j->s.n);
        }
        if (d == JANUS_F32)
            ((float *)j->k->out[0].data)[i] = (float)r;
        else
            ((double *)j->k->out[0].data)[i] = r;
    }
    jn_free(line);
}

static void lines_or_reference(const jn_kargs *k, unsigned op) {
    jn_reduce_attrs a = jn_reduce_attrs_of(&jn_ops[op], k->attrs);
    runs r = runs_of_dims(&k->in[0], a.dims);
    row_job j = {k, last_run(&r), a.param, op};
    /* a negative infinity asks for the smallest, which few do */
    if (r.n_reduced > 1 || j.s.n == 0 || (op == JN_OP_ID_norm && a.param < 0)) {
        reference(k, op);
        return;
    }
    int64_t items = j.s.outer * j.s.inner;
    if (items * j.s.n >= 2 * GRAIN)
        k->par->run(k->par, items, GRAIN / (j.s.n + 1) + 1, row_range, &j);
    else
        row_range(&j, 0, items);
}
static void norm(const jn_kargs *k) { lines_or_reference(k, JN_OP_ID_norm); }
static void var(const jn_kargs *k) { lines_or_reference(k, JN_OP_ID_var); }
static void logsumexp(const jn_kargs *k) { lines_or_reference(k, JN_OP_ID_logsumexp); }

jn_kernel_fn jn_cpu_reduce(const jn_sig *sig) {
    switch (sig->op->id) {
    case JN_OP_ID_sum:
        return sum;
    case JN_OP_ID_mean:
        return mean;
    case JN_OP_ID_prod:
        return prod;
    case JN_OP_ID_max:
        return max;
    case JN_OP_ID_min:
        return min;
    case JN_OP_ID_any:
        return any;
    case JN_OP_ID_all:
        return all;
    case JN_OP_ID_var:
        return var;
    case JN_OP_ID_logsumexp:
        return logsumexp;
    case JN_OP_ID_norm:
        return norm;
    default:
        return jn_cpu_fallback(sig);
    }
}

/* ---- cumsum -------------------------------------------------------------------------------------
 */

enum { COLUMNS = 64 }; /* running sums held at a time */

typedef struct running {
    const jn_kargs *k;
    jn_oni s;
    bool reverse;
} running;

/* Lines side by side, so that columns go along the memory; f32 is summed in double. */
#define RUNNING(T, R, A)                                                                           \
    static void running_##T(const running *j, int64_t line, int64_t m) {                           \
        const T *x = j->k->in[0].data;                                                             \
        R *y = j->k->out[0].data;                                                                  \
        A sum[COLUMNS] = {0}, one = 0;                                                             \
        int64_t base = line / j->s.inner * j->s.n * j->s.inner + line % j->s.inner;                \
        for (int64_t i = 0; m == 1 && i < j->s.n; i++) { /* in a register */                       \
            int64_t at = base + (j->reverse ? j->s.n - 1 - i : i) * j->s.inner;                    \
            y[at] = (R)(one += (A)x[at]);                                                          \
        }                                                                                          \
        for (int64_t i = 0; m > 1 && i < j->s.n; i++) {                                            \
            int64_t at = base + (j->reverse ? j->s.n - 1 - i : i) * j->s.inner;                    \
            for (int64_t c = 0; c < m; c++)                                                        \
                y[at + c] = (R)(sum[c] += (A)x[at + c]);                                           \
        }                                                                                          \
    }
RUNNING(float, float, double)
RUNNING(double, double, double)
RUNNING(int32_t, int64_t, uint64_t)
RUNNING(int64_t, int64_t, uint64_t)
RUNNING(uint8_t, int64_t, uint64_t)

static void running_range(void *arg, int64_t begin, int64_t end) {
    const running *j = arg;
    for (int64_t l = begin; l < end;) {
        int64_t m = j->s.inner - l % j->s.inner; /* columns left beside this one */
        m = m < end - l ? m : end - l;
        m = m < COLUMNS ? m : COLUMNS;
        switch (j->k->in[0].dtype) {
        case JANUS_F32:
            running_float(j, l, m);
            break;
        case JANUS_F64:
            running_double(j, l, m);
            break;
        case JANUS_I32:
            running_int32_t(j, l, m);
            break;
        case JANUS_I64:
            running_int64_t(j, l, m);
            break;
        default:
            running_uint8_t(j, l, m);
        }
        l += m;
    }
}

static void cumsum(const jn_kargs *k) {
    const janus_cumsum_attrs *a = k->attrs;
    const jn_view *x = &k->in[0];
    running j = {k, {1, 1, 1}, a->reverse != 0};
    int64_t axis = a->axis < 0 ? a->axis + x->rank : a->axis;
    for (int d = 0; d < x->rank; d++)
        *(d == axis ? &j.s.n : d < axis ? &j.s.outer : &j.s.inner) *= x->dims[d];
    int64_t items = j.s.outer * j.s.inner;
    if (items * j.s.n >= 2 * GRAIN)
        k->par->run(k->par, items, GRAIN / (j.s.n + 1) + 1, running_range, &j);
    else
        running_range(&j, 0, items);
}

jn_kernel_fn jn_cpu_cumsum(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F16 || d == JANUS_BF16 ? jn_cpu_fallback(sig) : cumsum;
}

/* sum_like: the dims along which `like` was broadcast. */
static void sum_like(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    runs r = {.n = 0};
    for (int d = 0; d < x->rank; d++) {
        int at = d - (x->rank - y->rank);
        add_dim(&r, x->dims[d], at < 0 || (y->dims[at] == 1 && x->dims[d] != 1));
    }
    reduce_runs(k, JN_RED_SUM, r);
}

jn_kernel_fn jn_cpu_sum_like(const jn_sig *sig) {
    /* Sums of integers are i64; of an i32 tensor the result is i32. */
    int d = sig->in[0].dtype;
    return d == JANUS_F32 || d == JANUS_F64 || d == JANUS_I64 ? sum_like : jn_cpu_fallback(sig);
}

/* ---- along one axis, with the index -------------------------------------------------------------
 */

typedef struct axis_job {
    const jn_kargs *k;
    jn_oni s;
    bool largest;
    char *values; /* NULL: indices only */
    int64_t *indices;
} axis_job;

static void axis_range(void *arg, int64_t begin, int64_t end) {
    const axis_job *j = arg;
    int d = j->k->in[0].dtype;
    int64_t size = (int64_t)jn_elem_size(d);
    for (int64_t i = begin; i < end; i++) {
        const char *x = (const char *)j->k->in[0].data +
                        (i / j->s.inner * j->s.n * j->s.inner + i % j->s.inner) * size;
        int64_t at = jn_isa.arg[j->largest][d](x, j->s.inner, j->s.n);
        j->indices[i] = at;
        if (j->values)
            memcpy(j->values + i * size, x + at * j->s.inner * size, (size_t)size);
    }
}

static void along_axis(const jn_kargs *k, unsigned op, int64_t axis, bool all, bool largest) {
    const jn_view *x = &k->in[0];
    axis_job j = {.k = k, .s = {1, 1, 1}, .largest = largest};
    axis = axis < 0 ? axis + x->rank : axis;
    for (int d = 0; d < x->rank; d++)
        *(all || d == axis ? &j.s.n : d < axis ? &j.s.outer : &j.s.inner) *= x->dims[d];
    if (j.s.n == 0) {
        reference(k, op);
        return;
    }
    j.values = k->n_out > 1 ? k->out[0].data : NULL;
    j.indices = k->n_out > 1 ? k->out[1].data : k->out[0].data;
    int64_t items = j.s.outer * j.s.inner;
    if (items * j.s.n >= 2 * GRAIN)
        k->par->run(k->par, items, GRAIN / (j.s.n + 1) + 1, axis_range, &j);
    else
        axis_range(&j, 0, items);
}
static void max_dim(const jn_kargs *k) {
    along_axis(k, JN_OP_ID_max_dim, ((const janus_max_dim_attrs *)k->attrs)->axis, false, true);
}
static void min_dim(const jn_kargs *k) {
    along_axis(k, JN_OP_ID_min_dim, ((const janus_min_dim_attrs *)k->attrs)->axis, false, false);
}
static void argmax(const jn_kargs *k) {
    const janus_argmax_attrs *a = k->attrs;
    along_axis(k, JN_OP_ID_argmax, a->axis, a->all, true);
}
static void argmin(const jn_kargs *k) {
    const janus_argmin_attrs *a = k->attrs;
    along_axis(k, JN_OP_ID_argmin, a->axis, a->all, false);
}

jn_kernel_fn jn_cpu_reduce_axis(const jn_sig *sig) {
    if (!jn_isa.arg[0][sig->in[0].dtype])
        return jn_cpu_fallback(sig);
    switch (sig->op->id) {
    case JN_OP_ID_max_dim:
        return max_dim;
    case JN_OP_ID_min_dim:
        return min_dim;
    case JN_OP_ID_argmax:
        return argmax;
    default:
        return argmin;
    }
}
