/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexing.  An index out of range sets a flag; what it would have read is zero, what it would have
 * written is not.
 *
 * Several indices may name one place.  To add there, or to leave what the last one wrote, without
 * atomics of floats and in an order that does not depend on timing, the first index that names a
 * place does the work of all, in order.  It looks for the others; above OWNER_MAX indices, or
 * PLACES_MAX places, a thread walks all indices of its column instead.
 */
#include "ops/cuda/cuda.cuh"

extern "C" {
#include "ops/index_rules.h"
}

enum { OWNER_MAX = 1 << 17, PLACES_MAX = 1 << 24 };

/* Wraps a negative index; -1 and the flag when out of range, or negative and not `from_end`. */
static __device__ __forceinline__ i64 checked(i64 i, i64 size, uint32_t *flags,
                                              bool from_end = true) {
    if (i < (from_end ? -size : 0) || i >= size) {
        atomicOr(flags, (uint32_t)JN_KFLAG_INDEX);
        return -1;
    }
    return i < 0 ? i + size : i;
}

static __device__ __forceinline__ void set_zero(char *y, i64 at, int size) {
    u64 zero = 0;
    copy_bits(y, at, &zero, 0, size);
}

/* y[to] += x[from] */
static __device__ __forceinline__ void add_element(char *y, i64 to, int dtype, const char *x,
                                                   i64 from) {
    if (dtype == JANUS_F64)
        ((double *)y)[to] += ((const double *)x)[from];
    else if (is_float(dtype))
        store_f(y, to, dtype, load_as<float>(y, to, dtype) + load_as<float>(x, from, dtype));
    else
        store_i(y, to, dtype, (i64)((u64)load_i(y, to, dtype) + (u64)load_i(x, from, dtype)));
}

/* y = x, both of y's dims; y row-major. */
static __global__ void copy_all(char *y, dview x, i64 n, int size) {
    JN_EACH(i, n)
    copy_bits(y, i, x.p, offset_of(x, i), size);
}
static void copy_first(const jn_kargs *k) {
    i64 n = numel_of(k->out[0]);
    if (n)
        JN_LAUNCH(exec_of(k), copy_all, grid_for(n), JN_BLOCK, (char *)k->out[0].data,
                  view_of(k->in[0]), n, size_of(k->out[0].dtype));
}

/* ---- gather, scatter ----------------------------------------------------------------------------
 */

static __global__ void gather(char *y, dview x, dview index, int axis, i64 n, uint32_t *flags) {
    int size = size_of(x.dtype);
    JN_EACH(i, n) {
        i64 left = i, from = 0, at = 0;
        for (int d = index.rank - 1; d >= 0; d--) {
            i64 c = left % index.d[d];
            left /= index.d[d];
            at += c * index.s[d];
            if (d != axis)
                from += c * x.s[d];
        }
        i64 j = checked(load_i(index.p, at, index.dtype), x.rank ? x.d[axis] : 1, flags, false);
        if (j >= 0)
            copy_bits(y, i, x.p, from + (x.rank ? j * x.s[axis] : 0), size);
        else
            set_zero(y, i, size);
    }
}
static void run_gather(const jn_kargs *k) {
    int axis = axis_of(((const janus_gather_attrs *)k->attrs)->axis, k->in[0].rank);
    i64 n = numel_of(k->out[0]);
    if (n)
        JN_LAUNCH(exec_of(k), gather, grid_for(n), JN_BLOCK, (char *)k->out[0].data,
                  view_of(k->in[0]), view_of(k->in[1]), axis, n, k->flags);
}

