# SPDX-License-Identifier: Apache-2.0
"""Chains of elementwise ops over large tensors run tile by tile: whatever the shapes, dtypes and views, the graph gives
the bits that the eager program gives.  Programs are generated: values of one space and of those that broadcast into it,
reshaped and transposed, reduced and read again, kept and written in place."""
import random

import janus
import pytest
from shares import LIGHT
from texts import names_of

# The shape of the space; shapes of other operands that broadcast into it.
SPACES = [
    ((5000,), [(1,), ()]),
    ((4096,), [(1,)]),
    ((9001,), [(1,), ()]),
    ((70, 65), [(65,), (70, 1), (1, 1), (1, 65)]),
    ((1, 80, 70), [(70,), (80, 1), (1, 1, 70)]),
    ((3, 40, 50), [(40, 1), (50,), (3, 1, 1), (1, 40, 50)]),
    ((6, 1, 2000), [(2000,), (6, 1, 1)]),
    ((2, 3000), [(2, 1), (3000,)]),
    # from 16,384 numbers on chains compute again what others have computed
    ((20011,), [(1,)]),
    ((150, 140), [(140,), (150, 1)]),
    ((4, 50, 90), [(50, 1), (90,)]),
]
UNARY = ["relu", "tanh", "abs", "sigmoid", "exp", "neg", "square", "floor", "sqrt", "log", "log1p", "expm1", "rsqrt",
         "reciprocal", "sign", "ceil", "round", "erf"]
ACTIVATIONS = ["silu({})", "gelu({})", "gelu({}, approximate='tanh')", "softplus({})", "leaky_relu({}, 0.2)", "elu({}, 0.7)"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "div"]


