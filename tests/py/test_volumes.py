# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling over three dims beside loops over numbers, their gradients, decorated and not."""
import itertools
import random

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from shares import share

F64 = janus.float64


def places(sizes):
    return itertools.product(*map(range, sizes))


def settings():
    """Sizes and options drawn once for each number."""
    for seed in share(range(24)):
        draw = random.Random(seed)
        kernel = [draw.randint(1, 3) for _ in range(3)]
        dilation = [draw.randint(1, 2) for _ in range(3)]
        padding = [draw.randint(0, 2) for _ in range(3)]
        stride = [draw.randint(1, 3) for _ in range(3)]
        size = [draw.randint(0, 3) + d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        groups = draw.randint(1, 2)
        yield seed, kernel, dilation, padding, stride, size, groups


def numbers(*shape):
    return (janus.arange(janus.zeros(shape).numel()) * 7 % 11 - 5).to(F64).reshape(shape)


def by_loops(x, w, stride, padding, dilation, groups):
    """Products added one by one."""
    out, within = w.shape[:2]
    room = F.pad(x, [n for p in reversed(padding) for n in (p, p)]).tolist()
    kernel, w = w.shape[2:], w.tolist()
    padded = [n + 2 * p for n, p in zip(x.shape[2:], padding)]
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded, dilation, kernel, stride)]

    def at(n, o, i):
        total = 0.0
        for c, k in itertools.product(range(within), places(kernel)):
            z, y, x = (i[j] * stride[j] + k[j] * dilation[j] for j in range(3))
            total += w[o][c][k[0]][k[1]][k[2]] * room[n][o // (out // groups) * within + c][z][y][x]
        return total
    found = [at(n, o, i) for n in range(x.shape[0]) for o in range(out) for i in places(sizes)]
    return janus.tensor(found, dtype=F64).reshape([x.shape[0], out] + sizes)


@pytest.mark.parametrize("setting", list(settings()), ids=lambda s: str(s[0]))
def test_convolutions(setting):
    _, kernel, dilation, padding, stride, size, groups = setting
    x, w = numbers(2, 2 * groups, *size), numbers(4, 2, *kernel)
    y = F.conv3d(x, w, None, stride, padding, dilation, groups)
    assert y.is_contiguous() and y.tolist() == by_loops(x, w, stride, padding, dilation, groups).tolist()
    graph = janus.function(lambda x, w: F.conv3d(x, w, None, stride, padding, dilation, groups), measure=False)
    for _ in range(3):
        assert graph(x, w).tolist() == y.tolist()
    assert graph.stats()["graph"] > 0

    # The transposed one is the gradient by the input, for each size that gives y.
    leaf, g = x.clone().requires_grad_(), numbers(*y.shape)
    F.conv3d(leaf, w, None, stride, padding, dilation, groups).backward(g)
    least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(y.shape[2:], stride, padding, dilation, kernel)]
    extra = [n - low for n, low in zip(size, least)]
    back = F.conv_transpose3d(g, w, None, stride, padding, extra, groups, dilation)
    assert back.tolist() == leaf.grad.tolist()


@pytest.mark.parametrize("setting", list(settings()), ids=lambda s: str(s[0]))
def test_pooling(setting):
    _, kernel, _, padding, stride, size, _ = setting
    padding = [min(p, k // 2) for p, k in zip(padding, kernel)]
    size = [max(n, k) for n, k in zip(size, kernel)]
    x = numbers(1, 2, *size)
    sizes = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(size, padding, kernel, stride)]

    def box(i):
        starts = [i[j] * stride[j] - padding[j] for j in range(3)]
        return tuple([slice(max(s, 0), max(s + k, 0)) for s, k in zip(starts, kernel)])
    boxes = [x[(0, c) + box(i)] for c in range(2) for i in places(sizes)]
    most = F.max_pool3d(x, kernel, stride, padding)
    assert list(most.shape) == [1, 2] + sizes and most.reshape(-1).tolist() == [b.max().item() for b in boxes]
    inside = F.avg_pool3d(x, kernel, stride, padding, count_include_pad=False).reshape(-1)
    assert janus.allclose(inside, janus.stack([b.mean() for b in boxes]))
    whole = F.avg_pool3d(x, kernel, stride, padding).reshape(-1)
    assert janus.allclose(whole, janus.stack([b.sum() for b in boxes]) / (kernel[0] * kernel[1] * kernel[2]))


def test_a_network_of_volumes_is_a_graph():
    janus.manual_seed(0)
    net = nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.ConvTranspose3d(4, 2, 2, 2),
                        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(2, 3)).double()
    kept = {k: v.clone() for k, v in net.state_dict().items()}
    x, y = numbers(2, 1, 4, 4, 6), janus.tensor([0, 2])

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss

    def epochs(step):
        net.load_state_dict(kept)
        net.zero_grad()
        return [step(x, y).item() for _ in range(4)] + [p.grad.sum().item() for p in net.parameters()]
    graph = janus.function(step, measure=False)
    assert epochs(graph) == pytest.approx(epochs(step), rel=1e-9, abs=1e-12) and graph.stats()["graph"] > 0
