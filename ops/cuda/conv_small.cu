/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of few images, f32, with the chain that reads their result (jn_dev_chain in
 * ops/device.h) in the same kernel.
 *
 * A convolution of one image is too small to fill a device by a library's tiles.  Here a block has
 * a tile of 32 channels and 32 pixels only, and its warps share the sum over the taps: each takes
 * every so many of them, eight at a time, through memory that it shares with no other warp, so that
 * warps do not wait for each other before the end.  Where there are still fewer blocks than
 * multiprocessors the sum is cut once more, over blocks, and a second kernel adds the parts.  Sums
 * have a fixed order.
 *
 * Products of matrices whose results are small are done in the same way.
 *
 * The rest: convolutions of groups with few taps have a thread for an element, or for four of a
 * row; those of images of one pixel are a matrix times a vector, and have a warp for an element.
 */
#include "ops/cuda/product.cuh"
#include "ops/cuda/steps.cuh"

enum {
    SIDE = 32,  /* of a tile */
    TAPS = 8,   /* of a warp at a time */
    W_ROW = 36, /* floats from tap to tap of the weights of a tile: no two lanes share a bank */
    X_AT = TAPS * W_ROW,
    ROOM = SIDE * SIDE, /* floats of a warp: eight taps of both operands, then its sums */
    DIRECT_BLOCK = 128,
    MOST_SLICES = 8
};

struct small_conv {
    const float *x, *w, *bias;
    float *y, *part; /* part: of sums cut over blocks, one result after the other; NULL: not cut */
    int o, pixels, n, taps; /* n: images times pixels; taps: of one element of the result */
    int channels, ih, iw, ow, kh, kw, stride[2], pad[2], dil[2], per_group; /* channels: of x */
    int bias_step, slice;       /* slice: taps of a block */
    bool weight_fours, x_fours; /* weights, and taps of x, may be read by fours */
};

/* Writes W elements of the result from row-major number e on. */
template <int W> DEV void finish(const small_conv &c, const chain_args &a, int e, lanes<W> sum) {
    if (c.bias) {
        float b = c.bias[(size_t)(e / c.pixels % c.o * c.bias_step)];
        for (int j = 0; j < W; j++)
            sum.f[j] += b;
    }
    if (a.n_steps)
        sum = chain_at<W, unsigned>(a, (unsigned)e, sum);
    *(lanes<W> *)(c.y + e) = sum;
}

/* ---- tiles --------------------------------------------------------------------------------------
 */

/* A column of the tile: a pixel of an image, of which tap after tap is read.  POINT: there is one
 * tap a channel, and pixels of x and of the result are the same.  GRAD: the result is the gradient
 * for what was convolved, x the gradient of what came of it: a tap is read where the convolution's
 * steps led from here. */
template <bool POINT, bool GRAD> struct column {
    const float *p;
    int h, w; /* of tap 0 */
    bool inside;

    __device__ __forceinline__ column(const small_conv &c, int n) {
        inside = n < c.n;
        int image = inside ? n / c.pixels : 0, pixel = inside ? n - image * c.pixels : 0;
        p = c.x + (size_t)image * c.channels * c.ih * c.iw;
        h = w = 0;
        if (POINT)
            p += pixel;
        else if (GRAD) {
            h = pixel / c.ow + c.pad[0];
            w = pixel % c.ow + c.pad[1];
        } else {
            h = pixel / c.ow * c.stride[0] - c.pad[0];
            w = pixel % c.ow * c.stride[1] - c.pad[1];
        }
    }
    /* Whether there is something at i of so many, and where. */
    static __device__ __forceinline__ bool here(int i, int step, int size, int *out) {
        if (GRAD && step > 1) {
            *out = i / step;
            return i >= 0 && i % step == 0 && *out < size;
        }
        *out = i;
        return i >= 0 && i < size;
    }
    /* TAPS of them from one on. */
    __device__ __forceinline__ void take(const small_conv &c, int tap, float *out) const {
        if (POINT && c.x_fours) {
            JN_UNROLL
            for (int i = 0; i < TAPS; i += 4) {
                lanes<4> v = {{0, 0, 0, 0}};
                if (inside && tap + i < c.taps)
                    v = *(const lanes<4> *)(p + tap + i);
                JN_UNROLL
                for (int j = 0; j < 4; j++)
                    out[i + j] = v.f[j];
            }
            return;
        }
        if (POINT) {
            const float *at = p + (size_t)tap * c.pixels;
            JN_UNROLL
            for (int i = 0; i < TAPS; i++, at += c.pixels)
                out[i] = inside && tap + i < c.taps ? *at : 0;
            return;
        }
        int channel = tap / (c.kh * c.kw), left = tap - channel * (c.kh * c.kw), r = left / c.kw;
        const int down = GRAD ? -c.dil[0] : c.dil[0], right = GRAD ? -c.dil[1] : c.dil[1];
        int s = left - r * c.kw, i = h + r * down, j = w + s * right;
        const float *at = p + (size_t)channel * c.ih * c.iw;
        JN_UNROLL
        for (int t = 0; t < TAPS; t++) {
            int y, x;
            bool in_rows = here(i, c.stride[0], c.ih, &y), in_row = here(j, c.stride[1], c.iw, &x);
            out[t] = inside && tap + t < c.taps && in_rows && in_row ? at[y * c.iw + x] : 0;
            s++;
            j += right;
            if (s == c.kw) {
                s = 0;
                r++;
                j = w;
                i += down;
            }
            if (r == c.kh) {
                r = 0;
                i = h;
                at += c.ih * c.iw;
            }
        }
    }
};

