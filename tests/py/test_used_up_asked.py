# SPDX-License-Identifier: Apache-2.0
"""Results whose history a gradient inside the function has used up: autograd.grad() and backward(inputs=) of them raise for what that
history leads to, as undecorated, and do not say that it leads nowhere."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

INSIDE = {
    "grad": "g, = janus.autograd.grad((a * a).sum(), [p])",
    "backward": "(a * a).sum().backward()\n    g = a.detach()",
    "retained": "g, = janus.autograd.grad((a * a).sum(), [p], retain_graph=True)",
}
RETURNED = {"a * g": "r", "a": "r", "a.exp() * 2": "r", "a, g": "r, _", "[a * g, a.sum()]": "_, r", "a[0]": "r"}
# What it is given, c.
LAID = {"x": "x", "computed": "x * 2", "not tracked": "x.detach()", "a view": "x.t()"}
ASKS = {
    "p": "seen(*janus.autograd.grad(r.sum(), [p], allow_unused=True))",
    "c": "seen(*janus.autograd.grad(r.sum(), [c], allow_unused=True)) if c.requires_grad else None",
    "x": "seen(*janus.autograd.grad(r.sum(), [x], allow_unused=True))",
    "all": "seen(*janus.autograd.grad(r.sum(), [x, p, z], allow_unused=True))",
    "another": "seen(*janus.autograd.grad(r.sum(), [z], allow_unused=True))",
    "of more": "seen(*janus.autograd.grad((r * z).sum(), [z, p], allow_unused=True))",
    "of more, another": "seen(*janus.autograd.grad((r * z).sum(), [z], allow_unused=True))",
    "inputs": "r.sum().backward(inputs=[p])\n    seen(p.grad)",
    "backward": "r.sum().backward()\n    seen(p.grad, x.grad)",
}
TEXT = """
def f(x):
    a = x * p
    {inside}
    return {returned}

def program(f, k, seen):
    p.grad = None
    x = janus.tensor([[1.0, 2.0], [0.5, 1.0 - k]], requires_grad=True)
    c = {laid}
    {bound} = f(c)
    {ask}
"""


def outcomes(names, f):
    """Of six calls."""
    out = []
    for k in range(6):
        seen = []
        try:
            names["program"](f, k, lambda *ts: seen.extend(None if t is None else t.tolist() for t in ts))
        except RuntimeError as e:
            seen.append(str(e)[:60])
        out.append(seen)
    return out


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("returned", RETURNED)
def test_what_is_asked_of_it(inside, returned):
    graphs = 0
    for laid, ask in shares.share((c, a) for c in LAID for a in ASKS):
        outcome = []
        for decorated in (False, True):
            p, z = (janus.tensor(v, requires_grad=True) for v in ([0.5, 2.0], [2.0, -1.0]))
            text = TEXT.format(inside=INSIDE[inside], returned=returned, bound=RETURNED[returned], laid=LAID[laid], ask=ASKS[ask])
            names = names_of(text, janus=janus, p=p, z=z, __name__="program")
            f = names["f"]
            f = janus.function(f, verify="never", measure=False, numerics="exact") if decorated else f
            outcome.append(outcomes(names, f))
            graphs += f.stats()["graph"] if decorated else 0
        assert outcome[0] == outcome[1], (laid, ask)
    assert graphs
