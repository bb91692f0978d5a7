# SPDX-License-Identifier: Apache-2.0
"""Gradients that the program computes itself, autograd.Function and hooks of tensors, in functions that are graphs."""
import contextlib
import io
import itertools
import sys
import pathlib

import janus
import janus.nn as nn
import janus.nn.functional as F
import pytest
from janus.autograd import Function

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff.harness import Log, close, t  # noqa: E402


def both(prog, verify, graphs=True, calls=5):
    """Runs `prog(function, log)` both ways; it decorates one function and calls it."""
    def run(function):
        janus.manual_seed(3)
        log, out = Log(), io.StringIO()
        with contextlib.redirect_stdout(out):
            for f in [prog(function)]:
                for i in range(calls):
                    try:
                        f(i, log)
                    except RuntimeError as e:
                        log.entries.append((type(e).__name__, str(e)))
        return log.entries, out.getvalue(), janus.rand(2).tolist()

    made = []

    def decorate(f):
        made.append(janus.function(f, verify=verify, measure=False))
        return made[-1]

    want, got = run(lambda f: f), run(decorate)
    assert close(want[0], got[0], False), f"\n{want[0]}\n{got[0]}"
    assert want[1:] == got[1:]
    stats = made[0].stats()
    assert stats["disproved"] == 0
    if verify == "never":
        assert graphs is None or (stats["graph"] > 0) == graphs, janus.explain(made[0])


# ---- autograd.Function: what forward and backward do -----------------------------------------------------------------

class Reverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.alpha, None


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        s = x.sigmoid()
        return g * (s * (1 + x * (1 - s)))


class Clip(Function):  # not linear in the gradient, and the same tensor goes through
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-0.1, 0.1)


class SaveResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class TwoByTwo(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w, x.argmax(1)

    @staticmethod
    def backward(ctx, g, _):
        x, w = ctx.saved_tensors
        return (g @ w.t() if ctx.needs_input_grad[0] else None), (x.t() @ g if ctx.needs_input_grad[1] else None)


class Straight(Function):  # a rounding that lets gradients through
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        print("backward", g.shape[0])
        return g


class Setup(Function):
    @staticmethod
    def forward(x, power):
        return x ** power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1), None


class Noisy(Function):  # draws in both directions
    @staticmethod
    def forward(ctx, x):
        return x + janus.rand(x.shape)

    @staticmethod
    def backward(ctx, g):
        return g * janus.rand(g.shape)


class Nothing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


FUNCTIONS = {"reverse": lambda x, w: Reverse.apply(x @ w, 0.5), "reverse by a number": lambda x, w: Reverse.apply(x @ w, x.sum().item()),
             "swish": lambda x, w: Swish.apply(x @ w), "clip": lambda x, w: Clip.apply(x @ w),
             "result saved": lambda x, w: SaveResult.apply(x @ w), "two": lambda x, w: TwoByTwo.apply(x, w)[0],
             "indices, too": lambda x, w: (lambda y: y[0] * y[1].float().mean())(TwoByTwo.apply(x, w)),
             "straight": lambda x, w: Straight.apply(x @ w) * w.sum(), "setup": lambda x, w: Setup.apply(x @ w, 2),
             "noisy": lambda x, w: Noisy.apply(x @ w), "nothing": lambda x, w: Nothing.apply(x @ w) + w.sum(),
             "twice": lambda x, w: Swish.apply(Clip.apply(Swish.apply(x @ w))), "of a leaf": lambda x, w: x @ Swish.apply(w),
             "not needed": lambda x, w: Swish.apply(x) @ w, "written": lambda x, w: Swish.apply((x @ w).relu_()).mul_(2),
             "used twice": lambda x, w: (lambda y: y * y + y.exp())(Swish.apply(x @ w))}
AFTER = {"sum": lambda y: y.sum(), "relu": lambda y: F.relu(y).pow(2).mean(), "add_": lambda y: (y * 1).add_(1).tanh().sum()}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, verify):
    def prog(function):
        w = t(3, 2, seed=1, grad=True)

        @function
        def step(x):
            y = FUNCTIONS[name](x, w)
            loss = y.sum() + (y * y).mean()
            w.grad = None
            loss.backward()
            with janus.no_grad():
                w.sub_(w.grad * 0.1)
            return loss.item(), w.grad

        def call(i, log):
            log(step(t(4, 3, seed=i)), w)
        return call
    both(prog, verify, graphs=name not in ("written",))


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("how", ["forward", "grad", "grad created", "retained", "twice", "in a branch", "in a loop", "kept",
                                 "saved, then written", "optimizer", "no grad"])
