# SPDX-License-Identifier: Apache-2.0
"""Trees whose nodes hold modules and parameters of their own: which one a step meets only the graph knows. The class is
generated: what a node holds times how the tree is walked times what is set on one node (pyfront/convert/heap/met.c)."""
import random

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from compared import close


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Parameter(janus.ones(3))

    def forward(self, x, scale=1.0):
        return janus.tanh(self.a(x)) * self.b * scale


class Functor:
    """A class of the program's own with __call__."""

    def __init__(self):
        self.w = nn.Parameter(janus.randn(3, 3))

    def parameters(self):
        return [self.w]

    def __call__(self, x):
        return janus.tanh(x @ self.w)


HELD = {
    "linear": lambda i: nn.Linear(3, 3),
    "sequential": lambda i: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)),
    "module": lambda i: Gate(),
    "functor": lambda i: Functor(),
    "two kinds": lambda i: Gate() if i % 2 else nn.Linear(3, 3),
    "without bias": lambda i: nn.Linear(3, 3, bias=i % 2 == 0),
    "norm": lambda i: nn.LayerNorm(3),
    "batch norm": lambda i: nn.BatchNorm1d(3),
}


class Node:
    def __init__(self, rng, depth, held, count):
        self.f = held(next(count))
        self.bias = nn.Parameter(janus.randn(3))
        self.kids = [Node(rng, depth - 1, held, count) for _ in range(2)] if depth else []
        self.arms = self.kids or [self.bias, nn.Parameter(janus.randn(3))]

    def parameters(self):
        own = [*self.f.parameters(), self.bias, *self.arms[1:] * (not self.kids)]
        return own + [p for k in self.kids for p in k.parameters()]

    def nodes(self):
        return [self] + [n for k in self.kids for n in k.nodes()]


def all_kids(n, x):
    h = n.f(x) + n.bias
    for k in n.kids:
        h = h + all_kids(k, h)
    return h


def one_path(n, x):
    """Hard decisions: most parameters get no gradient."""
    h = n.f(x) + n.bias
    if not n.kids:
        return h
    return one_path(n.kids[0] if h.sum().item() > 0 else n.kids[1], h)


def listed(n, x):
    return n.f(x) * n.bias + sum([listed(k, x) for k in n.kids]) if n.kids else n.f(x)


def weighed(n, x, w=1.0):
    """Nodes and Parameters in one list, told apart by their class."""
    out = 0
    for arm, p in zip(n.arms, (w * 0.4, w * n.f(x).sigmoid().mean())):
        out = out + (weighed(arm, x, p) if isinstance(arm, Node) else p * arm)
    return out


WALKS = {f.__name__: f for f in (all_kids, one_path, listed, weighed)}


def same(root):
    pass


def frozen(root):
    for p in root.kids[0].f.parameters():
        p.requires_grad_(False)


def shared(root):
    root.kids[0].f = root.kids[1].f


def hooked(root):
    f = root.kids[0].f
    if isinstance(f, nn.Module):
        f.register_forward_hook(lambda module, args, out: out * 2)


def evaluated(root):
    for n in root.nodes()[1:]:
        if isinstance(n.f, nn.Module):
            n.f.eval()


def own_call(root):
    """CPython takes __call__ of the class, forward of the object."""
    f = root.kids[1].f
    if isinstance(f, nn.Module):
        f.forward = lambda x: x * 3
    f.__dict__["__call__"] = lambda x: x * 5


CHANGES = {f.__name__: f for f in (same, frozen, shared, hooked, evaluated, own_call)}


def trained(held, walk, change, options, inside, late=False):
    janus.manual_seed(1)
    rng = random.Random(2)
    trees = [Node(rng, depth, HELD[held], iter(range(100))) for depth in (2, 1)]
    params = list({id(p): p for t in trees for p in t.parameters()}.values())
    opt = janus.optim.SGD(params, lr=0.02)
    if not late:
        for t in trees:
            CHANGES[change](t)

    def step(t, x):
        opt.zero_grad()
        loss = WALKS[walk](t, x).tanh().pow(2).mean()
        loss.backward()
        opt.step()
        return loss

    def model(t, x):
        return WALKS[walk](t, x).tanh().pow(2).mean()

    f = step if inside else model
    if options is not None:
        f = janus.function(f, **options)
    out = []
    for i in range(12):
        if late and i == 8:
            for t in trees:
                CHANGES[change](t)
        janus.manual_seed(i)
        x = janus.randn(4, 3) * (1 if i % 3 else -1)
        t = trees[i % 5 == 4]
        if inside:
            out.append(f(t, x).item())
            continue
        opt.zero_grad()
        loss = f(t, x)
        out.append(loss.item())
        if i % 4 != 3:
            loss.backward()
            opt.step()
        with janus.no_grad():
            out.append(f(t, x).item())
    buffers = [b.tolist() for t in trees for n in t.nodes() if isinstance(n.f, nn.Module) for b in n.f.buffers()]
    return [out, [p.tolist() for p in params], [p.grad is None or p.grad.tolist() for p in params], buffers], f


