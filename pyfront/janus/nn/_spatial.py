# SPDX-License-Identifier: Apache-2.0
"""Padding, resizing, adaptive pooling, 1-D and transposed convolution as functions over other ops.

What weights the elements of one dim by constants (resizing, adaptive means) is a product with a
small matrix for that dim, so gradients come by themselves.
"""
import math

from .. import _C
from .._shape import _room

_ENTRY, _ROW = 64, 512  # bytes that a number of a list, and a window or a row of weights, takes in Python


def _ints(value, n):
    return (value,) * n if isinstance(value, int) else tuple(value)


def _numbers(value, n):
    return (value,) * n if isinstance(value, (int, float)) else tuple(value)


# Padding.

def _take(input, dim, index):
    return input.index_select(dim, _C.tensor(index, dtype=_C.int64, device=input.device))


def _mirrored(n, before, after):
    if before >= n or after >= n:
        raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got: padding "
                           f"({before}, {after}) at a dimension of size {n}")
    period = 2 * (n - 1) if n > 1 else 1
    return [min(i % period, period - i % period) if n > 1 else 0 for i in range(-before, n + after)]


def _repeated(n, before, after):
    _room((before + n + after) * _ENTRY)
    return [min(max(i, 0), n - 1) for i in range(-before, n + after)]


def _circled(n, before, after):
    if before > n or after > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    kept = list(range(max(-before, 0), n - max(-after, 0)))  # what is cut off does not come around
    if not kept and (before > 0 or after > 0):
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    return [kept[i % len(kept)] for i in range(-max(before, 0), len(kept) + max(after, 0))]


_INDICES = {"reflect": _mirrored, "replicate": _repeated, "circular": _circled}


def pad(input, pad, mode="constant", value=None):
    """Elements added around: `pad` has a pair for the last dim, then one for the dim before, and so on.

    mode "constant" (negative sizes crop), "reflect", "replicate" or "circular".
    """
    pairs = len(pad) // 2
    if len(pad) % 2 or pairs > input.dim():
        raise RuntimeError("Padding length must be divisible by 2 and at most twice the number of dimensions of the "
                           "input")
    if mode == "constant":
        rest = [0] * (input.dim() - pairs)
        before = rest + [pad[2 * i] for i in reversed(range(pairs))]
        after = rest + [pad[2 * i + 1] for i in reversed(range(pairs))]
        return _C.pad(input, before, after, 0.0 if value is None else float(value))
    if mode not in _INDICES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not any(pad):
        return input.clone()
    for i in range(pairs):
        if input.shape[-1 - i] + pad[2 * i] + pad[2 * i + 1] < 1 <= input.shape[-1 - i]:
            raise RuntimeError(f"input (of size {input.shape[-1 - i]}) is too small for a padding of {pad[2 * i]} and "
                               f"{pad[2 * i + 1]}")
    for i in range(pairs):
        if pad[2 * i] or pad[2 * i + 1]:
            dim = input.dim() - 1 - i
            input = _take(input, dim, _INDICES[mode](input.shape[dim], pad[2 * i], pad[2 * i + 1]))
    return input


# Products with a matrix for one dim.

def _weighted(input, dim, rows):
    """Along `dim`: out[i] = sum of w * in[j] over the pairs (j, w) in rows[i]."""
    n = input.shape[dim]
    _room(len(rows) * n * 16)
    matrix = [[0.0] * n for _ in rows]
    for to, pairs in zip(matrix, rows):
        for j, weight in pairs:
            to[j] += weight
    matrix = _C.tensor(matrix, dtype=input.dtype, device=input.device)
    if dim == input.dim() - 1:
        return input @ matrix.t()
    return (input.transpose(dim, -1) @ matrix.t()).transpose(dim, -1)


def _windows(n, out):
    _room(out * _ROW)
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _output_sizes(input, output_size, n):
    sizes = _ints(output_size, n) if output_size is not None else (None,) * n
    if len(sizes) < n:
        raise RuntimeError(f"output_size must be {n} numbers, but got {list(sizes)}")
    if any(size is not None and size < 1 for size in sizes):
        raise RuntimeError(f"elements of output_size must be greater than 0, but got {output_size}")
    return [input.shape[i - n] if size is None else size for i, size in enumerate(sizes)]


def _adaptive_mean(input, output_size, n):
    for i, out in enumerate(_output_sizes(input, output_size, n)):
        dim = input.dim() - n + i
        size = input.shape[dim]
        if out == 1:
            input = input.mean(dim, keepdim=True)
        elif out != size:
            rows = [[(j, 1 / (stop - start)) for j in range(start, stop)] for start, stop in _windows(size, out)]
            input = _weighted(input, dim, rows)
    return input


def _adaptive_max(input, output_size, n):
    for i, out in enumerate(_output_sizes(input, output_size, n)):
        dim = input.dim() - n + i
        if out != input.shape[dim]:
            input = _C.stack([input.narrow(dim, start, stop - start).max(dim).values
                              for start, stop in _windows(input.shape[dim], out)], dim)
    return input