/* A thread per line of the index: lines touch different elements, a line goes in order. */
static __global__ void scatter(dview y, dview index, dview src, int axis, i64 lines, bool add,
                               uint32_t *flags) {
    int size = size_of(y.dtype);
    i64 length = index.rank ? index.d[axis] : 1;
    JN_EACH(l, lines) {
        i64 left = l, iy = 0, ii = 0, is = 0;
        for (int d = index.rank - 1; d >= 0; d--) {
            if (d == axis)
                continue;
            i64 c = left % index.d[d];
            left /= index.d[d];
            iy += c * y.s[d];
            ii += c * index.s[d];
            is += c * src.s[d];
        }
        for (i64 j = 0; j < length; j++) {
            i64 st = index.rank ? j * index.s[axis] : 0, ss = index.rank ? j * src.s[axis] : 0;
            i64 to = checked(load_i(index.p, ii + st, index.dtype), y.rank ? y.d[axis] : 1, flags,
                             false);
            if (to < 0)
                continue;
            i64 at = iy + (y.rank ? to * y.s[axis] : 0);
            if (add)
                add_element(y.p, at, y.dtype, src.p, is + ss);
            else
                copy_bits(y.p, at, src.p, is + ss, size);
        }
    }
}
static void scatter_by_lines(const jn_kargs *k, i64 axis_attr, bool add) {
    copy_first(k);
    const jn_view *index = &k->in[1];
    int axis = axis_of(axis_attr, k->out[0].rank);
    i64 n = numel_of(*index), length = index->rank ? (i64)index->dims[axis] : 1;
    if (n)
        JN_LAUNCH(exec_of(k), scatter, grid_for(n / length, 64), 64, view_of(k->out[0]),
                  view_of(*index), view_of(k->in[2]), axis, n / length, add, k->flags);
}
static void run_scatter(const jn_kargs *k) {
    scatter_by_lines(k, ((const janus_scatter_attrs *)k->attrs)->axis, false);
}
static void run_scatter_add(const jn_kargs *k) {
    scatter_by_lines(k, ((const janus_scatter_add_attrs *)k->attrs)->axis, true);
}

/* ---- slices along an axis -----------------------------------------------------------------------
 */

/* y[a][j][b] = x[a][index[j]][b]; by dims of y around the axis (embedding: axis 0). */
static __global__ void take_slices(char *y, dview x, int axis, dview index, i64 n_index, i64 inner,
                                   i64 n, bool from_end, uint32_t *flags) {
    int size = size_of(x.dtype);
    JN_EACH(i, n) {
        i64 b = i % inner, j = i / inner % n_index, a = i / inner / n_index;
        i64 from =
            checked(load_i(index.p, offset_of(index, j), index.dtype), x.d[axis], flags, from_end);
        if (from < 0) {
            set_zero(y, i, size);
            continue;
        }
        i64 o = from * x.s[axis];
        for (int d = x.rank - 1; d > axis; d--) {
            o += b % x.d[d] * x.s[d];
            b /= x.d[d];
        }
        for (int d = axis - 1; d >= 0; d--) {
            o += a % x.d[d] * x.s[d];
            a /= x.d[d];
        }
        copy_bits(y, i, x.p, o, size);
    }
}
static void slices(const jn_kargs *k, int axis) {
    const jn_view *x = &k->in[0];
    i64 inner = 1, n = numel_of(k->out[0]);
    for (int d = axis + 1; d < x->rank; d++)
        inner *= x->dims[d];
    if (n)
        JN_LAUNCH(exec_of(k), take_slices, grid_for(n), JN_BLOCK, (char *)k->out[0].data,
                  view_of(*x), axis, view_of(k->in[1]), numel_of(k->in[1]), inner, n, k->from_end,
                  k->flags);
}
static void run_index_select(const jn_kargs *k) {
    slices(k, axis_of(((const janus_index_select_attrs *)k->attrs)->axis, k->in[0].rank));
}
static void run_embedding(const jn_kargs *k) { slices(k, 0); }

/* y[a][index[j]][b] += src[a][j][b], y row-major [outer, size, inner]. */
struct add_slices_args {
    char *y;
    int dtype;
    dview src, index;
    i64 outer, n, inner, size, skip; /* skip: an index that adds nothing, -1: none */
    uint32_t *flags;
    const uint32_t *stop;
    bool strict; /* indices count from the start only */
};

/* For each index in workspace: its place, -1: none.  For each place: the first index that names it
 * and how many do.  Room is there for all places, but only those named are ever written. */
