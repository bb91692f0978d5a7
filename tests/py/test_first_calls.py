# SPDX-License-Identifier: Apache-2.0
"""The only call of a function: loops that go on run as graphs in it, and what is CPython's in them is learnt at once."""

import ast
import copy
import inspect
import pathlib
import sys
import traceback
import types

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from region_programs import Net, clock, t  # noqa: E402
from texts import names_of  # noqa: E402

MODES = ("always", "rarely", "never")


def once(main, share=0.0, modes=MODES):
    """Runs main(function) decorated and not; share: of the ops of all calls of what it decorates, with "never"."""
    want = harness.run(main, lambda f: f)
    for verify in modes:
        recorder = harness.Recorder(regions=True, measure=False, verify=verify)
        harness.compare(main.__name__, want, harness.run(main, recorder), False)
        assert recorder.total("disproved") == 0, "\n".join(janus.explain(f) for f in recorder.made)
    graph, eager = recorder.total("ops_graph"), recorder.total("ops_eager")
    assert graph >= share * (graph + eager), (graph, eager)


def test_an_epoch_that_is_called_once():
    def main(function, log):
        net = Net()
        opt = janus.optim.Adam(net.parameters(), lr=0.01)

        @function
        def train(batches):
            start, total = clock(), 0.0
            for i, (x, y) in enumerate(batches):
                opt.zero_grad()
                loss = ((net(x) - y) ** 2).mean()
                loss.backward()
                opt.step()
                total += loss.item()
                if i % 10 == 0:
                    clock()
            return total / len(batches), clock() > start

        log(train([(t(3, 4, seed=i), t(3, 2, seed=i + 1)) for i in range(60)]), net, opt)

    once(main, share=0.7)


def train(net, opt, batches, seconds):
    for x, y in batches:
        start = clock()
        opt.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        seconds.append(clock() - start)
    return loss


def step(net, opt, x, y):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    return loss.item()


def test_a_comprehension_of_steps():
    def main(function, log):
        net = Net()
        opt = janus.optim.SGD(net.parameters(), lr=0.01)

        @function
        def epoch(batches):
            start = clock()
            return [step(net, opt, x, y) for x, y in batches], clock() > start

        log(epoch([(t(3, 4, seed=i), t(3, 2, seed=i + 1)) for i in range(40)]), net)

    once(main, share=0.8)


def test_epochs_in_a_function_that_is_called_once():
    def main(function, log):
        net, seconds = Net(), []
        opt = janus.optim.SGD(net.parameters(), lr=0.01)

        @function
        def fit(batches):
            best = None
            for epoch in range(4):
                loss = train(net, opt, batches, seconds)
                right = 0
                for x, y in batches:
                    clock()
                    right += (net(x).argmax(1) == y.argmax(1)).sum().item()
                if best is None or loss.item() < best:
                    best = loss.item()
                log(epoch, right)
            return best

        log(fit([(t(3, 4, seed=i), t(3, 2, seed=i + 1)) for i in range(100)]), net, len(seconds))

    once(main, share=0.9)


BODY = ["y = x * w + i", "z = y.exp() + y", "if i == 7:", "    extra = z * 2", "elif i > n - 3:", "    z = z + late",
        "late = z.sum() + i", "for k in range(3):", "    z = z * 0.5 + k", "out.append(z)", "x = (z + x).tanh()"]


@pytest.mark.parametrize("loop", ("for i in range(n):", "for i in numbers(n):", "while i < n:"))
def test_a_barrier_before_each_statement(loop):
    """A clock before any statement of a loop's body, at its depth."""
    def at(place):
        lines, i = list(BODY), 0
        while i < place or lines[i].startswith("elif"):
            i += 1
        depth = len(lines[i]) - len(lines[i].lstrip())
        lines.insert(i, " " * depth + "clock()")
        step = ["i += 1"] if loop.startswith("while") else []
        text = ["def f(x, w, n):", "    out, i, late = [], 0, x"] + ["    " + loop]
        return "\n".join(text + ["        " + s for s in lines + step] + ["    return x, out, i, late"])

    def main(function, log):
        def numbers(n):
            i = 0
            while i < n:
                yield i
                i += 1

        for place in range(len(BODY)):
            f = names_of(at(place), clock=clock, numbers=numbers)["f"]
            w = t(3, seed=place, grad=place % 2 == 0)
            x, out, *rest = function(f)(t(3, seed=1), w, 30)
            log(x, out, rest)
            if w.requires_grad:
                (x.sum() + out[5].sum()).backward()
                log(w.grad)

    once(main, modes=("never", "rarely"))


