# SPDX-License-Identifier: Apache-2.0
"""What is computed without recording carries no gradient, whatever reads it: an op of the eager layer, or one that the
converter makes itself, for bounds, numbers and lengths that only the run knows.  Values made under no_grad() x recorded
uses of them, in a recursion that also returns what they were made of."""
import pathlib
import random
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from texts import names_of  # noqa: E402

MADE = [
    "r", "r.t().t()", "r * 2", "r[:, n.count:n.count + 1].expand(1, 3)",
    "r[:, :n.count + 1].sum(1, keepdim=True).expand(1, 3)", "sum([r * k.word for k in n.kids])",
    "janus.stack([r * k.word for k in n.kids]).sum(0)", "r * n.count",
    "r.expand(n.count + 1, 3).sum(0, keepdim=True)", "r[:, n.kids[0].word % 3].expand(1, 3)", "r + r[0, n.count]",
    "janus.cat([r] * (n.count + 1)).sum(0, keepdim=True)", "r.detach() * r",
]
USED = [
    "v[:, n.count:n.count + 1]", "v[:, n.count:].sum()", "v[:, :n.count + 1].sum()", "v[:, n.count]",
    "v.narrow(1, n.count, 1)", "v[0, n.count]", "v * 2", "v", "(v + r)[:, n.count:n.count + 1]",
    "v[..., n.count % 1:]", "r[:, n.count:n.count + 1] * v", "sum([v * r for k in n.kids])",
    "janus.stack([v * k.word for k in n.kids]).sum(0) * r", "v * n.count", "janus.cat([v] * (n.count + 1)).sum()",
    "v.expand(n.count + 2, 3).sum(0)", "janus.ones(n.count + 1, 3).mul(v).sum(0)", "max([v.sum(), r.sum()])",
    "janus.stack([v, r]).sum(0)[:, n.count:n.count + 1]", "(lambda a: a[:, n.count:].sum())(v)",
]
TEXT = """
def visit(words, n):
    if not n.kids:
        x = words.weight[n.word].unsqueeze(0)
        return x{times}, x
    r, s = visit(words, n.kids[1])
    with janus.no_grad():
        v = {made}
    return {used} + s, r
"""


class Node:
    def __init__(self, rng, depth):
        self.word, self.count = rng.randrange(6), rng.randrange(3)
        self.kids = [Node(rng, depth - 1) for _ in range(2)] if depth else []


def run(visit, decorate):
    janus.manual_seed(5)
    rng, words = random.Random(5), janus.nn.Embedding(6, 3)
    out = []

    def f(roots):
        return sum([(visit(words, n)[0] * janus.tensor([0.5, -1.0, 2.0])).sum() for n in roots])

    f = decorate(f)
    for i in range(5):
        words.weight.grad = None
        y = f([Node(rng, i % 3) for _ in range(2)])
        y.backward()
        out.append((y.item(), words.weight.grad.tolist()))
    return out


@pytest.mark.parametrize("times", ["", " * 3"])
@pytest.mark.parametrize("made", MADE)
def test_unrecorded(made, times):
    graphs = 0
    for used in USED:
        source = TEXT.format(made=made, used=used, times=times)
        space = names_of(source, janus=janus)
        recorder = harness.Recorder(verify="never", measure=False)
        want, got = run(space["visit"], lambda f: f), run(space["visit"], recorder)
        for (y, grad), (y2, grad2) in zip(want, got):
            assert y == pytest.approx(y2, rel=1e-4, abs=1e-5), source
            assert sum(grad, []) == pytest.approx(sum(grad2, []), rel=1e-4, abs=1e-5), source
        graphs += recorder.total("graph") > 0
    assert graphs > len(USED) / 2
