# SPDX-License-Identifier: Apache-2.0
"""Functions of nn.functional made of other ops: against NumPy, and their gradients against differences."""
import math

import pytest

import janus
import janus.nn.functional as F

np = pytest.importorskip("numpy")


def made(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tensor(x):
    return janus.tensor(np.asarray(x).tolist(), dtype=janus.float64).reshape(*np.shape(x))


def check(function, want, *arrays, differentiable=True):
    """function(tensors) is want(arrays), and its gradients are those of finite differences."""
    inputs = [tensor(x).requires_grad_() for x in arrays]
    got = function(*inputs)
    if want is not None:
        np.testing.assert_allclose(got.detach().numpy(), want(*arrays), rtol=1e-9, atol=1e-9)
    if not differentiable:
        return
    weights = made(*got.shape, seed=99)
    (got * tensor(weights)).sum().backward()
    for x, t in zip(arrays, inputs):
        for at in list(np.ndindex(x.shape))[::max(1, x.size // 7)]:
            kept, ends = x[at], []
            for step in (1e-6, -1e-6):
                x[at] = kept + step
                ends.append((function(*[tensor(y) for y in arrays]).numpy() * weights).sum())
            x[at] = kept
            assert abs(float(t.grad[at]) - (ends[0] - ends[1]) / 2e-6) < 1e-6 * (1 + abs(ends[0] - ends[1]) / 2e-6) * 10


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "relu6": (F.relu6, lambda x: np.clip(x, 0, 6)), "hardtanh": (F.hardtanh, lambda x: np.clip(x, -1, 1)),
    "hardsigmoid": (F.hardsigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hardswish": (F.hardswish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "mish": (F.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "selu": (F.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    "celu": (lambda x: F.celu(x, 1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5))),
    "logsigmoid": (F.logsigmoid, lambda x: np.log(sigmoid(x))), "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x)),
    "hardshrink": (F.hardshrink, lambda x: np.where(abs(x) > 0.5, x, 0)),
    "softshrink": (F.softshrink, lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0)),
    "threshold": (lambda x: F.threshold(x, 0.2, 9.0), lambda x: np.where(x > 0.2, x, 9.0)),
    "softmin": (lambda x: F.softmin(x, 1), lambda x: np.exp(-x) / np.exp(-x).sum(1, keepdims=True)),
    "glu": (F.glu, lambda x: x[:, :3] * sigmoid(x[:, 3:])),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    check(*ACTIVATIONS[name], made(4, 6) * 3)


def test_activations_with_weights():
    check(F.prelu, lambda x, w: np.where(x > 0, x, w.reshape(1, 3, 1) * x), made(2, 3, 4), made(3, seed=1))
    with pytest.raises(RuntimeError, match="even"):
        F.glu(janus.ones(2, 3))
    janus.manual_seed(0)
    hard = F.gumbel_softmax(janus.zeros(50, 4), hard=True)
    assert np.allclose(hard.sum(1).numpy(), 1) and set(np.round(hard.numpy().ravel(), 5).tolist()) == {0.0, 1.0}
    assert (hard.sum(0) > 2).all()


@pytest.mark.parametrize("mode, theirs", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_pad(mode, theirs):
    check(lambda x: F.pad(x, (1, 2, 2, 0), mode), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 0), (1, 2)), theirs),
          made(1, 2, 3, 4))
    with pytest.raises(NotImplementedError):
        F.pad(janus.ones(2, 2), (1, 1), "other")


def test_pad_with_a_value():
    check(lambda x: F.pad(x, (1, 2, 0, 1), value=3.5),
          lambda x: np.pad(x, ((0, 1), (1, 2)), constant_values=3.5), made(3, 4))
    check(lambda x: F.pad(x, (-1, 2)), lambda x: np.pad(x[:, 1:], ((0, 0), (0, 2))), made(3, 4))
    with pytest.raises(RuntimeError):
        F.pad(janus.ones(3), (5, 5), "reflect")
    with pytest.raises(RuntimeError):
        F.pad(janus.ones(3), (1, 1, 1, 1))


def windows(n, out):
    return [slice(math.floor(i * n / out), math.ceil((i + 1) * n / out)) for i in range(out)]


@pytest.mark.parametrize("out", [1, 2, 3, 5, 7])
def test_adaptive_pools(out):
    def pooled(f):
        return lambda x: np.stack([np.stack([f(x[..., i, j], (-2, -1)) for j in windows(x.shape[-1], 2)], -1)
                                   for i in windows(x.shape[-2], out)], -2)
    x = made(2, 3, 5, 4)
    check(lambda t: F.adaptive_avg_pool2d(t, (out, 2)), pooled(np.mean), x)
    check(lambda t: F.adaptive_max_pool2d(t, (out, 2)), pooled(np.max), x)

    def line(f):
        return lambda x: np.stack([f(x[..., i], -1) for i in windows(x.shape[-1], out)], -1)
    check(lambda t: F.adaptive_avg_pool1d(t, out), line(np.mean), made(2, 5))
    check(lambda t: F.adaptive_max_pool1d(t, out), line(np.max), made(2, 5))
    assert F.adaptive_avg_pool2d(tensor(x), (None, out)).shape == (2, 3, 5, out)


def resized(n, out, step, corners, cubic):
    """The matrix of one dim."""
    m = np.zeros((out, n))
    for i in range(out):
        at = (i * (n - 1) / (out - 1) if out > 1 else 0.0) if corners else (i + 0.5) * step - 0.5
        if not cubic:
            at = max(at, 0.0)
        low = math.floor(at)
        for j in range(low - 1, low + 3):
            d = abs(at - j)
            if cubic:
                w = 1.25 * d ** 3 - 2.25 * d * d + 1 if d <= 1 else -0.75 * (d ** 3 - 5 * d * d + 8 * d - 4) if d < 2 else 0
            else:
                w = max(0.0, 1 - d)
            m[i, min(max(j, 0), n - 1)] += w
    return m


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_interpolate(mode, corners):
    x = made(1, 2, 3, 4)
    for high, wide in ((5, 7), (2, 2), (1, 1), (3, 4)):
        a, b = (resized(n, out, n / out, corners, mode == "bicubic") for n, out in ((3, high), (4, wide)))
        check(lambda t: F.interpolate(t, size=(high, wide), mode=mode, align_corners=corners),
              lambda v: a @ v @ b.T, x)
    a, b = resized(3, 4, 1 / 1.5, corners, mode == "bicubic"), resized(4, 10, 1 / 2.7, corners, mode == "bicubic")
    check(lambda t: F.interpolate(t, scale_factor=(1.5, 2.7), mode=mode, align_corners=corners),
          lambda v: a @ v @ b.T, x)


def test_interpolate_nearest():
    check(lambda t: F.interpolate(t, scale_factor=2), lambda x: x.repeat(2, -1).repeat(2, -2), made(1, 2, 3, 4))
    check(lambda t: F.upsample(t, 2), lambda x: x[..., [0, 2], :][..., [0, 1]], made(1, 1, 4, 3))
    check(lambda t: F.interpolate(t, size=4, mode="linear"), lambda x: x @ resized(3, 4, 3 / 4, False, False).T, made(1, 2, 3))
    check(lambda t: F.interpolate(t, size=5, mode="nearest-exact"), lambda x: x[..., [0, 0, 1, 2, 2]], made(1, 2, 3))
    for wrong in (dict(), dict(size=2, scale_factor=2)):
        with pytest.raises(ValueError):
            F.interpolate(janus.ones(1, 1, 2), **wrong)
    with pytest.raises(NotImplementedError):
        F.interpolate(janus.ones(1, 1, 2), size=3, mode="bilinear")


def test_pixel_shuffle():
    x = made(2, 8, 2, 3)
    check(lambda t: F.pixel_shuffle(t, 2),
          lambda v: v.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6), x)
    np.testing.assert_array_equal(F.pixel_unshuffle(F.pixel_shuffle(tensor(x), 2), 2).numpy(), x)
    with pytest.raises(RuntimeError, match="divisible"):
        F.pixel_shuffle(janus.ones(1, 3, 2, 2), 2)


