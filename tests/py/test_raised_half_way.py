# SPDX-License-Identifier: Apache-2.0
"""A backward() that raises half-way has used up what it came past, and nothing of what lies before: generated chains."""
import itertools

import pytest

import janus
from texts import names_of

OPS = {"exp": "{v}.exp()", "square": "{v} * {v}", "product": "{v} * w", "scaled": "{v} * 2", "added": "{v} + {w}", "tanh": "{v}.tanh()"}
LEAVE = ("a, b, c, d, (a * w).exp()", "a, d, (a * w).exp()", "b, d, (b * w).exp()", "a, (c * b).exp(), c.exp() * d")
CHAINS = list(itertools.product(itertools.permutations(OPS, 3), LEAVE))


def text(chain):
    """`a`, `b` and `c`, each of the one before, and what goes on from them; all leave, or some."""
    lines, before = [], "x"
    for name, op in zip("abc", chain[0]):
        lines.append(f"    {name} = {OPS[op].format(v=before, w='w' if before == 'x' else 'x')}")
        before = name
    return "def f(x, w):\n" + "\n".join(lines) + "\n    d = c * c + b\n    return " + chain[1] + "\n"


def said(e):
    return "freed" if "second time" in str(e) else "written" if "modified" in str(e) else str(e)[:60]


def outcomes(f):
    """Of each tensor that is written, and each result that goes backward then: what that says, and every one of the others after it."""
    n = len(f(janus.ones(2), janus.ones(2)))
    for written, first, again, retain in itertools.product(range(-1, n - 1), range(1, n), range(n), (False, True)):
        x, w = (janus.tensor([0.5, 1.5]) * 0.5).requires_grad_(), janus.tensor([0.75, 1.25]).requires_grad_()
        out = f(x, w)
        (x if written < 0 else out[written]).detach().mul_(2)
        seen = [written, first, again, retain]
        for k, keep in ((first, retain), (again, True), (first, True)):
            try:
                out[k].sum().backward(retain_graph=keep)
                seen.append("ran")
            except RuntimeError as e:
                seen.append(said(e) if seen[4:5] != ["ran"] else "raised")
        for k in range(n - 1):
            try:
                g = janus.autograd.grad(out[-1].sum(), [out[k]], retain_graph=True, allow_unused=True)
                seen.append(g[0].tolist() if g[0] is not None else None)
            except RuntimeError as e:
                seen.append(said(e) if seen[4:5] != ["ran"] else "raised")
        yield seen + [t.grad.tolist() if t.grad is not None else None for t in (x, w)]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_what_was_come_past_is_used_up(part):
    graphs, wrong, n = 0, [], 0
    for chain in CHAINS[part::4]:
        plain = names_of(text(chain), janus=janus)["f"]
        f = janus.function(plain, verify="never", numerics="exact", measure=False)
        for _ in range(3):
            f(janus.ones(2).requires_grad_(), janus.ones(2).requires_grad_())
        for want, got in zip(outcomes(plain), outcomes(f)):
            n += 1
            if want != got:
                wrong.append((text(chain), want, got))
        graphs += f.stats()["graph"] > 0
    assert graphs == len(CHAINS[part::4])
    assert not wrong, f"{len(wrong)} of {n}: {wrong[0][0]}{wrong[0][1:]}"
