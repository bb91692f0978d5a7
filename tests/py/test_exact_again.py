# SPDX-License-Identifier: Apache-2.0
"""Gradients of gradients through several graphs: in exact numerics equal to the bit, in fast ones close.

Programs are generated: functions that share weights, called one after another, with or without regions of statements;
between the calls hooks, retained gradients and statements of CPython's; and what is done with the result: gradients
with a history, once or nested, of leaves and of what lies between the calls, with and without what is used up."""

import pathlib
import random
import sys
import time

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from shares import LIGHT

ALL = [(numerics, regions, verify) for numerics in ("exact", "fast") for regions in (False, True)
       for verify in ("never", "always")]

# Each makes a tensor of 3 x 4 of `{x}`, and uses a weight in a way of its own.
LINES = ["janus.tanh({x} @ w + b)", "{x} * b + {x}", "janus.sigmoid({x} @ w) + {x} * v", "janus.exp({x} * 0.1) * v - b",
         "({x} @ w) @ w * 0.3", "arms({x}, w, b)", "rounds({x}, w, b)", "deep({x}, w, 3)",
         "({x} * v).sum(0) * {x} + v", "{x} / ({x} * {x} + 1).sum() + b * b", "F.layer_norm({x} + v, (4,))",
         "janus.cat([{x}[:, 2:] * b[2:], {x}[:, :2] * b[:2]], 1)", "nodes({x}, tree)",
         "(({x}.t() @ {x}) @ w)[:3] + v * 0.1", "inplace({x}, b, v)", "F.dropout({x} * v, 0.3) @ w",
         "janus.where({x} > 0, {x} * b, v)", "janus.stack([{x}[0] * b, {x}[1], {x}[2] * {x}[0]])",
         "janus.cat([c * b[:2] for c in {x}.chunk(2, 1)], 1)", "F.softmax({x} @ w.t(), -1) * {x}",
         "{x}.max(1, keepdim=True)[0] * v", "F.linear({x}, w, b).relu()",
         "({x} @ w).t().contiguous().view(3, 4) * v", "({x}.t() * {x}.sum()).t() @ w",
         "janus.einsum('ij,kj->ik', {x}, {x}) @ v", "{x}.clone().mul_(b).add_({x})",
         "({x}.unsqueeze(1) * w.unsqueeze(0)[:, :3]).mean(1) * v", "{x}.reshape(4, 3).t() * v + {x}.expand(3, 4)",
         "({x} + janus.randn(3, 4)) * v"]
HELPERS = """
class Node:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = v, l, r


tree = Node(0.5, Node(0.25), Node(-0.5, Node(1.0), Node(0.75)))


def nodes(x, n):
    if n.l is None:
        return janus.tanh(x * v) * n.v
    return nodes(x, n.l) * b + nodes(x, n.r) + n.v


def inplace(x, b, v):
    h = x * 1.5
    h[0] = h[1] * b
    h[:, 1:3] += v[:, 1:3] * x[:, 1:3]
    return h


def arms(x, w, b):
    if x.sum() > 0:
        return x @ w + b * 2
    return (x - b) * b


def rounds(x, w, b):
    for i in range(3):
        x = janus.tanh(x @ w) + b * x
    return x


def deep(x, w, n):
    if n == 0:
        return x * 2
    return deep(janus.tanh(x @ w), w, n - 1) + x
"""


def function_text(rng, name, barriers):
    lines, names = [], ["x"]
    for i in range(rng.randint(1, 4)):
        if barriers and rng.random() < 0.5:
            lines.append("clock()")
        lines.append(f"y{i} = " + rng.choice(LINES).format(x=rng.choice(names)))
        names.append(f"y{i}")
    results = ", ".join(rng.sample(names[1:], 1 if rng.random() < 0.6 else rng.randint(1, len(names) - 1)))
    return f"@function\ndef {name}(x):\n    " + "\n    ".join(lines) + f"\n    return ({results},)\n"


# What is done with the loss.  {z}: what lies between the calls.
GRAD = "gs = janus.autograd.grad({y}, [{x}], create_graph=True, allow_unused=True)\n" \
       "gs = [g for g in gs if g is not None and g.requires_grad]\nkept += gs\n"
