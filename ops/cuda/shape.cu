/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving elements: views that had to be copied, joined, padded, turned and repeated tensors.  Every
 * kernel computes, per element of the result, where it comes from.
 */
#include "ops/cuda/cuda.cuh"

extern "C" {
#include "ops/rules.h"
#include "ops/shape_rules.h"
}

/* out[i] = F(i)-th element of the source, or `fill` where F gives -1. */
struct source {
    const char *p;
    u64 fill;
    int size;
};

template <class F> static __global__ void move(char *out, i64 n, source s, F from) {
    JN_EACH(i, n) {
        i64 j = from(i);
        if (j >= 0)
            copy_bits(out, i, s.p, j, s.size);
        else
            copy_bits(out, i, &s.fill, 0, s.size);
    }
}

template <class F> static void run_move(const jn_kargs *k, const F &from, u64 fill = 0) {
    const jn_view *y = &k->out[0];
    source s = {(const char *)k->in[0].data, fill, size_of(y->dtype)};
    if (numel_of(*y))
        JN_LAUNCH(exec_of(k), move<F>, grid_for(numel_of(*y)), JN_BLOCK, (char *)y->data,
                  numel_of(*y), s, from);
}

/* Elements at `offset` with the strides of v. */
struct from_strides {
    dview v;
    i64 offset;
    __device__ __forceinline__ i64 operator()(i64 i) const { return offset + offset_of(v, i); }
};

static void strided(const jn_kargs *k, const int64_t *strides, i64 offset) {
    from_strides f = {view_of(k->out[0]), offset};
    for (int i = 0; i < f.v.rank; i++)
        f.v.s[i] = strides[i];
    run_move(k, f);
}

/* y's part with these strides from `offset` on = src. */
static __global__ void put(char *out, i64 offset, dview to, dview src, i64 n, int size) {
    JN_EACH(i, n)
    copy_bits(out, offset + offset_of(to, i), src.p, offset_of(src, i), size);
}
/* src's dims with other strides. */
static dview along(const jn_view *src, const int64_t *strides) {
    dview to = view_of(*src);
    for (int i = 0; i < to.rank; i++)
        to.s[i] = strides[i];
    return to;
}
static void put_into(const jn_kargs *k, const int64_t *strides, i64 offset, const jn_view *src) {
    const jn_view *y = &k->out[0];
    i64 n = numel_of(*src);
    if (n)
        JN_LAUNCH(exec_of(k), put, grid_for(n), JN_BLOCK, (char *)y->data, offset,
                  along(src, strides), view_of(*src), n, size_of(y->dtype));
}

static __global__ void raise(uint32_t *flags, uint32_t flag) { atomicOr(flags, flag); }
static void raise_index(const jn_kargs *k) {
    JN_LAUNCH(exec_of(k), raise, 1, 1, k->flags, (uint32_t)JN_KFLAG_INDEX);
}

/* ---- views --------------------------------------------------------------------------------------
 */

struct from_nothing {
    __device__ __forceinline__ i64 operator()(i64) const { return -1; }
};

static void through(const jn_kargs *k, jn_view_fn rule, bool reshapes) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_type type = jn_tensor_type((janus_dtype)y->dtype, y->rank, y->dims);
    int64_t strides[JN_MAX_RANK], offset;
    if (rule(k->in, k->n_in, k->attrs, &type, strides, &offset)) {
        strided(k, strides, offset);
    } else if (reshapes) { /* the same order of both */
        from_strides f = {view_of(*x), 0};
        run_move(k, f);
    } else {
        raise_index(k);
        run_move(k, from_nothing());
    }
}

#define VIEW_LIST(X)                                                                               \
    X(reshape, true)                                                                               \
    X(reshape_like, true)                                                                          \
    X(transpose, false)                                                                            \
    X(permute, false)                                                                              \
    X(expand, false)                                                                               \
    X(expand_like, false)                                                                          \
    X(unsqueeze, false)                                                                            \
    X(squeeze, false)                                                                              \
    X(slice, false)                                                                                \
    X(select, false)                                                                               \
    X(alias, false)
#define X(name, reshapes)                                                                          \
    static void view_##name(const jn_kargs *k) { through(k, jn_view_##name, reshapes); }
VIEW_LIST(X)
#undef X