/* Four taps of a channel's weights, zeros where there are none. */
template <bool GRAD> DEV lanes<4> weights(const small_conv &c, int o, int tap) {
    lanes<4> v = {{0, 0, 0, 0}};
    if (o >= c.o)
        return v;
    if (GRAD) { /* those of one channel of x after the other, in which o is one of many */
        int per = c.kh * c.kw, channel = tap / per, left = tap - channel * per;
        const float *w = c.w + ((size_t)channel * c.o + o) * per + left;
        JN_UNROLL
        for (int j = 0; j < 4; j++, w++) {
            if (tap + j < c.taps)
                v.f[j] = *w;
            if (++left == per) {
                left = 0;
                w += (size_t)(c.o - 1) * per;
            }
        }
        return v;
    }
    const float *w = c.w + (size_t)o * c.taps + tap;
    if (c.weight_fours) {
        if (tap < c.taps)
            v = *(const lanes<4> *)w;
        return v;
    }
    JN_UNROLL
    for (int j = 0; j < 4; j++)
        if (tap + j < c.taps)
            v.f[j] = w[j];
    return v;
}

template <int WARPS, bool POINT, int W, bool GRAD>
static __global__ void __launch_bounds__(32 * WARPS, 16 / WARPS)
    conv_tile(small_conv c, chain_args a) {
    alignas(16) __shared__ float all[WARPS * ROOM];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int o0 = (int)blockIdx.y * SIDE, n0 = (int)blockIdx.x * SIDE;
    const int first = (int)blockIdx.z * c.slice, end = first + c.slice;
    const int rounds = (c.slice + WARPS * TAPS - 1) / (WARPS * TAPS);
    const int row = lane / 2, quad = lane % 2 * 4;      /* of the weights it loads */
    const int my_o = lane / 8 * 8, my_n = lane % 8 * 4; /* of what it computes */
    float *room = all + warp * ROOM, sum[8][4] = {{0}};
    column<POINT, GRAD> x(c, n0 + lane);
    lanes<4> next_w[2];
    float next_x[TAPS];
    int tap = first + warp * TAPS;
    JN_UNROLL
    for (int i = 0; i < 2; i++)
        next_w[i] = weights<GRAD>(c, o0 + row + 16 * i, tap + quad);
    x.take(c, tap, next_x);
    for (int round = 0; round < rounds; round++) {
        JN_UNROLL
        for (int i = 0; i < 2; i++)
            JN_UNROLL
        for (int j = 0; j < 4; j++)
            room[(quad + j) * W_ROW + row + 16 * i] = next_w[i].f[j];
        JN_UNROLL
        for (int i = 0; i < TAPS; i++)
            room[X_AT + i * SIDE + lane] = next_x[i];
        __syncwarp();
        bool mine = tap < end;
        tap += WARPS * TAPS;
        if (round + 1 < rounds && tap < end) { /* on their way while this round is computed */
            JN_UNROLL
            for (int i = 0; i < 2; i++)
                next_w[i] = weights<GRAD>(c, o0 + row + 16 * i, tap + quad);
            x.take(c, tap, next_x);
        }
        if (mine) {
            JN_UNROLL
            for (int k = 0; k < TAPS; k++) {
                lanes<4> w0 = *(const lanes<4> *)(room + k * W_ROW + my_o);
                lanes<4> w1 = *(const lanes<4> *)(room + k * W_ROW + my_o + 4);
                lanes<4> v = *(const lanes<4> *)(room + X_AT + k * SIDE + my_n);
                JN_UNROLL
                for (int j = 0; j < 4; j++)
                    JN_UNROLL
                for (int i = 0; i < 4; i++) {
                    sum[i][j] += w0.f[i] * v.f[j];
                    sum[i + 4][j] += w1.f[i] * v.f[j];
                }
            }
        }
        __syncwarp();
    }
    JN_UNROLL
    for (int i = 0; i < 8; i++) {
        lanes<4> v = {{sum[i][0], sum[i][1], sum[i][2], sum[i][3]}};
        *(lanes<4> *)(room + (my_o + i) * SIDE + my_n) = v;
    }
    __syncthreads();
    for (int q = (int)threadIdx.x; q < ROOM / 4; q += 32 * WARPS) {
        int o = o0 + q / 8, n = n0 + q % 8 * 4;
        if (o >= c.o || n >= c.n)
            continue;
        lanes<4> v = *(const lanes<4> *)(all + q * 4);
        JN_UNROLL
        for (int k = 1; k < WARPS; k++) {
            lanes<4> add = *(const lanes<4> *)(all + k * ROOM + q * 4);
            JN_UNROLL
            for (int j = 0; j < 4; j++)
                v.f[j] += add.f[j];
        }
        JN_UNROLL
        for (int j = 0; j < 4; j += W) {
            if (n + j >= c.n)
                break;
            int image = (n + j) / c.pixels, pixel = n + j - image * c.pixels;
            int e = (image * c.o + o) * c.pixels + pixel;
            lanes<W> some;
            for (int i = 0; i < W; i++)
                some.f[i] = v.f[j + i];
            if (c.part)
                *(lanes<W> *)(c.part + (size_t)blockIdx.z * c.o * c.n + e) = some;
            else if (GRAD)
                *(lanes<W> *)(c.y + e) = some;
            else
                finish<W>(c, a, e, some);
        }
    }
}

