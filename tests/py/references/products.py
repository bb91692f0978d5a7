# SPDX-License-Identifier: Apache-2.0
"""Products and convolution."""
import numpy as np

from .common import REFERENCES, ref


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
