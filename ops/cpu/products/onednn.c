/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that janus asks of oneDNN, 2.x or 3.x.
 *
 * dnnl_sgemm is the same in both, keeps no state and takes strides.  Convolutions are primitives:
 * objects made for one shape (0.2 ms and more), kept in a bounded cache.  They choose the layout of
 * their operands, so each comes with the reorders from and to rows.  Images are cut into pieces of
 * a power of two, so that a new batch size finds its primitives made; what a piece is depends on
 * the shape alone, never on the number of threads.
 *
 * oneDNN is called from our own threads and held to one thread for the length of the call: a second
 * pool would fight ours for the cores.  The number is put back, since the program may use OpenMP
 * itself.  OpenMP is reached through weak symbols: a oneDNN built without it needs none of this.
 */
#include "config.h"

#include "ops/cpu/gemm.h"

#ifdef HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <string.h>

#include "graph/base/alloc.h"

extern void omp_set_num_threads(int n) __attribute__((weak));
extern int omp_get_max_threads(void) __attribute__((weak));

static int hold_to_one_thread(void) {
    if (!omp_set_num_threads || !omp_get_max_threads)
        return 1;
    int before = omp_get_max_threads();
    if (before != 1)
        omp_set_num_threads(1);
    return before;
}

static void give_threads_back(int before) {
    if (before != 1)
        omp_set_num_threads(before);
}

bool jn_onednn_sgemm(const jn_gemm_args *g) {
    bool ta = g->a_col != 1, tb = g->b_col != 1;
    int64_t lda = ta ? g->a_col : g->a_row, ldb = tb ? g->b_col : g->b_row;
    if ((ta && g->a_row != 1) || (tb && g->b_row != 1) || lda < (ta ? g->m : g->k) ||
        ldb < (tb ? g->k : g->n))
        return false;
    int before = hold_to_one_thread();
    dnnl_status_t st = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', g->m, g->n, g->k, 1.0f, g->a, lda,
                                  g->b, ldb, g->accumulate ? 1.0f : 0.0f, g->c, g->ldc);
    give_threads_back(before);
    return st == dnnl_success;
}

/* ---- what 2.x and 3.x name differently ----------------------------------------------------------
 */

#define OK(call) ((call) == dnnl_success)

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t own_md;
typedef const_dnnl_memory_desc_t md;
#define MD(own) (own)
#define MAKE_MD dnnl_memory_desc_create_with_tag
static void free_md(own_md *m) { dnnl_memory_desc_destroy(*m); }
#else
typedef dnnl_memory_desc_t own_md;
typedef const dnnl_memory_desc_t *md;
#define MD(own) (&(own))
#define MAKE_MD dnnl_memory_desc_init_by_tag
static void free_md(own_md *m) { (void)m; }
#endif
static bool make_md(own_md *m, int rank, const int64_t *dims, dnnl_format_tag_t tag) {
    dnnl_dims_t d = {0};
    memcpy(d, dims, (size_t)rank * sizeof *d);
    return OK(MAKE_MD(m, rank, d, dnnl_f32, tag));
}

typedef struct geometry {
    dnnl_dims_t stride, dilation, padding;
} geometry;

static bool forward_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md x, md w, md b, md y,
                         const geometry *g, const_dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
    return OK(dnnl_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_forward_training, dnnl_convolution_direct, x, w, b, y, g->stride,
        g->dilation, g->padding, g->padding, attr));
#else
    dnnl_convolution_desc_t d;
    return OK(dnnl_dilated_convolution_forward_desc_init(
               &d, dnnl_forward_training, dnnl_convolution_direct, x, w, b, y, g->stride,
               g->dilation, g->padding, g->padding)) &&
           OK(dnnl_primitive_desc_create(pd, &d, attr, engine, NULL));
#endif
}

static bool backward_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bool weights, md x, md w,
                          md y, const geometry *g, dnnl_primitive_desc_t hint,
                          const_dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
    if (weights)
        return OK(dnnl_convolution_backward_weights_primitive_desc_create(
            pd, engine, dnnl_convolution_direct, x, w, NULL, y, g->stride, g->dilation, g->padding,
            g->padding, hint, attr));
    return OK(dnnl_convolution_backward_data_primitive_desc_create(
        pd, engine, dnnl_convolution_direct, x, w, y, g->stride, g->dilation, g->padding,
        g->padding, hint, attr));