/* The parts of blocks that shared sums. */
template <int W> static __global__ void add_parts(small_conv c, chain_args a, int parts) {
    int all = c.o * c.n;
    JN_EACH(g, all / W) {
        int e = (int)g * W;
        lanes<W> sum = *(const lanes<W> *)(c.part + e);
        for (int k = 1; k < parts; k++) {
            lanes<W> add = *(const lanes<W> *)(c.part + (size_t)k * all + e);
            for (int j = 0; j < W; j++)
                sum.f[j] += add.f[j];
        }
        finish<W>(c, a, e, sum);
    }
}

/* ---- few taps, or few pixels --------------------------------------------------------------------
 */

/* The part of W neighbours' sums that is of one channel's window.  K: it is K x K, S apart from
 * neighbour to neighbour and not dilated, and what the neighbours read of a row is under way before
 * any of it is added; 0: of any kind. */
template <int W, int K, int S>
DEV void add_window(const small_conv &c, const float *p, const float *weight, int h, int w,
                    lanes<W> *sum) {
    if (K == 0) {
        for (int r = 0; r < c.kh; r++)
            for (int s = 0; s < c.kw; s++, weight++)
                for (int j = 0; j < W; j++) {
                    int i = h + r * c.dil[0], q = w + j * c.stride[1] + s * c.dil[1];
                    if (i >= 0 && i < c.ih && q >= 0 && q < c.iw)
                        sum->f[j] += *weight * p[i * c.iw + q];
                }
        return;
    }
    constexpr int SPAN = (W - 1) * S + K + (K == 0); /* an array has elements */
    JN_UNROLL
    for (int r = 0; r < K; r++, weight += K) {
        int i = h + r;
        float x[SPAN], at[SPAN];
        JN_UNROLL
        for (int q = 0; q < SPAN; q++)
            x[q] = i >= 0 && i < c.ih && w + q >= 0 && w + q < c.iw ? p[i * c.iw + w + q] : 0;
        JN_UNROLL
        for (int s = 0; s < K; s++)
            at[s] = weight[s];
        JN_UNROLL
        for (int s = 0; s < K; s++)
            JN_UNROLL
        for (int j = 0; j < W; j++)
            sum->f[j] += at[s] * x[j * S + s];
    }
}

