# SPDX-License-Identifier: Apache-2.0
"""Weights that a run packs for its products and keeps so: none is older than what the program sees.

Whatever writes to a weight between two recursions, in a call or between calls, the second one multiplies by what it is
then.  Trees and sizes are such that groups of several levels pack (ops/cpu/products/packs.c), and calls without a write
between them leave what they pack to each other (exec/kernels/panels.h).
"""
import struct

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


def export_to_numpy(model, k):
    pytest.importorskip("numpy")
    array = model.up.weight.detach().numpy()
    return lambda: array.__setitem__(slice(0, 40), k / 64)


def of_a_graph(model, k):
    step = janus.function(lambda w: w.mul_(k / 2), verify="never", measure=False)

    def write():
        with janus.no_grad():
            step(model.down.weight)
    return write


def of_an_optimizer(model, k):
    optimizer = janus.optim.SGD(model.parameters(), lr=1.0)
    for p in model.parameters():
        p.grad = janus.full_like(p, k / 64)
    return optimizer.step


def a_closed_view(model, k):
    view = model.down.weight.detach().view(-1)
    return lambda: view[:300].fill_(k / 16)


def as_often_as_is_counted(model, k):
    def write():
        at = model.up.weight.data
        for _ in range(1 << 16):
            at.add_(k / (1 << 22))
    return write


def once(write):
    return lambda model, k: lambda: write(model, k)


def another_parameter(model, k):
    model.down.weight = janus.nn.Parameter((janus.arange(SIZE * OUT).float() * k).sin().reshape(OUT, SIZE) * 0.1)


def a_list_of_rows(model, k):
    with janus.no_grad():
        model.up.weight[[2, 70, 71]] = k / 16


LATER = {"nothing": once(lambda model, k: None),
         "data": once(lambda model, k: model.down.weight.data.mul_(-k / 2)),
         "new data": once(lambda model, k: setattr(model.up.weight, "data", model.up.weight.data * -k)),
         "another parameter": once(another_parameter), "rows": once(a_list_of_rows),
         "a state": once(lambda m, k: m.load_state_dict({n: v * (k / 2) for n, v in m.state_dict().items()})),
         "a view from before": a_closed_view, "numpy": export_to_numpy, "a graph": of_a_graph,
         "an optimizer": of_an_optimizer, "as often as is counted": as_often_as_is_counted}


@pytest.mark.parametrize("way", LATER)
def test_writes_to_weights_that_stayed_for_some_calls_are_seen(way):
    """Whoever writes, and however; and calls between which nobody has written give the same to the bit."""
    model, other = Model(), Model()
    trees = [Node(3, number) for number in range(1, 9)]

    def infer(model, trees):
        with janus.no_grad():
            return loss_of(model, trees)

    f = janus.function(verify="never", measure=False)(infer)
    for turn in range(2):
        write, bits = LATER[way](model, turn + 2), set()
        for k in range(12):
            if k in (6, 7, 11):
                write()
                bits.clear()
            if k == 4:  # another model's weights, where those of the first one were
                assert f(other, trees).item() == pytest.approx(infer(other, trees).item(), rel=2e-5)
            got = f(model, trees).item()
            bits.add(struct.pack("d", got))
            assert got == pytest.approx(infer(model, trees).item(), rel=2e-5), (turn, k)
            assert len(bits) == 1 or k < 2, (turn, k)
