/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise ops: one expression per op for floats (float and double alike) and one for integers.
 *
 * Three ways to run them.  Operands of equal layout, all f32, all f16 or all bf16, by fours, a
 * kernel per op: what most of a network is.  The same with broadcasting or strides, a kernel for
 * each of the most frequent ops.  Everything else, any dtype and layout, by one kernel per
 * computing type that chooses the op while it runs.  f16 and bf16 compute in float.
 */
#include "ops/cuda/elementwise.cuh"
#include "ops/cuda/registers.cuh"

enum { EW_IN = 5 };
struct ew_args {
    int op, n_in, rank, out_dtype;
    i64 n;
    i64 d[JN_MAX_RANK]; /* merged dims, the last one innermost */
    i64 s[EW_IN][JN_MAX_RANK];
    const char *p[EW_IN]; /* NULL: a number instead */
    int dtype[EW_IN];
    dscalar number[EW_IN];
    char *out;
    bool vectors; /* by fours: sizes and addresses allow it */
    ew_attrs at;
};

template <class C> DEV C constant(const ew_args &a, int k) { return (C)float_of(a.number[k]); }
template <> __device__ __forceinline__ i64 constant<i64>(const ew_args &a, int k) {
    return int_of(a.number[k]);
}

template <class C> static __global__ void ew_any(ew_args a) {
    C number[EW_IN];
    for (int k = 0; k < EW_IN; k++)
        number[k] = k < a.n_in && !a.p[k] ? constant<C>(a, k) : (C)0;
    JN_EACH(i, a.n) {
        i64 o[EW_IN] = {0, 0, 0, 0, 0}, left = i;
        for (int d = a.rank - 1; d >= 0; d--) {
            i64 at = left % a.d[d];
            left /= a.d[d];
            for (int k = 0; k < EW_IN; k++)
                o[k] += at * a.s[k][d];
        }
        C v[EW_IN];
        for (int k = 0; k < EW_IN; k++)
            v[k] = k >= a.n_in ? (C)0 : a.p[k] ? load_as<C>(a.p[k], o[k], a.dtype[k]) : number[k];
        store_as<C>(a.out, i, a.out_dtype, compute<C>(a.op, v, a.at));
    }
}

/*
 * One op, at most 2^31 elements stored as S: 32-bit arithmetic on indices.  V: a step is four
 * elements, of which the innermost dim and strides count; each operand has four side by side, or
 * one for all.
 */
template <int OP, int N, class S, bool V> static __global__ void ew_strided(ew_args a) {
    unsigned n = (unsigned)(V ? a.n / 4 : a.n);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned left = i;
        i64 o[N] = {0};
        for (int d = a.rank - 1; d > 0; d--) {
            unsigned size = (unsigned)a.d[d], q = left / size, at = left - q * size;
            left = q;
            for (int k = 0; k < N; k++)
                o[k] += at * a.s[k][d];
        }
        for (int k = 0; k < N; k++)
            o[k] += left * a.s[k][0];
        if constexpr (V) {
            fours<S> x[N], y;
            for (int k = 0; k < N; k++) {
                if (a.s[k][a.rank - 1] == 0) {
                    S one = ((const S *)a.p[k])[o[k]];
                    x[k] = fours<S>{{one, one, one, one}};
                } else {
                    x[k] = *(const fours<S> *)((const S *)a.p[k] + o[k]);
                }
            }
            for (int j = 0; j < 4; j++) {
                float v[EW_IN] = {0, 0, 0, 0, 0};
                for (int k = 0; k < N; k++)
                    v[k] = fetch(x[k].v, j, a.out_dtype);
                put(y.v, j, a.out_dtype, compute<float>(OP, v, a.at));
            }
            ((fours<S> *)a.out)[i] = y;
        } else {
            float v[EW_IN] = {0, 0, 0, 0, 0};
            for (int k = 0; k < N; k++)
                v[k] = fetch((const S *)a.p[k], o[k], a.out_dtype);
            put((S *)a.out, i, a.out_dtype, compute<float>(OP, v, a.at));
        }
    }
}