/* Elements of one row of the result. */
template <int W, int K, int S> static __global__ void conv_direct(small_conv c, chain_args a) {
    int total = c.o * c.n / W, per = c.kh * c.kw;
    JN_EACH(g, total) {
        int e = (int)g * W, plane = e / c.pixels, pixel = e - plane * c.pixels;
        int image = plane / c.o, o = plane - image * c.o;
        int h = pixel / c.ow * c.stride[0] - c.pad[0], w = pixel % c.ow * c.stride[1] - c.pad[1];
        int here = c.taps / per; /* channels of a group */
        const float *p = c.x + ((size_t)image * c.channels + o / c.per_group * here) * c.ih * c.iw;
        const float *weight = c.w + (size_t)o * c.taps;
        lanes<W> sum = {{0}};
        JN_NO_UNROLL
        for (int k = 0; k < here; k++, p += c.ih * c.iw, weight += per)
            add_window<W, K, S>(c, p, weight, h, w, &sum);
        finish<W>(c, a, e, sum);
    }
}

/* Taps are channels. */
static __global__ void conv_vector(small_conv c, chain_args a) {
    int e = (int)((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = (int)threadIdx.x % 32;
    bool mine = e < c.o * c.n;
    int plane = e / c.pixels, image = plane / c.o, o = plane - image * c.o;
    const float *w = c.w + (size_t)o * c.taps;
    const float *x = c.x + (size_t)image * c.channels * c.pixels + e % c.pixels;
    float sum = 0;
    JN_UNROLL_8
    for (int k = lane; k < (mine ? c.taps : 0); k += 32)
        sum += w[k] * x[(size_t)k * c.pixels];
    for (int m = 16; m > 0; m /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, m);
    lanes<1> v = {{sum}};
    if (mine && lane == 0)
        finish<1>(c, a, e, v);
}

/* ---- which, and how -----------------------------------------------------------------------------
 */

enum { NOT_SMALL, BY_TILES, DIRECTLY, BY_VECTOR };

static bool dense(const jn_view &v) {
    i64 step = 1;
    for (int d = v.rank - 1; d >= 0; d--) {
        if (v.dims[d] != 1 && v.strides[d] != step)
            return false;
        step *= v.dims[d];
    }
    return step > 0 && step <= INT32_MAX / 4;
}

static bool is_point(const janus_conv2d_attrs *a, const jn_view &w) {
    bool point = w.dims[2] == 1 && w.dims[3] == 1;
    for (int d = 0; d < 2; d++)
        point = point && a->stride.data[d] == 1 && a->padding.data[d] == 0;
    return point;
}

/* Where a library's kernels (cuDNN's for f32 without TF32) are slower, measured on an H200: theirs
 * take as long as one sum does until their tiles fill the device, about 24 ns a tap, the ones here
 * as long as there is to multiply.  sig: a convolution, or its gradient for x, whose attributes are
 * alike. */
static int small_kind(const jn_sig *sig, bool grad) {
    const janus_conv2d_attrs *a = (const janus_conv2d_attrs *)sig->attrs;
    const jn_view *x = &sig->in[0], *w = &sig->in[1], *y = &sig->out[0];
    const i64 most = 3 << 16, most_points = 5 << 18, most_direct = 1 << 22;
    if (y->dtype != JANUS_F32 || !dense(*x) || !dense(*w) || !dense(*y))
        return NOT_SMALL;
    i64 n = numel_of(*y), taps = numel_of(*w) / w->dims[grad];
    if (a->groups > 1)
        return !grad && taps <= 64 && n <= most_direct ? DIRECTLY : NOT_SMALL;
    bool point = is_point(a, *w);
    if (point && !grad && n / w->dims[0] <= 4)
        return BY_VECTOR;
    return n <= (point ? most_points : most) ? BY_TILES : NOT_SMALL;
}

static void find_fours(small_conv *c) {
    c->weight_fours = c->taps % 4 == 0 && (uintptr_t)c->w % 16 == 0;
    c->x_fours = c->ih * c->iw == 1 && c->taps % 4 == 0 && (uintptr_t)c->x % 16 == 0;
}

static small_conv small_of(const jn_kargs *k, const jn_sig *sig, bool grad) {
    const janus_conv2d_attrs *at = (const janus_conv2d_attrs *)sig->attrs;
    const jn_view *in = sig->in;
    const int64_t *y = sig->out[0].dims;
    small_conv c;
    memset(&c, 0, sizeof c);
    c.x = (const float *)in[0].data;
    c.w = (const float *)in[1].data;
    c.y = (float *)k->out[0].data;
    if (!grad && sig->n_in > 2 && in[2].rank >= 0) {
        c.bias = (const float *)in[2].data;
        c.bias_step = (int)in[2].strides[0];
    }
    c.o = (int)y[1];
    c.pixels = (int)(y[2] * y[3]);
    c.n = (int)y[0] * c.pixels;
    c.ow = (int)y[3];
    c.channels = (int)in[0].dims[1];
    c.ih = (int)in[0].dims[2];
    c.iw = (int)in[0].dims[3];
    c.kh = (int)in[1].dims[2];
    c.kw = (int)in[1].dims[3];
    c.taps = (int)in[1].dims[!grad] * c.kh * c.kw;
    find_fours(&c);
    c.per_group = (int)(c.o / at->groups);
    for (int d = 0; d < 2; d++) {
        c.stride[d] = (int)at->stride.data[d];
        c.pad[d] = (int)at->padding.data[d];
        c.dil[d] = (int)at->dilation.data[d];
    }
    return c;
}

template <int WARPS, bool POINT, int W>
static void launch_tiles(const jn_dev_exec *e, const small_conv &c, const chain_args &a, bool grad,
                         dim3 grid) {
    if (grad)
        JN_LAUNCH_SYNC(e, (conv_tile<WARPS, POINT, W, true>), grid, 32 * WARPS, c, a);
    else
        JN_LAUNCH_SYNC(e, (conv_tile<WARPS, POINT, W, false>), grid, 32 * WARPS, c, a);
}

static void run_tiles(const jn_dev_exec *e, small_conv c, const chain_args &a, bool point,
                      bool fours, bool grad, void *workspace, size_t room) {
    dim3 grid((unsigned)((c.n + SIDE - 1) / SIDE), (unsigned)((c.o + SIDE - 1) / SIDE));
    unsigned tiles = grid.x * grid.y;
    int warps = c.taps <= 192 ? 4 : 8;
    int slices = e->processors * 2 / (int)tiles, most = c.taps / (warps * TAPS * 2);
    size_t one = (size_t)c.o * (size_t)c.n * sizeof(float);
    most = most < MOST_SLICES ? most : MOST_SLICES;
    slices = slices < most ? slices : most;
    if (slices < 1 || !workspace || one * (size_t)slices > room)
        slices = 1;
    c.slice = (c.taps + slices * warps * TAPS - 1) / (slices * warps * TAPS) * (warps * TAPS);
    slices = (c.taps + c.slice - 1) / c.slice;
    grid.z = (unsigned)slices;
    c.part = slices > 1 ? (float *)workspace : NULL;
#define TILES(n, w)                                                                                \
    (point ? launch_tiles<n, true, w>(e, c, a, grad, grid)                                         \
           : launch_tiles<n, false, w>(e, c, a, grad, grid))
    if (fours)
        warps == 4 ? TILES(4, 4) : TILES(8, 4);
    else
        warps == 4 ? TILES(4, 1) : TILES(8, 1);
#undef TILES
    if (slices == 1)
        return;
    if (fours)
        JN_LAUNCH(e, add_parts<4>, grid_for(c.o * c.n / 4, DIRECT_BLOCK), DIRECT_BLOCK, c, a,
                  slices);
    else
        JN_LAUNCH(e, add_parts<1>, grid_for(c.o * c.n, DIRECT_BLOCK), DIRECT_BLOCK, c, a, slices);
}

template <int W>
static void launch_direct(const jn_dev_exec *e, const small_conv &c, const chain_args &a) {
    unsigned grid = grid_for(c.o * c.n / W, DIRECT_BLOCK);
    bool plain = c.kh == c.kw && c.dil[0] == 1 && c.dil[1] == 1;
    int kind = plain && c.stride[1] <= 2 ? 10 * c.kh + c.stride[1] : 0;
#define DIRECT(K, S)                                                                               \
    case 10 * K + S:                                                                               \
        JN_LAUNCH(e, (conv_direct<W, K, S>), grid, DIRECT_BLOCK, c, a);                            \
        break
    switch (kind) {
        DIRECT(3, 1);
        DIRECT(3, 2);
        DIRECT(5, 1);
        DIRECT(5, 2);
    default:
        JN_LAUNCH(e, (conv_direct<W, 0, 1>), grid, DIRECT_BLOCK, c, a);
    }
#undef DIRECT
}

/* sig: the convolution, or with `grad` its gradient for x; a: the chain, or no steps. */
static bool run_small(const jn_kargs *k, const jn_sig *sig, const chain_args &a, bool grad) {
    const jn_dev_exec *e = exec_of(k);
    int kind = small_kind(sig, grad);
    if (kind == NOT_SMALL)
        return false;
    small_conv c = small_of(k, sig, grad);
    bool fours = (uintptr_t)c.y % 16 == 0 && (!a.n_steps || a.fours);
    if (kind == BY_VECTOR)
        JN_LAUNCH_SYNC(e, conv_vector, grid_for((i64)c.o * c.n * 32, DIRECT_BLOCK), DIRECT_BLOCK, c,
                       a);
    else if (kind == DIRECTLY && fours && c.ow % 4 == 0)
        launch_direct<4>(e, c, a);
    else if (kind == DIRECTLY)
        launch_direct<1>(e, c, a);
    else {
        const jn_view *in = sig->in;
        i64 bytes = (i64)sizeof(float) * (numel_of(in[0]) + numel_of(in[1]) + (i64)c.o * c.n);
        run_tiles(e, c, a, is_point((const janus_conv2d_attrs *)sig->attrs, in[1]),
                  fours && c.pixels % 4 == 0, grad, k->workspace, jn_cuda_conv_workspace(bytes));
    }
    return true;
}

bool jn_cuda_small_conv(const jn_kargs *k, bool grad) {
    jn_sig sig = {NULL, k->in, k->out, k->n_in, k->n_out, k->attrs};
    chain_args none;
    memset(&none, 0, sizeof none);
    return run_small(k, &sig, none, grad);
}

/* Of matrices a convolution with one tap a channel: a's rows are weights, and columns of b pixels,
 * or b's rows are weights, and rows of a images of one pixel. */
bool jn_cuda_small_product(jn_dev_exec *e, const product &p) {
    const i64 most = 3 << 16, least_rows = 8, least_sum = 256;
    bool columns = p.bn == 1 && p.bk == p.n && !p.bias, rows = p.bk == 1 && p.bn == p.k;
    if (p.dtype != JANUS_F32 || p.dtype_a != JANUS_F32 || p.dtype_b != JANUS_F32 || p.add ||
        p.stop || p.batch != 1 || e->allow_tf32 || p.yn != 1 || p.ym != p.n || p.ak != 1 ||
        p.am != p.k || !(columns || rows) || p.m < least_rows || p.n < least_rows ||
        p.k < least_sum || p.k > INT32_MAX / most || p.m * p.n > most)
        return false;
    small_conv c;
    chain_args none;
    memset(&c, 0, sizeof c);
    memset(&none, 0, sizeof none);
    c.w = (const float *)(rows ? p.b : p.a);
    c.x = (const float *)(rows ? p.a : p.b);
    c.y = (float *)p.y;
    c.bias = (const float *)p.bias;
    c.bias_step = (int)p.bias_s;
    c.o = (int)(rows ? p.n : p.m);
    c.n = (int)(rows ? p.m : p.n);
    c.pixels = c.iw = c.ow = rows ? 1 : c.n;
    c.channels = c.taps = (int)p.k;
    c.ih = c.kh = c.kw = 1;
    find_fours(&c);
    run_tiles(e, c, none, true, c.pixels % 4 == 0 && (uintptr_t)c.y % 16 == 0, false, p.workspace,
              p.workspace_bytes);
    return true;
}

static void run_head(const jn_kargs *k) {
    const jn_dev_chain *c = (const jn_dev_chain *)k->attrs;
    const int64_t *d = c->head_dims;
    const int64_t strides[4] = {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
    const jn_view y = {NULL, d, strides, 4, JANUS_F32, true};
    jn_sig sig = {NULL, k->in + c->n_operands, &y, (uint16_t)(k->n_in - c->n_operands), 1, c->head};
    chain_args a = chain_args_of(k);
    if (a.n)
        run_small(k, &sig, a, false);
}

JN_CUDA_SELECT jn_cuda_chain_head(const jn_sig *sig) {
    return sig->op->id == JN_OP_ID_conv2d && small_kind(sig, false) != NOT_SMALL ? run_head : NULL;
}
