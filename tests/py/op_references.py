# SPDX-License-Identifier: Apache-2.0
"""What every op computes, in NumPy: reference(op)(*operands, **attrs) -> result or tuple.

Operands are arrays, Python numbers or None. Written from the definitions, not from the kernels.
"""
import math

import numpy as np

DTYPES = ["f32", "f64", "i32", "i64", "bool", "u8", "f16", "bf16"]
NP = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_,
      "u8": np.uint8, "f16": np.float16, "bf16": np.float32}

REFERENCES = {}


def ref(function):
    REFERENCES[function.__name__.rstrip("_")] = function
    return function


def simple(name, function):
    REFERENCES[name] = lambda *a, **k: function(*a)


def is_int(x):
    return np.issubdtype(np.asarray(x).dtype, np.integer)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.asarray(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def shift_left(a, b):
    bits = 8 * a.dtype.itemsize
    return np.where((b < 0) | (b >= bits), 0, np.left_shift(a, np.clip(b, 0, bits - 1))).astype(a.dtype)


def shift_right(a, b):
    bits = 8 * a.dtype.itemsize
    return np.where((b < 0) | (b >= bits), np.where(a < 0, -1, 0), np.right_shift(a, np.clip(b, 0, bits - 1)))


# ---- elementwise ---------------------------------------------------------------------------------

for _name, _f in {
        "sub": np.subtract, "div": np.true_divide, "maximum": np.maximum,
        "minimum": np.minimum, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
        "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
        "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
        "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
        "bitwise_not": np.invert, "bitwise_left_shift": shift_left, "bitwise_right_shift": shift_right,
        "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "log1p": np.log1p,
        "expm1": np.expm1, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "square": np.square,
        "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
        "sigmoid": sigmoid, "relu": lambda x: np.where(x <= 0, 0, x), "erf": erf,
        "silu": lambda x: x * sigmoid(x), "softplus": lambda x: np.logaddexp(0, x),
        "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": np.round,
        "logical_not": np.logical_not, "isnan": np.isnan, "isfinite": np.isfinite,
        "clone": lambda x: x, "alias": lambda x: x, "detach": lambda x: x,
        "where": np.where, "lerp": lambda a, b, w: a + w * (b - a),
        "addcmul": lambda x, a, b, v: x + v * a * b, "addcdiv": lambda x, a, b, v: x + v * a / b,
        "addcdiv_sqrt": lambda x, a, s, v, eps: np.where(a == 0, x, x + v * a / (np.sqrt(s) + eps)),
        "masked_fill": lambda x, m, v: np.where(m, v, x),
        "tanh_grad": lambda d, y: d * (1 - y**2), "sigmoid_grad": lambda d, y: d * y * (1 - y),
        "relu_grad": lambda d, y: np.where(y > 0, d, 0),
        "add": lambda a, b: np.logical_or(a, b) if a.dtype == bool else a + b,
        "mul": lambda a, b: np.logical_and(a, b) if a.dtype == bool else a * b,
        "pow": lambda a, b: np.power(a, b),
}.items():
    simple(_name, _f)


@ref
def floordiv(a, b):
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b)) if is_int(a) else np.floor(a / b)


@ref
def mod(a, b):
    return np.where(b == 0, 0, a % np.where(b == 0, 1, b)) if is_int(a) else np.mod(a, b)


@ref
def gelu(x, approximate):
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


@ref
def gelu_grad(dy, x, approximate):
    h = 1e-5
    x = x.astype(np.float64)
    return dy * (gelu(x + h, approximate) - gelu(x - h, approximate)) / (2 * h)


@ref
def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


@ref
def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(x))


@ref
def clamp(x, lo, hi):
    return np.clip(x, lo, hi).astype(x.dtype)


@ref
def cast(x, dtype):
    name = DTYPES[dtype]
    if name == "bf16":
        bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16 << 16
        return bits.astype(np.uint32).view(np.float32)
    return x.astype(NP[name])


# ---- reductions ----------------------------------------------------------------------------------