/* One op, operands laid out like the result, whose elements are stored as S, or one number. */
template <int OP, int N, class S> static __global__ void ew_flat(ew_args a) {
    i64 quads = a.vectors ? a.n / 4 : 0;
    float number[N];
    bool one[N];
    for (int k = 0; k < N; k++) {
        one[k] = !a.p[k] || a.s[k][0] == 0;
        number[k] = !a.p[k]  ? constant<float>(a, k)
                    : one[k] ? load_as<float>(a.p[k], 0, a.dtype[k])
                             : 0.0f;
    }
    JN_EACH(q, quads) {
        fours<S> x[N], y;
        for (int k = 0; k < N; k++)
            if (!one[k])
                x[k] = ((const fours<S> *)a.p[k])[q];
        for (int j = 0; j < 4; j++) {
            float v[EW_IN] = {0, 0, 0, 0, 0};
            for (int k = 0; k < N; k++)
                v[k] = one[k] ? number[k] : fetch(x[k].v, j, a.out_dtype);
            put(y.v, j, a.out_dtype, compute<float>(OP, v, a.at));
        }
        ((fours<S> *)a.out)[q] = y;
    }
    JN_EACH(r, a.n - quads * 4) {
        i64 i = quads * 4 + r;
        float v[EW_IN] = {0, 0, 0, 0, 0};
        for (int k = 0; k < N; k++)
            v[k] = one[k] ? number[k] : fetch((const S *)a.p[k], i, a.out_dtype);
        put((S *)a.out, i, a.out_dtype, compute<float>(OP, v, a.at));
    }
}

/* ---- launching ----------------------------------------------------------------------------------
 */

/* Merges dims that every operand walks as one; the result is row-major. */
static void merge_dims(ew_args *a, const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    a->rank = 0;
    for (int d = 0; d < y->rank; d++) {
        i64 stride[EW_IN];
        bool merge = a->rank > 0;
        if (y->dims[d] == 1)
            continue;
        for (int i = 0; i < a->n_in; i++) {
            const jn_view *v = &k->in[i];
            int at = d - (y->rank - v->rank);
            stride[i] = !a->p[i] || at < 0 || v->dims[at] == 1 ? 0 : v->strides[at];
            merge = merge && a->s[i][a->rank - 1] == stride[i] * y->dims[d];
        }
        int to = merge ? a->rank - 1 : a->rank++;
        a->d[to] = merge ? a->d[to] * y->dims[d] : y->dims[d];
        for (int i = 0; i < a->n_in; i++)
            a->s[i][to] = stride[i];
    }
    if (a->rank == 0) {
        a->rank = 1;
        a->d[0] = 1;
    }
}

static bool plan(ew_args *a, const jn_kargs *k, int op, int n_in) {
    memset(a, 0, sizeof *a);
    a->op = op;
    a->n_in = n_in;
    a->n = numel_of(k->out[0]);
    a->out = (char *)k->out[0].data;
    a->out_dtype = k->out[0].dtype;
    a->at.flags = k->flags;
    take_attrs(op, k->attrs, &a->at);
    for (int i = 0; i < n_in; i++) {
        const jn_view *v = &k->in[i];
        bool scalar = v->rank == 0 && (op == JN_OP_ID_masked_fill ? i == 2 : i >= 3);
        a->dtype[i] = v->dtype;
        a->p[i] = scalar ? NULL : (const char *)v->data;
        if (scalar)
            a->number[i] = scalar_of(exec_of(k), *v);
    }
    merge_dims(a, k);
    return a->n > 0;
}

/* Whether a kernel of one op does for the dtypes: f32, f16 or bf16 throughout.  `numbers`: operands
 * that are one number may be of other floating-point dtypes, unless they decide the computing type
 * (operand `by`). */
static bool one_dtype(const ew_args *a, bool numbers, int by) {
    for (int i = 0; i < a->n_in; i++)
        if (a->p[i] && a->dtype[i] != a->out_dtype &&
            !(numbers && i != by && a->s[i][0] == 0 && is_float(a->dtype[i])))
            return false;
    return is_float(a->out_dtype) && a->out_dtype != JANUS_F64;
}

static bool is_flat(ew_args *a) {
    if (a->rank != 1)
        return false;
    size_t four = 4 * (size_t)size_of(a->out_dtype);
    a->vectors = (uintptr_t)a->out % four == 0;
    for (int i = 0; i < a->n_in; i++)
        if (a->p[i] && a->s[i][0] != 0) {
            if (a->s[i][0] != 1)
                return false;
            a->vectors = a->vectors && (uintptr_t)a->p[i] % four == 0;
        }
    return true;
}