struct place_table {
    int *place;
    unsigned *first, *count;
};
static place_table table_of(void *workspace, i64 n, i64 size) {
    place_table t = {(int *)workspace, (unsigned *)workspace + n, (unsigned *)workspace + n + size};
    return t;
}
static bool has_table(i64 n, i64 size) { return n <= OWNER_MAX && size <= PLACES_MAX; }

static __global__ void find_places(add_slices_args q, place_table t) {
    if (q.stop && *q.stop)
        return;
    JN_EACH(j, q.n) {
        i64 place = checked(load_i(q.index.p, offset_of(q.index, j), q.index.dtype), q.size,
                            q.flags, !q.strict);
        if (place == q.skip)
            place = -1;
        t.place[j] = (int)place;
        if (place >= 0) {
            t.first[place] = 0xffffffffu;
            t.count[place] = 0;
        }
    }
}
/* Integers: the order of the atomics does not matter. */
static __global__ void find_owners(add_slices_args q, place_table t) {
    if (q.stop && *q.stop)
        return;
    JN_EACH(j, q.n) {
        int place = t.place[j];
        if (place >= 0) {
            atomicMin(&t.first[place], (unsigned)j);
            atomicAdd(&t.count[place], 1u);
        }
    }
}

enum { SCAN = 4 }; /* indices a thread looks at before those found are added */

template <class C, class S> struct slice_adder {
    static __device__ __forceinline__ C get(const char *p, i64 o, int dtype) {
        if constexpr (sizeof(S) > 1)
            return fetch((const S *)p, o, dtype);
        else
            return load_as<C>(p, o, dtype);
    }
    static __device__ __forceinline__ C src(const add_slices_args &q, i64 o) {
        return get(q.src.p, sizeof(S) > 1 ? o : offset_of(q.src, o), q.dtype);
    }
};

/*
 * A block per index, group of JN_BLOCK columns and `a`; the first index of a place adds the rows of
 * all in order.  S: how src is stored, where it is row-major; else char.
 */
