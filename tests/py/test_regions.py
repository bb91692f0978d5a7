# SPDX-License-Identifier: Apache-2.0
"""Regions of statements: functions with barriers, of which the statements between them run as graphs."""

import gc
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
from region_programs import Net, both, clock, t  # noqa: E402


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


def test_regions_that_do_not_pay_rest(capsys):
    """Of a function whose skeleton is slower than itself CPython runs the function."""
    def rests():
        @janus.function(regions=True, verify="never", measure=True)
        def f(x):
            clock()
            a, b = x + 1, x + 2
            clock()
            c, d = x + 3, x + 4
            clock()
            return a, b, c, d

        for _ in range(100):
            f(t(1))
        return "regions of statements rest for 1000 calls" in janus.explain(f)

    assert any(rests() for _ in range(8))  # the fastest of a few calls may say otherwise once


def test_callees_by_names_that_containers_have(tmp_path):
    """Whose a method is, its value says: `agent.update(x)` is the program's though dicts have an `update`, too."""
    class Agent:
        def __init__(self):
            self.w, self.index = janus.ones(3), {}

        def update(self, x):
            return ((x * self.w).tanh() + x.sin() * self.w).sum()

        append = pop = copy = index = get = update

    agent = Agent()

    @janus.function(measure=False, verify="never")
    def train(x, names):
        rows = []
        for name in names:
            start = time.time()
            rows.append(getattr(agent, name)(x) if name == "none" else agent.update(x) + agent.append(x) + agent.copy(x))
            rows.append(agent.pop(x) + agent.get(x) + min(0.0, time.time() - start - 1e9))
        return rows

    want = agent.update(janus.ones(3)).item()
    for _ in range(12):
        rows = train(janus.ones(3), ["update", "pop"])
    assert [round(r.item() / want) for r in rows][::2] == [3, 3]
    stats = train.stats()
    assert stats["ops_graph"] > stats["ops_eager"]


@pytest.mark.parametrize("when", [(4,), (4, 8), (1, 2, 3, 9)])
@pytest.mark.parametrize("part", ["__code__", "__defaults__", "__kwdefaults__"])
def test_a_function_that_is_given_other_parts(part, when):
    """After `f.__code__ = g.__code__` the skeleton of the old code is not run again, whatever is refused later."""
    def main(function, log):
        def a(x, k=2, *, m=1):
            clock()
            y = x * k
            z = y.exp() + m
            return y, z

        def b(x, k=5, *, m=7):
            y = x - k
            z = (y.tanh() + m) * y
            clock()
            z = z + y + clock.__name__.count("c")
            return z, y

        given = {p: getattr(b, p) for p in ("__code__", "__defaults__", "__kwdefaults__")}
        f = function(a)
        for i in range(24):
            if i in when:
                given[part], old = getattr(a, part), given[part]
                setattr(a, part, old)
            log(f(t(3, seed=i)))

    both(main, hits=0)
