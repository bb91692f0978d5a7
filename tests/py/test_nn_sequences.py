# SPDX-License-Identifier: Apache-2.0
"""Layers over sequences (GRU, RNN, attention, Transformer) and those that wrap functions: against NumPy and their laws."""
import math

import pytest

import janus
import janus.nn as nn
from janus.nn.utils.rnn import pad_sequence, unpad_sequence

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def seeded():
    janus.manual_seed(5)


def array(t):
    return t.detach().numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru_step(x, h, w, u, b, c):
    (xr, xz, xn), (hr, hz, hn) = np.split(x @ w.T + b, 3, -1), np.split(h @ u.T + c, 3, -1)
    z = sigmoid(xz + hz)
    return (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h


def rnn_step(x, h, w, u, b, c):
    return np.tanh(x @ w.T + b + h @ u.T + c)


@pytest.mark.parametrize("kind, step", [(nn.GRU, gru_step), (nn.RNN, rnn_step)])
def test_two_layers_in_both_directions(kind, step):
    layer = kind(3, 4, num_layers=2, bidirectional=True).double()
    x, h0 = janus.randn(5, 2, 3, dtype=janus.float64), janus.randn(4, 2, 4, dtype=janus.float64)
    output, h_n = layer(x, h0)
    weights = {name: array(p) for name, p in layer.named_parameters()}
    below, last = array(x), []
    for depth in range(2):
        both = []
        for reverse in (False, True):
            names = [f"{part}_l{depth}{'_reverse' if reverse else ''}" for part in
                     ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            h, outputs = array(h0)[len(last)], []
            for t in reversed(range(5)) if reverse else range(5):
                h = step(below[t], h, *[weights[n] for n in names])
                outputs.append(h)
            both.append(np.stack(outputs[::-1] if reverse else outputs))
            last.append(h)
        below = np.concatenate(both, -1)
    np.testing.assert_allclose(array(output), below, rtol=1e-9)
    np.testing.assert_allclose(array(h_n), np.stack(last), rtol=1e-9)
    first = kind(3, 4, batch_first=True).double()
    plain, _ = first(x.transpose(0, 1))
    alone, h = first(x[:, 1])
    np.testing.assert_allclose(array(plain)[1], array(alone), rtol=1e-9)
    assert h.shape == (1, 4)
    with pytest.raises(ValueError, match="2D or 3D"):
        layer(janus.ones(3))


def test_rnn_of_relu():
    cell, layer = nn.RNNCell(3, 4, nonlinearity="relu"), nn.RNN(3, 4, nonlinearity="relu")
    for name, p in cell.named_parameters():
        getattr(layer, name + "_l0").data.copy_(p.data)
    x = janus.randn(2, 3)
    np.testing.assert_allclose(array(cell(x)), array(layer(x.unsqueeze(0))[0][0]))
    for bad in (nn.RNN, nn.RNNCell):
        with pytest.raises((ValueError, RuntimeError)):
            bad(3, 4, nonlinearity="sine")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention(batch_first):
    layer = nn.MultiheadAttention(4, 2, batch_first=batch_first).double()
    q, kv = janus.randn(2, 3, 4, dtype=janus.float64), janus.randn(2, 5, 4, dtype=janus.float64)
    turn = (lambda t: t) if batch_first else (lambda t: t.transpose(0, 1))
    refused = janus.zeros(3, 5, dtype=janus.bool)
    refused[0, 3:] = True
    padding = janus.zeros(2, 5, dtype=janus.bool)
    padding[1, 0] = True
    output, weights = layer(turn(q), turn(kv), turn(kv), attn_mask=refused, key_padding_mask=padding)
    wq, wk, wv = np.split(array(layer.in_proj_weight), 3)
    bias = np.split(array(layer.in_proj_bias), 3)

    def heads(x, w, b):
        return (array(x) @ w.T + b).reshape(2, -1, 2, 2).transpose(0, 2, 1, 3)
    scores = heads(q, wq, bias[0]) @ heads(kv, wk, bias[1]).transpose(0, 1, 3, 2) / math.sqrt(2)
    scores[:, :, array(refused)] = -np.inf
    scores[1, :, :, 0] = -np.inf
    shares = softmax(scores)
    joined = (shares @ heads(kv, wv, bias[2])).transpose(0, 2, 1, 3).reshape(2, 3, 4)
    want = joined @ array(layer.out_proj.weight).T + array(layer.out_proj.bias)
    np.testing.assert_allclose(array(turn(output)), want, rtol=1e-9)
    np.testing.assert_allclose(array(weights), shares.mean(1), rtol=1e-9)
    alone, none = layer(q[0], kv[0], kv[0], attn_mask=refused, need_weights=False)
    np.testing.assert_allclose(array(alone), want[0], rtol=1e-9)
    assert none is None
    assert set(dict(nn.MultiheadAttention(4, 2, kdim=3, bias=False).named_parameters())) == {
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}
    with pytest.raises(AssertionError):
        nn.MultiheadAttention(5, 2)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_sees_no_later_position(norm_first):
    model = nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, activation="gelu", norm_first=norm_first, batch_first=True)
    src, tgt = janus.randn(2, 4, 8), janus.randn(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    y = model(src, tgt, tgt_mask=mask)
    changed = tgt.clone()
    changed[:, 3:] = 7.0
    again = model(src, changed, tgt_mask=mask)
    np.testing.assert_allclose(array(y)[:, :3], array(again)[:, :3], atol=1e-5)
    assert np.abs(array(y)[:, 3:] - array(again)[:, 3:]).max() > 0.01
    y.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    keys = set(model.state_dict())
    assert {"encoder.layers.1.self_attn.in_proj_weight", "decoder.layers.0.multihead_attn.out_proj.bias",
            "decoder.norm.weight", "encoder.layers.0.linear2.weight", "decoder.layers.1.norm3.bias"} <= keys
    assert not model.encoder.layers[0].linear1.weight.equal(model.decoder.layers[0].linear1.weight)


def test_encoder_layer_is_made_of_its_parts():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    x = janus.randn(3, 2, 4)
    y = layer.norm1(x + layer.self_attn(x, x, x)[0])
    y = layer.norm2(y + layer.linear2(layer.linear1(y).relu()))
    np.testing.assert_allclose(array(layer(x)), array(y), rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError):
        nn.TransformerEncoderLayer(4, 2, activation="sine")


def test_padded_sequences():
    parts = [janus.ones(2, 3), janus.ones(4, 3) * 2, janus.ones(1, 3) * 3]
    for batch_first in (False, True):
        padded = pad_sequence(parts, batch_first, -1.0)
        assert padded.shape == ((3, 4, 3) if batch_first else (4, 3, 3))
        back = unpad_sequence(padded, janus.tensor([2, 4, 1]), batch_first)
        assert all(a.equal(b) for a, b in zip(parts, back))
        assert float(padded.sum()) == 6 + 24 + 9 - 15
    assert pad_sequence(parts, True, padding_side="left")[2].tolist() == [[0.0] * 3] * 3 + [[3.0] * 3]


WRAPPED = [
    (nn.ReLU6(), (2, 3)), (nn.Hardsigmoid(), (2, 3)), (nn.Hardswish(), (2, 3)), (nn.Mish(), (2, 3)), (nn.SELU(), (2, 3)),
    (nn.LogSigmoid(), (2, 3)), (nn.Softsign(), (2, 3)), (nn.Tanhshrink(), (2, 3)), (nn.Hardtanh(-0.2, 0.3), (2, 3)),
    (nn.CELU(2.0), (2, 3)), (nn.Hardshrink(0.3), (2, 3)), (nn.Softshrink(0.3), (2, 3)), (nn.GLU(), (2, 4)),
    (nn.Threshold(0.1, 5.0), (2, 3)), (nn.PReLU(3), (2, 3)), (nn.Softmin(1), (2, 3)),
    (nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)), (nn.AdaptiveAvgPool2d((2, None)), (1, 2, 3, 3)),
    (nn.AdaptiveMaxPool1d(2), (1, 2, 3)), (nn.PixelShuffle(2), (1, 4, 2, 2)), (nn.PixelUnshuffle(2), (1, 1, 4, 4)),
    (nn.ZeroPad2d((1, 2, 0, 1)), (1, 2, 3, 3)), (nn.ReflectionPad2d(1), (1, 2, 3, 3)), (nn.ConstantPad1d(2, 3.0), (2, 3)),
    (nn.MaxPool1d(2), (1, 2, 4)), (nn.AvgPool1d(2, ceil_mode=True), (1, 2, 5)), (nn.Unfold(2), (1, 2, 3, 3)),
    (nn.Unflatten(1, (2, 2)), (3, 4)), (nn.GroupNorm(2, 4), (2, 4, 3)), (nn.RMSNorm(4), (2, 4)),
    (nn.InstanceNorm2d(2, affine=True), (2, 2, 3, 3)), (nn.Conv1d(2, 3, 3, padding="same"), (2, 2, 5)),
    (nn.ConvTranspose1d(2, 3, 3, stride=2), (2, 2, 5)), (nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), (1, 2, 3, 3)),
]


