# SPDX-License-Identifier: Apache-2.0
"""Parameters that guards have seen before are looked at shortly (pyfront/guard/fast.c) and bound without looking
(exec/run/run.c): whatever a program does to one between two calls, or in the middle of one, is seen by the next."""
import gc
import itertools
import threading

import janus
import pytest
from janus import nn


class Mine(nn.Parameter):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.register_buffer("s", janus.ones(3))

    def forward(self, x):
        return self.c(self.b(self.a(x)).relu()) * self.s


def values(*shape, step=0.25):
    n = 1
    for d in shape:
        n *= d
    return (janus.arange(n) * step - 1).reshape(*shape)


def other_numbers(p):
    p.data = values(*p.shape)


def other_steps(p):
    p.data = values(*p.shape[::-1]).t() if p.dim() == 2 else values(2 * p.shape[0])[::2]


def part_of_a_row(p):
    p.data = values(1, *p.shape).expand(1, *p.shape)[0]


def other_dtype(p):
    p.data = values(*p.shape).double()


def broadcast_size(p):
    p.data = values(*[1] * p.dim())


def written(p):
    with janus.no_grad():
        p.add_(0.5)


def written_by_data(p):
    p.data.mul_(-1.0)


def frozen(p):
    p.requires_grad_(False)


def thawed(p):
    p.requires_grad_(True)


def hooked(p):
    if p.requires_grad:
        p.register_hook(lambda g: g * 3)


def classed(p):
    if isinstance(p, Mine):
        p.__class__ = nn.Parameter


def detached(p):
    p.detach_()


def nothing(p):
    pass


CHANGES = [other_numbers, other_steps, part_of_a_row, other_dtype, broadcast_size, written, written_by_data, frozen,
           thawed, hooked, classed, detached, nothing]
NAMES = ["a.weight", "b.bias", "c.weight", "s"]


def leaf(net, name):
    at = net
    for part in name.split("."):
        at = getattr(at, part)
    return at


def told(f, net, x, train):
    """What one call does, in full; what it raises included."""
    for p in net.parameters():
        p.grad = None
    try:
        if not train:
            with janus.no_grad():
                y = f(x)
        else:
            y = f(x)
            if y.requires_grad:
                y.sum().backward()
    except (RuntimeError, TypeError) as e:
        return type(e).__name__
    grads = [None if p.grad is None else p.grad.tolist() for p in net.parameters()]
    return [y.tolist(), str(y.dtype), y.requires_grad, grads]


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def both(train):
    """A net with the decorator and one without, of the same numbers."""
    nets = []
    for _ in range(2):
        janus.manual_seed(0)
        net = Net()
        net.b.bias = Mine(net.b.bias.data)
        nets.append(net)
    f = janus.function(lambda x, net=nets[0]: net(x), verify="never")
    return nets, [f, nets[1].__call__]


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("first, second", list(itertools.product(CHANGES, CHANGES))[::5])
def test_what_becomes_of_a_leaf_is_seen(first, second, train):
    nets, calls = both(train)
    x = values(2, 3)
    for k in range(10):
        if k in (4, 7):
            for net in nets:
                (first if k == 4 else second)(leaf(net, NAMES[k % len(NAMES)]))
        if k == 8:
            for net in nets:
                (first if train else second)(leaf(net, NAMES[(k + 1) % len(NAMES)]))
        got, expected = [told(f, net, x, train) for f, net in zip(calls, nets)]
        assert same(got, expected), (k, got, expected)


@pytest.mark.parametrize("change", CHANGES)
def test_a_leaf_of_two_models_is_seen_by_both(change):
    nets, calls = both(False)
    for net in nets:
        net.c.weight = net.a.weight
    x = values(2, 3)
    for k in range(8):
        if k == 5:
            for net in nets:
                change(net.c.weight)
        got, expected = [told(f, net, x, False) for f, net in zip(calls, nets)]
        assert same(got, expected), k


def replaced_in_dict(net):
    net.a.__dict__["weight"] = nn.Parameter(values(3, 3))


def replaced(net):
    net.a.weight = nn.Parameter(values(3, 3))


def layer_replaced(net):
    net.b = nn.Linear(3, 3)
    net.b.weight.data = values(3, 3)
    net.b.bias.data = values(3)


def loaded(net):
    net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()})


def moved(net):
    net.double()
    net.float()


@pytest.mark.parametrize("change", [replaced_in_dict, replaced, layer_replaced, loaded, moved])
def test_another_leaf_in_its_place_is_seen(change):
    nets, calls = both(False)
    x = values(2, 3)
    for k in range(8):
        if k == 5:
            for net in nets:
                change(net)
        got, expected = [told(f, net, x, False) for f, net in zip(calls, nets)]
        assert same(got, expected), k


def test_memory_at_the_place_of_other_memory_is_looked_at():
    """A tensor struct that was freed and made again at its address is of other dims."""
    nets, calls = both(False)
    x = values(2, 3)
    for k in range(40):
        for net in nets:
            p = net.a.bias
            p.data = values(1) if k % 3 == 2 else values(3, step=0.1 * k)
        got, expected = [told(f, net, x, False) for f, net in zip(calls, nets)]
        assert same(got, expected), k


def test_a_finalizer_that_takes_the_model_away_in_the_middle():
    """Making results may start the garbage collector, which runs code of the program."""
    net = Net()
    f = janus.function(lambda n, x: (n(x), [n(x) + 1]), verify="never")
    x = values(2, 3)
    with janus.no_grad():
        expected = [net(x).tolist(), (net(x) + 1).tolist()]

    class Ends:
        def __init__(self):
            self.me = self

        def __del__(self):
            for p in net.parameters():
                p.data = janus.zeros(7)

    saved = {k: v.clone() for k, v in net.state_dict().items()}
    was = gc.get_threshold()
    try:
        for at in range(1, 40):
            for name, p in net.named_parameters():
                p.data = saved[name].clone()
            with janus.no_grad():
                for _ in range(3):
                    f(net, x)
                Ends()
                gc.set_threshold(at)
                y, (z,) = f(net, x)
                gc.set_threshold(*was)
                gc.collect()
            assert same(z.tolist(), [[v + 1 for v in row] for row in y.tolist()])
            assert same([y.tolist(), z.tolist()], expected)
    finally:
        gc.set_threshold(*was)


def test_another_thread_replaces_memory_while_a_graph_runs():
    class Big(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.v = nn.Parameter(janus.ones(400, 400)), nn.Parameter(janus.ones(400, 400))

        def forward(self, x):
            for _ in range(4):
                x = (x @ self.w) * (1 / 400) + (x @ self.v) * 0.0
            return x

    net = Big()
    f = janus.function(net.forward, verify="never")
    x = janus.ones(400, 400)
    stop = threading.Event()

    def replace():
        k = 0
        while not stop.is_set():
            k += 1
            net.w.data = janus.ones(400, 400)
            net.v.data = janus.ones(400, 400) * k

    with janus.no_grad():
        for _ in range(3):
            f(x)
        thread = threading.Thread(target=replace)
        thread.start()
        try:
            outs = [f(x) for _ in range(12)]
        finally:
            stop.set()
            thread.join()
    for y in outs:
        assert same(y[0, 0].item(), 1.0) and same(y[-1, -1].item(), 1.0)
