# SPDX-License-Identifier: Apache-2.0
"""Layers, losses, start values: against NumPy or against what their definitions say."""
import math

import janus
import janus.nn as nn
import janus.nn.functional as F
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def seeded():
    janus.manual_seed(3)


def array(tensor):
    return np.array(tensor.tolist())


def near(tensor, expected, tolerance=1e-5):
    np.testing.assert_allclose(array(tensor), expected, rtol=tolerance, atol=tolerance)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_linear_and_start_values():
    layer = nn.Linear(64, 500)
    x = janus.randn(3, 64)
    near(layer(x), array(x) @ array(layer.weight).T + array(layer.bias))
    for values in (array(layer.weight), array(layer.bias)):
        assert np.abs(values).max() <= 1 / 8 and np.abs(values).max() > 0.12
        assert abs(values.std() * math.sqrt(3) * 8 - 1) < 0.1


def test_embedding():
    layer = nn.Embedding(7, 3, padding_idx=2, sparse=True)
    assert layer.weight[2].tolist() == [0.0, 0.0, 0.0]
    index = janus.tensor([[1, 2], [1, 6]])
    out = layer(index)
    near(out, array(layer.weight)[array(index)])
    out.sum().backward()
    near(layer.weight.grad[:, 0], [0, 2, 0, 0, 0, 0, 1])
    assert nn.Embedding.from_pretrained(janus.ones(2, 3)).weight.requires_grad is False


