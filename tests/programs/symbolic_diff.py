# SPDX-License-Identifier: Apache-2.0
"""Expressions differentiated by rules and rewritten until nothing changes; a symbolic Gauss-Newton fits constants to curves."""
import functools
import math
import time

import janus as torch

RULES = []


def rule(fn):
    RULES.append(fn)
    return fn


def wrap(x):
    return x if isinstance(x, Expr) else Const(x)


class Expr:
    args = ()

    def __add__(self, other):
        return Add(self, wrap(other))

    def __radd__(self, other):
        return Add(wrap(other), self)

    def __sub__(self, other):
        return Add(self, Mul(Const(-1.0), wrap(other)))

    def __mul__(self, other):
        return Mul(self, wrap(other))

    __rmul__ = __mul__

    def __pow__(self, n):
        return Pow(self, n)

    def __eq__(self, other):
        return type(self) is type(other) and self.key() == other.key()

    def __hash__(self):
        return hash((type(self).__name__, self.key()))

    def key(self):
        return self.args

    def size(self):
        return 1 + sum(a.size() for a in self.args)

    def rebuild(self, args):
        return type(self)(*args)


class Const(Expr):
    def __init__(self, value):
        self.value = float(value)

    def key(self):
        return self.value

    def diff(self, name):
        return Const(0.0)

    def eval(self, env):
        return self.value

    def rebuild(self, args):
        return self

    def __str__(self):
        return f"{self.value:g}"


class Var(Expr):
    def __init__(self, name):
        self.name = name

    def key(self):
        return self.name

    def diff(self, name):
        return Const(1.0 if name == self.name else 0.0)

    def eval(self, env):
        try:
            return env[self.name]
        except KeyError:
            raise NameError(f"no value for {self.name}") from None

    def rebuild(self, args):
        return self

    def __str__(self):
        return self.name


class Add(Expr):
    def __init__(self, left, right):
        self.args = (left, right)

    def diff(self, name):
        return Add(*[a.diff(name) for a in self.args])

    def eval(self, env):
        left, right = self.args
        return left.eval(env) + right.eval(env)

    def __str__(self):
        return f"({self.args[0]} + {self.args[1]})"


class Mul(Expr):
    def __init__(self, left, right):
        self.args = (left, right)

    def diff(self, name):
        u, v = self.args
        return u.diff(name) * v + u * v.diff(name)

    def eval(self, env):
        left, right = self.args
        return left.eval(env) * right.eval(env)

    def __str__(self):
        return f"{self.args[0]}*{self.args[1]}"


class Pow(Expr):
    def __init__(self, base, n):
        self.args, self.n = (base,), n

    def key(self):
        return self.args + (self.n,)

    def diff(self, name):
        return Const(self.n) * Pow(self.args[0], self.n - 1) * self.args[0].diff(name)

    def eval(self, env):
        return self.args[0].eval(env) ** self.n

    def rebuild(self, args):
        return Pow(*args, self.n)

    def __str__(self):
        return f"{self.args[0]}^{self.n}"


class Fn(Expr):
    TABLE = {"sin": (torch.sin, math.sin, lambda u: Fn("cos", u)),
             "cos": (torch.cos, math.cos, lambda u: Const(-1) * Fn("sin", u)),
             "exp": (torch.exp, math.exp, lambda u: Fn("exp", u))}

    def __init__(self, name, arg):
        self.name, self.args = name, (arg,)

    def key(self):
        return (self.name,) + self.args

    def diff(self, name):
        return self.TABLE[self.name][2](self.args[0]) * self.args[0].diff(name)

    def eval(self, env):
        x = self.args[0].eval(env)
        on_tensor, on_number, _ = self.TABLE[self.name]
        return on_tensor(x) if isinstance(x, torch.Tensor) else on_number(x)

    def rebuild(self, args):
        return Fn(self.name, *args)

    def __str__(self):
        return f"{self.name}({self.args[0]})"


@rule
def fold(e):
    if isinstance(e, (Add, Mul)) and all(isinstance(a, Const) for a in e.args):
        return Const(e.eval({}))