def test_where_it_is(how, verify):
    """Where the history goes: what is no graph must be right, too."""
    def prog(function):
        w = t(3, 2, seed=1, grad=True)
        optimizer = janus.optim.Adam([w], lr=0.05)

        @function
        def step(x, flag):
            h = x @ w
            if how == "in a branch" and x.sum() > 0:
                h = Swish.apply(h)
            elif how == "in a loop":
                k = 0
                while h.abs().sum() > 1 and k < 9:
                    h = Swish.apply(h)
                    k = k + 1
            elif how == "no grad":
                with janus.no_grad():
                    h = Swish.apply(h)
                h = h * w.sum()
            else:
                h = Swish.apply(h)
            if how == "forward":
                return h
            if how == "kept":
                return h, h.sum()
            loss = h.sum()
            if how in ("grad", "grad created"):
                g, = janus.autograd.grad(loss, [w], create_graph=how == "grad created")
                return g.sum().item() if how == "grad" else g.sum().backward()
            if how == "saved, then written":
                y = x @ w
                z = Swish.apply(y)
                y.mul_(2)
                return z.sum().backward()
            optimizer.zero_grad()
            loss.backward(retain_graph=how in ("retained", "twice"))
            if how in ("retained", "twice"):
                loss.backward()
            if how == "twice":
                loss.backward()
            optimizer.step()
            return loss.item()

        def call(i, log):
            r = step(t(4, 3, seed=i), i > 2)
            if isinstance(r, tuple):
                r[1].backward()
            elif isinstance(r, janus.Tensor):
                r.sum().backward()
            log(r, w)
        return call
    graphs = {"grad": True, "retained": True, "optimizer": True, "forward": False, "kept": False, "twice": False,
              "saved, then written": False}
    both(prog, verify, graphs=graphs.get(how))


# ---- hooks -----------------------------------------------------------------------------------------------------------

HOOKS = {"seen": lambda seen, y: y.register_hook(lambda g: seen.append(g.norm().item())),
         "changed": lambda seen, y: y.register_hook(lambda g: g * 2),
         "clipped": lambda seen, y: y.register_hook(lambda g: g.clamp(-0.05, 0.05)),
         "two": lambda seen, y: (y.register_hook(lambda g: g * 3), y.register_hook(lambda g: seen.append(g.sum().item()))),
         "kept": lambda seen, y: y.register_hook(seen.append),
         "printed": lambda seen, y: y.register_hook(lambda g: print("hook %.4f" % g.sum().item())),
         "removed": lambda seen, y: y.register_hook(lambda g: g * 100).remove(),
         "one removed": lambda seen, y: (y.register_hook(lambda g: g * 2), y.register_hook(lambda g: g * 100))[1].remove(),
         "random": lambda seen, y: y.register_hook(lambda g: g + janus.rand(g.shape)),
         "branch": lambda seen, y: y.register_hook(lambda g: g * 2 if g.sum() > 0 else -g)}
AT = ("out", "hidden", "loss", "leaf", "input")


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("name,at", itertools.product(HOOKS, AT))
def test_hook(name, at, verify):
    def prog(function):
        w, seen = t(3, 2, seed=1, grad=True), []

        @function
        def step(x):
            h = x @ w
            out = F.relu(h)
            loss = out.sum() + (h * h).mean()
            HOOKS[name](seen, {"out": out, "hidden": h, "loss": loss, "leaf": w, "input": x}[at])
            if w.grad is not None:
                w.grad.zero_()
            loss.backward()
            with janus.no_grad():
                w.sub_(w.grad, alpha=0.1)
            return loss.item()

        def call(i, log):
            log(step(t(4, 3, seed=i)), w, seen)
        return call
    both(prog, verify, graphs=at not in ("leaf", "input"))


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("what", ["backward", "grad", "grad of a result"])
@pytest.mark.parametrize("when", [0, 3, 4])
def test_hook_of_the_caller(when, what, verify):
    """One that the caller sets before call number `when` and takes away three calls later."""
    def prog(function):
        w, seen, handle = t(3, 2, seed=1, grad=True), [], []

        @function
        def step(x, y):
            w.grad = None
            loss = ((x @ w) * y).sum()
            if what == "backward":
                loss.backward()
                return w.grad.sum().item()
            return janus.autograd.grad(loss, [w if what == "grad" else y])[0].sum().item()

        def call(i, log):
            y = w * 2
            if when <= i < when + 3:
                handle.append((y if what == "grad of a result" else w).register_hook(lambda g: seen.append(g.sum().item())))
            log(step(t(4, 3, seed=i), y[0]), seen)
            while handle:
                handle.pop().remove()
        return call
    both(prog, verify, graphs=None, calls=9)


class Taps(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 5), nn.Linear(5, 1)

    def forward(self, x):
        h = Swish.apply(self.a(x))
        if h.requires_grad:
            h.register_hook(lambda g: g / (g.norm() + 1e-6))
        return self.b(h)


@pytest.mark.parametrize("verify", ["never", "always"])
def test_module(verify):
    def prog(function):
        janus.manual_seed(0)
        net = Taps()
        optimizer = janus.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        @function
        def step(x):
            optimizer.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            return loss.item()

        def call(i, log):
            log(step(t(4, 3, seed=i)), net)
        return call
    both(prog, verify)
