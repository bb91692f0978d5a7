# SPDX-License-Identifier: Apache-2.0
"""A backward() that raises since the function went backward there has run the hooks before that, as CPython's: generated programs."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

FIRST = ("x * c", "x + c", "c.exp()", "Own.apply(x * c)", "Own.apply(c)")
THEN = ("y + 1", "y * y", "y.tanh()", "Own.apply(y)", "(y * 2).sum()", "y[:1]")
HOOKS = ("", "y.register_hook(h)", "z.register_hook(h)", "y.register_hook(h); z.register_hook(h)", "z.register_hook(h).remove()", "y.register_hook(lambda g: g * 2)")
BACK = ("y.sum().backward()", "z.sum().backward()", "z.sum().backward(retain_graph=True)", "janus.autograd.grad(z.sum(), [c])", "janus.autograd.backward([y.sum(), z.sum() * 2])", "pass")
ENDS = ("y", "z", "z, y", "z * 3", "(z - 1).exp()", "y + z")
CASES = list(itertools.product(FIRST, THEN, HOOKS, BACK, ENDS))

HEAD = """
class Own(janus.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        log.append("own")
        return g * 2 * ctx.saved_tensors[0]
log = []
def h(g): log.append(g.sum().item())
"""


def text(first, then, hooks, back, end):
    return HEAD + f"def f(x, c):\n    y = {first}\n    z = {then}\n    {hooks or 'pass'}\n    {back}\n    return {end}\n"


def seen(case, **options):
    names = names_of(text(*case), janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for i in range(4):
        c, x = janus.tensor([2.0, 1.0], requires_grad=True), janus.tensor([1.0, 1.5]).requires_grad_(i == 3)
        try:
            y = f(x, c)
            for t in y if isinstance(y, tuple) else (y,):
                for _ in range(2):
                    try:
                        t.sum().backward()
                    except RuntimeError as e:
                        out.append(str(e)[:30])
        except RuntimeError as e:
            out.append(str(e)[:30])
        out.append([t.grad if t.grad is None else [round(v, 3) for v in t.grad.tolist()] for t in (x, c)])
        out.append([v if isinstance(v, str) else round(v, 3) for v in names["log"]])
        names["log"].clear()
    return out, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("first", FIRST)
def test_hooks_run_before_it_raises(first):
    graphs = 0
    for case in share([case for case in CASES if case[0] == first][FIRST.index(first)::7]):
        want, _ = seen(case)
        for numerics in ("fast", "exact"):
            got, n = seen(case, verify="never", numerics=numerics)
            graphs += n
            assert want == got, (text(*case), numerics, [(a, b) for a, b in zip(want, got) if a != b][:2])
    assert graphs > 0
