# SPDX-License-Identifier: Apache-2.0
"""What is computed before a loop and only read in it is handed to it as weights are: gradients of its parts are added to
one sum, whatever is read of it, how often, and what else has a gradient of it before and behind."""
import itertools
import pathlib
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from texts import names_of  # noqa: E402

MADE = {"product": "x @ e", "view": "(x @ e).view(-1, 3)", "leaf": "janus.cat([e, e, e])", "argument": "x", "detached": "(x @ e).detach()",
        "silent": "x.detach() * 2", "row": "(x @ e)[0]"}
READ = {"item": "s[t]", "item from behind": "s[s.shape[0] - 1 - t]", "all": "s.sum(0)", "twice": "s[t] * s[0]", "product": "(s @ w)[t]",
        "slice": "s[t:].sum(0)", "branch": "(s[t] if h.sum() > 0 else s[0] * 2)"}
ELSE = {"nothing": "", "before": "k = s.sum()", "behind": "h = h + s.mean(0)", "both": "k = (s * s).sum()\n    h2 = s.exp().sum(0)"}
WAYS = {"for": "for t in range(x.shape[0]):", "while": "t = -1\n    while t < x.shape[0] - 1:\n        t += 1"}
HEAD = """
import janus


def f(x, e, w):
    s = {made}
    k, h, h2 = 1.0, janus.zeros(3), 0.0
    {other0}
    {way}
        h = janus.tanh({read} + h @ w)
    {other1}
    loss = (h * k + h2).sum()
    return loss, s
"""


def program(text):
    def prog(function, log):
        f = function(names_of(text)["f"])
        e, w = harness.t(3, 3, seed=1, grad=True), harness.t(3, 3, seed=2, grad=True)
        for i, n in enumerate([3, 4, 5, 6, 3, 7, 5]):
            x = harness.t(n, 3, seed=i, grad=i % 4 == 3)
            loss, s = f(x, e, w)
            if loss.requires_grad:
                loss.backward()
            log(loss, s, x.grad, e.grad, w.grad)
            if i % 2:
                e.grad = w.grad = None
    return prog


@pytest.mark.parametrize("read", sorted(READ))
@pytest.mark.parametrize("made", sorted(MADE))
def test_invariants(made, read):
    for other, way, numerics in itertools.product(sorted(ELSE), sorted(WAYS), ["fast", "exact"]):
        if made == "row" and read not in ("item", "all") or made == "row" and (read == "all" or other in ("behind", "both")):
            continue
        before, _, behind = ELSE[other].partition("\n    ") if other == "both" else (
            (ELSE[other], "", "") if other == "before" else ("", "", ELSE[other]))
        text = HEAD.format(made=MADE[made], read=READ[read] if made != "row" else "s", way=WAYS[way], other0=before or "pass",
                           other1=behind or "pass")
        recorder = harness.Recorder(numerics=numerics, verify="never", measure=False)
        want, got = harness.run(program(text), lambda f: f), harness.run(program(text), recorder)
        harness.compare(f"{made}, {read}, {other}, {way}", want, got, numerics == "exact")


def step_of(function):
    def step(x, e, w):
        s, h = x @ e, janus.zeros(3)
        for t in range(x.shape[0]):
            h = janus.tanh(s[t] + h @ w)
        h.sum().backward()
        grads, e.grad, w.grad = (e.grad, w.grad), None, None
        return grads
    return function(step)


def test_one_sum(tmp_path, monkeypatch):
    """The gradient of `s[t]` is added to an accumulator of rows; no round makes a tensor as large as `s`."""
    monkeypatch.setenv("JANUS_DUMP_DIR", str(tmp_path))
    step = step_of(janus.function(verify="never", measure=False))
    e, w = harness.t(3, 3, seed=1, grad=True), harness.t(3, 3, seed=2, grad=True)
    for n in range(3, 9):
        step(harness.t(n, 3), e, w)
    loops = [p.read_text() for p in tmp_path.iterdir() if "foreach.grad @" in p.read_text()]
    assert step.stats()["graph"] >= 3 and loops
    for text in loops:
        body = text[text.index("sub @foreach.grad"):].split("\n  }")[0]
        (row,) = [line.split()[0] for line in body.splitlines() if "= embedding_grad" in line]
        assert any(line.split()[:1] == ["acc.add"] and line.split()[2] == row for line in body.splitlines()), body