OPTIONS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 1, 1, 2), (2, 1, 2, 2)]


@pytest.mark.parametrize("stride, padding, dilation, groups", OPTIONS)
def test_conv1d(stride, padding, dilation, groups):
    def conv(x, w, b):
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
        out = (x.shape[2] - dilation * 2 - 1) // stride + 1
        y = np.zeros((2, 6, out))
        for o in range(6):
            g = o // (6 // groups)
            part = x[:, g * (4 // groups):(g + 1) * (4 // groups)]
            for i in range(out):
                y[:, o, i] = b[o] + (part[:, :, i * stride:i * stride + 2 * dilation + 1:dilation] * w[o]).sum((1, 2))
        return y
    check(lambda x, w, b: F.conv1d(x, w, b, stride, padding, dilation, groups), conv, made(2, 4, 9),
          made(6, 4 // groups, 3, seed=1), made(6, seed=2))


@pytest.mark.parametrize("stride, padding, dilation, groups", OPTIONS)
def test_conv_transpose_is_the_gradient_of_conv(stride, padding, dilation, groups):
    x, w, b = made(2, 4, 7, 6), made(4, 6 // groups, 3, 2, seed=1), made(6, seed=2)
    y = F.conv_transpose2d(tensor(x), tensor(w), None, stride, padding, stride - 1, groups, dilation)
    image = tensor(made(*y.shape, seed=3)).requires_grad_()
    there = F.conv2d(image, tensor(w), None, (stride,) * 2, (padding,) * 2, (dilation,) * 2, groups)
    assert there.shape == x.shape
    (there * tensor(x)).sum().backward()
    np.testing.assert_allclose(y.numpy(), image.grad.numpy(), rtol=1e-9, atol=1e-9)
    check(lambda x, w, b: F.conv_transpose2d(x, w, b, stride, padding, 0, groups, dilation), None, x, w, b)
    check(lambda x, w: F.conv_transpose1d(x, w, None, stride, padding, 0, groups, dilation), None, x[..., 0],
          w[..., 0].copy())


def scattered(x, w, b, stride, padding, extra, dilation, groups):
    """A transposed convolution by its definition: each number adds the filters, times itself, to where they lie."""
    (n, c, h, v), (kh, kw), o = x.shape, w.shape[2:], w.shape[1]
    size = [(d - 1) * stride + dilation * (k - 1) + 1 for d, k in ((h, kh), (v, kw))]
    y = np.zeros((n, o * groups, size[0] + padding + extra, size[1] + padding + extra))
    for i, j in np.ndindex(h, v):
        for r, t in np.ndindex(kh, kw):
            for g in range(groups):
                part = slice(g * (c // groups), (g + 1) * (c // groups))
                y[:, g * o:(g + 1) * o, i * stride + r * dilation, j * stride + t * dilation] += (
                    x[:, part, i, j] @ w[part, :, r, t])
    return y[..., padding:size[0] - padding + extra, padding:size[1] - padding + extra] + b[:, None, None]


@pytest.mark.parametrize("stride, padding, dilation, groups, extra", [
    (stride, padding, dilation, groups, extra) for stride in (1, 2, 3) for padding in (0, 1, 2) for dilation in (1, 2, 4)
    for groups in (1, 2) for extra in range(max(stride, dilation))])
def test_conv_transpose_by_its_definition(stride, padding, dilation, groups, extra):
    x, w, b = made(2, 4, 4, 5), made(4, 4 // groups, 3, 2, seed=1), made(4, seed=2)
    check(lambda x, w, b: F.conv_transpose2d(x, w, b, stride, padding, extra, groups, dilation),
          lambda x, w, b: scattered(x, w, b, stride, padding, extra, dilation, groups), x, w, b)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_conv_transpose_of_all_sizes_is_one_graph(numerics):
    def step(x, w, b):
        w.grad = b.grad = None
        loss = (F.conv_transpose2d(x, w, b, 2, 1, 1) ** 2).sum()
        loss.backward()
        return loss
    graph = janus.function(step, verify="never", measure=False, numerics=numerics)
    weights = [[tensor(made(3, 2, 3, 2, seed=1)).requires_grad_(), tensor(made(2, seed=2)).requires_grad_()]
               for _ in range(2)]
    for i in range(20):
        x = tensor(made(2 + i % 3, 3, 2 + i, 4 + i % 5, seed=i))
        got, want = graph(x, *weights[0]), step(x, *weights[1])
        for a, c in [(got, want)] + [(a.grad, c.grad) for a, c in zip(*weights)]:
            np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=0 if numerics == "exact" else 1e-9)
    stats = graph.stats()
    assert stats["graph"] >= 14 and stats["entries"] <= 3, stats


def test_what_conv_transpose_refuses():
    x, w = janus.ones(1, 2, 1, 1), janus.ones(2, 1, 2, 2)
    for args in ((x, w, None, 0), (x, w, None, 1, -1), (x, w, None, 1, 2), (x, janus.ones(3, 1, 2, 2)), (x, w.double()),
                 (x.long(), w.long())):
        with pytest.raises(RuntimeError):
            F.conv_transpose2d(*args)


def test_pools_over_one_dim():
    check(lambda t: F.max_pool1d(t, 3, 2, 1), lambda x: np.stack(
        [x[..., max(0, i - 1):i + 2].max(-1) for i in (0, 2, 4, 6)], -1), made(2, 3, 8))
    check(lambda t: F.avg_pool1d(t, 2), lambda x: x.reshape(2, 3, 4, 2).mean(-1), made(2, 3, 8))
    check(lambda t: F.max_pool2d(t, 2, ceil_mode=True), lambda x: np.stack([np.stack(
        [x[..., i:i + 2, j:j + 2].max((-1, -2)) for j in (0, 2)], -1) for i in (0, 2)], -2), made(1, 2, 3, 3))


def test_unfold():
    def columns(x):
        return np.stack([x[:, :, i:i + 2, j:j + 3].reshape(2, -1) for i in range(0, 3, 2) for j in range(3)], -1)
    check(lambda t: F.unfold(t, (2, 3), stride=(2, 1)), columns, made(2, 2, 4, 5))


def normed(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_norms():
    x, w, b = made(2, 4, 3, 2), made(4, seed=1), made(4, seed=2)
    by_channel = lambda v: v.reshape(1, 4, 1, 1)  # noqa: E731
    check(lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b:
          normed(x.reshape(2, 2, -1), -1).reshape(x.shape) * by_channel(w) + by_channel(b), x, w, b)
    check(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), lambda x, w, b:
          normed(x, (2, 3)) * by_channel(w) + by_channel(b), x, w, b)
    check(lambda x, w: F.rms_norm(x, (3, 2), w, 0.1), lambda x, w:
          x / np.sqrt((x * x).mean((2, 3), keepdims=True) + 0.1) * w, x, made(3, 2, seed=3))
    with pytest.raises(ValueError):
        F.group_norm(tensor(x), 3)


def test_dropout_of_channels():
    janus.manual_seed(1)
    y = F.dropout2d(janus.ones(40, 50, 2, 3), 0.25).numpy()
    assert ((y == 0).all((2, 3)) | (y == np.float32(4 / 3)).all((2, 3))).all()
    assert 0.2 < (y == 0).mean() < 0.3
    assert F.dropout1d(janus.ones(2, 3, 4), 0.5, training=False).tolist() == janus.ones(2, 3, 4).tolist()
    with pytest.raises(ValueError):
        F.dropout2d(janus.ones(1, 1, 1, 1), 1.5)


def cosine(a, b):
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def distance(a, b):
    return np.sqrt(((a - b + 1e-6) ** 2).sum(1))


SIGN = np.array([1.0, -1.0, 1.0])
LOSSES = {
    "huber": (2, lambda a, b: F.huber_loss(a, b, "none", 0.5), lambda a, b: np.where(
        abs(a - b) <= 0.5, 0.5 * (a - b) ** 2, 0.5 * (abs(a - b) - 0.25))),
    "poisson": (2, lambda a, b: F.poisson_nll_loss(a, b, reduction="sum"), lambda a, b: (np.exp(a) - a * b).sum()),
    "gaussian": (2, lambda a, b: F.gaussian_nll_loss(a, b, b * b + 0.1),
                 lambda a, b: (0.5 * (np.log(b * b + 0.1) + (a - b) ** 2 / (b * b + 0.1))).mean()),
    "ranking": (2, lambda a, b: F.margin_ranking_loss(a[:, 0], b[:, 0], tensor(SIGN), 0.3, reduction="none"),
                lambda a, b: np.maximum(0, -SIGN * (a - b)[:, 0] + 0.3)),
    "hinge": (1, lambda a: F.hinge_embedding_loss(a[:, 0], tensor(SIGN), reduction="none"),
              lambda a: np.where(SIGN > 0, a[:, 0], np.maximum(0, 1 - a[:, 0]))),
    "cosine": (2, lambda a, b: F.cosine_embedding_loss(a, b, tensor(SIGN), 0.1),
               lambda a, b: np.where(SIGN > 0, 1 - cosine(a, b), np.maximum(0, cosine(a, b) - 0.1)).mean()),
    "similarity": (2, F.cosine_similarity, cosine), "distance": (2, F.pairwise_distance, distance),
    "triplet": (3, lambda a, b, c: F.triplet_margin_loss(a, b, c, reduction="none"),
                lambda a, b, c: np.maximum(0, distance(a, b) - distance(a, c) + 1)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    n, function, want = LOSSES[name]
    check(function, want, *[made(3, 4, seed=i + 1) for i in range(n)])


EMPTY = [(0,), (3,), (0, 3), (2, 0), (0, 0), (1, 0, 2), (2, 0, 3, 3), (1, 2, 3, 4)]
AROUND = [(), (0, 0), (1, 1), (-1, 0), (1, -2), (-2, -2), (0, 0, 0, 0), (1, 1, 1, 1), (-1, -1, 1, 0), (0, 0, 0, 0, 1, 1)]


@pytest.mark.parametrize("around", AROUND, ids=str)
def test_pad_of_nothing(around):
    """Tensors without elements, no padding, and padding that takes all away: shapes, values, errors."""
    step = janus.function(lambda x: F.pad(x, around, value=0.5))
    for shape in EMPTY:
        x = made(*shape)
        pairs = [(0, 0)] * (len(shape) - len(around) // 2) + list(zip(around[::2], around[1::2]))[::-1]
        for f in (lambda x: F.pad(x, around, value=0.5), step, step, step):
            t = janus.zeros(*shape, dtype=janus.float64).requires_grad_() + tensor(x)
            if len(pairs) > len(shape) or any(n + a + b < 0 for n, (a, b) in zip(shape, pairs)):
                with pytest.raises(RuntimeError):
                    f(t)
                continue
            grown = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=0.5)
            cut = grown[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(grown.shape, pairs))]
            got = f(t)
            assert got.shape == cut.shape
            np.testing.assert_array_equal(got.detach().numpy(), cut)
