# SPDX-License-Identifier: Apache-2.0
"""What CPython's statements of a function with regions call."""

import pathlib
import sys
import traceback
import weakref

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from region_programs import Net, clock, t  # noqa: E402


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


class Scaled:
    """An object that is called by a method of its class."""

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return (x * self.k).tanh() + x.exp()


def test_modules_objects_and_closures():
    """`net(x)`, `self.part(x)` and `object(x)` are calls of what their classes say."""
    def main(function, log):
        net, layers = Net(), janus.nn.Sequential(janus.nn.Linear(4, 4), janus.nn.Tanh(), janus.nn.Linear(4, 4))
        scaled, scale = Scaled(0.5), t(4, seed=8)

        def closure(x):
            return (x * scale).tanh() + x.exp()

        @function
        def epoch(n):
            start, out = clock(), []
            for i in range(3):
                y = [net(x) for x in [t(3, 4, seed=i), t(3, 4, seed=n)] if clock() >= start]
                z = [layers(x) for x in [t(3, 4, seed=i)] if clock() >= start]
                u = [scaled(x) + closure(x) for x in [t(3, 4, seed=i)] if clock() >= start]
                out.append((y, z, u))
            if n == 5:
                scaled.k = 0.25
                Scaled.__call__ = lambda self, x: x * self.k
            return out

        called = Scaled.__call__
        for n in range(9):
            log(epoch(n), net)
            if n == 3:
                net.b = janus.nn.Linear(8, 3)
        Scaled.__call__ = called

    want = harness.run(main, lambda f: f)
    for verify in ("always", "never"):
        recorder = harness.Recorder(regions=True, measure=False, verify=verify)
        harness.compare("epoch", want, harness.run(main, recorder), False)
        assert recorder.total("disproved") == 0
        if verify == "never":
            assert recorder.made[0].stats()["op_share"] > 0.5, janus.explain(recorder.made[0])


NAMES = sorted({n for kind in (janus.Tensor, list, dict, set, str) for n in dir(kind) if n[0] != "_"})
WAYS = ["o.{0}(x, y)", "box.o.{0}(x, y)", "objects[i % 2].{0}(x, y)", "made(o).{0}(x, y)", "steps[i % 2](x, y)",
        "step_of(o)(x, y)", "(o if i else objects[1]).{0}(x, y)"]
METHOD = """
class Worker:
    def __init__(self, k):
        self.k, self.o = k, self

    def {0}(self, x, y):
        z = (x * self.k).tanh() + y
        return z.exp() + z

@function
def epoch(o, box, objects, steps, n):
    start, out = clock(), []
    for i in range(3):
        x, y = t(3, seed=i), t(3, seed=n)
        u = {1}
        clock()
        out.append(u)
    return out
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", range(4))
def test_methods_of_any_name_reached_in_any_way(way, part, tmp_path):
    """The program's classes have methods called as those of tensors and containers are, reached by expressions."""
    for name in NAMES[part::24]:
        file = tmp_path / f"{name}.py"
        file.write_text(METHOD.format(name, way.format(name)))
        code = compile(file.read_text(), str(file), "exec")

        def main(function, log):
            space = {"function": function, "clock": clock, "t": t, "made": lambda o: o,
                     "step_of": lambda o: getattr(o, name)}
            exec(code, space)
            a, b = space["Worker"](2.0), space["Worker"](0.5)
            steps = [getattr(a, name), getattr(b, name)]
            for n in range(9):
                log(space["epoch"](a, b, [a, b], steps, n))

        want = harness.run(main, lambda f: f)
        recorder = harness.Recorder(regions=True, measure=False, verify="never")
        harness.compare(name, want, harness.run(main, recorder), False)
        assert recorder.made[0].stats()["op_share"] > 0.3, janus.explain(recorder.made[0])


@pytest.mark.parametrize("late", [False, True])
def test_methods_that_are_nobodys_are_not_asked_for_long(late):
    """After some hundred calls of lists' and tensors' own methods the skeleton has them as they are."""
    from janus import _skeleton

    class Meter:
        def __init__(self):
            self.total = t(3)

        def update(self, x):
            self.total = self.total * 0.5 + x.tanh()

    def main(function, log):
        @function
        def epoch(n):
            clock()
            meter, out, known = Meter(), [], {}
            for i in range(9):
                for k in range(20):
                    out.append(clock() * 0.0)
                    known.update({k: i})
                    out.extend([k])
                if n > 5 or not late:
                    meter.update(t(3, seed=i))
            clock()
            return out, known, meter.total

        for n in range(9):
            log(epoch(n))

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(regions=True, measure=False, verify="never")
    harness.compare("epoch", want, harness.run(main, recorder), False)
    quiet = _skeleton.plan_of(recorder.made[0].__wrapped__).quiet
    assert {"append", "extend"} <= quiet and ("update" in quiet) == late
    if not late:
        assert recorder.made[0].stats()["op_share"] > 0.4, janus.explain(recorder.made[0])


def test_closures_made_anew_are_let_go():
    """What a call makes and calls dies with the call at the latest."""
    died = []

    @janus.function(regions=True, verify="never", measure=False)
    def epoch(x):
        start = clock()
        big = x * 2

        def inner(v):
            return (v * big).tanh() + v.exp()

        weakref.finalize(inner, died.append, 1)
        values = [inner(v) for v in (x, x + 1) if clock() >= start]
        return values

    for i in range(8):
        epoch(t(3, seed=i))
        assert len(died) == i + 1


@pytest.mark.parametrize("mode", [janus.no_grad(), janus.enable_grad(), janus.inference_mode()], ids=["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("method", [False, True], ids=["function", "method"])
def test_what_grad_modes_decorate(mode, method):
    """`@janus.no_grad()` makes a function of janus's; what it calls is the program's."""
    def main(function):
        janus.manual_seed(3)
        net, seconds = Net(), []

        @mode
        def evaluate(self, x, twice=False):
            out = []
            for i in range(3):
                y = net(x).relu() * (2 if twice else 1)
                seconds.append(clock())
                if x.numel() > 12:
                    raise ValueError("large")
                z = y.softmax(-1) @ y.t()
                out.append((z.sum().item(), z.requires_grad, janus.is_grad_enabled()))
            return out

        class Model:
            check = evaluate

        @function
        def epoch(n):
            start, model = clock(), Model()
            try:
                out = model.check(t(n, 4), twice=n > 1) if method else evaluate(None, t(n, 4), twice=n > 1)
                return out, janus.is_grad_enabled()
            except ValueError as e:
                return str(e), clock() > start, janus.is_grad_enabled()
        return [epoch(n) for n in (1, 2, 3, 1, 2, 5, 3, 2, 1, 3, 2, 5, 2) * 3], epoch

    def decorate(f):
        return janus.function(f, measure=False)

    want, _ = main(lambda f: f)
    got, epoch = main(decorate)
    for a, b in zip(want, got):
        assert a == b or [x[1:] for x in a[0]] == [x[1:] for x in b[0]] and [x[0] for x in a[0]] == pytest.approx([x[0] for x in b[0]])
    assert epoch.stats()["op_share"] > 0.5, janus.explain(epoch)
