# SPDX-License-Identifier: Apache-2.0
"""What backward() uses up of a branch, and what must not be written until then, is that of the arm that was taken: generated arms."""
import itertools

import pytest

import janus
from texts import names_of

ARMS = {"exp": "x.exp()", "square": "x * x", "scaled": "x * 2", "sum": "x + w", "product": "x * w", "tanh": "(x + w).tanh()", "same": "x",
        "view": "x.reshape(6)[:6].reshape(2, 3)", "two": "(x * 3).exp() * 2", "relu": "x.relu()", "max": "janus.maximum(x, w)",
        "power": "x ** 2", "division": "1 / x"}
AFTER = {"returned": "return y", "used": "return y + 1", "kept": "return y * y", "more": "return y, y * 2", "nested":
         "if x.sum() > 100:\n        y = y.exp()\n    return y", "again": "if w.sum() > 1:\n        y = y * y\n    else:\n        y = y + x\n    return y"}


def programs():
    for (a, b), after in itertools.product(itertools.permutations(ARMS, 2), AFTER):
        yield f"if x.sum() > 1:\n        y = {ARMS[a]}\n    else:\n        y = {ARMS[b]}\n    {AFTER[after]}"


def outcomes(f, signs):
    """What each use of the results after a call gives, or raises, for the one arm and the other."""
    uses = {"written": lambda out, x, w: out.add_(1), "detached written": lambda out, x, w: out.detach().mul_(2),
            "x written": lambda out, x, w: x.detach().mul_(2), "w written": lambda out, x, w: w.detach().mul_(2),
            "nothing": lambda out, x, w: None}
    for (name, use), sign, round in itertools.product(uses.items(), signs, range(3)):
        x = janus.tensor([[1.0, 2.0, 3.0], [0.5, 1.5, 2.5]]) * sign
        w = (janus.ones(2, 3) * 0.75 + round).requires_grad_()
        x.requires_grad_()
        seen = [name, sign, round]
        out = f(x, w)
        one = out[0] if isinstance(out, tuple) else out
        for what in (lambda: use(one, x, w), lambda: one.sum().backward(), lambda: one.sum().backward()):
            try:
                what()
                seen.append([t.grad.tolist() if t.grad is not None else None for t in (x, w)])
            except RuntimeError as e:
                text = str(e)
                seen.append(text.split(";")[0][:60] if "second time" in text else "modified" if "modified" in text else text)
        yield seen


@pytest.mark.parametrize("part", range(6))
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_the_tape_does(part):
    bodies = list(programs())[part::6]
    names = names_of("\n".join(f"def f{i}(x, w):\n    {body}\n" for i, body in enumerate(bodies)), janus=janus)
    graphs, wrong = 0, []
    for i, body in enumerate(bodies):
        plain = names[f"f{i}"]
        f = janus.function(plain, verify="never", numerics="exact", measure=False)
        want, got = list(outcomes(plain, (1, -1))), list(outcomes(f, (1, -1)))
        graphs += f.stats()["graph"] > 0
        if want != got:
            wrong.append((body, [(w, g) for w, g in zip(want, got) if w != g][0]))
    assert not wrong, f"{len(wrong)} of {len(bodies)}: {wrong[:3]}"
    assert graphs > 0.6 * len(bodies), f"{graphs} of {len(bodies)} were graphs"


def test_arms_before_a_gradient_of_the_graph():
    """A program with a branch that goes backward twice itself, and writes between: some of the graph's nodes are no ops."""
    names = names_of("""
def f(x, w):
    if x.sum() > 0:
        y = x.exp()
    else:
        y = (x * w).sigmoid()
    z = y * y
    z.sum().backward(retain_graph=True)
    d = y.data.view(-1)
    d[1:3] = 5
    z.sum().backward()
    return z
""", janus=janus)
    seen = []
    for f in (names["f"], janus.function(names["f"], verify="never", numerics="exact", measure=False)):
        for sign in (1, 1, 1, -1):
            x, w = (janus.ones(3, 3) * sign).requires_grad_(), janus.ones(3, 3).requires_grad_()
            z = f(x, w)
            seen.append([z.tolist(), x.grad.tolist(), w.grad.tolist() if w.grad is not None else None])
    assert seen[:4] == seen[4:]
