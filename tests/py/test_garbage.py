# SPDX-License-Identifier: Apache-2.0
"""What only garbage refers to is collected, whatever the graphs hold of it; what lives is not."""
import gc
import itertools
import subprocess
import sys
import textwrap
import types
import weakref

import pytest

import janus
from janus import nn
from texts import code_of


Function = type(janus.function(lambda: None))


class Thing:
    pass


def plain_function(keep):
    w = janus.ones(2, requires_grad=True)

    def f(x):
        keep.n = 1
        return x * w
    return f, keep


def recursive(keep):
    w = janus.ones(2, requires_grad=True)

    def f(x, n=2):
        keep
        return x * w if n == 0 else keep.f(x, n - 1)
    return f, keep


def global_function(keep):
    space = types.ModuleType("made_here")
    space.w = janus.ones(2, requires_grad=True)
    space.keep = keep
    source = "def f(x):\n    keep.n = 1\n    return helper(x) * w\ndef helper(x):\n    return x + 1\n"
    exec(code_of(source), vars(space))
    keep.space = space
    return space.f, keep


def method(keep):
    class C:
        def __init__(self):
            self.w = janus.ones(2, requires_grad=True)

        def run(self, x):
            self.n = 1
            return x * self.w
    o = C()
    o.keep = keep
    return o.run, o


def decorated_in_class(kind):
    def make(keep):
        class C:
            w = janus.ones(2, requires_grad=True)
            if kind is staticmethod:
                @staticmethod
                @janus.function
                def run(x):
                    return x * C.w
            elif kind is classmethod:
                @classmethod
                @janus.function
                def run(cls, x):
                    return x * cls.w
            else:
                @janus.function
                def run(self, x):
                    self.n = 1
                    return x * self.w
        o = C()
        o.keep = keep
        return o.run, o
    return make


def module(keep):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)

        def forward(self, x):
            return self.l(x)
    m = M()
    m.keep = [keep]
    return m, m


def module_forward(keep):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)

        @janus.function
        def forward(self, x):
            return self.l(x)
    m = M()
    m.keep = [keep]
    return m.__call__, m


def nested(keep):
    inner, o = plain_function(keep)
    inner = janus.function(inner)

    def f(x):
        return inner(x) + 1
    return f, o


def lambda_in_dict(keep):
    w = janus.ones(2, requires_grad=True)
    table = {"mul": lambda x: x * w, "keep": keep}
    keep.table = table

    def f(x):
        return table["mul"](x)
    return f, keep


def recursion_over_objects(keep):
    class Node:
        def __init__(self, depth):
            self.kids = [Node(depth - 1), Node(depth - 1)] if depth else []
            self.w = janus.ones(2, requires_grad=True)
            self.root = keep
    keep.tree = Node(2)

    def total(t, x):
        s = x * t.w
        for k in t.kids:
            s = s + total(k, x)
        return s
    total = janus.function(total)
    return (lambda x: total(keep.tree, x)), keep


KINDS = [plain_function, recursive, global_function, method, decorated_in_class(staticmethod),
         decorated_in_class(classmethod), decorated_in_class(None), module, module_forward, nested, lambda_in_dict,
         recursion_over_objects]


def nothing(o, y):
    pass


def result(o, y):
    o.y = y


def two_names(o, y):
    o.y, o.z = y, [y]


def after_ops(o, y):
    o.y = (y * 2 + 1).sum()


def after_backward(o, y):
    o.y = y.sum()
    o.y.backward()


def history(o, y):
    o.y = y.grad_fn


def in_function(o, y):
    class Double(janus.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.owner = o
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    o.y = Double.apply(y)


@pytest.mark.parametrize("kind, stored", list(itertools.product(KINDS, [nothing, result, two_names, after_ops, after_backward, history,
                                                                   in_function])))
def test_cycles_die(kind, stored):
    refs = []
    for _ in range(2):
        keep = Thing()
        f, o = kind(keep)
        keep.o = o
        f = f if isinstance(f, (Function, types.MethodType)) and kind is not method else janus.function(f)
        keep.f = f
        for _ in range(4):
            y = f(janus.ones(2))
        stored(o, y)
        refs += [weakref.ref(keep), weakref.ref(o)]
        del f, o, y, keep
    gc.collect()
    assert [r() is None for r in refs] == [True] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_history_needs_lives(kind):
    """All but a result is dropped and collected: its gradient is what it was."""
    def run(decorate):
        keep = Thing()
        f, o = kind(keep)
        w = o.w if hasattr(o, "w") else janus.ones(2)
        if decorate and not isinstance(f, Function):
            f = janus.function(f)
        keep.f = f
        x = janus.ones(2, requires_grad=True)
        for _ in range(4):
            y = f(x)
        ref = weakref.ref(keep)
        del f, o, keep, w
        gc.collect()
        assert gc.collect() is not None and ref is not None
        (y * janus.tensor([1.0, 2.0])).sum().backward(retain_graph=True)
        gc.collect()
        y.sum().backward()
        return x.grad.tolist()

    janus.manual_seed(1)
    want = run(False)
    janus.manual_seed(1)
    assert run(True) == want


def test_a_second_derivative_of_what_only_the_history_holds():
    def make():
        class C:
            def __init__(self):
                self.w = janus.tensor([3.0, 4.0])

            def run(self, x):
                return (x ** 3 * self.w).sum()
        c = C()
        c.f = janus.function(c.run)
        x = janus.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(4):
            y = c.f(x)
        return x, y

    x, y = make()
    gc.collect()
    g, = janus.autograd.grad(y, x, create_graph=True)
    gg, = janus.autograd.grad(g.sum(), x)
    assert g.tolist() == [9.0, 48.0] and gg.tolist() == [18.0, 48.0]


def test_files_of_main_are_flushed_at_exit(tmp_path):
    text = textwrap.dedent("""
        import janus
        log = open({path!r}, "w")
        class Model(janus.nn.Module):
            def __init__(self):
                super().__init__()
                self.l = janus.nn.Linear(2, 2)
            def forward(self, x):
                log
                return self.l(x)
        model = janus.function(Model())
        model.owner = [model]
        @janus.function
        def step(x):
            log
            return model(x).sum()
        for i in range(4):
            out = step(janus.ones(2))
            log.write(f"{{i}}\\n")
        {more}
    """)
    for n, more in enumerate(["", "keep = out", "model.out = out", "step.me = step", "out.backward()"]):
        path = tmp_path / f"log{n}"
        script = tmp_path / f"main{n}.py"
        script.write_text(text.format(path=str(path), more=more))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert path.read_text() == "0\n1\n2\n3\n", more