JN_CUDA_SELECT jn_cuda_view(const jn_sig *sig) {
    switch (sig->op->id) {
#define X(name, reshapes)                                                                          \
    case JN_OP_ID_##name:                                                                          \
        return view_##name;
        VIEW_LIST(X)
#undef X
    case JN_OP_ID_detach:
        return view_alias;
    case JN_OP_ID_overwrite:
        return view_expand_like;
    default:
        return NULL;
    }
}

/* ---- joining ------------------------------------------------------------------------------------
 */

static void run_concat(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int axis = axis_of(((const janus_concat_attrs *)k->attrs)->axis, y->rank);
    i64 at = 0;
    for (unsigned i = 0; i < k->n_in; i++) {
        put_into(k, y->strides, at * y->strides[axis], &k->in[i]);
        at += k->in[i].dims[axis];
    }
}

static void run_stack(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int axis = axis_of(((const janus_stack_attrs *)k->attrs)->axis, y->rank);
    int64_t strides[JN_MAX_RANK];
    for (int i = 0, n = 0; i < y->rank; i++)
        if (i != axis)
            strides[n++] = y->strides[i];
    for (unsigned i = 0; i < k->n_in; i++)
        put_into(k, strides, (i64)i * y->strides[axis], &k->in[i]);
}

/* Where the part of the result between operands `at` and at + 1 is, `n` long; false: it is not. */
static bool slice_part(const jn_kargs *k, unsigned at, int axis, i64 step, i64 n, int64_t *strides,
                       i64 *offset) {
    const jn_view *y = &k->out[0];
    int64_t first, size, start = 0, stop = 0;
    bool has_start = present(k, at), has_stop = present(k, at + 1);
    if (has_start)
        start = host_i(k->in[at]);
    if (has_stop)
        stop = host_i(k->in[at + 1]);
    jn_slice_bounds(y->dims[axis], has_start ? &start : NULL, has_stop ? &stop : NULL, step, &first,
                    &size);
    for (int i = 0; i < y->rank; i++)
        strides[i] = i == axis ? y->strides[i] * step : y->strides[i];
    *offset = first * y->strides[axis];
    if (size != n)
        raise_index(k);
    return size == n;
}

/* The same of the one at operand `at`. */
static bool select_part(const jn_kargs *k, unsigned at, int axis, int64_t *strides, i64 *offset) {
    const jn_view *y = &k->out[0];
    int64_t index = host_i(k->in[at]), size = y->dims[axis];
    for (int i = 0, n = 0; i < y->rank; i++)
        if (i != axis)
            strides[n++] = y->strides[i];
    *offset = (index < 0 ? index + size : index) * y->strides[axis];
    bool there = index >= -size && index < size;
    if (!there)
        raise_index(k);
    return there;
}

static void run_slice_scatter(const jn_kargs *k) {
    const janus_slice_scatter_attrs *a = (const janus_slice_scatter_attrs *)k->attrs;
    int axis = axis_of(a->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK];
    i64 offset;
    strided(k, k->in[0].strides, 0);
    if (slice_part(k, 2, axis, a->step, k->in[1].dims[axis], strides, &offset))
        put_into(k, strides, offset, &k->in[1]);
}

static void run_select_scatter(const jn_kargs *k) {
    int axis = axis_of(((const janus_select_scatter_attrs *)k->attrs)->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK];
    i64 offset;
    strided(k, k->in[0].strides, 0);
    if (select_part(k, 2, axis, strides, &offset))
        put_into(k, strides, offset, &k->in[1]);
}

/* y's part with these strides from `offset` on += src, unless the run has failed. */
static __global__ void add_part(char *out, i64 offset, dview to, dview src, i64 n, int dtype,
                                const uint32_t *stop) {
    if (stop && *stop)
        return;
    JN_EACH(i, n) {
        i64 at = offset + offset_of(to, i), from = offset_of(src, i);
        if (is_float(dtype))
            store_f(out, at, dtype,
                    load_as<double>(out, at, dtype) + load_as<double>(src.p, from, dtype));
        else
            store_i(out, at, dtype, load_i(out, at, dtype) + load_i(src.p, from, dtype));
    }
}