#else
    dnnl_convolution_desc_t d;
    dnnl_status_t st =
        weights
            ? dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, x, w,
                                                                  NULL, y, g->stride, g->dilation,
                                                                  g->padding, g->padding)
            : dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, x, w, y,
                                                               g->stride, g->dilation, g->padding,
                                                               g->padding);
    return OK(st) && OK(dnnl_primitive_desc_create(pd, &d, attr, engine, hint));
#endif
}

/* ---- a convolution of one shape
 * ------------------------------------------------------------------
 */

enum { X, W, Y, SIDES, CACHED = 256 };

/* One operand: as rows, as the primitive wants it, and the way between (NULL: the same). */
typedef struct side {
    own_md plain;
    bool made;
    md inside;
    size_t bytes; /* inside */
    dnnl_primitive_desc_t reorder_pd;
    dnnl_primitive_t reorder;
    size_t scratch;
} side;

typedef struct conv {
    jn_conv_shape shape;
    int kind;
    bool usable; /* false: oneDNN has nothing better than a product of patches */
    side side[SIDES];
    own_md bias;
    bool has_bias;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    size_t scratch;
    int users;
    bool loose;    /* not in the cache */
    uint64_t used; /* when last, for eviction */
} conv;

static dnnl_engine_t engine;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static conv *cache[CACHED];
static uint64_t ticks;

static void make_engine(void) {
    if (!OK(dnnl_engine_create(&engine, dnnl_cpu, 0)))
        engine = NULL;
}

static void free_conv(conv *c) {
    for (int i = 0; i < SIDES; i++) {
        side *s = &c->side[i];
        if (s->reorder)
            dnnl_primitive_destroy(s->reorder);
        if (s->reorder_pd)
            dnnl_primitive_desc_destroy(s->reorder_pd);
        if (s->made)
            free_md(&s->plain);
    }
    if (c->has_bias)
        free_md(&c->bias);
    if (c->primitive)
        dnnl_primitive_destroy(c->primitive);
    if (c->pd)
        dnnl_primitive_desc_destroy(c->pd);
    jn_free(c);
}

static size_t scratch_of(const_dnnl_primitive_desc_t pd) {
    md m = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    return m ? dnnl_memory_desc_get_size(m) : 0;
}

/* The reorder of side i, from rows for what is read, to rows for the result. */
static bool make_side(conv *c, int i, int arg, bool result, const_dnnl_primitive_attr_t attr) {
    side *s = &c->side[i];
    s->inside = dnnl_primitive_desc_query_md(c->pd, dnnl_query_exec_arg_md, arg);
    if (!s->inside)
        return false;
    s->bytes = dnnl_memory_desc_get_size(s->inside);
    if (dnnl_memory_desc_equal(s->inside, MD(s->plain)))
        return true;
    md from = result ? s->inside : MD(s->plain), to = result ? MD(s->plain) : s->inside;
    if (!OK(dnnl_reorder_primitive_desc_create(&s->reorder_pd, from, engine, to, engine, attr)) ||
        !OK(dnnl_primitive_create(&s->reorder, s->reorder_pd)))
        return false;
    s->scratch = scratch_of(s->reorder_pd);
    return true;
}