template <class C, class S>
static __global__ void add_slices_owner(add_slices_args q, place_table t) {
    typedef slice_adder<C, S> adder;
    __shared__ int list[SCAN * JN_BLOCK];
    __shared__ unsigned found_by[SCAN * JN_BLOCK / 32];
    if (q.stop && *q.stop)
        return;
    i64 j = blockIdx.x, a = blockIdx.z, b = (i64)blockIdx.y * blockDim.x + threadIdx.x;
    int place = t.place[j];
    if (place < 0 || t.first[place] != (unsigned)j)
        return;
    unsigned left = t.count[place] - 1, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
             warps = blockDim.x / 32;
    i64 to = (a * q.size + place) * q.inner + b, row = a * q.n;
    bool mine = b < q.inner;
    C sum = 0;
    if (mine)
        sum = wrapping_add(adder::get(q.y, to, q.dtype), adder::src(q, (row + j) * q.inner + b));
    for (i64 from = j + 1; left > 0; from += (i64)SCAN * blockDim.x) {
        bool hit[SCAN];
        unsigned hits[SCAN];
        for (int k = 0; k < SCAN; k++) {
            i64 i = from + k * (i64)blockDim.x + threadIdx.x;
            hit[k] = i < q.n && t.place[i] == place;
        }
        for (int k = 0; k < SCAN; k++) {
            hits[k] = __ballot_sync(0xffffffffu, hit[k]);
            if (lane == 0)
                found_by[(unsigned)k * warps + warp] = (unsigned)__popc(hits[k]);
        }
        __syncthreads();
        unsigned found = 0;
        for (int k = 0; k < SCAN; k++)
            for (unsigned w = 0; w < warps; w++) {
                if (w == warp && hit[k])
                    list[found + (unsigned)__popc(hits[k] & ((1u << lane) - 1))] =
                        (int)(from + k * (i64)blockDim.x + threadIdx.x);
                found += found_by[(unsigned)k * warps + w];
            }
        __syncthreads();
        if (mine)
            JN_UNROLL_8
        for (unsigned f = 0; f < found; f++)
            sum = wrapping_add(sum, adder::src(q, (row + list[f]) * q.inner + b));
        left -= found;
        __syncthreads();
    }
    if (mine)
        store_as<C>(q.y, to, q.dtype, sum);
}
/* A thread per (a, b), all indices in order. */
static __global__ void add_slices_walk(add_slices_args q) {
    if (q.stop && *q.stop)
        return;
    JN_EACH(l, q.outer * q.inner) {
        i64 b = l % q.inner, a = l / q.inner;
        for (i64 j = 0; j < q.n; j++) {
            i64 place = checked(load_i(q.index.p, offset_of(q.index, j), q.index.dtype), q.size,
                                q.flags, !q.strict);
            if (place >= 0 && place != q.skip)
                add_element(q.y, (a * q.size + place) * q.inner + b, q.dtype, q.src.p,
                            offset_of(q.src, (a * q.n + j) * q.inner + b));
        }
    }
}
template <class C, class S> static void add_by_owners(const jn_kargs *k, const add_slices_args &q) {
    place_table t = table_of(k->workspace, q.n, q.size);
    int threads = q.inner <= 64 ? 64 : q.inner <= 128 ? 128 : JN_BLOCK;
    dim3 grid((unsigned)q.n, (unsigned)((q.inner + threads - 1) / threads), (unsigned)q.outer);
    JN_LAUNCH(exec_of(k), find_places, grid_for(q.n), JN_BLOCK, q, t);
    JN_LAUNCH(exec_of(k), find_owners, grid_for(q.n), JN_BLOCK, q, t);
    JN_LAUNCH_SYNC(exec_of(k), (add_slices_owner<C, S>), grid, threads, q, t);
}
static void add_slices(const jn_kargs *k, const add_slices_args &q) {
    if (!q.n || !q.inner || !q.outer)
        return;
    if (!k->workspace || !has_table(q.n, q.size) || q.outer > 65535 ||
        q.inner / JN_BLOCK >= 65535) {
        JN_LAUNCH(exec_of(k), add_slices_walk, grid_for(q.outer * q.inner, 64), 64, q);
        return;
    }
    bool flat = true;
    i64 step = 1;
    for (int d = q.src.rank - 1; d >= 0; d--) {
        flat = flat && (q.src.d[d] == 1 || q.src.s[d] == step);
        step *= q.src.d[d];
    }
    if (q.dtype == JANUS_F64)
        flat ? add_by_owners<double, double>(k, q) : add_by_owners<double, char>(k, q);
    else if (q.dtype == JANUS_F32 && flat)
        add_by_owners<float, float>(k, q);
    else if (is_float(q.dtype))
        flat ? add_by_owners<float, halves>(k, q) : add_by_owners<float, char>(k, q);
    else
        add_by_owners<i64, char>(k, q);
}
/* The places of the indices, of embedding_grad and index_add. */
extern "C" size_t jn_cuda_add_slices_workspace(const jn_sig *sig) {
    const jn_view *y = &sig->out[0];
    int axis = sig->op->id == JN_OP_ID_embedding_grad
                   ? 0
                   : axis_of(((const janus_index_add_attrs *)sig->attrs)->axis, y->rank);
    i64 n = numel_of(sig->in[1]), size = y->rank ? (i64)y->dims[axis] : 1;
    return has_table(n, size) ? (size_t)(n + 2 * size) * sizeof(int) : 0;
}

static void run_index_add(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int axis = axis_of(((const janus_index_add_attrs *)k->attrs)->axis, y->rank);
    add_slices_args q = {(char *)y->data,
                         y->dtype,
                         view_of(k->in[2]),
                         view_of(k->in[1]),
                         1,
                         numel_of(k->in[1]),
                         1,
                         (i64)y->dims[axis],
                         -1,
                         k->flags,
                         NULL};
    for (int d = 0; d < y->rank; d++)
        *(d < axis ? &q.outer : &q.inner) *= d == axis ? 1 : y->dims[d];
    q.strict = !k->from_end;
    copy_first(k);
    add_slices(k, q);
}