NORM = "sum([(g * g).sum() for g in gs], {0})"
USES = [
    GRAD.format(y="loss", x="w, b") + f"({NORM.format('loss * 0')}).backward()",
    GRAD.format(y="loss", x="x, {z}") + f"(loss + {NORM.format('loss * 0')}).backward()",
    "loss.backward(create_graph=True)\ngs = [p.grad for p in (w, b, v) if p.grad is not None]\nkept.append(gs)\n"
    "w.grad = b.grad = v.grad = None\n" + f"({NORM.format('loss * 2')}).backward()",
    GRAD.format(y="loss", x="w, v") + f"n = {NORM.format('loss')}\n" + GRAD.format(y="n", x="w, b") +
    f"({NORM.format('n')}).backward()",
    "loss.backward(retain_graph=True)\n" + GRAD.format(y="loss", x="b, {z}") +
    f"n = {NORM.format('loss')}\nn.backward(retain_graph=True)\nn.backward()",
    GRAD.format(y="loss", x="{z}, w") + "loss.backward(retain_graph=True)\n" + f"({NORM.format('loss')}).backward()",
    "gs = janus.autograd.grad(loss, [{z}, w], create_graph=True, retain_graph=False, allow_unused=True)\nkept.append(gs)",
    "kept.append(janus.autograd.grad({z}.sum(), [w, b], retain_graph=True, allow_unused=True))\n" +
    GRAD.format(y="loss", x="w, b") + f"({NORM.format('loss * 0')}).backward()",
]


def program_text(seed):
    """Functions f0, f1, ... and what calls them."""
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    parts = [HELPERS] + [function_text(rng, f"f{i}", rng.random() < 0.5) for i in range(n)]
    calls, names = [], ["x"]
    for i in range(rng.randint(1, 4)):
        all_of = rng.random() < 0.3
        calls.append(f"z{i} = f{rng.randrange(n)}({rng.choice(names)})" + ("" if all_of else "[-1]"))
        if all_of:
            calls.append(f"z{i} = z{i}[0] + z{i}[-1] * 0.5")
        names.append(f"z{i}")
        kind = rng.random()
        if kind < 0.25:
            calls.append(f"z{i} = z{i} * b + w.sum()")
        elif kind < 0.45:
            calls.append(f"z{i}.register_hook(lambda g: {rng.choice(['kept.append(g.detach())', 'g * 0.5'])})")
        elif kind < 0.55:
            calls.append(f"z{i}.retain_grad()\nkept.append(z{i})")
    used = rng.sample(names[1:], rng.randint(1, len(names) - 1))
    calls.append("loss = " + " + ".join(f"({u} * {u}).mean()" for u in used))
    calls += rng.choice(USES).format(z=rng.choice(used)).split("\n")
    body = "\n".join(calls).split("\n")
    return "\n\n".join(parts) + "\n\ndef step(x, kept):\n    " + "\n    ".join(body) + "\n"


def check(text, path, numerics, **options):
    path.write_text(text)
    code = compile(text, str(path), "exec")

    def main(function, log):
        names = {"janus": janus, "F": janus.nn.functional, "function": function, "clock": time.perf_counter}
        for i, (name, shape) in enumerate({"w": (4, 4), "b": (4,), "v": (3, 4)}.items()):
            names[name] = harness.t(*shape, seed=40 + i, grad=True)
        exec(code, names)

        def step(s):
            kept = []
            try:
                names["step"](harness.t(3, 4, seed=s, grad=True), kept)
            except RuntimeError as e:  # used up: as CPython has it
                log(str(e).split(":")[0])
            log(kept, *[names[k].grad for k in "wbv"])

        for s in range(5):
            step(s)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(numerics=numerics, measure=False, **options)
    got = harness.run(main, recorder)
    assert not recorder.total("disproved")
    if numerics == "exact":
        harness.compare(path.stem, want, got, True)
    else:
        assert harness.close(want, got, False, (2e-3, 1e-4)), path
    return recorder


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("numerics, regions, verify", ALL)
def test_generated(numerics, regions, verify, tmp_path):
    shares = []
    for seed in range(12 if LIGHT else 60):
        recorder = check(program_text(seed), tmp_path / f"again{seed}.py", numerics, regions=regions, verify=verify)
        ran = [recorder.total("ops_graph"), recorder.total("ops_eager")]
        shares.append(ran[0] / max(sum(ran), 1))
    if verify == "never":
        assert sum(s > 0.3 for s in shares) >= len(shares) / 5, shares


# ---- situations ---------------------------------------------------------------------------------------------------
# step(f, x, w, log): f(x) is (h, y), of which y is computed from h.


def hooks_before_and_after(f, x, w, log):
    h, y = f(x)
    first = h.register_hook(lambda g: log(g.detach()))
    g, = janus.autograd.grad(y, [w], create_graph=True)
    second = h.register_hook(lambda g: g * 2)
    (y + (g * g).sum()).backward(retain_graph=True)
    first.remove()
    log(w.grad)
    second.remove()
    (y * y).backward()