static const int args[3][SIDES] = {
    [JN_CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    [JN_CONV_INPUT] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    [JN_CONV_WEIGHT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
/* Which side is written. */
static const int result_of[3] = {[JN_CONV_FORWARD] = Y, [JN_CONV_INPUT] = X, [JN_CONV_WEIGHT] = W};

static bool make_primitive(conv *c, const_dnnl_primitive_attr_t attr) {
    const jn_conv_shape *s = &c->shape;
    bool grouped = s->groups > 1;
    int64_t x[4] = {s->n, s->c, s->h, s->w}, y[4] = {s->n, s->o, s->oh, s->ow};
    int64_t w[4] = {s->o, s->c, s->kh, s->kw};
    int64_t wg[5] = {s->groups, s->o / s->groups, s->c / s->groups, s->kh, s->kw};
    const int64_t *wd = grouped ? wg : w;
    int wr = grouped ? 5 : 4;
    geometry g = {.stride = {s->stride[0], s->stride[1]},
                  .dilation = {s->dilation[0] - 1, s->dilation[1] - 1},
                  .padding = {s->padding[0], s->padding[1]}};
    own_md ax, aw, ay;
    side *d = c->side;
    if (!(d[X].made = make_md(&d[X].plain, 4, x, dnnl_nchw)) ||
        !(d[W].made = make_md(&d[W].plain, wr, wd, grouped ? dnnl_goihw : dnnl_oihw)) ||
        !(d[Y].made = make_md(&d[Y].plain, 4, y, dnnl_nchw)))
        return false;
    if (s->bias && !(c->has_bias = make_md(&c->bias, 1, &s->o, dnnl_a)))
        return false;
    if (!make_md(&ax, 4, x, dnnl_format_tag_any))
        return false;
    if (!make_md(&aw, wr, wd, dnnl_format_tag_any)) {
        free_md(&ax);
        return false;
    }
    bool ok = make_md(&ay, 4, y, dnnl_format_tag_any);
    if (ok) {
        dnnl_primitive_desc_t hint = NULL;
        if (c->kind == JN_CONV_FORWARD) {
            ok = forward_desc(&c->pd, engine, MD(ax), MD(aw), c->has_bias ? MD(c->bias) : NULL,
                              MD(ay), &g, attr);
        } else {
            ok = forward_desc(&hint, engine, MD(ax), MD(aw), NULL, MD(ay), &g, NULL) &&
                 backward_desc(&c->pd, engine, c->kind == JN_CONV_WEIGHT, MD(ax), MD(aw), MD(ay),
                               &g, hint, attr);
            if (hint)
                dnnl_primitive_desc_destroy(hint);
        }
        free_md(&ay);
    }
    free_md(&aw);
    free_md(&ax);
    const char *name = "";
    if (!ok || !OK(dnnl_primitive_desc_query(c->pd, dnnl_query_impl_info_str, 0, (void *)&name)) ||
        strstr(name, "gemm") || strstr(name, "ref"))
        return false;
    if (!OK(dnnl_primitive_create(&c->primitive, c->pd)))
        return false;
    c->scratch = scratch_of(c->pd);
    for (int i = 0; i < SIDES; i++)
        if (!make_side(c, i, args[c->kind][i], i == result_of[c->kind], attr))
            return false;
    return true;
}

/* Scratch memory is ours: the library's own would be shared by threads that run a primitive. */
static conv *make_conv(int kind, const jn_conv_shape *shape) {
    dnnl_primitive_attr_t attr;
    conv *c = jn_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->shape = *shape;
    c->kind = kind;
    if (!OK(dnnl_primitive_attr_create(&attr)))
        return c;
    int before = hold_to_one_thread();
    c->usable = OK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user)) &&
                make_primitive(c, attr);
    give_threads_back(before);
    dnnl_primitive_attr_destroy(attr);
    return c;
}

/* The convolution, in use until put_conv(); NULL: no memory. */
static conv *get_conv(int kind, const jn_conv_shape *shape) {
    int empty = -1, oldest = -1;
    conv *c = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CACHED && !c; i++) {
        if (!cache[i])
            empty = i;
        else if (cache[i]->kind == kind && memcmp(&cache[i]->shape, shape, sizeof *shape) == 0)
            c = cache[i];
        else if (cache[i]->users == 0 && (oldest < 0 || cache[i]->used < cache[oldest]->used))
            oldest = i;
    }
    if (!c && (c = make_conv(kind, shape))) {
        int at = empty >= 0 ? empty : oldest;
        c->loose = at < 0;
        if (at >= 0) {
            if (cache[at])
                free_conv(cache[at]);
            cache[at] = c;
        }
    }
    if (c) {
        c->users++;
        c->used = ++ticks;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static void put_conv(conv *c) {
    pthread_mutex_lock(&lock);
    c->users--;
    pthread_mutex_unlock(&lock);
    if (c->loose)
        free_conv(c);
}

/* ---- running one
 * ---------------------------------------------------------------------------------
 */

enum { MAX_PIECES = 64, MAX_SIZES = 40, PIECES = 16, PIECE_WORK = 1 << 19, PIECE_POSITIONS = 2048 };

typedef struct job {
    jn_conv_call call;
    int kind, n_pieces, n_sizes;
    struct {
        conv *c;
        char *weights; /* as the primitive wants them, when they are read and reordered */
    } sizes[MAX_SIZES];
    struct {
        int64_t first; /* image */
        int size;
    } pieces[MAX_PIECES];
    char *partial; /* JN_CONV_WEIGHT: a result per piece */
    size_t weight_bytes, buffer_bytes;
    uint32_t *flags;
} job;

typedef struct run {
    dnnl_stream_t stream;
    char *scratch;
    bool ok;
} run;

static void execute(run *r, dnnl_primitive_t p, const_dnnl_primitive_desc_t pd, int n,
                    const int *arg, const md *desc, char *const *data) {
    dnnl_exec_arg_t a[6];
    int made = 0;
    md scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    bool ok = r->ok;
    for (; ok && made < n; made++) {
        a[made].arg = arg[made];
        if (!(ok = OK(dnnl_memory_create(&a[made].memory, desc[made], engine, data[made]))))
            break;
    }
    if (ok && scratch && dnnl_memory_desc_get_size(scratch) > 0) {
        a[made].arg = DNNL_ARG_SCRATCHPAD;
        ok = OK(dnnl_memory_create(&a[made].memory, scratch, engine, r->scratch));
        made += ok;
    }
    r->ok =
        ok && OK(dnnl_primitive_execute(p, r->stream, made, a)) && OK(dnnl_stream_wait(r->stream));
    while (made > 0)
        dnnl_memory_destroy(a[--made].memory);
}

/* Between rows and the primitive's layout; what is no result goes in, a result comes out. */
static void reorder(run *r, const side *s, bool result, char *from, char *to) {
    const int arg[2] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const md in[2] = {MD(s->plain), s->inside}, out[2] = {s->inside, MD(s->plain)};
    char *const data[2] = {from, to};
    execute(r, s->reorder, s->reorder_pd, 2, arg, result ? out : in, data);
}

static size_t rounded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static size_t scratch_bytes(const conv *c) {
    size_t n = c->scratch;
    for (int i = 0; i < SIDES; i++)
        n = c->side[i].scratch > n ? c->side[i].scratch : n;
    return rounded(n);
}

static size_t buffer_bytes(const conv *c) {
    size_t n = scratch_bytes(c);
    for (int i = 0; i < SIDES; i++)
        n += rounded(c->side[i].bytes);
    return n;
}

static void run_piece(const job *j, int piece, run *r, char *buffer) {
    const conv *c = j->sizes[j->pieces[piece].size].c;
    const jn_conv_shape *s = &c->shape;
    size_t x_image = (size_t)(s->c * s->h * s->w), y_image = (size_t)(s->o * s->oh * s->ow);
    size_t first = (size_t)j->pieces[piece].first;
    char *rows[SIDES] = {(char *)(uintptr_t)j->call.x + first * x_image * sizeof(float),
                         (char *)(uintptr_t)j->call.w,
                         (char *)(uintptr_t)j->call.y + first * y_image * sizeof(float)};
    char *data[SIDES + 1];
    int n = SIDES, arg[SIDES + 1], result = result_of[j->kind];
    md desc[SIDES + 1];
    if (j->kind == JN_CONV_WEIGHT && j->partial)
        rows[W] = j->partial + (size_t)piece * j->weight_bytes;
    r->scratch = buffer;
    buffer += scratch_bytes(c);
    for (int i = 0; i < SIDES; i++) {
        const side *d = &c->side[i];
        arg[i] = args[j->kind][i];
        desc[i] = d->inside;
        data[i] = rows[i];
        if (!d->reorder)
            continue;
        data[i] = buffer;
        buffer += rounded(d->bytes);
        if (i == W && result != W)
            data[i] = j->sizes[j->pieces[piece].size].weights;
        else if (i != result)
            reorder(r, d, false, rows[i], data[i]);
    }
    if (c->has_bias) {
        arg[n] = DNNL_ARG_BIAS;
        desc[n] = MD(c->bias);
        data[n++] = (char *)(uintptr_t)j->call.b;
    }
    execute(r, c->primitive, c->pd, n, arg, desc, data);
    if (c->side[result].reorder)
        reorder(r, &c->side[result], true, data[result], rows[result]);
}

static void run_pieces(void *arg, int64_t begin, int64_t end) {
    const job *j = arg;
    run r = {.ok = true};
    int before = hold_to_one_thread();
    char *buffer = jn_alloc_aligned(j->buffer_bytes);
    if (!buffer || !OK(dnnl_stream_create(&r.stream, engine, dnnl_stream_default_flags))) {
        r.ok = false;
    } else {
        for (int64_t i = begin; i < end; i++)
            run_piece(j, (int)i, &r, buffer);
        dnnl_stream_destroy(r.stream);
    }
    jn_free_aligned(buffer);
    give_threads_back(before);
    if (!r.ok)
        __atomic_fetch_or(j->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
}

/* Adds a piece of n images; false: oneDNN is of no use, or there is no memory. */
static bool add_piece(job *j, int64_t first, int64_t n) {
    jn_conv_shape s = j->call.shape;
    int at = 0;
    s.n = n;
    while (at < j->n_sizes && j->sizes[at].c->shape.n != n)
        at++;
    if (at == j->n_sizes) {
        conv *c = at < MAX_SIZES ? get_conv(j->kind, &s) : NULL;
        if (!c)
            return false;
        j->sizes[j->n_sizes++].c = c;
        if (!c->usable)
            return false;
        size_t bytes = buffer_bytes(c);
        j->buffer_bytes = bytes > j->buffer_bytes ? bytes : j->buffer_bytes;
    }
    j->pieces[j->n_pieces].first = first;
    j->pieces[j->n_pieces++].size = at;
    return true;
}

/* Pieces of a power of two of images, smaller ones for the rest.  A gradient of weights is made by
 * each piece and then added up: images of few positions, as the last ones of a network are, share
 * one. */
static bool cut(job *j) {
    const jn_conv_shape *s = &j->call.shape;
    int64_t work = s->o * s->oh * s->ow * (s->c / s->groups) * s->kh * s->kw, size = 1, first = 0;
    int64_t least = j->kind == JN_CONV_WEIGHT ? PIECE_POSITIONS : 1, positions = s->oh * s->ow;
    while (size < s->n &&
           (size * PIECES < s->n || size * work < PIECE_WORK || size * positions < least))
        size *= 2;
    for (; first < s->n; first += size) {
        while (size > s->n - first)
            size /= 2;
        if (j->n_pieces == MAX_PIECES || !add_piece(j, first, size))
            return false;
    }
    return j->n_pieces > 0;
}

static bool reorder_weights(job *j) {
    run r = {.ok = true};
    if (!OK(dnnl_stream_create(&r.stream, engine, dnnl_stream_default_flags)))
        return false;
    int before = hold_to_one_thread();
    for (int i = 0; i < j->n_sizes && r.ok; i++) {
        const side *d = &j->sizes[i].c->side[W];
        if (!d->reorder)
            continue;
        char *p = jn_alloc_aligned(rounded(d->bytes) + rounded(d->scratch));
        j->sizes[i].weights = p;
        r.ok = p != NULL;
        if (!p)
            break;
        r.scratch = p + rounded(d->bytes);
        reorder(&r, d, false, (char *)(uintptr_t)j->call.w, p);
    }
    give_threads_back(before);
    dnnl_stream_destroy(r.stream);
    return r.ok;
}

static void add_partials(const job *j) {
    float *sum = (float *)(uintptr_t)j->call.w;
    int64_t n = (int64_t)(j->weight_bytes / sizeof(float));
    if (!j->call.accumulate)
        memset(sum, 0, j->weight_bytes);
    for (int p = 0; p < j->n_pieces; p++)
        jn_isa.add_to[0](sum, j->partial + (size_t)p * j->weight_bytes, n);
}

bool jn_onednn_conv(int kind, const jn_conv_call *call, const jn_par *par, uint32_t *flags) {
    const jn_conv_shape *s = &call->shape;
    /* Few channels of a gradient are padded to a vector of them. */
    if (kind == JN_CONV_INPUT && s->groups == 1 && s->c < 4)
        return false;
    pthread_once(&once, make_engine);
    if (!engine)
        return false;
    job j = {.call = *call, .kind = kind, .flags = flags};
    j.weight_bytes = (size_t)(s->o * (s->c / s->groups) * s->kh * s->kw) * sizeof(float);
    bool ok = cut(&j);
    if (ok && kind == JN_CONV_WEIGHT) {
        if (j.n_pieces > 1 || call->accumulate)
            ok = (j.partial = jn_alloc_aligned((size_t)j.n_pieces * j.weight_bytes)) != NULL;
    } else if (ok) {
        ok = reorder_weights(&j);
    }
    if (ok) {
        par->run(par, j.n_pieces, 1, run_pieces, &j);
        if (j.partial)
            add_partials(&j);
    }
    jn_free_aligned(j.partial);
    for (int i = 0; i < j.n_sizes; i++) {
        jn_free_aligned(j.sizes[i].weights);
        put_conv(j.sizes[i].c);
    }
    return ok;
}

#else

bool jn_onednn_sgemm(const jn_gemm_args *g) {
    (void)g;
    return false;
}

bool jn_onednn_conv(int kind, const jn_conv_call *call, const jn_par *par, uint32_t *flags) {
    (void)kind, (void)call, (void)par, (void)flags;
    return false;
}

#endif