/* Words of 8 bytes, and what lies before and behind them: a result may be a row of a matrix, which
 * begins anywhere. */
static __global__ void zero(char *y, i64 bytes) {
    i64 before = (i64)(-(uintptr_t)y & 7);
    if (before > bytes)
        before = bytes;
    i64 words = (bytes - before) / 8;
    JN_EACH(i, words)
    ((u64 *)(y + before))[i] = 0;
    JN_EACH(i, bytes - words * 8)
    y[i < before ? i : words * 8 + i] = 0;
}
static void zero_result(const jn_kargs *k) {
    i64 bytes = numel_of(k->out[0]) * size_of(k->out[0].dtype);
    if (bytes)
        JN_LAUNCH(exec_of(k), zero, grid_for(bytes / 8), JN_BLOCK, (char *)k->out[0].data, bytes);
}

static void run_embedding_grad(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    add_slices_args q = {(char *)y->data,
                         y->dtype,
                         view_of(k->in[0]),
                         view_of(k->in[1]),
                         1,
                         numel_of(k->in[1]),
                         (i64)y->dims[1],
                         (i64)y->dims[0],
                         ((const janus_embedding_grad_attrs *)k->attrs)->padding_idx,
                         k->flags,
                         k->accumulate ? exec_of(k)->stop : NULL};
    if (!k->accumulate)
        zero_result(k);
    add_slices(k, q);
}

static __global__ void one_hot(char *y, int dtype, dview index, i64 classes, i64 n,
                               uint32_t *flags) {
    JN_EACH(i, n) {
        i64 c = load_i(index.p, offset_of(index, i / classes), index.dtype);
        if (c < 0 || c >= classes)
            atomicOr(flags, (uint32_t)JN_KFLAG_INDEX);
        store_i(y, i, dtype, c == i % classes);
    }
}
static void run_one_hot(const jn_kargs *k) {
    i64 n = numel_of(k->out[0]), classes = ((const janus_one_hot_attrs *)k->attrs)->num_classes;
    if (n)
        JN_LAUNCH(exec_of(k), one_hot, grid_for(n), JN_BLOCK, (char *)k->out[0].data,
                  (int)k->out[0].dtype, view_of(k->in[0]), classes, n, k->flags);
}

/* ---- x[i0, i1, ...] -----------------------------------------------------------------------------
 */

enum { INDICES = 6 };
struct index_args {
    dview x; /* what is indexed: x, or y of index_put */
    int n, place, brank;
    i64 bd[JN_MAX_RANK]; /* dims the indices broadcast to */
    bool indexed[JN_MAX_RANK];
    int axis[INDICES];
    const char *p[INDICES];
    int dtype[INDICES];
    i64 s[INDICES][JN_MAX_RANK]; /* strides in the broadcast dims */
    uint32_t *flags;
};

/* Part of the offset that index position q (row-major in bd) gives; -1: out of range. */
static __device__ __forceinline__ i64 place_of(const index_args &a, i64 q) {
    i64 at[INDICES] = {0}, o = 0;
    bool ok = true;
    for (int d = a.brank - 1; d >= 0; d--) {
        i64 c = q % a.bd[d];
        q /= a.bd[d];
        for (int k = 0; k < a.n; k++)
            at[k] += c * a.s[k][d];
    }
    for (int k = 0; k < a.n; k++) {
        i64 i = checked(load_i(a.p[k], at[k], a.dtype[k]), a.x.d[a.axis[k]], a.flags);
        ok = ok && i >= 0;
        o += i * a.x.s[a.axis[k]];
    }
    return ok ? o : -1;
}

