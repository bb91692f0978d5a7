# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a program fails once: nothing crashes, and no commit is done by half.

    allocations.py PROGRAM ALLOCATOR MOMENT [STEP]

ALLOCATOR: `janus` (its own), `python` (CPython's, through _testcapi.set_nomemory: one fails) or `none` (all of CPython's
fail from that one on).  MOMENT: `convert`, a call that is converted; `first`, the first call that its graph answers, from guards
to commit; `run`, a later one.  STEP: every STEP-th position.  Prints how many positions there were.

A run whose allocation fails is discarded, and CPython runs the call with memory enough: what it leaves must be exactly
what CPython leaves.  Where memory stays away it must be what CPython leaves that stops somewhere.
"""

import builtins
import gc
import io
import sys

import janus
from janus import nn

try:
    import _testcapi
except ImportError:
    _testcapi = None


class Node:
    def __init__(self, depth):
        self.v = float(depth)
        self.kids = [Node(depth - 1), Node(depth - 1)] if depth else []


class State:
    """What a program reads and writes, the same at every call."""

    limit = 3

    def __init__(self):
        self.x = janus.tensor([1.0, -2.0, 3.0])
        self.w = janus.tensor([0.5, 0.25, -1.0], requires_grad=True)
        self.buffer = janus.zeros(3)
        self.n = 0
        self.old = "gone"
        self.best = janus.zeros(3)
        self.items = [1, 2]
        self.table = {"a": 1, "b": 2, "c": 3}
        self.tree = Node(2)


def plain(value, depth=0):
    """A value as text that can be compared, order and sharing of containers included."""
    if isinstance(value, janus.Tensor):
        return "tensor", value.dtype, value.tolist(), value.requires_grad, plain(value.grad)
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v, depth + 1) for v in value]
    if isinstance(value, dict):
        return "dict", [(k, plain(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, (State, Node, Layer)):
        return type(value).__name__, plain(vars(value), depth + 1)
    return repr(value)


def branch(s):
    y = s.x * 2.0
    if (y.sum() > 1.0).item():
        s.n = s.n + 1
        s.best = y
        s.items.append(s.n)
    else:
        s.items.append(0)
    return y + 1.0, s.n


def attributes(s):
    y = s.x + 1.0
    s.first = y
    s.second = [y, 1]
    s.third = 3
    s.limit = 4
    s.fourth = (y, s.second)
    s.fifth, s.sixth, s.seventh, s.eighth, s.ninth = 5, 6, 7, 8, 9
    s.n = 2
    del s.old
    return s.second


def tables(s):
    y = s.x * 3.0
    del s.table["b"]
    s.table["d"] = y
    s.table["a"] = 7
    for i in range(12):
        s.table[i] = i * 2
    return y


def again(s):
    y = s.x * 3.0
    del s.table["a"]
    s.table["a"] = y
    s.n = 1
    return y


def emptied(s):
    y = s.x * 3.0
    s.table.clear()
    s.table["z"] = y
    s.table["a"] = 2
    s.items.clear()
    s.fresh = y
    return y


def lists(s):
    y = s.x - 1.0
    for i in range(20):
        s.items.append(y * float(i))
    s.items[0] = "first"
    s.later = s.items
    return len(s.items)


def recursion(s):
    def total(t):
        acc = s.x * t.v
        for k in t.kids:
            acc = acc + total(k)
        t.sum = acc
        s.items.append(t.v)
        return acc

    return total(s.tree)


def backward(s):
    loss = ((s.w * s.x) ** 2).sum()
    loss.backward()
    s.loss = loss.detach()
    s.buffer.add_(s.w.grad)
    with janus.no_grad():
        s.w -= s.w.grad * 0.1
    return loss


def tracked(s):
    y = s.w * s.x
    s.y = y
    s.n = 5
    return y.sum()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(janus.tensor([[0.5, 0.25, -1.0]]))
        self.register_buffer("seen", janus.zeros(1))

    def forward(self, x):
        self.seen.add_(1.0)
        return x @ self.weight.t()


KEPT = []  # the layer and its optimiser, which a graph knows by identity


def training(s):
    if not KEPT:
        layer = Layer()
        KEPT[:] = layer, janus.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    s.layer, s.opt = KEPT
    with janus.no_grad():
        s.layer.weight.copy_(janus.tensor([[0.5, 0.25, -1.0]]))
        s.layer.seen.zero_()
    s.opt.state.clear()
    train(s)  # the momentum is there
    del s.losses


def train(s):
    loss = s.layer(s.x).pow(2).mean()
    s.opt.zero_grad()
    loss.backward()
    s.opt.step()
    s.losses = s.n
    return loss


def printing(s):
    y = s.x * 2.0
    s.printed = 1
    print("sum", s.n, "of", 3)
    s.items.append(y)
    return y


def aliased(s):
    s.buffer[0] = 5.0
    s.buffer[1:] = s.buffer[:2] * 2.0
    s.n = 9
    return s.buffer.sum()


PROGRAMS = {f.__name__: f for f in (branch, attributes, tables, again, emptied, lists, recursion, backward, tracked, train,
                                    printing, aliased)}


def difference(now, want):
    """The first place where two outcomes differ."""
    while isinstance(now, (tuple, list)) and isinstance(want, (tuple, list)):
        pairs = [(a, b) for a, b in zip(now, want) if a != b]
        if not pairs:
            now, want = now[len(want):], want[len(now):]
            break
        now, want = pairs[0]
    return f"{str(now)[:300]}, not {str(want)[:300]}"


def new_state(name):
    sys.stdout = io.StringIO()
    janus.manual_seed(0)
    s = State()
    if name == "train":
        training(s)
    return s


def outcome(f, s):
    r = f(s)
    return plain(r), seen(s)


def seen(s):
    """What the program sees of its state and what it has printed since the state was made; a layer and its optimiser as
    tensors."""
    d = dict(vars(s), printed_text=sys.stdout.getvalue())
    layer, opt = d.pop("layer", None), d.pop("opt", None)
    if layer is not None:
        d["parameters"] = list(layer.parameters()) + list(layer.buffers())
        d["state"] = [list(v.values()) for v in opt.state.values()]
    return plain(d)


COMPILE = compile


class Allocator:
    def __init__(self, kind):
        self.kind = kind

    def call(self, n, f, s):
        """f(s), whose n-th allocation fails; None: MemoryError.  Nothing is allocated here meanwhile.  Counting begins again
        after a compile(), in which none fails: CPython 3.11's frees one object twice then (assemble_init of compile.c)."""
        arm = _testcapi.set_nomemory if self.kind != "janus" else janus._C._fail_alloc
        args = (n, n + 1) if self.kind == "python" else (n,)
        r = None

        def whole(*given, **named):
            _testcapi.remove_mem_hooks()
            try:
                return COMPILE(*given, **named)
            finally:
                arm(*args)

        try:
            if self.kind != "janus":
                builtins.compile = whole
            arm(*args)
            r = f(s)
        except MemoryError:
            pass
        finally:
            if self.kind == "janus":
                self.reached = janus._C._fail_alloc(0) == 0
            else:
                _testcapi.remove_mem_hooks()
                builtins.compile = COMPILE
        return r


