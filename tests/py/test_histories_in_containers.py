# SPDX-License-Identifier: Apache-2.0
"""Lists, dicts and objects that a function makes and returns: of the tensors in them those have a history that have one undecorated,
where rounds, arms and recursions of the graph make some of them require grad and leave others as they were."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# How `a`, which is x at first, comes to require grad, if it does; {put} is what is done with it there.
PATHS = {
    "rounds": "for i in range(n):\n        {put}\n        a = a * p\n    i = n\n    {put}",
    "rounds, then": "for i in range(n):\n        a = a * p\n    for i in range(n + 1):\n        {put}",
    "the second round": "for i in range(n):\n        a = x * p if i else x * 1\n        {put}",
    "arms of rounds": "for i in range(n):\n        if a.sum() > 3:\n            a = a * p\n        {put}\n    i = n\n    {put}",
    "loops in loops": "for j in range(n):\n        for i in range(2):\n            {put}\n            a = a * p if j > 1 else a + 1",
    "two at once": "b = x + 1\n    for i in range(n):\n        a, b = b * p, a\n        {put}",
    "a tree": "walk(n, a, x, out)\n    i = 99\n    {put}",
    "a tree, results": "a = down(n, a, x, out)\n    i = 99\n    {put}",
    "cut off": "for i in range(n):\n        a = (a * p).detach() if i % 2 else a * p\n        {put}",
    "no_grad": "for i in range(n):\n        with janus.no_grad():\n            a = a * p\n        {put}\n        a = a * p",
}
# What it is put into.
PUTS = {
    "a list": ("[]", "out.append({value})"),
    "a dict": ("{}", "out[i] = {value}"),
    "pairs": ("[]", "out.append(({value}, i))"),
    "objects": ("[]", "out.append(Box({value}))"),
}
VALUES = ["a * 2", "a.exp()", "a * a + x", "a"]
GIVEN = {
    "plain": "janus.tensor([1.0, 0.5 + k % 2])",
    "by turns": "janus.tensor([1.0, 2.0], requires_grad=k % 2 > 0)",
    "computed": "janus.tensor([1.0, 0.5 + k % 2]) * q",
}
# What the caller does then; ts are the tensors.
USES = {
    "sum": "sum((t.sum() for t in ts if t.requires_grad), p.sum()).backward()\n    seen(p.grad)",
    "first": "ts[0].sum().backward()\n    seen(p.grad)",
    "last": "ts[-1].sum().backward()\n    seen(p.grad)",
    "of each": "for t in ts:\n        seen(*janus.autograd.grad(t.sum(), [p], allow_unused=True, retain_graph=True))",
    "made a leaf": "ts[0].requires_grad or ts[0].requires_grad_()\n    (ts[0] * ts[-1]).sum().backward()\n    seen(p.grad)",
}
TEXT = """
class Box:
    def __init__(self, value):
        self.value = value

def walk(n, a, x, out):
    if n > 0:
        walk(n - 1, a * p, x, out)
        walk(n - 2, a, x, out)
    i = n
    {put}

def down(n, a, x, out):
    i = n
    {put}
    return a if n <= 0 else down(n - 1, a * p if n % 2 else a + 1, x, out)

def f(x, n):
    out = {made}
    a = x
    {path}
    return out

def program(f, k, seen):
    p.grad = None
    x = {given}
    out = f(x, (0, 2, 1, 3)[k % 4])
    for v in out.values() if isinstance(out, dict) else out:
        t = v.value if isinstance(v, Box) else v[0] if isinstance(v, tuple) else v
        seen(t.requires_grad, t.is_leaf, t.grad_fn is None, t is x, t)
        ts.append(t)
    {use}
"""


def text_of(path, put, value, given, use):
    made, store = PUTS[put]
    text = TEXT.replace("{path}", PATHS[path]).replace("{put}", store.replace("{value}", value))
    return text.replace("{made}", made).replace("{given}", GIVEN[given]).replace("{use}", USES[use])


def outcomes(names, f):
    """Of twelve calls."""
    out = []
    for k in range(12):
        seen = []
        names["ts"].clear()

        def note(*values):
            seen.extend(v.tolist() if isinstance(v, janus.Tensor) else v for v in values)

        try:
            names["program"](f, k, note)
        except (RuntimeError, IndexError) as e:
            seen.append(str(e)[:60])
        out.append(seen)
    return out


def close(a, b, exact):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, exact) for x, y in zip(a, b))
    return a == b or (not exact and isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a)))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("path", PATHS)
def test_what_is_in_it_has_the_history_of_cpythons(path, numerics):
    graphs = 0
    part = [(p, v, g, u) for p in PUTS for v in VALUES for g in GIVEN for u in USES][list(PATHS).index(path) % 3::3]
    for put, value, given, use in shares.share(part):
        outcome = []
        for decorated in (False, True):
            p, q = (janus.tensor(v, requires_grad=True) for v in ([0.5, 2.0], [1.5, -1.0]))
            names = names_of(text_of(path, put, value, given, use), janus=janus, p=p, q=q, ts=[], __name__="program")
            f = names["f"]
            f = janus.function(f, verify="never", measure=False, numerics=numerics) if decorated else f
            outcome.append(outcomes(names, f))
        assert close(*outcome, numerics == "exact"), (put, value, given, use)
        graphs += f.stats()["graph"]
    assert graphs