def test_ways_out_of_a_loop():
    def main(function, log):
        def f(x, n, way):
            seen = 0
            for i in range(n):
                clock()
                x = (x * 1.01 + i).tanh()
                for k in range(4):
                    x = x + k
                    clock()
                    seen += 1
                    if i == 20 and way == "inner":
                        break
                if i == 20:
                    if way == "break":
                        break
                    if way == "return":
                        return x, i, "early"
                    if way == "continue":
                        continue
                    if way == "raise":
                        raise ValueError(seen)
                    if way == "unbound":
                        return nowhere + x  # noqa: F821, F841
                    if way == "late":
                        nowhere = x  # noqa: F841
                clock()
                x = x * 2 - i
            else:
                return x, seen, "to its end"
            return x, seen, i

        for way in ("", "inner", "break", "return", "continue", "raise", "unbound", "late"):
            log.raises(function(f), t(3, seed=1), 40, way)

    once(main)


@pytest.mark.parametrize("way", ("break", "continue", "if z.sum() > 0:\n                    late = z", "return late"))
def test_names_bound_behind_a_way_out(way):
    """They are what they were before where it is taken, or unbound."""
    text = f"""
def f(x, n, early):
    if early:
        state = other = x
    for i in range(n):
        y = x * 2 + i
        clock()
        z = y.sin() + x
        if i % 7 > 4:
            late = z * 3
            if i % 3 == 0:
                {way}
        state = z * 0.5
        other = state + y
        clock()
        x = state.tanh() + other.cos()
    return x, state, other, late
"""

    def main(function, log):
        for n in (40, 6, 1, 0):
            for early in (True, False):
                log.raises(function(names_of(text, clock=clock)["f"]), t(3, seed=n), n, early)

    once(main)


@pytest.mark.parametrize("verify", MODES)
def test_tracebacks_are_those_of_the_program(verify):
    def deep(x, i):
        if i == 33:
            raise UnboundLocalError("mine")
        return x * 2

    def f(x, n):
        for i in range(n):
            x = (x + i).tanh()
            for k in range(3):
                clock()
                x = x * 0.5 + 1
                x = deep(x, i)
        return x

    def shown(g):
        with pytest.raises(UnboundLocalError) as e:
            g(t(3), 50)
        return [(s.name, s.lineno) for s in traceback.extract_tb(e.value.__traceback__) if s.filename == __file__][1:]

    assert shown(janus.function(f, measure=False, verify=verify)) == shown(f)


def test_methods_closures_and_private_names():
    def main(function, log):
        class Walk:
            def __init__(self):
                self.__x, self.rounds = t(3), 0

            def __half(self, x):
                return x * 0.5

            def run(self, n, *args, scale=2.0, **others):
                for i in range(n):
                    clock()
                    self.__x = self.__half(self.__x) + args[i % 2] * scale
                    self.rounds += 1
                    others[str(i)] = self.__x.sum()
                return others

        count, total = 0, t(3)

        def f(n):
            nonlocal count, total
            for i in range(n):
                total = total * 0.9 + i
                clock()
                count += 1
                total = total.tanh() + 1
            return count

        Walk.run = function(Walk.run)
        walk = Walk()
        log(walk.run(30, t(3, seed=1), t(3, seed=2), scale=1.5, a=1), walk.rounds, walk.__dict__)
        log(function(f)(30), count, total)

    once(main, share=0.5)


def test_inside_with_and_try():
    """What an exception leaves bound is seen there."""
    def main(function, log):
        @function
        def f(x, n):
            i, y = -1, x
            try:
                for i in range(n):
                    y = (x * i).sin()
                    clock()
                    x = x + y
                    if i == 25:
                        raise KeyError(i)
            except KeyError:
                return x, y, i
            with janus.no_grad():
                for i in range(n):
                    clock()
                    x = x * 0.9 + y
            return x, y, i

        log(f(t(3), 20))
        log(f(t(3), 40))

    once(main)


def test_what_no_whole_graph_is_hit_of_has_regions():
    """A word that is another one in each call, which a statement compares, is no reason not to have graphs of the others."""
    def main(function, log):
        @function
        def f(x, word):
            y = (x * 2).exp() + x
            z = y.sin() * y + 1
            if hash(word + "!") == 0:
                z = z + 1
            return y, z

        for i in range(40):
            log(f(t(3, seed=i), "w" * i))

    once(main, share=0.5, modes=("never",))


def test_refused_at_no_statement():
    """What a group leaves cannot leave a graph: it is cut until single statements are CPython's, in the same call."""
    def main(function, log):
        @function
        def f(x, n):
            y = z = x
            for i in range(n):
                if x.sum() > 0:
                    y, z = x * 2, x * 3
                else:
                    y = z = x * 2 + 1
                x = (y - z).sin() + y
                clock()
            return x, y, z, y is z

        log(f(t(3), 30))

    once(main)


