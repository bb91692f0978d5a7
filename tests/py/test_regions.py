# SPDX-License-Identifier: Apache-2.0
"""Regions of statements: functions with barriers, of which the statements between them run as graphs."""

import ast
import collections
import gc
import importlib.util
import pathlib
import sys
import time
import traceback
import weakref

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402

TICKS = []


def tick(n):
    """What no graph can have: it reads a clock."""
    time.perf_counter()
    TICKS.append(n)


class Barriers(ast.NodeTransformer):
    """Puts a tick between every two statements of the functions that a program decorates."""

    def __init__(self, tree):
        self.n, self.decorated = 0, set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "function":
                self.decorated |= {a.id for a in node.args if isinstance(a, ast.Name)}

    def visit_FunctionDef(self, node):
        names = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
        if "function" in names or (node.name in self.decorated and node.name != "function"):
            node.body = self.between(node.body)
        else:
            self.generic_visit(node)
        return node

    def between(self, block):
        out = []
        for i, s in enumerate(block):
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(s, name, None)
                if isinstance(inner, list) and inner and not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
                    setattr(s, name, self.between(inner))
            if i and not isinstance(s, (ast.Global, ast.Nonlocal)):
                self.n += 1
                call = ast.Call(ast.Name("_tick", ast.Load()), [ast.Constant(self.n)], [])
                out.append(ast.copy_location(ast.Expr(call), s))
            out.append(s)
        return out