/* Element i of the indexed part: its index position and the rest of the offset. */
static __device__ __forceinline__ void part_of(const index_args &a, i64 i, i64 *q, i64 *rest) {
    i64 step = 1;
    *q = *rest = 0;
    /* dims of the part from the last: the plain ones, and the broadcast ones before dim `place` of
     * what stays */
    int plain = 0;
    for (int d = 0; d < a.x.rank; d++)
        plain += !a.indexed[d];
    int d = a.x.rank - 1, left = plain;
    for (int n = plain + a.brank - 1; n >= 0; n--) {
        if (n >= a.place && n < a.place + a.brank) {
            i64 size = a.bd[n - a.place];
            *q += i % size * step;
            step *= size;
            i /= size;
        } else {
            while (a.indexed[d])
                d--;
            *rest += i % a.x.d[d] * a.x.s[d];
            i /= a.x.d[d];
            d--;
            left--;
        }
    }
}

static bool index_plan(index_args *a, const jn_kargs *k, const jn_view *x, unsigned first,
                       janus_ints axes) {
    memset(a, 0, sizeof *a);
    a->x = view_of(*x);
    a->n = (int)axes.n;
    a->flags = k->flags;
    if (!jn_index_layout(axes, x->rank, a->indexed, &a->place))
        return false;
    for (int t = 0; t < a->n; t++)
        a->brank = k->in[first + t].rank > a->brank ? k->in[first + t].rank : a->brank;
    for (int d = 0; d < a->brank; d++)
        a->bd[d] = 1;
    for (int t = 0; t < a->n; t++) {
        const jn_view *v = &k->in[first + t];
        a->axis[t] = axis_of(axes.data[t], x->rank);
        a->p[t] = (const char *)v->data;
        a->dtype[t] = v->dtype;
        for (int d = 0; d < v->rank; d++) {
            int to = d + a->brank - v->rank;
            if (v->dims[d] != 1)
                a->bd[to] = v->dims[d];
            a->s[t][to] = v->dims[d] == 1 ? 0 : v->strides[d];
        }
    }
    return true;
}

static __global__ void index_read(char *y, index_args a, i64 n) {
    int size = size_of(a.x.dtype);
    JN_EACH(i, n) {
        i64 q, rest;
        part_of(a, i, &q, &rest);
        i64 o = place_of(a, q);
        if (o >= 0)
            copy_bits(y, i, a.x.p, o + rest, size);
        else
            set_zero(y, i, size);
    }
}
static void run_index(const jn_kargs *k) {
    index_args a;
    i64 n = numel_of(k->out[0]);
    if (n && index_plan(&a, k, &k->in[0], 1, ((const janus_index_attrs *)k->attrs)->axes))
        JN_LAUNCH(exec_of(k), index_read, grid_for(n), JN_BLOCK, (char *)k->out[0].data, a, n);
}

/* Element i of the part is written by the last, or added by the first, index position of its
 * place. */
static __global__ void index_write(index_args a, dview src, i64 n, i64 positions, bool add) {
    int size = size_of(a.x.dtype);
    JN_EACH(i, n) {
        i64 q, rest, q2, rest2;
        part_of(a, i, &q, &rest);
        i64 o = place_of(a, q);
        bool mine = o >= 0;
        for (i64 j = add ? 0 : q + 1; mine && j < (add ? q : positions); j++)
            mine = place_of(a, j) != o;
        if (!mine)
            continue;
        if (!add) {
            copy_bits(a.x.p, o + rest, src.p, offset_of(src, i), size);
            continue;
        }
        for (i64 e = i; e < n; e++) { /* the elements of later positions with the same rest */
            part_of(a, e, &q2, &rest2);
            if (rest2 == rest && place_of(a, q2) == o)
                add_element(a.x.p, o + rest, a.x.dtype, src.p, offset_of(src, e));
        }
    }
}
static void run_index_put(const jn_kargs *k) {
    const janus_index_put_attrs *at = (const janus_index_put_attrs *)k->attrs;
    const jn_view *src = &k->in[1];
    index_args a;
    copy_first(k);
    if (!index_plan(&a, k, &k->out[0], 2, at->axes))
        return;
    i64 positions = 1, n;
    dview part;
    memset(&part, 0, sizeof part);
    for (int d = 0; d < a.brank; d++)
        positions *= a.bd[d];
    /* src broadcasts to the dims of the part */
    for (int d = 0, place = 0; d <= a.x.rank; d++) {
        if (place == a.place && (d == a.x.rank || place == part.rank)) {
            for (int b = 0; b < a.brank; b++)
                part.d[part.rank++] = a.bd[b];
            place = -1;
        }
        if (d < a.x.rank && !a.indexed[d]) {
            part.d[part.rank++] = a.x.d[d];
            if (place >= 0)
                place++;
        }
    }
    n = 1;
    for (int d = 0; d < part.rank; d++) {
        int from = d - (part.rank - src->rank);
        part.s[d] = from < 0 || src->dims[from] == 1 ? 0 : src->strides[from];
        n *= part.d[d];
    }
    part.p = (char *)src->data;
    part.dtype = src->dtype;
    if (n)
        JN_LAUNCH(exec_of(k), index_write, grid_for(n), JN_BLOCK, a, part, n, positions,
                  at->accumulate != 0);
}
JN_CUDA_SELECT jn_cuda_index(const jn_sig *sig) {
    return ((const janus_index_attrs *)sig->attrs)->axes.n <= INDICES ? run_index : NULL;
}
JN_CUDA_SELECT jn_cuda_index_put(const jn_sig *sig) {
    return ((const janus_index_put_attrs *)sig->attrs)->axes.n <= INDICES ? run_index_put : NULL;
}