def axes(dims, x):
    return tuple(dims) if dims else tuple(range(np.ndim(x)))


for _name, _f in {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min,
                  "any": np.any, "all": np.all}.items():
    REFERENCES[_name] = (lambda f: lambda x, dims, keepdim: f(
        x, axis=axes(dims, x), keepdims=bool(keepdim)))(_f)


@ref
def logsumexp(x, dims, keepdim):
    return np.log(np.sum(np.exp(x), axis=axes(dims, x), keepdims=bool(keepdim)))


@ref
def var(x, dims, keepdim, correction):
    return np.var(x, axis=axes(dims, x), keepdims=bool(keepdim), ddof=correction)


@ref
def norm(x, dims, keepdim, p):
    a, k = axes(dims, x), bool(keepdim)
    if p == math.inf:
        return np.max(np.abs(x), axis=a, keepdims=k)
    return np.sum(np.abs(x)**p, axis=a, keepdims=k)**(1 / p)


def best(x, axis, keepdim, arg):
    i = np.expand_dims(arg(x, axis=axis), axis)
    v = np.take_along_axis(x, i, axis)
    return (v, i) if keepdim else (np.squeeze(v, axis), np.squeeze(i, axis))


@ref
def max_dim(x, axis, keepdim):
    return best(x, axis, keepdim, np.argmax)


@ref
def min_dim(x, axis, keepdim):
    return best(x, axis, keepdim, np.argmin)


@ref
def argmax(x, axis, all, keepdim):
    return np.argmax(x) if all else best(x, axis, keepdim, np.argmax)[1]


@ref
def argmin(x, axis, all, keepdim):
    return np.argmin(x) if all else best(x, axis, keepdim, np.argmin)[1]


@ref
def cumsum(x, axis, reverse):
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    return np.cumsum(x, axis)


# ---- shapes --------------------------------------------------------------------------------------

def filled(shape, sizes):
    sizes = list(sizes)
    return [sizes.pop(0) if s == -2 else s for s in shape]


@ref
def reshape(x, *sizes, shape):
    return x.reshape(filled(shape, sizes))


@ref
def transpose(x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1)


@ref
def permute(x, dims):
    return np.transpose(x, dims)


@ref
def expand(x, *sizes, shape):
    lead = len(shape) - x.ndim
    return np.broadcast_to(x, [x.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)])


@ref
def unsqueeze(x, axis):
    return np.expand_dims(x, axis)


@ref
def squeeze(x, axis):
    return np.squeeze(x, tuple(axis)) if axis else np.squeeze(x)


def at_axis(x, axis, what):
    return (slice(None),) * (axis % x.ndim) + (what,)


@ref
def slice_(x, start=None, stop=None, *, axis, step):
    return x[at_axis(x, axis, slice(start, stop, step))]


@ref
def select(x, index, axis):
    return np.take(x, index, axis)


@ref
def expand_like(x, like):
    return np.broadcast_to(x, like.shape)


@ref
def reshape_like(x, like):
    return x.reshape(like.shape)


@ref
def sum_like(x, like):
    lead = x.ndim - like.ndim
    over = tuple(range(lead)) + tuple(
        i + lead for i in range(like.ndim) if like.shape[i] != x.shape[i + lead])
    return x.sum(over, keepdims=True).reshape(like.shape)


@ref
def concat(*xs, axis):
    return np.concatenate(xs, axis)


@ref
def stack(*xs, axis):
    return np.stack(xs, axis)


@ref
def pad(x, before, after, value):
    y = np.pad(x, [(max(b, 0), max(a, 0)) for b, a in zip(before, after)], constant_values=value)
    return y[tuple(slice(max(-b, 0), y.shape[i] - max(-a, 0))
                   for i, (b, a) in enumerate(zip(before, after)))]


@ref
def flip(x, dims):
    return np.flip(x, axes(dims, x))


@ref
def roll(x, shifts, dims):
    return np.roll(x, tuple(shifts), tuple(dims)) if dims else np.roll(x, shifts[0])


