# SPDX-License-Identifier: Apache-2.0
"""Checked by mypy, not run: what a typed program may rely on, and what it is told is wrong (test_types.py)."""
from typing import Any, Optional

from typing_extensions import assert_type

import janus
from janus import nn
from janus.nn import functional as F


class Tree:
    def __init__(self, word: int = 0, left: "Optional[Tree]" = None, right: "Optional[Tree]" = None) -> None:
        self.word, self.left, self.right = word, left, right


class Net(nn.Module):
    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.up = nn.Linear(2 * size, size)
        self.scale = nn.Parameter(janus.ones(size))

    def forward(self, tree: Tree) -> janus.Tensor:
        if tree.left is None or tree.right is None:
            return self.words.forward(janus.tensor([tree.word]))
        return janus.tanh(self.up.forward(janus.cat([self.forward(tree.left), self.forward(tree.right)], 1)))


def tensors() -> None:
    x = janus.randn(3, 4, requires_grad=True)
    assert_type(x, janus.Tensor)
    assert_type(x.sum(), janus.Tensor)
    assert_type(x @ x.T + 1 - x * 2.0, janus.Tensor)
    assert_type(x[0], janus.Tensor)
    assert_type(x.shape, janus.Size)
    assert_type(x.size(0), int)
    assert_type(x.dim(), int)
    assert_type(x.dtype, janus.dtype)
    assert_type(x.grad, Optional[janus.Tensor])
    assert_type(x.max(), janus.Tensor)
    assert_type(x.max(1).values, janus.Tensor)
    values, indices = x.topk(2)
    assert_type(indices, janus.Tensor)
    assert_type(x.split(2), tuple[janus.Tensor, ...])
    assert_type(x.reshape(2, -1), janus.Tensor)
    assert_type(x.to(janus.float64), janus.Tensor)
    assert_type(janus.allclose(x, x), bool)
    assert_type(F.softmax(x, dim=1), janus.Tensor)
    assert_type(F.cross_entropy(x, janus.tensor([0, 1, 2])), janus.Tensor)
    assert_type(janus.autograd.grad(x.sum(), x), tuple[janus.Tensor, ...])
    x.sum().backward()


def training(tree: Tree) -> float:
    net = janus.function(Net(10, 16))
    assert_type(net, Net)
    optimizer = janus.optim.Adam(net.parameters(), lr=0.01)

    @janus.function(numerics="exact")
    def step(example: Tree) -> janus.Tensor:
        optimizer.zero_grad()
        loss: janus.Tensor = net(example).sum()
        loss.backward()
        optimizer.step()
        return loss

    assert_type(step, janus.Function)
    assert_type(step.stats(), dict[str, Any])
    assert_type(net.state_dict(), dict[str, janus.Tensor])
    with janus.no_grad():
        return float(step(tree))


def errors(x: janus.Tensor) -> None:
    x.no_such_method()  # type: ignore[attr-defined]
    janus.no_such_op(x)  # type: ignore[attr-defined]
    janus.softmax(x)  # type: ignore[call-arg]
    janus.cat(x, dim="last")  # type: ignore[arg-type]
    x.sum(keepdims=True)  # type: ignore[call-arg]
    nn.Linear("in", 3)  # type: ignore[arg-type]
    nn.Linear(2, 3, False, inplace=True)  # type: ignore[call-arg]
    janus.optim.SGD(nn.Linear(2, 3).parameters(), lr="fast")  # type: ignore[arg-type]