/* ---- what is not zero, in order: one block, chunk after chunk
 * -------------------------------------
 */

enum { CHUNK = 1024 };

/* Where each of the block's flagged threads goes, and how many there are. */
static __device__ __forceinline__ int positions_of(bool flag, int *total) {
    __shared__ int sums[CHUNK];
    int t = (int)threadIdx.x;
    __syncthreads();
    sums[t] = flag;
    __syncthreads();
    for (int by = 1; by < CHUNK; by *= 2) {
        int v = t >= by ? sums[t - by] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    *total = sums[CHUNK - 1];
    return sums[t] - flag;
}

static __global__ void nonzero(dview x, char *y, int y_dtype, i64 n, char *count, int c_dtype) {
    i64 found = 0;
    for (i64 from = 0; from < n; from += CHUNK) {
        i64 i = from + threadIdx.x;
        bool flag = i < n && load_as<double>(x.p, offset_of(x, i), x.dtype) != 0;
        int total, at = positions_of(flag, &total);
        if (flag) {
            i64 left = i;
            for (int d = x.rank - 1; d >= 0; d--) {
                store_i(y, (found + at) * x.rank + d, y_dtype, left % x.d[d]);
                left /= x.d[d];
            }
        }
        found += total;
    }
    if (threadIdx.x == 0)
        store_i(count, 0, c_dtype, found);
}
static void run_nonzero(const jn_kargs *k) {
    zero_result(k);
    JN_LAUNCH_SYNC(exec_of(k), nonzero, 1, CHUNK, view_of(k->in[0]), (char *)k->out[0].data,
                   (int)k->out[0].dtype, numel_of(k->in[0]), (char *)k->out[1].data,
                   (int)k->out[1].dtype);
}

static __global__ void masked_select(dview x, dview mask, char *y, i64 n, char *count,
                                     int c_dtype) {
    i64 found = 0;
    int size = size_of(x.dtype);
    for (i64 from = 0; from < n; from += CHUNK) {
        i64 i = from + threadIdx.x;
        bool flag = i < n && load_i(mask.p, offset_of(mask, i), mask.dtype) != 0;
        int total, at = positions_of(flag, &total);
        if (flag)
            copy_bits(y, found + at, x.p, offset_of(x, i), size);
        found += total;
    }
    if (threadIdx.x == 0)
        store_i(count, 0, c_dtype, found);
}
static void run_masked_select(const jn_kargs *k) {
    zero_result(k);
    JN_LAUNCH_SYNC(exec_of(k), masked_select, 1, CHUNK, view_of(k->in[0]), view_of(k->in[1]),
                   (char *)k->out[0].data, numel_of(k->in[0]), (char *)k->out[1].data,
                   (int)k->out[1].dtype);
}

/* ---- sorting ------------------------------------------------------------------------------------
 */

/* Whether element a comes strictly before b; NaN is larger than everything. */
static __device__ __forceinline__ bool before(const dview &x, i64 a, i64 b) {
    if (!is_float(x.dtype))
        return load_i(x.p, a, x.dtype) < load_i(x.p, b, x.dtype);
    double fa = load_as<double>(x.p, a, x.dtype), fb = load_as<double>(x.p, b, x.dtype);
    return fa < fb || (fb != fb && fa == fa);
}

struct sort_args {
    dview lines; /* of x, without the axis */
    i64 n, stride, take, total, out_stride;
    dview out; /* dims and strides of the results, without the axis */
    char *values, *indices;
    int i_dtype;
    bool descending;
};

/* A thread per element counts what comes before it: stable, and as fast as sorting gets for the
 * short lines that networks sort. */
static __global__ void rank_sort(sort_args a) {
    int size = size_of(a.lines.dtype);
    JN_EACH(e, a.total) {
        i64 me = e % a.n, line = e / a.n, rank = 0;
        i64 base = offset_of(a.lines, line), mine = base + me * a.stride;
        for (i64 j = 0; j < a.n; j++) {
            i64 other = base + j * a.stride;
            bool first = a.descending ? before(a.lines, mine, other) : before(a.lines, other, mine);
            bool last = a.descending ? before(a.lines, other, mine) : before(a.lines, mine, other);
            rank += first || (!last && j < me);
        }
        if (rank >= a.take)
            continue;
        i64 to = offset_of(a.out, line) + rank * a.out_stride;
        if (a.values)
            copy_bits(a.values, to, a.lines.p, mine, size);
        store_i(a.indices, to, a.i_dtype, me);
    }
}

static dview without_axis(const jn_view &v, int axis) {
    dview r = view_of(v);
    int n = 0;
    for (int i = 0; i < v.rank; i++)
        if (i != axis) {
            r.d[n] = v.dims[i];
            r.s[n++] = v.strides[i];
        }
    r.rank = n;
    return r;
}

static void sort_lines(const jn_kargs *k, i64 axis_attr, bool descending, i64 take,
                       const jn_view *values, const jn_view *indices) {
    const jn_view *x = &k->in[0];
    int axis = axis_of(axis_attr, x->rank);
    sort_args a;
    memset(&a, 0, sizeof a);
    a.lines = without_axis(*x, axis);
    a.out = without_axis(*indices, axis);
    a.n = x->rank ? (i64)x->dims[axis] : 1;
    a.stride = x->rank ? (i64)x->strides[axis] : 0;
    a.out_stride = x->rank ? (i64)indices->strides[axis] : 0;
    a.take = take < 0 ? a.n : take;
    a.total = numel_of(*x);
    a.values = values ? (char *)values->data : NULL;
    a.indices = (char *)indices->data;
    a.i_dtype = indices->dtype;
    a.descending = descending;
    if (a.total)
        JN_LAUNCH(exec_of(k), rank_sort, grid_for(a.total), JN_BLOCK, a);
}
static void run_sort(const jn_kargs *k) {
    const janus_sort_attrs *a = (const janus_sort_attrs *)k->attrs;
    sort_lines(k, a->axis, a->descending != 0, -1, &k->out[0], &k->out[1]);
}
static void run_argsort(const jn_kargs *k) {
    const janus_argsort_attrs *a = (const janus_argsort_attrs *)k->attrs;
    sort_lines(k, a->axis, a->descending != 0, -1, NULL, &k->out[0]);
}
static void run_topk(const jn_kargs *k) {
    const janus_topk_attrs *a = (const janus_topk_attrs *)k->attrs;
    sort_lines(k, a->axis, a->largest != 0, a->k, &k->out[0], &k->out[1]);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(gather)
SELECT(scatter)
SELECT(scatter_add)
SELECT(index_select)
SELECT(index_add)
SELECT(embedding)
SELECT(embedding_grad)
SELECT(one_hot)
SELECT(nonzero)
SELECT(masked_select)
SELECT(sort)
SELECT(argsort)
SELECT(topk)