@rule
def zero_or_one(e):
    if isinstance(e, Mul):
        for a, b in (e.args, e.args[::-1]):
            if a == Const(0):
                return Const(0)
            if a == Const(1):
                return b
    if isinstance(e, Add):
        for a, b in (e.args, e.args[::-1]):
            if a == Const(0):
                return b


@rule
def powers(e):
    if isinstance(e, Pow) and e.n in (0, 1):
        return Const(1) if e.n == 0 else e.args[0]
    if isinstance(e, Mul) and e.args[0] == e.args[1]:
        return Pow(e.args[0], 2)


def simplify(e, seen=None):
    seen = {} if seen is None else seen
    if e in seen:
        return seen[e]
    new = e.rebuild([simplify(a, seen) for a in e.args])
    changed = True
    while changed:
        changed = False
        for r in RULES:
            other = r(new)
            if other is not None and other != new:
                new, changed = other, True
    seen[e] = new
    return new


@functools.lru_cache(maxsize=None)
def gradient(e, names):
    return tuple(simplify(e.diff(n)) for n in names)


def jacobian(e, names, env, size):
    columns = [g.eval(env) for g in gradient(e, names)]
    columns = [c if isinstance(c, torch.Tensor) and c.dim() else torch.zeros(size) + c for c in columns]
    return torch.stack(columns, dim=1)


def residual_and_jacobian(e, names, params, x, y):
    env = dict(params, x=x)
    return e.eval(env) - y, jacobian(e, names, env, len(x))


def fit_step(problem, damping):
    e, names, params = problem["model"], problem["names"], problem["params"]
    r, jac = residual_and_jacobian(e, names, params, problem["x"], problem["y"])
    lhs = jac.t() @ jac + damping * torch.eye(len(names))
    step = torch.linalg.solve(lhs, jac.t() @ r)
    trial = {n: params[n] - step[i] for i, n in enumerate(names)}
    new = e.eval(dict(trial, x=problem["x"])) - problem["y"]
    before, after = (r ** 2).mean().item(), (new ** 2).mean().item()
    if after < before:
        problem["params"] = trial
        return after, damping * 0.5, True
    return before, damping * 3.0, False


def fit_epoch(epoch, problems):
    start, losses = time.time(), []
    for p in problems:
        for _ in range(5):
            loss, p["damping"], accepted = fit_step(p, p["damping"])
            p["accepted"] += accepted
        losses.append(loss)
    print(f"epoch {epoch}: {', '.join(f'{v:.5f}' for v in losses)} accepted {[p['accepted'] for p in problems]} {time.time() - start:.3f}s")
    return losses


def main(epochs):
    torch.manual_seed(1)
    x, a, b, c = (Var(n) for n in "xabc")
    models = [a * Fn("sin", b * x) + c, a * x ** 3 + b * x ** 2 + c * x, a * Fn("exp", b * x) * Fn("cos", c * x),
              a * x * x + 1 * b - 0.5 * c * Fn("sin", x),
              a * Fn("exp", b * x) + c * Fn("sin", a * x) ** 2, (a + b * x) * (b + c * x) * Fn("cos", a * x)]
    truth = {"a": 1.2, "b": 0.7, "c": -0.4}
    problems = []
    for m in models:
        grid = torch.linspace(-2, 2, 24)
        y = m.eval(dict(truth, x=grid)) + 0.01 * torch.randn(24)
        params = {k: torch.tensor(v + 0.5) for k, v in truth.items()}
        problems.append({"model": m, "names": tuple("abc"), "params": params, "x": grid, "y": y, "damping": 0.1, "accepted": 0})
        print(m, "->", "; ".join(f"d/d{n} = {g}" for n, g in zip("abc", gradient(m, tuple("abc")))), m.size())
    out = [fit_epoch(e, problems) for e in range(epochs)]
    return out, [p["params"] for p in problems]


MODEL, STEP, EPOCH = "residual_and_jacobian", "fit_step", "fit_epoch"