GRAPHS = {"linear", "module", "functor", "two kinds", "without bias"}  # else something is missing (docs/roadmap.md)


@pytest.mark.parametrize("inside", [True, False], ids=["step", "model"])
@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("held", HELD)
def test_as_undecorated(held, walk, inside):
    for change in CHANGES:
        for late in (False, True):
            for options in ({"verify": "never", "measure": False}, {}):
                want, _ = trained(held, walk, change, None, inside, late)
                got, f = trained(held, walk, change, options, inside, late)
                assert close(want, got), (change, late, options)
                assert not f.stats()["disproved"], (change, late, options)
                if options and change in ("same", "shared", "evaluated") and held in GRAPHS and walk != "listed":
                    assert f.stats()["op_share"] > 0.7, (change, late)


def kept(n, out):
    n.kept = n.bias
    return 1.0


def switched(n, out):
    n.bias.requires_grad_(True)
    return 1.0


def counted(n, out):
    out.append(n.bias)
    return 1.0


def without_grad(n, out):
    with janus.no_grad():
        w = n.bias
        y = n.bias * 2
    return w * y


def added(n, out):
    with janus.no_grad():
        n.bias.add_(0.5)
    return n.bias


def named(n, out):
    n.bias.name = "a name"
    return 1.0


ASKED = {
    "class": lambda n, out: 2.0 if isinstance(n.bias, nn.Parameter) else 3.0,
    "type": lambda n, out: 2.0 if type(n.bias) is janus.Tensor else 3.0,
    "leaf": lambda n, out: 2.0 if n.bias.is_leaf else 3.0,
    "requires grad": lambda n, out: 2.0 if n.bias.requires_grad else 3.0,
    "gradient": lambda n, out: 2.0 if n.bias.grad is None else n.bias.grad,
    "identity": lambda n, out: 2.0 if n.bias is n.arms[0] else 3.0,
    "other identity": lambda n, out: 2.0 if n.bias is n.arms[1] else 3.0,
    "has": lambda n, out: 2.0 if hasattr(n.bias, "name") else 3.0,
    "data": lambda n, out: n.bias.data,
    "detached": lambda n, out: n.bias.detach() * n.bias,
    "method": lambda n, out: n.bias[None].t().squeeze(1),
    "in": lambda n, out: 2.0 if any(n.bias is a for a in n.arms) else 3.0,
    "returned": lambda n, out: n.bias,
    **{f.__name__: f for f in (kept, switched, counted, without_grad, added, named)}}


def asked_of(name, options):
    janus.manual_seed(1)
    rng = random.Random(2)
    root = Node(rng, 2, HELD["linear"], iter(range(100)))
    params = list({id(p): p for p in root.parameters()}.values())
    params[-1].name = "the last"

    def walk(n, x, out):
        h = x * ASKED[name](n, out)
        for k in n.kids:
            h = h + walk(k, x, out)
        return h

    def first(n):
        return n.bias if not n.kids else first(n.kids[0])

    def step(x):
        out = []
        loss = walk(root, x, out).sum() + (first(root) * x).sum()
        loss.backward()
        return loss, out, first(root) if name == "returned" else None

    f = step if options is None else janus.function(step, **options)
    seen = []
    for i in range(5):
        for p in params:
            p.grad = None if i % 2 else p.grad
        loss, out, leaf = f(janus.ones(3) * i)
        seen += [loss.item(), [next(k for k, p in enumerate(params) if p is o) for o in out], leaf is params[9]]
    return [seen, [p.tolist() for p in params], [p.grad is None or p.grad.tolist() for p in params],
            [getattr(p, "name", None) == "a name" for p in params]], f


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_a_leaf(name):
    want, _ = asked_of(name, None)
    got, f = asked_of(name, {"verify": "never", "measure": False})
    assert close(want, got)
