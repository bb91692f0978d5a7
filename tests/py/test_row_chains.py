# SPDX-License-Identifier: Apache-2.0
"""Chains that are cut along rows: norms, softmax and reductions along dims behind the first belong to them, and numbers
for each row.  Graphs give the bits that the eager programs give.  Programs are generated: values of the whole space, of
its rows, of what broadcasts into it (as long as there are rows, too), ops along any dims, with and without keepdim."""
import random

import janus
import pytest
from test_chains import longest, same, tensor
from shares import LIGHT
from texts import names_of

SPACES = [(64, 64), (40, 130), (3000, 5), (5, 1000), (2, 4100), (1, 60, 60), (12, 20, 30), (70, 3, 17), (6, 1, 900),
          (150, 140), (9, 2000), (3, 16000)]
SEEDS = range(0, 160, 4 if LIGHT else 1)


def program(rng, space, length):
    """Source of f(x, y, w, b, c) -> results: w and b are of the last dim, c of the first one."""
    lines, results = [], []
    full, rows = ["x", "y"], []  # rows: values of a space whose dims behind the first are 1
    rank, first = len(space), next(d for d in range(len(space)) if space[d] != 1)

    def add(text, to):
        lines.append(f"    v{len(lines)} = {text}")
        to.append(f"v{len(lines) - 1}")
        if rng.random() < 0.15:
            results.append(to[-1])

    def keep(text, dims):
        """A reduction along dims that are more than the last ones gives other shapes: it is spread again."""
        add(f"{text}.expand({space}) * 0.5" if set(dims) != set(range(first + 1, rank)) else text,
            full if set(dims) != set(range(first + 1, rank)) else rows)
    for _ in range(length):
        a, b, kind = rng.choice(full[-3:]), rng.choice(full[-4:]), rng.random()
        axis = rng.randrange(rank) if rng.random() < 0.3 else rank - 1
        axis = rng.choice([axis, axis - rank])
        dims = sorted(rng.sample(range(rank), rng.randint(1, rank))) if rng.random() < 0.3 else list(range(first + 1, rank))
        if kind < 0.12:
            add(f"{a}.softmax({axis})", full)
        elif kind < 0.2:
            add(f"{a}.log_softmax({axis})", full)
        elif kind < 0.35:
            add(f"janus.nn.functional.layer_norm({a}, ({space[-1]},)" +
                rng.choice([", w, b)", ", w)", ")", ", None, None, 0.1)"]), full)
        elif kind < 0.4:
            add(f"janus.nn.functional.layer_norm({a}, {space[first + 1:]})", full)
        elif kind < 0.5 and dims:
            keep(f"{a}.{rng.choice(['sum', 'mean', 'amax', 'amin', 'var', 'logsumexp', 'norm'])}(dim={tuple(dims)}, keepdim=True)"
                 .replace("norm(dim", "norm(2, dim"), dims)
        elif kind < 0.56:
            found = rng.choice(["sum", "mean", "logsumexp", "amax"])
            add(f"{a}.{found}({axis}).unsqueeze({axis}) + {b}", full)
        elif kind < 0.6:
            add(f"{a}.max({axis}, keepdim=True).values - {b}", full)
        elif kind < 0.63:
            add(f"({a}.cumsum({axis}) * 0.01).tanh()", full)
        elif kind < 0.72 and rows:
            add(rng.choice(["{r}.abs().add(1).rsqrt()", "{r} * 0.5 + 1", "{r} - {s}", "{r}.exp().clamp(0.1, 2)"])
                .format(r=rng.choice(rows), s=rng.choice(rows)), rows)
        elif kind < 0.84 and rows:
            add(rng.choice(["{a} - {r}", "{a} * {r}", "({a} / ({r}.abs() + 1)).tanh()", "janus.maximum({r}, {a})"])
                .format(a=a, r=rng.choice(rows)), full)
        elif kind < 0.9:
            add(rng.choice(["({a} + w).relu()", "{a} * (w * 0.5)", "{a} + c", "{a} * (c * 2 + 1)", "({a} + b.softmax(0))"])
                .format(a=a), full)
        else:
            add(rng.choice(["({a} * {b}).tanh()", "{a} + {b}", "{a}.relu() * 0.5", "({a}.double() + 1).float().sigmoid()"])
                .format(a=a, b=b), full)
    results += [*rows[-1:], full[-1]]
    return "def f(x, y, w, b, c):\n" + "\n".join(lines) + f"\n    return [{', '.join(results)}]\n"


def operands(rng, space):
    first = next(d for d in range(len(space)) if space[d] != 1)
    return [tensor(rng, s) for s in (space, space, space[-1:], space[-1:], (space[first],) + (1,) * (len(space) - first - 1))]


@pytest.mark.parametrize("threads", [1, 2])
def test_values(threads):
    before = janus.get_num_threads()
    janus.set_num_threads(threads)
    try:
        for seed in SEEDS:
            rng = random.Random(seed * 2 + threads)
            space = SPACES[seed % len(SPACES)]
            text = program(rng, space, rng.randint(3, 20))
            f = names_of(text, janus=janus)["f"]
            g = janus.function(f, measure=False, verify="never")
            for _ in range(3):
                x = operands(rng, space)
                with janus.no_grad():
                    for a, b in zip(f(*x), g(*x)):
                        same(a, b, f"seed {seed} {space}\n{text}")
            assert g.stats()["graph"] > 0, text
    finally:
        janus.set_num_threads(before)


def test_gradients():
    for seed in SEEDS:
        rng = random.Random(10_000 + seed)
        space = SPACES[seed % len(SPACES)]
        text = program(rng, space, rng.randint(2, 8))
        f = names_of(text, janus=janus)["f"]

        def step(x):
            (f(*x)[-1] * 0.25 + x[0] * 0.125).square().mean().backward()
            return [t.grad for t in x]
        g = janus.function(step, measure=False, verify="never")
        for _ in range(2):
            x = [t.requires_grad_() for t in operands(rng, space)]
            y = [t.detach().clone().requires_grad_() for t in x]
            for a, b in zip(step(x), g(y)):
                if a is None or b is None:
                    assert a is b, text
                    continue
                finite = a.isfinite() & b.isfinite()
                assert janus.equal(a.isnan(), b.isnan()), f"seed {seed}\n{text}"
                a, b = janus.where(finite, a, janus.zeros_like(a)), janus.where(finite, b, janus.zeros_like(b))
                assert janus.allclose(a, b, rtol=1e-3, atol=1e-4 * (1 + a.abs().max().item())), f"seed {seed}\n{text}"


def test_one_chain():
    """A sum, a norm and an activation are one chain; softmax and a norm written out, too."""
    def norm(x, y, w, b):
        return janus.nn.functional.layer_norm(x + y, (768,), w, b).relu() * 0.5

    def written_out(x, y, w, b):
        z = x * y
        z = (z - z.amax(-1, keepdim=True)).exp()
        return z / z.sum(-1, keepdim=True)

    def root_mean_square(x, y, w, b):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w + y

    def attention(x, y, w, b):
        return (x * 0.125 + y).softmax(-1) * 2
    rng = random.Random(1)
    x = [tensor(rng, s) for s in ((64, 768), (64, 768), (768,), (768,))]
    for f, least in ((norm, 4), (written_out, 6), (root_mean_square, 7), (attention, 4)):
        g = janus.function(f, measure=False, verify="never")
        with janus.no_grad():
            assert longest(g, *x) >= least, f.__name__
            same(f(*x), g(*x), f.__name__)