WAYS = {"by place": ("def f(x, w, n):", "f(x, w, 40)"), "by name": ("def f(n, *, x, w):", "f(40, w=w, x=x)"), "one by name": ("def f(n, x, w):", "f(40, w=w, x=x)"),
        "all by name": ("def f(x, w, n):", "f(n=40, w=w, x=x)"), "more by name": ("def f(n, **more):\n    x, w = more['x'], more['w']", "f(40, w=w, x=x)"),
        "more by place": ("def f(n, *more):\n    x, w = more", "f(40, x, w)"), "as defaults": ("def f(n, x=x0, w=w0):", "f(40)"),
        "as defaults by name": ("def f(n, *, x=x0, w=w0):", "f(40)"), "an item": ("def f(n, *, pair):\n    x, w = pair", "f(40, pair=(x, w))"),
        "an attribute": ("def f(n, o):\n    x, w = o.x, o.w", "f(40, o=Holder(x=x, w=w))"), "a global": ("def f(n):\n    x, w = x0, w0", "f(40)"),
        "self": ("def run(self, n):\n    x, w = self.x, self.w", "f(40)")}


@pytest.mark.parametrize("way", WAYS)
def test_functions_reach_the_package(way):
    """By whatever argument; the function itself names nothing of it."""
    head, call = WAYS[way]
    x, w = t(3, seed=1), t(3, seed=2)
    names = names_of(f"""
{head}
    for i in range(n):
        x = (x * w + i).tanh()
        clock()
        x = x + w * 0.5
    return x
""", clock=clock, x0=x, w0=w)
    plain = names["f"] if way != "self" else types.MethodType(names["run"], types.SimpleNamespace(x=x, w=w))
    given = dict(x=x, w=w, Holder=types.SimpleNamespace)
    f = janus.function(plain, measure=False, verify="never")
    assert eval(call, given, {"f": f}).tolist() == eval(call, given, {"f": plain}).tolist()
    stats = f.stats()
    assert stats["ops_graph"] > stats["ops_eager"], (stats, janus.explain(f))


def test_what_the_package_calls_itself_is_none_of_the_program(monkeypatch):
    """Its skeletons are made with `ast` and `copy`, whose functions may be decorated: their loops would need skeletons, ..."""
    made = []
    for module in (ast, copy):
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType):
                made.append(janus.function(value))
                monkeypatch.setattr(module, name, made[-1])
    net = Net()
    opt = janus.optim.SGD(net.parameters(), lr=0.01)
    # also where the text of what it calls is read now, by a conversion
    text = inspect.getsource(train).replace("((net(x) - y) ** 2).mean()", "error(net(x), y)")
    error = names_of("def error(a, b):\n    return ((a - b) ** 2).mean()\n")["error"]
    for f in (train, names_of(text, clock=clock, error=error)["train"]):
        fit = janus.function(f, measure=False)
        for _ in range(3):
            fit(net, opt, [(t(3, 4, seed=i), t(3, 2, seed=i + 1)) for i in range(40)], [])
        assert fit.stats()["op_share"] > 0.7, janus.explain(fit)
    assert [f.__name__ for f in made if f.stats()["calls"]] == []


EFFECTS = {"none": "pass", "global": "note(n)", "attribute": "n.seen = x.detach()", "list": "log.append(n.v)",
           "dict": "memo[n.v] = x.detach()", "reads": "n.count = n.count + 1"}
LOOPS = {"for": "for i in range(4):", "while": "while len(out) < 4:", "once": "if True:"}
SECONDS = {"grad": "g, = janus.autograd.grad(loss, [w], create_graph=True)\nout.append((g * g).sum())",
           "several": "gs = janus.autograd.grad(loss, [w, b], create_graph=True, allow_unused=True)\n"
                      "out.append(sum((g * g).sum() for g in gs))",
           "backward": "w.grad = None\nloss.backward(create_graph=True)\nout.append((w.grad * w.grad).sum())"}


@pytest.mark.parametrize("second", SECONDS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_gradients_that_the_first_call_differentiates_again(effect, second):
    """A callee is a graph before the first call comes to `create_graph`: one with effects cannot give it."""
    for loop in LOOPS.values():
        body = SECONDS[second].replace("\n", "\n        ")
        names = names_of(f"""
count = 0

def note(n):
    global count
    count = n.v

def visit(n, w, b, log, memo):
    x = w * n.v
    for k in n.kids:
        x = x + visit(k, w, b, log, memo)
    {EFFECTS[effect]}
    return (x + b).tanh()

def total(roots, w, b, log, memo):
    return janus.cat([visit(root, w, b, log, memo) for root in roots]).pow(2).sum()

def epoch(roots, w, b):
    log, memo, out = [], {{}}, []
    {loop}
        loss = total(roots, w, b, log, memo)
        {body}
    return sum(out).item(), log, len(memo), count
""", janus=janus, __name__="program")  # what nobody has decorated is looked at in modules

        def tree(depth):
            return types.SimpleNamespace(v=depth + 1, count=0, kids=[tree(depth - 1) for _ in range(2 if depth else 0)])

        def call(f):
            w = t(3, seed=1).requires_grad_()
            return f([tree(3)], w, t(3, seed=2).requires_grad_())

        got, want = call(janus.function(names["epoch"])), call(names["epoch"])
        assert got[0] == pytest.approx(want[0], rel=1e-4) and got[1:] == want[1:]