def warm(name, calls):
    """The function after some calls, the last of which was converted (calls == 1) or answered by a graph."""
    g = janus.function(PROGRAMS[name], measure=False, verify="never")
    for _ in range(calls):
        g(new_state(name))
    return g


def calls_until_graph(name):
    for calls in range(1, 12):
        g = warm(name, calls)
        graphs = g.stats()["graph"]
        g(new_state(name))
        if g.stats()["graph"] > graphs:
            return calls
    raise AssertionError(f"{name}: no graph: {janus.explain(g)}")


def states_between(name):
    """What a program leaves that ends before any of its instructions."""
    s, left = new_state(name), []

    def look(frame, event, arg):
        if frame.f_code.co_filename != __file__:
            return None
        frame.f_trace_opcodes = True
        sys.settrace(None)
        left.append(seen(s))
        sys.settrace(look)
        return look

    sys.settrace(look)
    PROGRAMS[name](s)
    sys.settrace(None)
    return left


def walk_run(name, allocator, step, limit, again):
    """`again`: not the graph's first run."""
    calls = calls_until_graph(name) + again
    expected = outcome(PROGRAMS[name], new_state(name))
    allowed = states_between(name)
    n, since = 1, 0
    while n < limit:
        g = warm(name, calls)
        s = new_state(name)
        graphs = g.stats()["graph"]
        r = allocator.call(n, g, s)
        answered = g.stats()["graph"] > graphs
        if r is None:
            now = seen(s)
            if allocator.kind != "none" or now not in allowed:
                raise AssertionError(f"{name}, {allocator.kind}, run, {n}: MemoryError, {difference(now, allowed[0])}")
        elif (plain(r), seen(s)) != expected:
            raise AssertionError(f"{name}, {allocator.kind}, run, {n}: {difference((plain(r), seen(s)), expected)}")
        # a position past the end: the graph answered and nothing was missing
        since = since + 1 if answered and r is not None else 0
        if allocator.kind == "janus" and not allocator.reached or allocator.kind != "janus" and since > 40:
            return n
        n += step
    return n


def stats_of_clean(name):
    g = warm(name, 4)
    return [g.stats()[k] for k in ("conversions", "graph", "entries")]


def walk_conversion(name, allocator, step, limit):
    f = PROGRAMS[name]
    expected = outcome(f, new_state(name))
    n, graphs, quiet, clean = 1, 0, 0, None
    while n < limit:
        g = janus.function(f, measure=False, verify="never")
        s = new_state(name)
        r = allocator.call(n, g, s)
        if r is not None and (plain(r), seen(s)) != expected:
            raise AssertionError(f"{name}, {allocator.kind}, convert, {n}: {difference((plain(r), seen(s)), expected)}")
        for _ in range(3):
            now = outcome(g, new_state(name))
            if now != expected:
                raise AssertionError(f"{name}, {allocator.kind}, convert, {n}: then {difference(now, expected)}")
        stats = [g.stats()[k] for k in ("conversions", "graph", "entries")]
        clean = clean or stats_of_clean(name)
        quiet = quiet + 1 if stats == clean else 0
        graphs += g.stats()["graph"]
        if allocator.kind == "janus" and not allocator.reached or allocator.kind != "janus" and quiet > 200 // step + 20:
            break
        n += step
    if not graphs:
        raise AssertionError(f"{name}: no graph")
    return n


def main():
    name, kind, moment = sys.argv[1:4]
    step = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    if kind != "janus" and _testcapi is None:
        print("this CPython has no _testcapi")
        return
    gc.disable()
    if moment == "convert":
        n = walk_conversion(name, Allocator(kind), step, 200000)
    else:
        n = walk_run(name, Allocator(kind), step, 200000, moment == "run")
    sys.stdout = sys.__stdout__
    print(f"{name}: {n} positions")


if __name__ == "__main__":
    main()