/* Makes a step of ew_strided four elements, where that can be. */
static void by_four(ew_args *a) {
    int last = a->rank - 1;
    size_t four = 4 * (size_t)size_of(a->out_dtype);
    bool can = a->d[last] % 4 == 0 && (uintptr_t)a->out % four == 0;
    for (int i = 0; i < a->n_in; i++) {
        bool one = a->s[i][last] == 0;
        can = can && a->p[i] && (one || (a->s[i][last] == 1 && (uintptr_t)a->p[i] % four == 0));
        for (int d = 0; d < last && !one; d++)
            can = can && a->s[i][d] % 4 == 0;
    }
    if (!can)
        return;
    a->vectors = true;
    a->d[last] /= 4;
    for (int i = 0; i < a->n_in; i++)
        a->s[i][last] *= 4;
}

static void run_any(const jn_kargs *k, const ew_args *a, int by) {
    jn_dev_exec *e = exec_of(k);
    int dtype = k->in[by].dtype;
    /* some integer op may have a floating-point operand beside it: only the deciding one counts */
    if (dtype == JANUS_F64)
        JN_LAUNCH(e, ew_any<double>, grid_for(a->n), JN_BLOCK, *a);
    else if (is_float(dtype))
        JN_LAUNCH(e, ew_any<float>, grid_for(a->n), JN_BLOCK, *a);
    else
        JN_LAUNCH(e, ew_any<i64>, grid_for(a->n), JN_BLOCK, *a);
}

template <int OP, int N, class S> static void run_flat(const jn_kargs *k, const ew_args &a) {
    i64 steps = a.vectors ? (a.n + 3) / 4 : a.n;
    JN_LAUNCH(exec_of(k), (ew_flat<OP, N, S>), grid_for(steps), JN_BLOCK, a);
}
template <int OP, int N, class S> static void run_strided(const jn_kargs *k, const ew_args &a) {
    if (a.vectors)
        JN_LAUNCH(exec_of(k), (ew_strided<OP, N, S, true>), grid_for(a.n / 4), JN_BLOCK, a);
    else
        JN_LAUNCH(exec_of(k), (ew_strided<OP, N, S, false>), grid_for(a.n), JN_BLOCK, a);
}

template <int OP, int N, int BY, bool STRIDED> static void run(const jn_kargs *k) {
    ew_args a;
    if (!plan(&a, k, OP, N))
        return;
    if (is_flat(&a) && one_dtype(&a, true, BY)) {
        if (a.out_dtype == JANUS_F32)
            run_flat<OP, N, float>(k, a);
        else
            run_flat<OP, N, halves>(k, a);
        return;
    }
    a.vectors = false;
    if constexpr (STRIDED) {
        if (one_dtype(&a, false, BY) && a.n < ((i64)1 << 31)) {
            by_four(&a);
            if (a.out_dtype == JANUS_F32)
                run_strided<OP, N, float>(k, a);
            else
                run_strided<OP, N, halves>(k, a);
            return;
        }
    }
    run_any(k, &a, BY);
}

/* Ops with a boolean result or operand, or of bits, are never all f32: no kernel of their own. */
template <int OP, int N, int BY> static void run_other(const jn_kargs *k) {
    ew_args a;
    if (plan(&a, k, OP, N))
        run_any(k, &a, BY);
}

static __global__ void convert(ew_args a) {
    JN_EACH(i, a.n) {
        i64 o = 0, left = i;
        for (int d = a.rank - 1; d > 0; d--) {
            o += left % a.d[d] * a.s[0][d];
            left /= a.d[d];
        }
        copy_converted(a.out, i, a.out_dtype, a.p[0], o + left * a.s[0][0], a.dtype[0]);
    }
}
/* Between f32 and f16 or bf16, laid out alike. */
template <class From, class To> static __global__ void convert_fours(ew_args a) {
    i64 quads = a.n / 4;
    JN_EACH(q, quads) {
        fours<From> x = ((const fours<From> *)a.p[0])[q];
        fours<To> y;
        for (int j = 0; j < 4; j++)
            put(y.v, j, a.out_dtype, fetch(x.v, j, a.dtype[0]));
        ((fours<To> *)a.out)[q] = y;
    }
    JN_EACH(r, a.n % 4)
    put((To *)a.out, quads * 4 + r, a.out_dtype,
        fetch((const From *)a.p[0], quads * 4 + r, a.dtype[0]));
}
/* Bytes, by 16. */
static __global__ void copy_fours(char *to, const char *from, i64 bytes) {
    i64 words = bytes / 16;
    JN_EACH(w, words)
    ((fours<uint32_t> *)to)[w] = ((const fours<uint32_t> *)from)[w];
    JN_EACH(r, bytes % 16)
    to[words * 16 + r] = from[words * 16 + r];
}