def tensor(rng, shape):
    n = 1
    for d in shape:
        n *= d
    return janus.tensor([rng.uniform(-2, 2) for _ in range(min(n, 997))]).repeat(n // 997 + 1)[:n].reshape(shape)


def program(rng, space, others, length):
    """Source of f(operands) -> results; names of values are v0, v1, ...; the first operands are given."""
    lines, values, full = [], [f"x[{i}]" for i in range(2 + len(others))], ["x[0]", "x[1]"]
    results = []

    def add(text):
        lines.append(f"    v{len(lines)} = {text}")
        full.append(f"v{len(lines) - 1}")
        values.append(full[-1])
    for _ in range(length):
        kind, a, b = rng.random(), rng.choice(full[-4:]), rng.choice(values)
        if kind < 0.3:
            add(f"janus.{rng.choice(UNARY)}({a})" if rng.random() < 0.7 else
                f"janus.nn.functional.{rng.choice(ACTIVATIONS).format(a)}")
        elif kind < 0.65:
            add(f"janus.{rng.choice(BINARY)}({a}, {b})")
        elif kind < 0.72:
            add(f"{a} * {rng.choice([0.5, -1.25, 2])} + {rng.choice([1, 0.25])}")
        elif kind < 0.78:
            add(rng.choice(["janus.where({a} > {b}, {b}, {a} - 0.5)", "{a}.masked_fill(({a} < {b}) & ~({b} >= 1), -0.0)",
                            "({a} != {b}).float() - {a}.isfinite().float()", "janus.addcmul({a}, {a}, {b}, value=0.5)",
                            "janus.lerp({a}, {a} * {b}, 0.25)", "janus.where(({a} <= 0) ^ ({b} == {b}), {a}, {b}.clamp(-0.0, 1))",
                            "({a}.bool() | ({b} > 0.5)).float() * {a}"]).format(a=a, b=b))
        elif kind < 0.83:
            add(f"({a}.double() * {b}).float()")
        elif kind < 0.88:
            add(f"({a}.reshape(-1) * 0.5).reshape({a}.shape)")
        elif kind < 0.92 and len(space) > 1:
            add(f"({a}.transpose(0, -1).contiguous() + 1).transpose(0, -1)")
        elif kind < 0.96:
            add(f"{a} - {a}.mean()")
        else:
            add(f"{a} + {b}.clamp(-1.0, 1.0).{rng.choice(['sum(-1, keepdim=True)', 'amax()'])} * 0.01"
                if b in full else f"{a} + {b}")
        if rng.random() < 0.12:
            results.append(full[-1])
    results.append(full[-1])
    return "def f(x):\n" + "\n".join(lines) + f"\n    return [{', '.join(results)}]\n"


def made(text):
    return names_of(text, janus=janus)["f"]


def same(a, b, text):
    assert a.shape == b.shape and a.dtype == b.dtype
    assert janus.equal(a.isnan(), b.isnan()), text
    zeros = janus.zeros_like(a)
    a, b = janus.where(a.isnan(), zeros, a), janus.where(b.isnan(), zeros, b)
    assert janus.equal(a, b) and janus.equal(a.reciprocal(), b.reciprocal()), text  # zeros have signs


SEEDS = range(0, 120, 4 if LIGHT else 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_values(threads):
    before = janus.get_num_threads()
    janus.set_num_threads(threads)
    try:
        for seed in SEEDS:
            rng = random.Random(seed * 2 + threads)
            space, others = SPACES[seed % len(SPACES)]
            text = program(rng, space, others, rng.randint(4, 24))
            f = made(text)
            g = janus.function(f, measure=False, verify="never")
            for _ in range(3):
                x = [tensor(rng, s) for s in [space, space, *others]]
                with janus.no_grad():
                    for a, b in zip(f(x), g(x)):
                        same(a, b, f"seed {seed}\n{text}")
            assert g.stats()["graph"] > 0, text
    finally:
        janus.set_num_threads(before)


@pytest.mark.parametrize("ends", ["numbers", "sum"])
def test_gradients(ends):
    """`ends`: what the gradient begins with, a tensor or a single number that is the same for all."""
    for seed in SEEDS:
        rng = random.Random(10_000 + seed)
        space, others = SPACES[seed % len(SPACES)]
        text = program(rng, space, others, rng.randint(3, 10) if ends == "numbers" else rng.randint(5, 40))
        f = made(text)

        def step(x):
            last = f(x)[-1] + x[0] * 0.125
            (last.square().mean() if ends == "numbers" else last.mean().square()).backward()
            return [t.grad for t in x]
        g = janus.function(step, measure=False, verify="never")
        for _ in range(2):
            x = [tensor(rng, s).requires_grad_() for s in [space, space, *others]]
            y = [t.detach().clone().requires_grad_() for t in x]
            for a, b in zip(step(x), g(y)):
                if a is None or b is None:
                    assert a is b, text
                    continue
                assert janus.equal(a.isnan(), b.isnan()), f"seed {seed}\n{text}"
                finite = a.isfinite() & b.isfinite()
                a, b = janus.where(finite, a, janus.zeros_like(a)), janus.where(finite, b, janus.zeros_like(b))
                assert janus.allclose(a, b, rtol=1e-4, atol=1e-5 * (1 + a.abs().max().item())), f"seed {seed}\n{text}"


def test_computed_again():
    """Values that chains before and behind a sum read, leave the graph, or are reshaped on the way."""
    def f(x, y):
        a = (x * 1.5 + y).abs()
        b = a.clamp(-1, 1) - x
        c = b.reshape(-1).relu().reshape(b.shape) * y
        s = c.sum()
        d = (b * s - a) * (c > 0).float() + x
        t = d.sum(-1, keepdim=True)
        return s, d.sum() * c.maximum(d) - b, c * t + a - d
    g = janus.function(f, measure=False, verify="never")
    rng = random.Random(3)
    for _ in range(3):
        x, y = tensor(rng, (150, 130)), tensor(rng, (150, 130))
        with janus.no_grad():
            for a, b in zip(f(x, y), g(x, y)):
                same(a, b, "computed again")
    assert g.stats()["graph"] > 0


def test_operands_changed_on_the_way():
    """Sums, differences and products of what a cheap op makes of a value that is in memory: each such op, either operand,
    the other one just computed or in memory as well, and numbers that are none, infinite, zeros of both signs, tiny."""
    changes = ["{}.abs()", "(-{})", "{}.relu()", "({} * 0.3)", "(-1.25 * {})", "({} * c)", "{}.clamp(-1.5, 2.0)"]
    lines = ["    t = x.tanh()", "    y = x * x"]
    for number, change in enumerate(changes):
        for op in "+-*":
            for k, (v, other) in enumerate([("x", "t"), ("y", "t"), ("y", "(y * t)"), ("t", "y")]):
                name = f"r{number}_{'+-*'.index(op)}_{k}"
                lines.append(f"    {name} = ({change.format(v)} {op} {other}) - ({other} {op} {change.format(v)}) * 0.5")
    results = [line.split("=")[0].strip() for line in lines[2:]]
    text = "def f(x, c):\n" + "\n".join(lines) + f"\n    return {', '.join(results)}\n"
    f = made(text)
    odd = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-45, -1e-45, 1e-39, 3e38, -3e38, 1.5, -1.5, 2.0]
    for n in (2048, 4099, 10007):
        g = janus.function(f, measure=False, verify="never")
        x = tensor(random.Random(n), (n,))
        for start in (0, n // 2, n - len(odd)):
            for k, value in enumerate(odd):
                x[start + k] = value
        c = janus.tensor([0.75])
        with janus.no_grad():
            for _ in range(2):
                for a, b, name in zip(f(x, c), g(x, c), results):
                    same(a, b, f"{name} of {n}")
        assert g.stats()["graph"] > 0


def kernels(step, *operands):
    """Names of what a call of a graph runs."""
    step(*operands)
    step(*operands)
    with janus.profile() as p:
        step(*operands)
    return [e["name"] for e in p.events if e["kind"] == "kernel"]


def longest(step, *operands):
    """Ops of the longest chain of a call of a graph."""
    return max(int(name.split()[0]) if " ops to " in name else 1 for name in kernels(step, *operands))


@pytest.mark.parametrize("power", [1, 2])
def test_gradients_of_a_sum(power):
    """What a gradient makes of a single number and of the forward pass is part of the chain that reads it: one chain for
    all where the number is known, else one before the sum and one behind it."""
    def step(x):
        y = x
        for k in range(4):
            y = (y * 1.5 + 0.25 - y.abs()).clamp(-4.0, 4.0) * y
        for k in range(4):
            y = y.relu() - y * 0.125
        total = y.sum()
        (total if power == 1 else total * total).backward()
        return total.detach()
    x = tensor(random.Random(8), (20011,)).requires_grad_()
    expected = step(x)
    g = janus.function(step, measure=False, verify="never")
    y = x.detach().clone().requires_grad_()
    found = [name for name in kernels(g, y) if " ops to " in name or "relu" in name]
    assert len(found) == power and all(" ops to " in name for name in found), found
    y.grad = None
    same(expected, g(y), "the sum")
    same(x.grad, y.grad, "the gradient")


def test_what_costs_more_to_compute_again():
    """A gradient's chain computes a long chain of the forward pass again, where that reads one tensor; not sums of what
    products have made, each of which is a tensor to read."""
    def residuals(x, w):
        for k in range(8):
            x = (x @ w + x).relu()
        x.sum().backward()
        return x.detach()

    def cheap(x, w):
        for k in range(24):
            x = (x * 1.25 - 0.5).abs()
        x.mean().square().backward()
        return x.mean().detach()
    x, w = janus.randn(256, 256), janus.eye(256) * 0.5
    found = {}
    for f in (residuals, cheap):
        a = x.clone().requires_grad_()
        expected = f(a, w)
        g = janus.function(f, measure=False, verify="never")
        b = x.clone().requires_grad_()
        found[f] = longest(g, b, w)
        b.grad = None
        same(expected, g(b, w), f.__name__)
        same(a.grad, b.grad, f.__name__)
        assert g.stats()["graph"] > 0
    assert found[residuals] <= 6 and found[cheap] > 120


@pytest.mark.parametrize("shape", [(5000,), (70, 65)])
def test_written_in_place(shape):
    """What is stored is read by nodes before and behind the one that writes it."""
    rng = random.Random(5)

    def step(p, m, g):
        old = p * 2.0
        m.mul_(0.9).add_(g * 0.1)
        p.sub_(m / (m.abs().sqrt() + 1e-3))
        kept = old - p
        p.mul_(0.99).add_(old * 0.01)
        return kept, old
    g = janus.function(step, measure=False, verify="never")
    a, b = [[tensor(rng, shape) for _ in range(3)] for _ in range(2)]
    for x, y in zip(a, b):
        y.copy_(x)
    for _ in range(4):
        with janus.no_grad():
            for x, y in zip((*step(*a), *a), (*g(*b), *b)):
                assert janus.equal(x, y)
    assert g.stats()["graph"] > 0


def test_sums():
    """Sums and means of whole tensors are computed with the chain that they read: lengths around a block of a sum
    (4,096), and around twice a piece of a long one (65,536); results that are read again, kept, or not read."""
    def one(x, y):
        return ((x * 2 + y).tanh() * x).sum()

    def mean_kept(x, y):
        z = x.abs() * y - 0.5
        return z, z.mean(), z.max()

    def several(x, y):
        z = (x + y).relu()
        n = (z * y).sum()
        w = z - z.mean()
        return n, (w * w).mean().sqrt(), w.sum() * n, x.sum()

    def reshaped(x, y):
        z = (x * y + 1).reshape(1, -1)
        return z.sum((0, 1), keepdim=True), (z.double() * 2).sum(), (z > 1).sum(), z.sum(0)[:1]

    before = janus.get_num_threads()
    try:
        for threads in (1, 2):
            janus.set_num_threads(threads)
            for f in (one, mean_kept, several, reshaped):
                g = janus.function(f, measure=False, verify="never")
                for n in (0, 1, 33, 2047, 2048, 4095, 4097, 8192, 20011, 131071, 131072, 131073, 300001):
                    if n == 0 and f is mean_kept:
                        continue  # no largest one
                    for odd in ([], [float("inf")], [float("nan"), -float("inf")]):
                        rng = random.Random(n)
                        x, y = tensor(rng, (n,)), tensor(rng, (n,))
                        for k, value in enumerate(odd[:n]):
                            x[k * (n // 2)] = value
                        with janus.no_grad():
                            a, b = f(x, y), g(x, y)
                        for p, q in zip(*[r if isinstance(r, tuple) else (r,) for r in (a, b)]):
                            same(p, q, f"{f.__name__} {n} {odd} {threads}")
                assert g.stats()["graph"] > 0
    finally:
        janus.set_num_threads(before)
