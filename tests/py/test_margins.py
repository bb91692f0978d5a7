# SPDX-License-Identifier: Apache-2.0
"""Losses of margins and of several labels and the bilinear form beside loops over numbers, decorated and not."""
import math
import random

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from shares import share


def drawn(seed, n, c):
    draw = random.Random(seed)
    return draw, [[round(draw.uniform(-2, 2), 2) for _ in range(c)] for _ in range(n)]


def multi(row, t, p, margin, weight):
    return sum(weight[t] * max(0.0, margin - row[t] + v) ** p for i, v in enumerate(row) if i != t) / len(row)


def multilabel(row, labels):
    labels = labels[:labels.index(-1)] if -1 in labels else labels
    return sum(max(0.0, 1 - row[j] + v) for j in labels for i, v in enumerate(row) if i not in labels) / len(row)


def soft(row, yes):
    return -sum(math.log(1 / (1 + math.exp(-v if y else v))) for v, y in zip(row, yes)) / len(row)


def agrees(loss, wanted, *args):
    """In each reduction, and as a graph with its gradient."""
    for reduction, value in (("none", wanted), ("sum", sum(wanted)), ("mean", sum(wanted) / len(wanted))):
        found = loss(*args, reduction=reduction)
        assert found.tolist() == pytest.approx(value, rel=1e-5, abs=1e-6)

    def step(x, *rest):
        x = x.detach().requires_grad_()
        loss(x, *rest).backward()
        return x.grad
    graph = janus.function(step, measure=False)
    for _ in range(3):
        assert janus.allclose(graph(*args), step(*args), atol=1e-6)
    assert graph.stats()["graph"] > 0


@pytest.mark.parametrize("seed", share(range(8)))
def test_margins(seed):
    draw, rows = drawn(seed, 3, 2 + seed % 4)
    x, classes = janus.tensor(rows), len(rows[0])
    target = [draw.randrange(classes) for _ in rows]
    weight = [draw.uniform(0.5, 2.0) for _ in range(classes)]
    for p, margin in ((1, 1.0), (2, 0.5)):
        agrees(lambda x, t, w, p=p, margin=margin, **o: F.multi_margin_loss(x, t, p, margin, w, **o),
               [multi(r, t, p, margin, weight) for r, t in zip(rows, target)], x, janus.tensor(target), janus.tensor(weight))
    labels = [draw.sample(range(classes), draw.randint(0, classes)) for _ in rows]
    filled = [found + [-1] * (classes - len(found)) for found in labels]
    agrees(F.multilabel_margin_loss, [multilabel(r, t) for r, t in zip(rows, filled)], x, janus.tensor(filled))
    yes = [[float(i in found) for i in range(classes)] for found in labels]
    agrees(F.multilabel_soft_margin_loss, [soft(r, y) for r, y in zip(rows, yes)], x, janus.tensor(yes))
    signs = janus.tensor(yes[0]) * 2 - 1
    agrees(F.soft_margin_loss, [math.log1p(math.exp(-s * v)) for s, v in zip(signs.tolist(), rows[0])], x[0], signs)


@pytest.mark.parametrize("lead", ((), (3,), (2, 1, 2)))
def test_bilinear(lead):
    janus.manual_seed(1)
    layer = nn.Bilinear(3, 2, 4).double()
    a, b = janus.randn(*lead, 3, dtype=janus.float64), janus.randn(*lead, 2, dtype=janus.float64)
    wanted = janus.einsum("...i,kij,...j->...k", a, layer.weight, b) + layer.bias
    graph = janus.function(lambda a, b: layer(a, b), measure=False)
    for call in (layer, graph, graph, graph):
        assert janus.allclose(call(a, b), wanted)
    assert graph.stats()["graph"] > 0