/* dy at a part of zeros, or added to that part of a sum. */
static void part_grad(const jn_kargs *k, const int64_t *strides, i64 offset) {
    const jn_view *y = &k->out[0], *dy = &k->in[0];
    if (!k->accumulate) {
        put_into(k, strides, offset, dy);
        return;
    }
    i64 n = numel_of(*dy);
    if (n)
        JN_LAUNCH(exec_of(k), add_part, grid_for(n), JN_BLOCK, (char *)y->data, offset,
                  along(dy, strides), view_of(*dy), n, (int)y->dtype, exec_of(k)->stop);
}

static void run_slice_grad(const jn_kargs *k) {
    const janus_slice_grad_attrs *a = (const janus_slice_grad_attrs *)k->attrs;
    int axis = axis_of(a->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK];
    i64 offset;
    if (!k->accumulate)
        run_move(k, from_nothing());
    if (slice_part(k, 1, axis, a->step, k->in[0].dims[axis], strides, &offset))
        part_grad(k, strides, offset);
}

static void run_select_grad(const jn_kargs *k) {
    int axis = axis_of(((const janus_select_grad_attrs *)k->attrs)->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK];
    i64 offset;
    if (!k->accumulate)
        run_move(k, from_nothing());
    if (select_part(k, 1, axis, strides, &offset))
        part_grad(k, strides, offset);
}

/* ---- moved around -------------------------------------------------------------------------------
 */

struct from_pad {
    dview y, x; /* dims of the result; dims and strides of the source */
    i64 before[JN_MAX_RANK];
    __device__ __forceinline__ i64 operator()(i64 i) const {
        i64 from = 0;
        for (int d = y.rank - 1; d >= 0; d--) {
            i64 at = i % y.d[d] - before[d];
            i /= y.d[d];
            if (at < 0 || at >= x.d[d])
                return -1;
            from += at * x.s[d];
        }
        return from;
    }
};

