# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling over three dims as functions over those of two.

The windows of a dim are channels of a 2-D convolution; the largest value and the mean of a box are those of its columns
of what they are in its planes. Gradients come by themselves.
"""
from .. import _C
from ._spatial import _adaptive_max, _adaptive_mean, _batched, _ints, conv_transpose2d, pad


def _three(value, what="a single integer value or a list of 3 values"):
    found = _ints(value, 3)
    if len(found) == 1:
        found = found * 3
    if len(found) != 3:
        raise RuntimeError(f"expected {what}, but got {list(found)}")
    return found


def _check_volume(name, input, channels=None):
    if input.dim() not in (4, 5):
        raise RuntimeError(f"Expected 4D (unbatched) or 5D (batched) input to {name}, but got input of size: "
                           f"{list(input.shape)}")
    if channels is not None and input.shape[-4] != channels:
        raise RuntimeError(f"{name}: expected input{list(input.shape)} to have {channels} channels, but got "
                           f"{input.shape[-4]} channels instead")


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """3-D cross-correlation of [N, C, D, H, W]; `padding` may be "same" (stride 1) or "valid"."""
    stride, dilation = _three(stride), _three(dilation)
    _check_volume("conv3d", input, weight.shape[1] * groups)
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if padding == "same":
        if max(stride) != 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        spans = [dilation[i] * (weight.shape[2 + i] - 1) for i in (2, 1, 0)]
        input = pad(input, [n for span in spans for n in (span // 2, span - span // 2)])
        padding = 0
    around = (0, 0, 0) if padding == "valid" else _three(padding)
    if min(around) < 0:
        raise RuntimeError("negative padding is not supported")
    out, within, deep, high, wide = weight.shape
    span = dilation[0] * (deep - 1) + 1

    def run(x):
        if around[0]:
            x = pad(x, (0, 0, 0, 0, around[0], around[0]))
        if x.shape[2] < span:
            raise RuntimeError(f"Calculated padded input size per channel has depth {x.shape[2]}. Kernel size {span} can't be "
                               "greater than actual input size")
        count = (x.shape[2] - span) // stride[0] + 1
        n, channels, _, h, w = x.shape
        planes = [x[:, :, k * dilation[0]:k * dilation[0] + (count - 1) * stride[0] + 1:stride[0]] for k in range(deep)]
        rows = _C.stack(planes, 2).permute(0, 3, 1, 2, 4, 5).reshape(n * count, channels * deep, h, w)
        y = _C.conv2d(rows, weight.reshape(out, within * deep, high, wide), bias, stride[1:], around[1:], dilation[1:], groups)
        return y.reshape((n, count) + tuple(y.shape[1:])).transpose(1, 2).contiguous()
    return _batched(run, input, 3)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of conv3d by its input as an op: weights are [in, out / groups, kd, kh, kw]."""
    stride, padding, extra, dilation = (_three(v) for v in (stride, padding, output_padding, dilation))
    _check_volume("conv_transpose3d", input, weight.shape[0])
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if any(more >= max(step, gap) for more, step, gap in zip(extra, stride, dilation)):
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got output_padding {extra}, stride "
                           f"{stride} and dilation {dilation}")
    lead, within, deep, high, wide = weight.shape
    x = input if input.dim() == 5 else input.unsqueeze(0)
    out, (n, channels, depth, h, w) = within * groups, x.shape
    size = (depth - 1) * stride[0] - 2 * padding[0] + dilation[0] * (deep - 1) + extra[0] + 1
    if size <= 0:
        raise RuntimeError(f"conv_transpose3d: of {tuple(x.shape[2:])} there would be a result of depth {size}")
    rows = x.transpose(1, 2).reshape(n * depth, channels, h, w)
    y = conv_transpose2d(rows, weight.reshape(lead, within * deep, high, wide), None, stride[1:], padding[1:], extra[1:],
                         groups, dilation[1:])
    h, w = y.shape[2:]
    y = y.reshape(n, depth, out, deep, h, w).permute(0, 2, 3, 1, 4, 5).reshape(n, out, deep * depth, h, w)
    place = (_C.arange(deep).unsqueeze(1) * dilation[0] + _C.arange(depth) * stride[0]).reshape(-1)
    y = y.new_zeros((n, out, size + 2 * padding[0], h, w)).index_add(2, place, y)
    if padding[0]:
        y = y.narrow(2, padding[0], size).contiguous()
    if bias is not None:
        y = y + _C._autocast(bias, True).reshape(-1, 1, 1, 1)
    return y if input.dim() == 5 else y.squeeze(0)


def _pooled(name, pool, input, kernel, stride, *options):
    """`pool` of each plane, then of the columns of what that gave."""
    kernel = _three(kernel)
    stride = kernel if stride is None or stride == () or stride == [] else _three(stride)
    _check_volume(name, input)

    def run(x):
        n, channels, depth, h, w = x.shape
        planes = pool(x.reshape(n, channels * depth, h, w), kernel[1:], stride[1:], *[o[1:] for o in options])
        h, w = planes.shape[2:]
        columns = planes.reshape(n, channels, depth, h * w)
        made = pool(columns, (kernel[0], 1), (stride[0], 1), *[(o[0], plain) for o, plain in zip(options, (0, 1))])
        return made.reshape(n, channels, made.shape[2], h, w)
    return _batched(run, input, 3)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest value of each box of the last three dims."""
    if not input.dtype.is_floating_point:  # by way of a float that keeps integers
        return max_pool3d(input.double(), kernel_size, stride, padding, dilation, ceil_mode).to(input.dtype)
    return _pooled("max_pool3d", lambda x, k, s, p, d: _C.max_pool2d(x, k, s, p, d, ceil_mode), input, kernel_size, stride,
                   _three(padding), _three(dilation))


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each box of the last three dims; padding counts as zeros unless `count_include_pad` is false."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"avg_pool3d() is not implemented for {input.dtype}")
    return _pooled("avg_pool3d", lambda x, k, s, p: _C.avg_pool2d(x, k, s, p, ceil_mode, count_include_pad), input, kernel_size,
                   stride, _three(padding))


def adaptive_avg_pool3d(input, output_size):
    """Means of boxes that cover the last three dims, as many as `output_size` says (None: as many as elements)."""
    _check_volume("adaptive_avg_pool3d", input)
    return _adaptive_mean(input, output_size, 3)


def adaptive_max_pool3d(input, output_size):
    """Largest values of boxes that cover the last three dims."""
    _check_volume("adaptive_max_pool3d", input)
    return _adaptive_max(input, output_size, 3)