def adaptive_avg_pool1d(input, output_size):
    """Means of `output_size` windows that cover the last dim."""
    return _adaptive_mean(input, output_size, 1)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows that cover the last two dims, as many as `output_size` says (None: as many as elements)."""
    return _adaptive_mean(input, output_size, 2)


def adaptive_max_pool1d(input, output_size):
    """Largest values of `output_size` windows that cover the last dim."""
    return _adaptive_max(input, output_size, 1)


def adaptive_max_pool2d(input, output_size):
    """Largest values of windows that cover the last two dims."""
    return _adaptive_max(input, output_size, 2)


# Resizing.

def _linear_rows(n, out, step, align_corners):
    rows = []
    _room(out * _ROW)
    for i in range(out):
        at = i * (n - 1) / (out - 1) if align_corners and out > 1 else 0.0 if align_corners else \
            max((i + 0.5) * step - 0.5, 0.0)
        low = min(int(at), n - 1)
        share = min(at - low, 1.0)
        rows.append([(low, 1 - share), (min(low + 1, n - 1), share)])
    return rows


def _cubic_rows(n, out, step, align_corners):
    def weight(x):
        x = abs(x)
        return ((1.25 * x - 2.25) * x * x + 1) if x <= 1 else (-0.75 * (((x - 5) * x + 8) * x - 4) if x < 2 else 0.0)
    rows = []
    _room(out * _ROW)
    for i in range(out):
        at = i * (n - 1) / (out - 1) if align_corners and out > 1 else 0.0 if align_corners else (i + 0.5) * step - 0.5
        low = math.floor(at)
        rows.append([(min(max(j, 0), n - 1), weight(at - j)) for j in range(low - 1, low + 3)])
    return rows


def _fits(input, sizes):
    """RuntimeError where the result has a size below 1, or is larger than any memory."""
    if min(input.shape[2:]) < 1 or min(sizes) < 1:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} and "
                           f"output {list(sizes)}")
    _room(input.shape[0] * input.shape[1] * math.prod(sizes) * input.element_size())
    _room(max(sizes) * _ENTRY)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """The dims after the second resized: to `size`, or by `scale_factor`.

    mode "nearest", "nearest-exact", "linear" (3-D inputs), "bilinear", "bicubic" (4-D), "trilinear" (5-D) or "area".
    """
    n = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("either size or scale_factor should be defined")
    wanted = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode, n)
    if wanted != n or n < 1:
        raise NotImplementedError(f"interpolate: mode {mode!r} of a {input.dim()}-D input")
    if mode not in ("nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear"):
        raise NotImplementedError(f"interpolate: mode {mode!r} is not supported")
    if align_corners is not None and mode not in ("linear", "bilinear", "bicubic", "trilinear"):
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                         "bicubic | trilinear")
    given = size if size is not None else scale_factor
    if not isinstance(given, (int, float)) and len(given) != n:
        raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                         f"dimensions of {list(input.shape[2:])} and output size of {given}.")
    if input.dtype in (_C.int64, _C.int32, _C.bool):
        raise NotImplementedError(f"interpolate() is not implemented for {input.dtype}")
    if size is None:
        factors = _numbers(scale_factor, n)
        sizes = [math.floor(input.shape[2 + i] * factor) for i, factor in enumerate(factors)]
        if min(factors) <= 0:
            raise RuntimeError(f"Input and output sizes should be greater than 0, but got scale_factor {scale_factor}")
        steps = [input.shape[2 + i] / out if recompute_scale_factor else 1 / factors[i]
                 for i, out in enumerate(sizes) if out or not recompute_scale_factor]
    else:
        sizes = _ints(size, n)
        steps = [input.shape[2 + i] / out if out else 0.0 for i, out in enumerate(sizes)]
    _fits(input, sizes)
    if input.dtype is _C.uint8 and not mode.startswith("nearest"):
        if mode == "area":
            raise NotImplementedError("interpolate() in mode 'area' is not implemented for uint8")
        smooth = interpolate(input.float(), size, scale_factor, mode, align_corners, recompute_scale_factor)
        return smooth.round().clamp(0, 255).to(_C.uint8)
    if mode == "area":
        return _adaptive_mean(input, sizes, n)
    for i, (out, step) in enumerate(zip(sizes, steps)):
        dim, have = 2 + i, input.shape[2 + i]
        if mode.startswith("nearest"):
            half = 0.5 if mode == "nearest-exact" else 0.0
            input = _take(input, dim, [min(int((k + half) * step), have - 1) for k in range(out)])
        else:
            rows = _cubic_rows if mode == "bicubic" else _linear_rows
            input = _weighted(input, dim, rows(have, out, step, bool(align_corners)))
    return input


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate() by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def pixel_shuffle(input, upscale_factor):
    """[N, C r r, H, W] as [N, C, H r, W r]."""
    r = upscale_factor
    lead, (c, h, w) = tuple(input.shape[:-3]), input.shape[-3:]
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if r == 1:
        return input.clone()
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    x = input.reshape(-1, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(lead + (c // (r * r), h * r, w * r))


def pixel_unshuffle(input, downscale_factor):
    """The reverse of pixel_shuffle."""
    r = downscale_factor
    lead, (c, h, w) = tuple(input.shape[:-3]), input.shape[-3:]
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    if r == 1:
        return input.clone()
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got "
                           f"{h} and {w} by {r}")
    x = input.reshape(-1, c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(lead + (c * r * r, h // r, w // r))


# Convolutions and pooling over one dim; transposed convolutions.

def _batched(function, input, n):
    """Runs over inputs with or without a batch dim."""
    return function(input) if input.dim() == n + 2 else function(input.unsqueeze(0)).squeeze(0)


def _single(value):
    if not isinstance(value, int) and len(value) != 1:
        raise RuntimeError(f"expected a single integer value or a list of 1 value, but got {list(value)}")
    return value if isinstance(value, int) else value[0]


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """1-D cross-correlation of [N, C, L]; `padding` may be "same" (stride 1) or "valid"."""
    dilation = _single(dilation)
    if padding == "same":
        if _single(stride) != 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        span = dilation * (weight.shape[-1] - 1)
        input, padding = pad(input, (span // 2, span - span // 2)), 0
    elif padding == "valid":
        padding = 0
    return _batched(lambda x: _C.conv2d(x.unsqueeze(2), weight.unsqueeze(2), bias, (1, _single(stride)),
                                        (0, _single(padding)), (1, dilation), groups).squeeze(2), input, 1)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest value of each window of the last dim."""
    k = _single(kernel_size)
    step = k if stride is None else _single(stride)
    return _batched(lambda x: _C.max_pool2d(x.unsqueeze(2), (1, k), (1, step), (0, _single(padding)),
                                            (1, _single(dilation)), ceil_mode).squeeze(2), input, 1)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of the last dim."""
    k = _single(kernel_size)
    step = k if stride is None else _single(stride)
    return _batched(lambda x: _C.avg_pool2d(x.unsqueeze(2), (1, k), (1, step), (0, _single(padding)), ceil_mode,
                                            count_include_pad).squeeze(2), input, 1)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of conv2d by its input as an op: weights are [in, out / groups, kh, kw]."""
    stride, padding, extra, dilation = (_ints(v, 2) for v in (stride, padding, output_padding, dilation))
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    input, weight = _C._autocast(input, True), _C._autocast(weight, True)
    # An image larger by a stride or more would have given that conv2d a larger result: it is padded.
    within = all(extra[i] < stride[i] for i in range(2))
    around, more = (padding, extra) if within else ((0, 0), (0, 0))

    def run(x):
        least = [dilation[i] * (weight.shape[2 + i] - 1) - 2 * around[i] + more[i] + 1 for i in range(2)]
        size = [(x.shape[2 + i] - 1) * stride[i] + least[i] for i in range(2)]
        if min(least) <= 0 and min(size) <= 0:
            raise RuntimeError(f"conv_transpose2d: of {tuple(x.shape[2:])} there would be a result of {tuple(size)}")
        image = x.new_zeros(()).expand(x.shape[0], weight.shape[1] * groups, size[0], size[1])
        y = _C._conv2d_input_grad(x, weight, image, stride, around, dilation, groups)
        if not within:
            y = pad(y, (-padding[1], extra[1] - padding[1], -padding[0], extra[0] - padding[0]))
        return y if bias is None else y + _C._autocast(bias, True).reshape(-1, 1, 1)
    return _batched(run, input, 2)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The same over one dim; weights are [in, out / groups, k]."""
    return _batched(lambda x: conv_transpose2d(x.unsqueeze(2), weight.unsqueeze(2), bias, (1, _single(stride)),
                                               (0, _single(padding)), (0, _single(output_padding)), groups,
                                               (1, _single(dilation))).squeeze(2), input, 1)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of [N, C, H, W] as columns [N, C kh kw, number of windows]."""
    (kh, kw), dilation, padding, stride = (_ints(v, 2) for v in (kernel_size, dilation, padding, stride))
    for name, (a, b), least in (("kernel size", (kh, kw), 1), ("dilation", dilation, 1), ("padding", padding, 0),
                                ("stride", stride, 1)):
        if a < least or b < least:
            raise RuntimeError(f"unfold: {name} should be at least {least}, but got ({a}, {b})")
    x = pad(input, (padding[1], padding[1], padding[0], padding[0]))
    high = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wide = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    if high < 1 or wide < 1:
        raise RuntimeError(f"Given input with spatial size ({input.shape[2]}, {input.shape[3]}), kernel_size=({kh}, {kw}), "
                           f"dilation={dilation}, padding={padding}, there is no window")
    windows = [x[:, :, i * dilation[0]:i * dilation[0] + (high - 1) * stride[0] + 1:stride[0],
                 j * dilation[1]:j * dilation[1] + (wide - 1) * stride[1] + 1:stride[1]]
               for i in range(kh) for j in range(kw)]
    return _C.stack(windows, 2).reshape(x.shape[0], -1, high * wide)
