# SPDX-License-Identifier: Apache-2.0
"""Clipping gradients, where it depends on the tree which parameters have one: every norm and spelling, as graphs."""
import math

import janus
import janus.nn as nn
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Node:
    def __init__(self, word, kids=()):
        self.word, self.kids = word, list(kids)


def tree(depth, k=1):
    return Node(k % 3, [tree(depth - 1, 2 * k), tree(depth - 1, 3 * k + 1)] if depth and k % 5 else ())


TREES = [tree(d, k) for d, k in ((0, 0), (1, 1), (2, 2), (2, 1), (3, 1), (1, 3), (1, 2), (3, 2), (2, 4))]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.one, self.two, self.three = nn.Embedding(3, 4), nn.Linear(8, 4), nn.Linear(8, 4), nn.Linear(8, 4)

    def visit(self, node):
        if not node.kids:
            return self.words(janus.tensor([node.word]))
        x = janus.cat([self.visit(node.kids[0]), self.visit(node.kids[1])], 1)
        if node.word == 0:
            return janus.tanh(self.one(x))
        return janus.tanh(self.two(x)) if node.word == 1 else janus.tanh(self.three(x))


def norm(p):
    return lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.5, p).item()


def values(m):
    nn.utils.clip_grad_value_(m.parameters(), 0.05)


CLIPS = {"values": values, **{f"norm {p}": norm(p) for p in (1.0, 2.0, 3.5, math.inf)}}


def run(function, clip):
    janus.manual_seed(0)
    m, out = Net(), []
    optimizer = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(node):
        loss = m.visit(node).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        total = clip(m)
        optimizer.step()
        return loss.item(), total

    for node in TREES * 3:
        out.append(step(node))
        out.append([p.grad is None for p in m.parameters()])
    return out, [p.tolist() for p in m.parameters()], step


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("verify", ("never", "always"))
def test_clip(clip, verify):
    want, weights, _ = run(lambda f: f, CLIPS[clip])
    got, ours, step = run(janus.function(verify=verify, measure=False), CLIPS[clip])
    for x, y in zip(want[1::2], got[1::2]):
        assert x == y
    for x, y in zip(want[::2], got[::2]):
        assert x[0] == pytest.approx(y[0], rel=1e-4) and (x[1] is y[1] or x[1] == pytest.approx(y[1], rel=1e-4))
    for x, y in zip(weights, ours):
        assert janus.allclose(janus.tensor(x), janus.tensor(y), atol=1e-5)
    assert verify == "always" or step.stats()["graph"] > len(TREES), str(janus.explain(step))


@pytest.mark.parametrize("p", (1.0, 2.0, math.inf))
def test_none_has_one(p):
    m = Net()
    total = nn.utils.clip_grad_norm_(m.parameters(), 1.0, p)
    assert total.item() == 0 and total.dtype == janus.float32 and all(x.grad is None for x in m.parameters())
    assert nn.utils.clip_grad_norm_([], 1.0, p).item() == 0
    half = nn.Parameter(janus.ones(2, dtype=janus.float16))
    assert nn.utils.clip_grad_norm_([half], 1.0, p).dtype == janus.float32