/* False: nothing is done, another kernel has to. */
static bool convert_flat(jn_dev_exec *e, const ew_args &a) {
    int from = a.dtype[0], to = a.out_dtype;
    if (a.rank != 1 || a.s[0][0] != 1 || (((uintptr_t)a.p[0] | (uintptr_t)a.out) & 15))
        return false;
    bool half_from_float = from == JANUS_F32 && (to == JANUS_F16 || to == JANUS_BF16);
    bool float_from_half = to == JANUS_F32 && (from == JANUS_F16 || from == JANUS_BF16);
    i64 bytes = a.n * size_of(to);
    if (from == to)
        JN_LAUNCH(e, copy_fours, grid_for((bytes + 15) / 16), JN_BLOCK, a.out, a.p[0], bytes);
    else if (half_from_float)
        JN_LAUNCH(e, (convert_fours<float, halves>), grid_for((a.n + 3) / 4), JN_BLOCK, a);
    else if (float_from_half)
        JN_LAUNCH(e, (convert_fours<halves, float>), grid_for((a.n + 3) / 4), JN_BLOCK, a);
    return from == to || half_from_float || float_from_half;
}

/* cast and clone; the result of a copy between tensors may be strided */
static __global__ void convert_strided(ew_args a, dview y) {
    JN_EACH(i, a.n) {
        i64 o = 0, left = i;
        for (int d = a.rank - 1; d >= 0; d--) {
            o += left % a.d[d] * a.s[0][d];
            left /= a.d[d];
        }
        copy_converted(a.out, offset_of(y, i), a.out_dtype, a.p[0], o, a.dtype[0]);
    }
}

static void run_convert(const jn_kargs *k) {
    ew_args a;
    if (!plan(&a, k, JN_OP_ID_clone, 1))
        return;
    if (k->out[0].contiguous && convert_flat(exec_of(k), a))
        return;
    if (k->out[0].contiguous)
        JN_LAUNCH(exec_of(k), convert, grid_for(a.n), JN_BLOCK, a);
    else
        JN_LAUNCH(exec_of(k), convert_strided, grid_for(a.n), JN_BLOCK, a, view_of(k->out[0]));
}

#define OTHER(id)                                                                                  \
    ((id) >= JN_OP_ID_eq && (id) <= JN_OP_ID_bitwise_not) || (id) == JN_OP_ID_logical_not ||       \
        (id) == JN_OP_ID_isnan || (id) == JN_OP_ID_isfinite || (id) == JN_OP_ID_where ||           \
        (id) == JN_OP_ID_masked_fill
#define STRIDES(id)                                                                                \
    ((id) == JN_OP_ID_add || (id) == JN_OP_ID_sub || (id) == JN_OP_ID_mul ||                       \
     (id) == JN_OP_ID_div || (id) == JN_OP_ID_relu_grad || (id) == JN_OP_ID_clamp_grad)

template <int OP, int N, int BY> static jn_kernel_fn pick() {
    if constexpr (OTHER(OP))
        return run_other<OP, N, BY>;
    else
        return run<OP, N, BY, STRIDES(OP)>;
}

JN_CUDA_SELECT jn_cuda_elementwise(const jn_sig *sig) {
    if (sig->op->id == JN_OP_ID_bitwise_not && sig->in[0].dtype == JANUS_BOOL)
        return pick<JN_OP_ID_logical_not, 1, 0>();
    switch (sig->op->id) {
#define X(name, n, by, f, i)                                                                       \
    case JN_OP_ID_##name:                                                                          \
        return pick<JN_OP_ID_##name, n, by>();
#define F(name, n, f) X(name, n, 0, f, 0)
        EW_LIST(X, F)
#undef X
#undef F
    case JN_OP_ID_cast:
    case JN_OP_ID_clone:
        return run_convert;
    default:
        return NULL;
    }
}