/* A float as f16 and as bf16, to nearest, ties to even; on the host, where values of pads are. */
static u64 half_bits(float f, bool brain) {
    uint32_t all, bits, small;
    memcpy(&all, &f, 4);
    if (brain)
        return f != f ? all >> 16 | 0x40u : (all + 0x7fffu + (all >> 16 & 1)) >> 16;
    bits = all & 0x7fffffffu;
    float shifted = (f < 0 ? -f : f) + 0.5f; /* leaves a denormal half in the low bits, rounded */
    memcpy(&small, &shifted, 4);
    uint32_t h = bits > 0x7f800000u    ? 0x7e00u
                 : bits >= 0x47800000u ? 0x7c00u
                 : bits < 0x38800000u  ? small - 0x3f000000u
                                       : (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13;
    return h | (all >> 16 & 0x8000u);
}

static u64 bits_of(double f, int dtype) {
    u64 bits = 0;
    float g = (float)f;
    i64 i = f >= -0x1p63 && f < 0x1p63 ? (i64)f : INT64_MIN;
    switch (dtype) {
    case JANUS_F32:
        memcpy(&bits, &g, 4);
        break;
    case JANUS_F64:
        memcpy(&bits, &f, 8);
        break;
    case JANUS_BOOL:
        bits = f != 0;
        break;
    case JANUS_I32:
        bits = (uint32_t)(f > -2147483649.0 && f < 2147483648.0 ? (int32_t)f : INT32_MIN);
        break;
    case JANUS_I64:
        bits = (u64)i;
        break;
    case JANUS_U8:
        bits = (uint8_t)i;
        break;
    default:
        bits = half_bits(g, dtype == JANUS_BF16);
    }
    return bits;
}

static void run_pad(const jn_kargs *k) {
    const janus_pad_attrs *a = (const janus_pad_attrs *)k->attrs;
    from_pad f;
    memset(&f, 0, sizeof f);
    f.y = view_of(k->out[0]);
    f.x = view_of(k->in[0]);
    for (int i = 0; i < f.y.rank; i++)
        f.before[i] = a->before.data[i];
    run_move(k, f, bits_of(a->value, k->out[0].dtype));
}
JN_CUDA_SELECT jn_cuda_pad(const jn_sig *sig) {
    (void)sig;
    return run_pad;
}

static void run_flip(const jn_kargs *k) {
    const janus_flip_attrs *a = (const janus_flip_attrs *)k->attrs;
    const jn_view *x = &k->in[0];
    int64_t strides[JN_MAX_RANK], offset = 0;
    for (int i = 0; i < x->rank; i++) {
        bool flip = a->dims.n == 0;
        for (size_t d = 0; d < a->dims.n; d++)
            flip |= axis_of(a->dims.data[d], x->rank) == i;
        strides[i] = flip ? -x->strides[i] : x->strides[i];
        if (flip)
            offset += (x->dims[i] - 1) * x->strides[i];
    }
    strided(k, strides, offset);
}

struct from_roll {
    dview x;
    i64 shift[JN_MAX_RANK], flat, n;
    bool whole;
    __device__ __forceinline__ i64 operator()(i64 i) const {
        if (whole) {
            i64 at = i - flat;
            return offset_of(x, at < 0 ? at + n : at);
        }
        i64 from = 0;
        for (int d = x.rank - 1; d >= 0; d--) {
            i64 at = i % x.d[d] - shift[d];
            i /= x.d[d];
            from += (at < 0 ? at + x.d[d] : at) * x.s[d];
        }
        return from;
    }
};

static i64 floor_mod(i64 a, i64 n) {
    i64 r = n ? a % n : 0;
    return r < 0 ? r + n : r;
}

static void run_roll(const jn_kargs *k) {
    const janus_roll_attrs *a = (const janus_roll_attrs *)k->attrs;
    from_roll f;
    memset(&f, 0, sizeof f);
    f.x = view_of(k->in[0]);
    f.n = numel_of(k->in[0]);
    f.whole = a->dims.n == 0;
    for (size_t d = 0; d < a->dims.n && f.x.rank > 0; d++) {
        int axis = axis_of(a->dims.data[d], f.x.rank);
        f.shift[axis] = floor_mod(a->shifts.data[d], f.x.d[axis]);
    }
    if (f.whole)
        f.flat = floor_mod(a->shifts.data[0], f.n);
    run_move(k, f);
}

struct from_triangle {
    dview x;
    i64 diagonal;
    bool lower;
    __device__ __forceinline__ i64 operator()(i64 i) const {
        i64 col = i % x.d[x.rank - 1], row = i / x.d[x.rank - 1] % x.d[x.rank - 2];
        i64 above = col - row - diagonal;
        return (lower ? above <= 0 : above >= 0) ? offset_of(x, i) : -1;
    }
};
static void run_tril(const jn_kargs *k) {
    from_triangle f = {view_of(k->in[0]), ((const janus_tril_attrs *)k->attrs)->diagonal, true};
    run_move(k, f);
}
static void run_triu(const jn_kargs *k) {
    from_triangle f = {view_of(k->in[0]), ((const janus_triu_attrs *)k->attrs)->diagonal, false};
    run_move(k, f);
}

struct from_diag {
    dview x;
    i64 row, col, cols; /* cols 0: x is the matrix */
    __device__ __forceinline__ i64 operator()(i64 i) const {
        if (!cols)
            return (row + i) * x.s[0] + (col + i) * x.s[1];
        i64 r = i / cols - row, c = i % cols - col;
        return r == c && r >= 0 && r < x.d[0] ? r * x.s[0] : -1;
    }
};
static void run_diag(const jn_kargs *k) {
    i64 d = ((const janus_diag_attrs *)k->attrs)->diagonal;
    from_diag f = {view_of(k->in[0]), d < 0 ? -d : 0, d > 0 ? d : 0,
                   k->in[0].rank == 2 ? 0 : (i64)k->out[0].dims[1]};
    run_move(k, f);
}

struct from_repeat {
    dview y, x;
    __device__ __forceinline__ i64 operator()(i64 i) const {
        i64 from = 0;
        int lead = y.rank - x.rank;
        for (int d = y.rank - 1; d >= lead; d--) {
            from += i % y.d[d] % x.d[d - lead] * x.s[d - lead];
            i /= y.d[d];
        }
        return from;
    }
};
static void run_repeat(const jn_kargs *k) {
    from_repeat f = {view_of(k->out[0]), view_of(k->in[0])};
    run_move(k, f);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(concat)
SELECT(stack)
SELECT(slice_scatter)
SELECT(select_scatter)
SELECT(slice_grad)
SELECT(select_grad)
SELECT(flip)
SELECT(roll)
SELECT(tril)
SELECT(triu)
SELECT(diag)
SELECT(repeat)