def with_barriers(path, folder):
    """The programs of a module with ticks: name -> program."""
    tree = ast.parse(path.read_text())
    tree = ast.fix_missing_locations(Barriers(tree).visit(tree))
    file = folder / ("ticking_" + path.name)
    file.write_text(ast.unparse(tree))
    before = dict(harness.CASES)
    harness.CASES.clear()
    try:
        spec = importlib.util.spec_from_file_location("diff.ticking_" + path.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        module._tick = tick
        spec.loader.exec_module(module)
        return dict(harness.CASES)
    finally:
        harness.CASES.clear()
        harness.CASES.update(before)


MODULES = sorted((HERE / "diff").glob("prog_*.py"))
# Programs that ask for a graph of the whole function.
ASK_FOR_GRAPHS = ("prog_late.one_update", "prog_late.state_and_parameter", "prog_late.update_after_a_recursion",
                  "prog_lengths.hidden_state", "prog_lengths.token_ids", "prog_lengths.total_from_zero",
                  "prog_lengths.bound_in_the_loop", "prog_lengths.lists_in_lists")


def run_ticking(prog, function):
    TICKS.clear()
    observed = harness.run(prog, function)
    return observed, list(TICKS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_barriers_between_statements(path, tmp_path):
    """Each program as ever, each tick once and in order; of every second one the regions are verified."""
    for i, (name, (prog, _)) in enumerate(with_barriers(path, tmp_path).items()):
        if name.replace("ticking_", "") in ASK_FOR_GRAPHS:
            continue
        want, ticks = run_ticking(prog, lambda f: f)
        recorder = harness.Recorder(regions=True, measure=False, verify=("never", "rarely")[i % 2])
        got, again = run_ticking(prog, recorder)
        harness.compare(name, want, got, False)
        assert again == ticks, name
        assert not recorder.total("disproved"), name


def both(main, hits=1, modes=("always", "rarely", "never"), **options):
    """Runs main(function) decorated and not; what it returns must agree, and regions must have run."""
    want = harness.run(main, lambda f: f)
    for verify in modes:
        recorder = harness.Recorder(regions=True, measure=False, verify=verify, **options)
        got = harness.run(main, recorder)
        harness.compare(main.__name__, want, got, False)
        assert recorder.total("disproved") == 0, "\n".join(janus.explain(f) for f in recorder.made)
        if verify != "rarely":  # of every graph the first hit is compared
            assert recorder.total("region_hits") >= hits, "\n".join(janus.explain(f) for f in recorder.made)
    return recorder


def t(*shape, seed=0, grad=False):
    return harness.t(*shape, seed=seed, grad=grad)


def clock():
    return time.perf_counter()


class Net(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = janus.nn.Linear(4, 8), janus.nn.Linear(8, 2)

    def forward(self, x):
        return self.b(janus.relu(self.a(x)))


def test_training_step_with_clock_log_and_file(tmp_path):
    def main(function, log):
        net = Net()
        opt = janus.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        losses, seconds, file = [], [], open(tmp_path / "log", "w")

        @function
        def step(x, y):
            t0 = clock()
            out = net(x)
            loss = ((out - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(float(loss))
            seconds.append(clock() - t0)
            file.write(f"{loss.item():.4f}\n")
            return loss

        for i in range(12):
            log(step(t(3, 4, seed=i), t(3, 2, seed=i)))
        file.close()
        log(net, losses, len(seconds), (tmp_path / "log").read_text())

    r = both(main, hits=5)
    assert "boundary of a region" in janus.explain(r.made[0]) or "a call of" in janus.explain(r.made[0])


def test_backward_through_the_node_of_an_earlier_region():
    def main(function, log):
        w, v = t(4, grad=True), t(4, grad=True)

        @function
        def step(x):
            h = janus.tanh(x * w)
            loss = (h * v).sum()
            clock()
            loss.backward()
            clock()
            with janus.no_grad():
                w.sub_(w.grad * 0.1)
                v.sub_(v.grad * 0.1)
            w.grad = v.grad = None
            return loss

        for i in range(10):
            log(step(t(4, seed=i)), w, v)

    both(main)


def test_two_histories_of_one_region():
    """backward() of one result leaves the other's history; of what they share it does not."""
    def main(function, log):
        w, v = t(3, grad=True), t(3, grad=True)

        @function
        def apart(x):
            a = (w * x).exp().sum()
            b = (v * x).exp().sum()
            clock()
            a.backward()
            clock()
            b.backward()

        @function
        def shared(x):
            h = (w * x).exp()
            a, b = (h * 2).sum(), h.sin().sum()
            clock()
            a.backward()
            clock()
            b.backward()

        for i in range(6):
            apart(t(3, seed=i))
            log(w, v)
            log.raises(shared, t(3, seed=i))

    both(main)


def test_leaving_a_region():
    """return, break and continue inside one."""
    def main(function, log):
        @function
        def f(x, n):
            out = []
            clock()
            for i in range(n):
                clock()
                y = x * i + 1
                z = y.exp() + y
                if i == 1:
                    continue
                if i == 4:
                    break
                if n == 3:
                    return z * 2, i
                out.append(z)
                clock()
            else:
                return "all", out
            return out

        for n in (0, 1, 2, 3, 4, 5, 6) * 3:
            log(f(t(3, seed=n), n))

    both(main)


def test_names_unbound_or_bound_late():
    def main(function, log):
        @function
        def f(x, n):
            for i in range(n):
                clock()
                a = x * 2 + i
                if i % 2:
                    late = a + 1
                b = a.exp() * 2
                clock()
            clock()
            return (late + b).sum() * 2

        for n in (0, 1, 2, 3, 4, 3, 2, 1, 0) * 3:
            log.raises(f, t(3, seed=n), n)

    both(main)


def test_a_loop_that_is_pythons():
    def main(function, log):
        net = Net()
        opt = janus.optim.SGD(net.parameters(), lr=0.1)

        def loader():
            for i in range(5):
                clock()
                yield t(3, 4, seed=i), t(3, 2, seed=i)

        @function
        def epoch(n):
            total, lines = 0.0, []
            for x, y in loader():
                opt.zero_grad()
                loss = ((net(x) - y) ** 2).mean()
                loss.backward()
                opt.step()
                total += loss.item()
                lines.append(f"{loss.item():.4f}")
            print(f"epoch {n}: {total:.3f}")
            clock()
            return total, lines

        for n in range(6):
            log(epoch(n))
        log(net)

    both(main, hits=10)


def test_exceptions_show_the_statement():
    def main(function, log):
        @function
        def f(x, n):
            clock()
            y = x * 2 + 1
            z = y.exp() * (6 // n)
            w = z + y
            clock()
            return w

        for n in (1, 2, 3, 1, 2, 3, 1, 0, 1, 0, 2):
            try:
                log(f(t(3, seed=n), n))
            except ZeroDivisionError as e:
                log([(s.name, s.lineno) for s in traceback.extract_tb(e.__traceback__) if s.name == "f"])

    both(main)


def test_methods_defaults_closures_and_cells():
    def main(function, log):
        scale = 2.0

        class Model:
            __k = 3

            def __init__(self):
                self.w, self.calls = t(3), 0

            @function
            def run(self, x, *rest, k=2, **more):
                clock()
                self.calls += 1
                h = x * self.w * k * self.__k + len(rest) + more.get("m", 0)
                y = h.exp() * scale
                clock()
                return [v + y.sum() for v in (x, h)], y

        @function
        def counts(x):
            n = 0

            def more(v):
                nonlocal n
                n += 1
                return v * n

            clock()
            y = more(x) + more(x)
            z = y.exp() + n
            u = x * 2 + 1
            v = u.exp() + u
            clock()
            return y, z, v, n

        m = Model()
        for i in range(8):
            log(m.run(t(3, seed=i)), m.run(t(3, seed=i), 1, k=3, m=2), m.calls, counts(t(3)))
            scale += 0.5
        log.raises(m.run, t(3), q=1, k="x")
        log.raises(m.run)

    both(main)


def test_writes_views_and_identity_across_regions():
    def main(function, log):
        kept = []

        @function
        def f(x, box):
            v = x[1:]
            w = x * 2
            clock()
            v += 1
            w *= 3
            clock()
            box["v"] = v
            kept.append(w)
            u = w.view(-1)
            clock()
            u -= 1
            same = kept[-1] is w
            return x, v, w, u, same, box

        for i in range(8):
            x = t(4, seed=i)
            log(f(x, {}), x)
        log(kept)

    both(main, hits=0)


def test_tracing_sees_every_line():
    def make(function):
        @function
        def f(x):
            clock()
            y = x * 2 + 1
            z = y.exp() + y
            clock()
            return z
        return f

    def lines(f):
        seen = []

        def trace(frame, event, arg):
            if frame.f_code.co_name == "f":
                seen.append(frame.f_lineno - frame.f_code.co_firstlineno)
            return trace

        sys.settrace(trace)
        try:
            f(t(3))
        finally:
            sys.settrace(None)
        return seen

    f, g = make(janus.function(regions=True, verify="never", measure=False)), make(lambda f: f)
    for _ in range(6):
        f(t(3))
    assert f.stats()["region_hits"]
    assert lines(f) == lines(g)


def test_functions_that_look_at_frames_have_none():
    @janus.function(regions=True, verify="never")
    def f(x):
        clock()
        y = x * 2 + 1
        z = y.exp() + y
        clock()
        return sorted(locals())

    for _ in range(5):
        assert f(t(3)) == ["x", "y", "z"]
    assert f.stats()["regions"] == 0


def test_garbage():
    """A function with regions that refers to itself is collected."""
    def make():
        @janus.function(regions=True, verify="never", measure=False)
        def f(x):
            clock()
            y = x * 2 + (f is None)
            z = y.exp() + y
            clock()
            return z
        for _ in range(5):
            f(t(3))
        assert f.stats()["region_hits"]
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None


# ---- the boundary: a value of each kind goes in, out, is written, has a second name

Pair = collections.namedtuple("Pair", "a b")


class Box:
    def __init__(self, a, n):
        self.a, self.n = a, n


# kind -> (how a call's value is made, an expression that reads `x`, a statement that writes it or None)
KINDS = {
    "tensor": ("t(3, seed=s)", "x * 2", "x += 1"),
    "leaf": ("t(3, seed=s, grad=True)", "x.exp() * x", None),
    "leaf_unrecorded": ("t(3, seed=s, grad=True)", "x.exp()", "with janus.no_grad():\n        x.sub_(0.5)"),
    "history": ("t(3, seed=s, grad=True).exp()", "x.tanh() * 2", "x *= 2"),
    "view": ("t(4, seed=s)[1:]", "x * 2", "x += 1"),
    "view_with_history": ("t(4, seed=s, grad=True).exp()[1:]", "x.tanh()", "x *= 2"),
    "integers": ("janus.tensor([s, 2, 3])", "x + 1", "x += 2"),
    "zero_dim": ("t(seed=s)", "x * 2", "x += 1"),
    "int": ("s", "a * x", "x += 1"),
    "large_int": ("s + 2 ** 70", "x + 1", "x += 1"),
    "float": ("s / 4", "a + x", "x *= 2"),
    "bool": ("s % 2 == 0", "a * 2 if x else a + 1", "x = not x"),
    "str": ("'ab'[s % 2]", "x + 'c'", "x += 'd'"),
    "none_or_tensor": ("None if s % 2 else t(3, seed=s)", "a if x is None else a + x", "x = a"),
    "list": ("[t(3, seed=s), t(3)]", "x[0] + x[-1]", "x.append(a)"),
    "list_item": ("[t(3, seed=s), 4]", "len(x)", "x[0] = a"),
    "dict": ("{'k': t(3, seed=s)}", "x['k'] * 2", "x['n'] = a"),
    "tuple": ("(t(3, seed=s), s)", "x[0] + x[1]", "x = (x[1], a)"),
    "named_tuple": ("Pair(t(3, seed=s), s)", "x.a + x.b", "x = Pair(a, x.b)"),
    "range": ("range(s % 3 + 1)", "[a * i for i in x]", "x = range(2)"),
    "set": ("{1, s}", "len(x)", "x.add(7)"),
    "object": ("Box(t(3, seed=s), s)", "x.a + x.n", "x.a = a"),
    "object_added_to": ("Box(t(3, seed=s), s)", "x.a * 2", "x.n += 1"),
    "function": ("(lambda v: v * s)", "x(a)", "x = janus.tanh"),
    "iterator": ("iter([t(3, seed=s), t(3), t(3)])", "next(x)", "next(x)"),
    "module": ("janus.nn.Linear(3, 3)", "x(a).sum()", "x.weight = None"),
    "deque": ("collections.deque([t(3, seed=s)])", "x[0] + a", "x.append(a)"),
}
FORM = """
@function
def f(x, u):
    z = x
    clock()
    a = u * 2 + 1
    b = {read}
    c = a.exp() + a
    clock()
    {first}
    d = c * 2 + a
    e = d.tanh()
    {second}
    clock()
    g = {read}
    h = e + d.exp()
    clock()
    return x, z, {out}b, g, h, z is x


def calls():
    for s in range(7):
        x = {make}
        got = f(x, t(3, seed=s))
        yield shown(x), shown(got)
        for v in got:
            if isinstance(v, janus.Tensor) and v.requires_grad and not v.is_leaf:
                v.sum().backward(retain_graph=True)
        yield shown(x), shown(got)
"""


def shown(v):
    """Iterators have nothing to compare but how much is left."""
    if type(v) is tuple:
        return tuple(map(shown, v))
    return ("iterator", v.__length_hint__()) if hasattr(v, "__length_hint__") else v


HITS = {}


@pytest.mark.parametrize("kind", KINDS)
def test_boundary(kind, tmp_path):
    make, read, write = KINDS[kind]
    forms = {"read": ("pass", "pass", ""), "second_name": ("y = x", "pass", "y, "),
             "rebound": ("y = x", "x = y", "y, ")}
    if write:
        forms.update(written=(write, "pass", ""), written_behind=("y = x", write, "y, "),
                     written_twice=(write, write, ""))
    for form, (first, second, out) in forms.items():
        file = tmp_path / f"{kind}_{form}.py"
        file.write_text(FORM.format(make=make, read=read, first=first, second=second, out=out))
        code = compile(file.read_text(), str(file), "exec")

        def main(function, log, code=code):
            janus.manual_seed(0)
            names = dict(globals(), function=function, clock=clock, t=t)
            exec(code, names)
            log.raises(lambda: [log(*pair) for pair in names["calls"]()] and None)

        HITS[kind, form] = both(main, hits=0, modes=("rarely", "never")).total("region_hits")


def test_most_of_the_boundary_is_crossed():
    """What cannot cross stays CPython's; this counts the rest, after the tests above."""
    if len(HITS) < 100:
        pytest.skip("not all of test_boundary was run")
    assert sum(n > 0 for n in HITS.values()) >= 120, sorted(k for k, n in HITS.items() if not n)


# ---- verification

def test_what_leaves_by_an_exception_is_not_used():
    """Statements that are compared and raise: inside a `try` of the function, out of it, and in a callee."""
    def main(function, log):
        def check(x):
            if float(x.sum()) > 100:
                raise ValueError("large")
            return x

        @function
        def f(x, k):
            clock()
            try:
                y = check(x * k)
                z = y.exp() + 1
            except ValueError as e:
                clock()
                z = x - 1
                y = str(e)
            clock()
            w = check(z + k) * 2
            v = w.tanh() + z
            return y, v

        for k in (1, 2, 3, 1000, 1, 1000, -1000, 2, 1, 1000, 5):
            log.raises(f, t(3) + 1, k)

    both(main, modes=("always", "rarely"))


def test_ways_out_are_compared():
    """`return` from inside a `with`, `break` and `continue`, under each a region of its own."""
    def main(function, log):
        @function
        def f(x, n):
            clock()
            for i in range(n):
                clock()
                with janus.no_grad():
                    y = x * i + 1
                    if i == 3:
                        return y.exp() * 2
                z = y.tanh() + x
                if i == 2 and n == 4:
                    continue
                if i == 2 and n == 3:
                    break
                clock()
                x = z * 2
            clock()
            try:
                u = x * 2 + 1
                return u.exp()
            finally:
                clock()
                log("end")

        for n in (0, 1, 2, 3, 4, 5, 3, 4, 5) * 3:
            log(f(t(3, seed=n), n))

    both(main, modes=("always", "rarely"))


def test_statements_that_are_compared_run_once(tmp_path):
    def main(function, log):
        done = []

        @function
        def f(x):
            clock()
            done.append(len(done))
            y = x * 2 + len(done)
            print("done", len(done))
            z = y.exp() + janus.rand(3)
            clock()
            return z

        for i in range(12):
            log(f(t(3, seed=i)), list(done))

    r = both(main, modes=("always",))
    assert r.total("verified") >= 3


def test_collection_goes_on_after_what_was_compared():
    @janus.function(regions=True, verify="always", measure=False)
    def f(x, raises):
        clock()
        y = x * 2 + 1
        z = y.exp() + y
        if raises:
            raise ValueError
        clock()
        return z

    for i in range(8):
        try:
            f(t(3), i in (4, 6))
        except ValueError:
            pass
        assert gc.isenabled()
        assert janus.function(lambda v: v + 1)(t(2)) is not None


# ---- what CPython's statements call

def train_batch(net, opt, x, y, log=None):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    if log is not None:
        log.append(clock())
    return {"loss": loss.item()}


def shown_as(number):
    return f"{number:.3f}"


class Trainer:
    def __init__(self, seconds):
        self.net, self.seconds = Net(), seconds
        self.opt = janus.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def evaluate(self, x):
        if x.numel() > 12:
            raise ValueError("large")
        return self.net(x).sum()

    def batch(self, x, y):
        return train_batch(self.net, self.opt, x, y, self.seconds)


@pytest.mark.parametrize("timed", [False, True])
def test_functions_that_an_epoch_calls(timed):
    def main(function, log):
        trainer = Trainer([] if timed else None)

        @function
        def epoch(n):
            start, total, losses = clock(), 0.0, []
            for i in range(4):
                x, y = t(3, 4, seed=i), t(3, 2, seed=i)
                total += trainer.batch(x, y)["loss"]
                losses.append(train_batch(trainer.net, trainer.opt, x, y)["loss"])
            values = [trainer.evaluate(t(n % 3 + 1, 4, seed=k)).item() for k in range(2)]
            best = min(train_batch(trainer.net, trainer.opt, x, y)["loss"] for x, y in [(t(3, 4), t(3, 2))])
            try:
                trainer.evaluate(t(4 if n == 6 else 3, 4))
            except ValueError as e:
                log([(s.name, s.lineno) for s in traceback.extract_tb(e.__traceback__)])
            print("epoch", n, shown_as(total), start > 0)
            return total, losses, values, best

        for n in range(9):
            log(epoch(n), trainer.net)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(regions=True, measure=False)
    harness.compare("epoch", want, harness.run(main, recorder), False)
    stats = recorder.made[0].stats()
    assert stats["op_share"] > 0.4, janus.explain(recorder.made[0])


def test_callees_that_are_no_functions_of_the_program_are_called_as_they_are():
    seen = []

    class Callable:
        def __call__(self, x):
            return x + 1

    made = Callable()

    @janus.function(regions=True, verify="never", measure=False)
    def f(x, g):
        clock()
        for h in (g, made, clock, Callable, len):
            clock()
            seen.append(h)
        clock()
        return made(x), g(x), shown_as(1.0)

    for i in range(9):
        inner = (lambda k: lambda v: v * k)(i)
        a, b, c = f(t(2), inner)
        assert seen[-5] is inner and c == "1.000"
        assert b.tolist() == (t(2) * i).tolist()
    assert f.stats()["imperative"] == 9