def test_conv2d_is_a_sum_of_products():
    layer = nn.Conv2d(2, 3, 3, stride=2, padding=1)
    x = janus.randn(2, 2, 5, 5)
    padded = np.pad(array(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.zeros((2, 3, 3, 3))
    for i in range(3):
        for j in range(3):
            window = padded[:, :, 2 * i:2 * i + 3, 2 * j:2 * j + 3]
            expected[:, :, i, j] = np.einsum("nchw,ochw->no", window, array(layer.weight)) + array(layer.bias)
    near(layer(x), expected, 1e-4)
    assert nn.Conv2d(1, 1, 3, padding="same")(janus.ones(1, 1, 4, 6)).shape == (1, 1, 4, 6)
    assert np.abs(array(layer.weight)).max() <= 1 / math.sqrt(18)


def test_pools():
    x = janus.arange(16, dtype=janus.float32).reshape(1, 1, 4, 4)
    near(nn.MaxPool2d(2)(x), [[[[5, 7], [13, 15]]]])
    near(nn.AvgPool2d(2)(x), [[[[2.5, 4.5], [10.5, 12.5]]]])
    near(nn.MaxPool2d(2, stride=1)(x)[0, 0, 0], [5, 6, 7])


def test_batch_norm_learns_running_statistics():
    layer = nn.BatchNorm2d(3)
    x = janus.randn(4, 3, 5, 5) * 2 + 1
    values = array(x)
    mean, var = values.mean((0, 2, 3)), values.var((0, 2, 3))
    near(layer(x), (values - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5), 1e-4)
    near(layer.running_mean, 0.1 * mean)
    near(layer.running_var, 0.9 + 0.1 * var * 100 / 99)
    assert int(layer.num_batches_tracked) == 1
    layer.eval()
    running = array(layer.running_mean)[:, None, None], array(layer.running_var)[:, None, None]
    near(layer(x), (values - running[0]) / np.sqrt(running[1] + 1e-5), 1e-4)
    assert int(layer.num_batches_tracked) == 1
    with pytest.raises(ValueError, match="expected 4D input"):
        layer(janus.ones(2, 3))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(3)(janus.ones(1, 3))


@pytest.mark.parametrize("planes", [2, 63, 64, 65, 130])
@pytest.mark.parametrize("sides", [(1, 1), (3, 5), (9, 17)])
def test_batch_norm_of_any_number_of_planes(planes, sides):
    x = janus.randn(planes, 3, *sides, dtype=janus.float64) * 2 + 5
    values = array(x)
    mean, var = values.mean((0, 2, 3)), values.var((0, 2, 3))
    out = F.batch_norm(x, janus.zeros(3, dtype=janus.float64), janus.ones(3, dtype=janus.float64), training=True)
    near(out, (values - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5), 1e-9)


def test_layer_norm():
    layer = nn.LayerNorm((3, 4))
    x = janus.randn(2, 3, 4)
    values = array(x).reshape(2, 12)
    expected = (values - values.mean(1, keepdims=True)) / np.sqrt(values.var(1, keepdims=True) + 1e-5)
    near(layer(x), expected.reshape(2, 3, 4), 1e-4)


def test_dropout():
    x = janus.ones(200, 50)
    layer = nn.Dropout(0.25)
    out = array(layer(x))
    assert set(np.unique(out.round(4))) == {0.0, 1.3333}
    assert abs((out == 0).mean() - 0.25) < 0.03
    assert array(layer.eval()(x)).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


def lstm_steps(x, h, c, w_ih, w_hh, b_ih, b_hh):
    outputs = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), h, c


def test_lstm_two_layers():
    layer = nn.LSTM(3, 4, num_layers=2)
    x = janus.randn(5, 2, 3)
    out, (h, c) = layer(x)
    expected, zeros = array(x), np.zeros((2, 4))
    for number in range(2):
        weights = [array(getattr(layer, f"{name}_l{number}")) for name in
                   ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        expected, last_h, last_c = lstm_steps(expected, zeros, zeros, *weights)
        near(h[number], last_h)
        near(c[number], last_c)
    near(out, expected)
    turned = nn.LSTM(3, 4, num_layers=2, batch_first=True)
    turned.load_state_dict(layer.state_dict())
    near(turned(x.transpose(0, 1))[0].transpose(0, 1), expected)


def test_bidirectional_lstm_shapes_and_keys():
    layer = nn.LSTM(3, 4, bidirectional=True)
    assert [name for name, _ in layer.named_parameters()][4:] == [
        "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse"]
    x = janus.randn(5, 2, 3)
    out, (h, _) = layer(x)
    assert out.shape == (5, 2, 8) and h.shape == (2, 2, 4)
    near(out[0, :, 4:], array(h[1]))


def test_cells():
    cell = nn.LSTMCell(3, 4)
    x = janus.randn(2, 3)
    h, c = cell(x)
    weights = [array(weight) for weight in cell.parameters()]
    _, last_h, last_c = lstm_steps(array(x)[None], np.zeros((2, 4)), np.zeros((2, 4)), *weights)
    near(h, last_h)
    near(c, last_c)
    cell = nn.GRUCell(3, 4)
    old = janus.randn(2, 4)
    w_ih, w_hh, b_ih, b_hh = (array(weight) for weight in cell.parameters())
    xr, xz, xn = np.split(array(x) @ w_ih.T + b_ih, 3, axis=1)
    hr, hz, hn = np.split(array(old) @ w_hh.T + b_hh, 3, axis=1)
    z = sigmoid(xz + hz)
    near(cell(x, old), (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * array(old))


@pytest.mark.parametrize("layer, function", [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), sigmoid),
    (nn.SiLU(), lambda x: x * sigmoid(x)),
    (nn.Softplus(), lambda x: np.log1p(np.exp(x))),
    (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.ELU(), lambda x: np.where(x > 0, x, np.exp(x) - 1)),
    (nn.GELU(), lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    (nn.GELU("tanh"), lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))),
    (nn.Softmax(1), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (nn.LogSoftmax(), lambda x: x - np.log(np.exp(x).sum(1, keepdims=True))),
    (nn.Flatten(0), np.ravel),
    (nn.Identity(4, unused=1), lambda x: x),
], ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "")
def test_activations(layer, function):
    x = janus.randn(4, 5)
    near(layer(x), function(array(x)))


def test_losses():
    x, y = janus.randn(6, 4), janus.tensor([0, 1, 2, -100, 3, 1])
    kept = [0, 1, 2, 4, 5]
    logs = array(x) - np.log(np.exp(array(x)).sum(1, keepdims=True))
    picked = -logs[kept, array(y)[kept]]
    near(nn.CrossEntropyLoss()(x, y), picked.mean())
    near(nn.CrossEntropyLoss(reduction="sum")(x, y), picked.sum())
    near(nn.NLLLoss()(F.log_softmax(x, 1), y), picked.mean())
    weight = janus.tensor([0.5, 1.0, 2.0, 3.0])
    scale = array(weight)[array(y)[kept]]
    near(nn.CrossEntropyLoss(weight)(x, y), (picked * scale).sum() / scale.sum())
    target = janus.rand(6, 4)
    gap = array(x) - array(target)
    near(nn.MSELoss()(x, target), (gap ** 2).mean())
    near(nn.L1Loss(reduction="none")(x, target), np.abs(gap))
    p, t = sigmoid(array(x)), array(target)
    cross = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    near(nn.BCEWithLogitsLoss()(x, target), cross.mean())
    near(nn.BCELoss()(janus.sigmoid(x), target), cross.mean())
    weighted = -(3 * t * np.log(p) + (1 - t) * np.log(1 - p))
    near(nn.BCEWithLogitsLoss(pos_weight=janus.tensor(3.0))(x, target), weighted.mean())
    near(nn.SmoothL1Loss()(x, target), np.where(np.abs(gap) < 1, gap ** 2 / 2, np.abs(gap) - 0.5).mean())


def test_init():
    w = janus.empty(400, 300)
    nn.init.xavier_uniform_(w)
    assert abs(array(w).max() - math.sqrt(6 / 700)) < 1e-3
    nn.init.kaiming_normal_(w, nonlinearity="relu")
    assert abs(array(w).std() - math.sqrt(2 / 300)) < 1e-3
    nn.init.normal_(w, 1.0, 0.5)
    assert abs(array(w).mean() - 1) < 0.01 and abs(array(w).std() - 0.5) < 0.01
    nn.init.trunc_normal_(w, std=0.5, a=-0.5, b=1.0)
    assert array(w).min() >= -0.5 and array(w).max() <= 1.0 and array(w).std() > 0.3
    nn.init.constant_(w, 0.25)
    assert (array(w) == 0.25).all()
    small = nn.init.orthogonal_(janus.empty(5, 3))
    near(small.t() @ small, np.eye(3))
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_normal_(janus.empty(3))


def test_clip_grad_norm():
    params = [nn.Parameter(janus.zeros(3)), nn.Parameter(janus.zeros(2))]
    params[0].grad, params[1].grad = janus.tensor([3.0, 0.0, 0.0]), janus.tensor([0.0, 4.0])
    near(nn.utils.clip_grad_norm_(params, 1.0), 5.0)
    near(params[0].grad, [0.6, 0, 0])
    near(params[1].grad, [0, 0.8])
    near(nn.utils.clip_grad_norm_(params, 10.0), 1.0)
    near(params[1].grad, [0, 0.8])


def test_attention_and_normalize():
    q = janus.randn(2, 3, 4)
    scores = array(q) @ array(q).transpose(0, 2, 1) / 2
    scores[:, ~np.tril(np.ones((3, 3), bool))] = -np.inf
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    near(F.scaled_dot_product_attention(q, q, q, is_causal=True), weights @ array(q))
    near(F.normalize(q, dim=-1), array(q) / np.linalg.norm(array(q), axis=-1, keepdims=True))


@pytest.mark.parametrize("kernel", [(1, 2), (3, 3), (5, 1), (2, 17), (1, 19)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 1), (2, 9)])
def test_patches_of_convolutions(kernel, stride, padding):
    """Kernels wider than the table of taps, strides that leave rows out, paddings wider than the image."""
    rng = np.random.default_rng(7)
    for height, width, dilation in ((6, 20, 1), (5, 38, 2), (3, 3, 1)):
        span = [(k - 1) * dilation + 1 for k in kernel]
        sizes = [(n + 2 * p - s) // t + 1 for n, p, s, t in zip((height, width), padding, span, stride)]
        if min(sizes) < 1 or min(n + 2 * p - s for n, p, s in zip((height, width), padding, span)) < 0:
            continue
        x, w = rng.standard_normal((2, 2, height, width)), rng.standard_normal((3, 2, *kernel))
        dy = rng.standard_normal((2, 3, *sizes))
        padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        wanted, dx, dw = np.zeros(dy.shape), np.zeros(padded.shape), np.zeros(w.shape)
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                at = np.s_[:, :, i * stride[0]:i * stride[0] + span[0]:dilation, j * stride[1]:j * stride[1] + span[1]:dilation]
                wanted[:, :, i, j] = np.einsum("ncrs,ocrs->no", padded[at], w)
                dx[at] += np.einsum("no,ocrs->ncrs", dy[:, :, i, j], w)
                dw += np.einsum("no,ncrs->ocrs", dy[:, :, i, j], padded[at])
        dx = dx[:, :, padding[0]:padding[0] + height, padding[1]:padding[1] + width]
        for dtype in (janus.float64, janus.float32):
            a, b = janus.tensor(x, dtype=dtype).requires_grad_(), janus.tensor(w, dtype=dtype).requires_grad_()
            y = nn.functional.conv2d(a, b, None, stride, padding, dilation)
            y.backward(janus.tensor(dy, dtype=dtype))
            for got, right in ((y.detach(), wanted), (a.grad, dx), (b.grad, dw)):
                np.testing.assert_allclose(got.numpy(), right, rtol=1e-3, atol=1e-3)
