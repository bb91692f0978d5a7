# SPDX-License-Identifier: Apache-2.0
"""Layers and losses."""
import numpy as np

from .common import is_int, ref, sigmoid
from .products import linear_transpose


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
        if not hs or not ws:
            y[:, :, o[0], o[1]], at[:, :, o[0], o[1]] = -np.inf, -1
            continue
        i = window.argmax(-1)
        y[:, :, o[0], o[1]] = np.take_along_axis(window, i[..., None], -1)[..., 0]
        flat = np.array([h * x.shape[3] + w for h in hs for w in ws])
        at[:, :, o[0], o[1]] = flat[i]
    return y, at


@ref
def max_pool2d_gather(x, indices):
    n, c = x.shape[:2]
    flat = np.take_along_axis(x.reshape(n, c, -1), indices.reshape(n, c, -1), -1)
    return np.where(indices == -1, 0, flat.reshape(indices.shape))


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


def attended(q, k, mask, causal, scale):
    """Scores, and weights of which a query that may see nothing has none."""
    s = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1]**-0.5)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    w = np.exp(s - np.where(np.isinf(top), 0, top))
    total = w.sum(-1, keepdims=True)
    return w / np.where(total == 0, 1, total), (np.log(total) + top)[..., 0]


@ref
def attention(q, k, v, mask, causal, scale):
    w, lse = attended(q, k, mask, causal, scale)
    y = w @ v
    return y, np.broadcast_to(lse, y.shape[:-1])


@ref
def attention_grad(dy, q, k, v, mask, y, lse, causal, scale):
    w, _ = attended(q, k, mask, causal, scale)
    d = dy @ np.swapaxes(v, -1, -2)
    ds = w * (d - (d * w).sum(-1, keepdims=True)) * (scale or q.shape[-1]**-0.5)
    t = np.swapaxes
    return ds @ k, t(ds, -1, -2) @ q, t(w, -1, -2) @ dy
