# SPDX-License-Identifier: Apache-2.0
"""numerics="exact": one backward() through several graphs adds up gradients in the order of the tape, to the bit.

Programs are generated: functions that share weights, called one after another, with statements of CPython's between
them or with barriers inside, and backward() once behind all."""

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


# Each makes a tensor of 3 x 4 of `{x}`, and uses a weight in a way of its own.
LINES = ["janus.tanh({x} @ w + b)", "{x} * b + {x}", "janus.relu({x} @ w) + {x} * v", "{x}.exp().log() * v - b",
         "({x} @ w) @ w", "arms({x}, w, b)", "rounds({x}, w, b)", "deep({x}, w, 3)", "({x} * v).sum(0) * {x} + v",
         "{x} / ({x} * {x} + 1).sum() + b * b", "janus.cat([{x}[:, 2:] * b[2:], {x}[:, :2] * b[:2]], 1)"]
HELPERS = """
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
    for i in range(rng.randint(2, 5)):
        if barriers and rng.random() < 0.5:
            lines.append("clock()")
        lines.append(f"y{i} = " + rng.choice(LINES).format(x=rng.choice(names)))
        names.append(f"y{i}")
    results = ", ".join(rng.sample(names[1:], 1 if rng.random() < 0.7 else rng.randint(1, len(names) - 1)))
    return f"@function\ndef {name}(x):\n    " + "\n    ".join(lines) + f"\n    return ({results},)\n"


def program_text(seed):
    """Functions f0, f1, ... and what calls them."""
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    parts = [HELPERS] + [function_text(rng, f"f{i}", rng.random() < 0.6) for i in range(n)]
    calls, names = [], ["x"]
    for i in range(rng.randint(2, 5)):
        calls.append(f"z{i} = f{rng.randrange(n)}({rng.choice(names)})[-1]")
        names.append(f"z{i}")
        if rng.random() < 0.3:
            calls.append(f"z{i} = z{i} * b + w.sum()")
    used = rng.sample(names[1:], rng.randint(1, len(names) - 1))
    calls.append("loss = " + " + ".join(f"({u} * {u}).mean()" for u in used))
    calls.append(rng.choice(["loss.backward()", "loss.backward()", "loss.backward(retain_graph=True)\n    loss.backward()",
                             "gs = janus.autograd.grad(loss, [w, b], allow_unused=True)\n    kept.append(gs)"]))
    return "\n\n".join(parts) + "\n\ndef step(x, kept):\n    " + "\n    ".join(calls) + "\n"


def check(text, path, **options):
    path.write_text(text)
    code = compile(text, str(path), "exec")

    def main(function, log):
        names = {"janus": janus, "function": function, "clock": time.perf_counter}
        for i, (name, shape) in enumerate({"w": (4, 4), "b": (4,), "v": (3, 4)}.items()):
            names[name] = harness.t(*shape, seed=40 + i, grad=True)
        exec(code, names)
        for s in range(5):
            kept = []
            names["step"](harness.t(3, 4, seed=s), kept)
            log(*kept, *[names[k].grad for k in "wbv"])

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(numerics="exact", measure=False, verify="never", **options)
    got = harness.run(main, recorder)
    harness.compare(path.stem, want, got, True)
    return recorder


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("regions", [False, True])
def test_generated(regions, tmp_path):
    shares = []
    for seed in range(10 if LIGHT else 40):
        recorder = check(program_text(seed), tmp_path / f"exact{seed}.py", regions=regions)
        ran = [recorder.total("ops_graph"), recorder.total("ops_eager")]
        shares.append(ran[0] / max(sum(ran), 1))
    assert sum(s > 0.3 for s in shares) >= len(shares) / 5, shares


def test_signs_of_zeros_and_what_gets_no_gradient(tmp_path):
    """-0.0 stays -0.0, and a leaf that no path uses keeps .grad None, also where others go on with sums."""
    text = """
@function
def f(x):
    if x.sum() > 0:
        return x * b * -0.0
    return x @ w

def step(x, kept):
    y = f(x.abs()) + f(x.abs())
    if kept is not None:
        y = y + f(-x.abs()) * 0.5
    (y * b).sum().backward()
    kept.append([str(b.grad.tolist()), str(w.grad is None or w.grad.tolist()), v.grad])
"""
    check(text, tmp_path / "zeros.py")
    check(text.replace("kept is not None", "kept is None"), tmp_path / "none.py")