@pytest.mark.parametrize("layer, shape", WRAPPED, ids=[type(layer).__name__ for layer, _ in WRAPPED])
def test_layers_as_graphs(layer, shape):
    """A layer in a graph gives what it gives eagerly, and gradients reach all that it has."""
    run = janus.function(lambda x: layer(x), measure=False)
    for seed in range(3):
        x = janus.randn(*shape)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        want, got = layer(a), run(b)
        np.testing.assert_allclose(array(got), array(want), rtol=1e-4, atol=1e-5)
        (want * want).sum().backward()
        (got * got).sum().backward()
        np.testing.assert_allclose(array(b.grad), array(a.grad), rtol=1e-3, atol=1e-4)
    assert all(p.grad is not None for p in layer.parameters())
    assert type(layer).__name__ in repr(layer)


def test_transposed_convolution_of_a_size():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    assert layer(janus.ones(1, 1, 4, 4), output_size=(8, 7)).shape == (1, 1, 8, 7)
    with pytest.raises(ValueError):
        layer(janus.ones(1, 1, 4, 4), output_size=(9, 9))
    with pytest.raises(ValueError):
        nn.Conv1d(3, 4, 3, groups=2)
    assert nn.ConvTranspose2d(4, 6, 3, groups=2).weight.shape == (4, 3, 3, 3)


def test_instance_norm_learns_running_statistics():
    layer = nn.InstanceNorm1d(2, track_running_stats=True)
    x = janus.randn(3, 2, 8) + 2
    layer(x)
    np.testing.assert_allclose(array(layer.running_mean), 0.1 * array(x).mean(2).mean(0), rtol=1e-5)
    np.testing.assert_allclose(array(layer.running_var), 0.9 + 0.1 * array(x).var(2, ddof=1).mean(0), rtol=1e-5)
    layer.eval()
    scale = np.sqrt(array(layer.running_var) + 1e-5)[:, None]
    np.testing.assert_allclose(array(layer(x)), (array(x) - array(layer.running_mean)[:, None]) / scale, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="2D or 3D"):
        layer(janus.ones(2))