REFERENCES["tril"] = lambda x, diagonal: np.tril(x, diagonal)
REFERENCES["triu"] = lambda x, diagonal: np.triu(x, diagonal)
REFERENCES["diag"] = lambda x, diagonal: np.diag(x, diagonal)
REFERENCES["repeat"] = lambda x, repeats: np.tile(x, repeats)


@ref
def slice_scatter(x, src, start=None, stop=None, *, axis, step):
    y = x.copy()
    y[at_axis(x, axis, slice(start, stop, step))] = src
    return y


@ref
def select_scatter(x, src, index, axis):
    y = x.copy()
    y[at_axis(x, axis, index)] = src
    return y


# ---- indexing ------------------------------------------------------------------------------------

@ref
def gather(x, index, axis):
    y = np.empty(index.shape, x.dtype)
    for at in np.ndindex(*index.shape):
        y[at] = x[at[:axis] + (index[at],) + at[axis + 1:]]
    return y


def scattered(x, index, src, axis, add):
    y = x.copy()
    for at in np.ndindex(*index.shape):
        to = at[:axis] + (index[at],) + at[axis + 1:]
        y[to] = y[to] + src[at] if add else src[at]
    return y


@ref
def scatter(x, index, src, axis):
    return scattered(x, index, src, axis, False)


@ref
def scatter_add(x, index, src, axis):
    return scattered(x, index, src, axis, True)


@ref
def index_select(x, index, axis):
    return np.take(x, index, axis)


@ref
def index_add(x, index, src, axis):
    y = x.copy()
    np.add.at(y, at_axis(x, axis, index), src)
    return y


@ref
def embedding(weight, index, padding_idx):
    return weight[index]


@ref
def embedding_grad(dy, index, weight, padding_idx):
    y = np.zeros(weight.shape, dy.dtype)
    keep = index != padding_idx
    np.add.at(y, index[keep], dy[keep])
    return y


def positions(x, indices, where):
    key = [slice(None)] * x.ndim
    for a, i in zip(where, indices):
        key[a] = i
    return tuple(key)


@ref
def index(x, *indices, axes):
    return x[positions(x, indices, axes)]


@ref
def index_put(x, src, *indices, axes, accumulate):
    y = x.copy()
    if accumulate:
        np.add.at(y, positions(x, indices, axes), src)
    else:
        y[positions(x, indices, axes)] = src
    return y


@ref
def nonzero(x):
    found = np.argwhere(x)
    y = np.zeros((x.size, x.ndim), np.int64)
    y[:len(found)] = found
    return y, np.int64(len(found))


@ref
def masked_select(x, mask):
    y = np.zeros(x.size, x.dtype)
    y[:mask.sum()] = x[mask]
    return y, np.int64(mask.sum())


@ref
def one_hot(x, num_classes):
    return np.eye(num_classes, dtype=np.int64)[x]


def order(x, axis, descending):
    if descending:  # stable: the last of equals, reversed, comes first
        n = x.shape[axis]
        return n - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return np.argsort(x, axis, kind="stable")


@ref
def sort(x, axis, descending):
    i = order(x, axis, descending)
    return np.take_along_axis(x, i, axis), i


@ref
def argsort(x, axis, descending):
    return order(x, axis, descending)


