# SPDX-License-Identifier: Apache-2.0
"""Weights that a run packs for its products and keeps so: none is older than what the program sees.

Whatever writes to a weight between two recursions, in a call or between calls, the second one multiplies by what it is
then.  Trees and sizes are such that groups of several levels pack (ops/cpu/products/packs.c).
"""
import pytest

import janus
from janus import nn

SIZE, OUT = 128, 64


class Node:
    def __init__(self, depth, number):
        self.x = janus.arange(SIZE).reshape(1, SIZE).float() * 0.01 * (number % 7 - 3)
        self.left = self.right = None
        if depth:
            self.left, self.right = Node(depth - 1, 2 * number), Node(depth - 1, 2 * number + 1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(SIZE, OUT), nn.Linear(OUT, SIZE)
        numbers = janus.arange(SIZE * OUT).float()
        with janus.no_grad():
            self.down.weight.copy_((numbers * 0.37).sin().reshape(OUT, SIZE) * 0.1)
            self.up.weight.copy_((numbers * 0.73).cos().reshape(SIZE, OUT) * 0.1)
            self.down.bias.fill_(0.125)
            self.up.bias.fill_(-0.25)

    def forward(self, node):
        h = self.up(janus.tanh(self.down(node.x)))
        if node.left is not None:
            h = h + janus.tanh(self.up(self.down(self.forward(node.left) + self.forward(node.right))))
        return h


def loss_of(model, trees):
    loss = janus.zeros(())
    for tree in trees:
        loss = loss + model(tree).square().mean()
    return loss / len(trees)


def adds(model, optimizer, loss):
    with janus.no_grad():
        model.down.weight.add_(0.01)
        model.up.weight.mul_(0.5)


def copies(model, optimizer, loss):
    with janus.no_grad():
        model.down.weight.copy_(model.up.weight.t() * 0.5)


def fills_rows(model, optimizer, loss):
    with janus.no_grad():
        model.down.weight[3:9].zero_()
        model.up.weight[:, 5].fill_(0.25)


def steps(model, optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def nothing(model, optimizer, loss):
    pass


WRITES = [adds, copies, fills_rows, steps, nothing]


def outcome(write, decorate, inside):
    model = Model()
    optimizer = janus.optim.SGD(model.parameters(), lr=0.05)
    trees = [Node(3, number) for number in range(1, 9)]

    def first(model, trees):
        return loss_of(model, trees)

    def twice(model, trees):
        before = loss_of(model, trees)
        write(model, optimizer, before)
        return before.detach(), loss_of(model, trees).detach()

    found = []
    call = decorate(twice if inside else first)
    for _ in range(5):
        if inside:
            found += [part.item() for part in call(model, trees)]
        else:
            loss = call(model, trees)
            found.append(loss.item())
            write(model, optimizer, loss)
    return found + [parameter.sum().item() for parameter in model.parameters()]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_what_is_packed_is_the_weight_as_it_is(write, inside):
    want = outcome(write, lambda function: function, inside)
    got = outcome(write, janus.function(verify="never"), inside)
    assert got == pytest.approx(want, rel=2e-5, abs=1e-6)
    assert write is nothing or len(set(want[:4])) > 1  # it could be seen


def test_a_weight_in_place_of_another():
    """A module whose parameter's memory is another's between calls, and two of the same shape in one."""
    def pair(a, b, trees):
        return loss_of(a, trees).detach(), loss_of(b, trees).detach()

    a, b, trees = Model(), Model(), [Node(3, number) for number in range(1, 9)]
    with janus.no_grad():
        b.down.weight.neg_()
        b.up.weight.mul_(0.25)
    decorated = janus.function(verify="never")(pair)
    for models in ((a, b), (a, b), (b, a), (a, a), (b, b), (b, a)):
        got, want = decorated(*models, trees), pair(*models, trees)
        assert [x.item() for x in got] == pytest.approx([x.item() for x in want], rel=2e-5, abs=1e-6)
        a.down.weight.data, b.down.weight.data = b.down.weight.data.clone(), a.down.weight.data.clone()