def kept_gradients(f, x, w, log):
    h, y = f(x)
    h.retain_grad()
    g, = janus.autograd.grad(y, [w], create_graph=True)
    y.retain_grad()
    (y * (g * g).sum()).backward()
    log(h.grad, y.grad, y.requires_grad, y.is_leaf)


def written_before(f, x, w, log):
    h, y = f(x)
    h.add_(1)
    log.raises(lambda: janus.autograd.grad(y, [w], create_graph=True))


def written_after(f, x, w, log):
    h, y = f(x)
    g, = janus.autograd.grad(y, [w], create_graph=True)
    with janus.no_grad():
        h.add_(1)
    log.raises(lambda: (y + (g * g).sum()).backward())


def used_up(f, x, w, log):
    h, y = f(x)
    h.sum().backward()
    log.raises(lambda: janus.autograd.grad(y, [w], create_graph=True))


def used_up_later(f, x, w, log):
    h, y = f(x)
    g, = janus.autograd.grad(y, [w], create_graph=True)
    (g * g).sum().backward()
    log.raises(y.backward)


def used_up_by_it(f, x, w, log):
    h, y = f(x)
    g, = janus.autograd.grad(y, [w], create_graph=True, retain_graph=False)
    log(g)
    log.raises(y.backward)


def between(f, x, w, log):
    h, y = f(x)
    g, dh = janus.autograd.grad(y + h.sum(), [w, h], create_graph=True)
    (g.sum() + (dh * dh * h).sum()).backward()
    log(g, dh, janus.autograd.grad(f(x)[1], [x])[0])


def fed_back(f, x, w, log):
    h, y = f(x)
    k, z = f(h * 0.5)
    g, = janus.autograd.grad(z, [h], create_graph=True)
    (z + y + (g * g).sum()).backward()
    log(g)


def two_histories(f, x, w, log):
    h, y = f(x)
    a, = janus.autograd.grad(h.sum(), [w], create_graph=True)
    b, = janus.autograd.grad((y * a).sum(), [w], create_graph=True)
    c, = janus.autograd.grad((b * a).sum() + y, [x], create_graph=True, allow_unused=True)
    log(a, b, c)
    (b * b).sum().backward()


def not_asked_for(f, x, w, log):
    h, y = f(x)
    u = h * w
    g, = janus.autograd.grad(u.sum(), [u], create_graph=True)
    log(g, g.requires_grad)
    (y + u.sum()).backward()


SITUATIONS = [hooks_before_and_after, kept_gradients, written_before, written_after, used_up, used_up_later,
              used_up_by_it, between, fed_back, two_histories, not_asked_for]


class Numbers:
    """What a graph reads from an object is not known when it is run op by op: the function is called again."""

    def __init__(self):
        self.left, self.right, self.n = None, None, 0.5


def twigs(depth):
    n = Numbers()
    n.n = 0.25 * depth
    if depth:
        n.left, n.right = twigs(depth - 1), twigs(0)
    return n


def plain(w):

    def f(x):
        h = janus.tanh(x * w)
        return h, (h * h * w + janus.exp(h) * x).sum()

    return f


def parted(w):

    def f(x):
        s = (x * 2).exp() * 0.1
        return (x * w).sigmoid(), (s * w * s).sum()

    return f


def from_objects(w):
    tree = twigs(3)

    def walk(x, n):
        if n.left is None:
            return janus.tanh(x * w) * n.n
        return walk(x, n.left) * w + walk(x, n.right) + n.n

    def f(x):
        h = janus.exp(walk(x, tree))
        return h, (h * x * w).sum()

    return f


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("numerics, verify", [(n, v) for n in ("exact", "fast") for v in ("never", "always")])
@pytest.mark.parametrize("make", [plain, parted, from_objects])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_situation(situation, make, numerics, verify):

    def main(function, log):
        w = harness.t(3, seed=2, grad=True)
        f = function(make(w))
        for s in range(6):
            w.grad = None
            x = harness.t(3, seed=s, grad=True)
            situation(f, x, w, log)
            log(w.grad, x.grad)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(numerics=numerics, measure=False, verify=verify)
    got = harness.run(main, recorder)
    exact = numerics == "exact"
    if exact:
        harness.compare(situation.__name__, want, got, True)
    else:
        assert harness.close(want, got, False, (2e-3, 1e-4))
    assert not recorder.total("disproved")
    if verify == "never":
        assert recorder.total("graph"), "\n".join(janus.explain(f) for f in recorder.made)