@ref
def topk(x, k, axis, largest):
    i = np.take(order(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, i, axis), i


# ---- products ------------------------------------------------------------------------------------

@ref
def matmul(a, b, transpose_a, transpose_b):
    a = np.swapaxes(a, -1, -2) if transpose_a and a.ndim > 1 else a
    b = np.swapaxes(b, -1, -2) if transpose_b and b.ndim > 1 else b
    return a @ b


@ref
def linear(x, weight, bias):
    return x @ weight.T + (0 if bias is None else bias)


REFERENCES["outer"] = np.outer
REFERENCES["dot"] = np.dot


def taps(stride, padding, dilation, out, kernel):
    """(output index, kernel index, input index in the unpadded input) of both spatial dims."""
    for oh, ow, kh, kw in np.ndindex(*out, *kernel):
        yield (oh, ow), (kh, kw), (oh * stride[0] - padding[0] + kh * dilation[0],
                                   ow * stride[1] - padding[1] + kw * dilation[1])


@ref
def conv2d(x, weight, bias, stride, padding, dilation, groups):
    n, _, h, w = x.shape
    o, ic, *kernel = weight.shape
    out = [(s + 2 * p - d * (k - 1) - 1) // st + 1
           for s, p, d, k, st in zip((h, w), padding, dilation, kernel, stride)]
    y = np.zeros((n, o, *out), x.dtype)
    for c in range(o):
        first = c // (o // groups) * ic
        for to, tap, (i, j) in taps(stride, padding, dilation, out, kernel):
            if 0 <= i < h and 0 <= j < w:
                y[:, c, to[0], to[1]] += x[:, first:first + ic, i, j] @ weight[c, :, tap[0], tap[1]]
    return y if bias is None else y + bias[:, None, None]


def linear_transpose(f, dy, shape):
    """The transpose of the linear map f, applied to dy, by its matrix."""
    dx = np.zeros(shape)
    for at in np.ndindex(*shape):
        e = np.zeros(shape)
        e[at] = 1
        dx[at] = np.sum(f(e) * dy)
    return dx


@ref
def conv2d_input_grad(dy, weight, x, **attrs):
    return linear_transpose(lambda e: conv2d(e, weight, None, **attrs), dy, x.shape)


@ref
def conv2d_weight_grad(dy, x, weight, **attrs):
    return linear_transpose(lambda e: conv2d(x, e, None, **attrs), dy, weight.shape)


# ---- nn ------------------------------------------------------------------------------------------

@ref
def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@ref
def log_softmax(x, axis):
    return np.log(softmax(x, axis))


@ref
def softmax_grad(dy, y, axis):
    return y * (dy - (dy * y).sum(axis, keepdims=True))


@ref
def log_softmax_grad(dy, y, axis):
    return dy - np.exp(y) * dy.sum(axis, keepdims=True)


def reduced(loss, reduction, n):
    return loss if reduction == 0 else loss.sum() / n if reduction == 1 else loss.sum()


def per_class(x):
    """Classes last."""
    return x if x.ndim == 1 else np.moveaxis(x, 1, -1)


@ref
def nll_loss(logp, target, reduction, ignore_index):
    p = per_class(logp)
    valid = target != ignore_index
    loss = -np.take_along_axis(p, np.where(valid, target, 0)[..., None], -1)[..., 0] * valid
    return reduced(loss, reduction, valid.sum())


@ref
def cross_entropy(x, target, reduction, ignore_index, label_smoothing):
    p = per_class(log_softmax(x, 0 if x.ndim == 1 else 1))
    c = p.shape[-1]
    if is_int(target):
        valid = target != ignore_index
        t = np.eye(c)[np.where(valid, target, 0)]
    else:
        t, valid = per_class(target), np.ones(p.shape[:-1])
    t = t * (1 - label_smoothing) + label_smoothing / c
    return reduced(-(p * t).sum(-1) * valid, reduction, valid.sum())


@ref
def nll_loss_grad(dy, target, logp, **attrs):
    return linear_transpose(lambda e: nll_loss(e, target, **attrs), dy, logp.shape)


@ref
def cross_entropy_grad(dy, x, target, **attrs):
    h, dx = 1e-5, np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        e = np.zeros(x.shape)
        e[at] = h
        up, down = cross_entropy(x + e, target, **attrs), cross_entropy(x - e, target, **attrs)
        dx[at] = np.sum(dy * (up - down)) / (2 * h)
    return dx


@ref
def mse_loss(x, t, reduction):
    loss = (x - t)**2
    return reduced(loss, reduction, loss.size)


@ref
def bce_with_logits(x, t, reduction):
    loss = -(t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x)))
    return reduced(loss, reduction, loss.size)


@ref
def smooth_l1(x, t, reduction, beta):
    d = np.abs(x - t)
    loss = np.where(d < beta, 0.5 * d**2 / beta, d - 0.5 * beta)
    return reduced(loss, reduction, loss.size)


def pool_size(size, k, s, p, d, ceil):
    n = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    return n - 1 if ceil and (n - 1) * s >= size + p else n


def pooled(x, kernel, stride, padding, dilation, ceil_mode):
    """Per output: the (h, w) inside the input, and the size of the window with padding."""
    stride = stride or kernel
    out = [pool_size(x.shape[2 + i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
           for i in range(2)]
    for o in np.ndindex(*out):
        inside, size = [], 1
        for i in range(2):
            first, n = o[i] * stride[i] - padding[i], x.shape[2 + i]
            every = [first + j * dilation[i] for j in range(kernel[i])]
            size *= min(first + kernel[i], n + padding[i]) - first
            inside.append([v for v in every if 0 <= v < n])
        yield out, o, inside, size


@ref
def max_pool2d(x, kernel, stride, padding, dilation, ceil_mode):
    y = None
    for out, o, (hs, ws), _ in pooled(x, kernel, stride, padding, dilation, ceil_mode):
        if y is None:
            y = np.empty(x.shape[:2] + tuple(out), x.dtype)
            at = np.empty(y.shape, np.int64)
        window = x[:, :, hs][:, :, :, ws].reshape(x.shape[:2] + (-1,))
        i = window.argmax(-1)
        y[:, :, o[0], o[1]] = np.take_along_axis(window, i[..., None], -1)[..., 0]
        flat = np.array([h * x.shape[3] + w for h in hs for w in ws])
        at[:, :, o[0], o[1]] = flat[i]
    return y, at


@ref
def max_pool2d_gather(x, indices):
    n, c = x.shape[:2]
    flat = np.take_along_axis(x.reshape(n, c, -1), indices.reshape(n, c, -1), -1)
    return flat.reshape(indices.shape)


@ref
def max_pool2d_grad(dy, indices, x):
    return linear_transpose(lambda e: max_pool2d_gather(e, indices), dy, x.shape)


@ref
def avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad):
    y = None
    for out, o, (hs, ws), size in pooled(x, kernel, stride, padding, (1, 1), ceil_mode):
        if y is None:
            y = np.empty(x.shape[:2] + tuple(out), x.dtype)
        window = x[:, :, hs][:, :, :, ws]
        n = size if count_include_pad else len(hs) * len(ws)
        y[:, :, o[0], o[1]] = window.sum((2, 3)) / n
    return y


@ref
def avg_pool2d_grad(dy, x, **attrs):
    return linear_transpose(lambda e: avg_pool2d(e, **attrs), dy, x.shape)


def channels(v, x):
    return v.reshape((1, -1) + (1,) * (x.ndim - 2))


@ref
def batch_norm(x, weight, bias, mean, var, training, eps):
    over = tuple(i for i in range(x.ndim) if i != 1)
    if training:
        mean, var = x.mean(over), x.var(over)
    r = 1 / np.sqrt(var + eps)
    y = (x - channels(mean, x)) * channels(r, x)
    y = y if weight is None else y * channels(weight, x)
    return (y if bias is None else y + channels(bias, x)), mean, r


@ref
def batch_norm_grad(dy, x, weight, mean, invstd, training):
    assert not training
    over = tuple(i for i in range(x.ndim) if i != 1)
    h = (x - channels(mean, x)) * channels(invstd, x)
    return dy * channels(weight * invstd, x), (dy * h).sum(over), dy.sum(over)


@ref
def layer_norm(x, weight, bias, axis, eps):
    axis %= x.ndim
    over = tuple(range(axis, x.ndim))
    mean, r = x.mean(over, keepdims=True), 1 / np.sqrt(x.var(over, keepdims=True) + eps)
    y = (x - mean) * r
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return y, mean.reshape(x.shape[:axis]), r.reshape(x.shape[:axis])


@ref
def layer_norm_grad(dy, x, weight, mean, invstd, axis):
    axis %= x.ndim
    over, before = tuple(range(axis, x.ndim)), tuple(range(axis))
    spread = mean.shape + (1,) * len(over)
    r = invstd.reshape(spread)
    h = (x - mean.reshape(spread)) * r
    e = dy if weight is None else dy * weight
    dx = r * (e - e.mean(over, keepdims=True) - h * (e * h).mean(over, keepdims=True))
    return dx, (dy * h).sum(before), dy.sum(before)


# ---- creation ------------------------------------------------------------------------------------

@ref
def full(value, *sizes, shape, dtype):
    return np.full(filled(shape, sizes), value, NP[DTYPES[dtype]])


@ref
def full_like(value, like, dtype):
    return np.full_like(like, value)


@ref
def scalar_tensor(value, dtype):
    return np.array(value, NP[DTYPES[dtype]])


@ref
def arange(start, step, n, dtype):
    return (start + np.arange(n) * step).astype(NP[DTYPES[dtype]])


@ref
def eye(n, m, dtype):
    return np.eye(n, m)


def philox(seed, counter, high):
    """Philox4x32-10 from its published definition."""
    mask = 0xffffffff
    c = [counter & mask, counter >> 32 & mask, high & mask, high >> 32 & mask]
    k = [seed & mask, seed >> 32 & mask]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def words(seed, offset, i):
    return philox(seed, offset + i // 4, 0)[i % 4], philox(seed, offset + i // 4, 1)[i % 4]


def unit(seed, offset, i, wide):
    high, low = words(seed, offset, i)
    return ((high << 32 | low) >> 11) * 2.0**-53 if wide else (high >> 8) * 2.0**-24


def below(seed, offset, i, n):
    high, low = words(seed, offset, i)
    return (high << 32 | low) * n >> 64


def drawn(shape, draw):
    n = int(np.prod(shape))
    return np.array([draw(i) for i in range(n)]).reshape(shape)


@ref
def uniform(like, seed, offset, shape, dtype, low, high):
    return drawn(shape, lambda i: low + (high - low) * unit(seed, offset, i, dtype == 1))


@ref
def normal(like, seed, offset, shape, dtype, mean, std):
    def draw(i):
        u, v = 1 - unit(seed, offset, i & ~1, dtype == 1), unit(seed, offset, i | 1, dtype == 1)
        part = math.sin if i & 1 else math.cos
        return mean + std * math.sqrt(-2 * math.log(u)) * part(2 * math.pi * v)
    return drawn(shape, draw)


@ref
def randint(low, high, like, seed, offset, shape, dtype):
    return drawn(shape, lambda i: low + below(seed, offset, i, high - low))


@ref
def bernoulli_mask(x, seed, offset, p, scale):
    return drawn(x.shape, lambda i: scale if unit(seed, offset, i, False) < p else 0)


@ref
def randperm(n, seed, offset, dtype):
    y = list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(seed, offset, i, i + 1)
        y[i], y[j] = y[j], y[i]
    return np.array(y)


# ---- optimizers ----------------------------------------------------------------------------------

def slope(p, g, weight_decay, maximize):
    return (-g if maximize else g) + weight_decay * p


@ref
def momentum_step(p, g, v, lr, momentum, dampening, weight_decay, nesterov, maximize):
    d = slope(p, g, weight_decay, maximize)
    v = momentum * v + (1 - dampening) * d
    return p - lr * (d + momentum * v if nesterov else v), v


@ref
def adam_step(p, g, m, v, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    step = np.float64(step) + 1
    if decoupled:
        p = p * (1 - lr * weight_decay)
    d = slope(p, g, 0 if decoupled else weight_decay, maximize)
    m = beta1 * m + (1 - beta1) * d
    v = beta2 * v + (1 - beta2) * d * d
    return p - lr * (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + eps), m, v, step
