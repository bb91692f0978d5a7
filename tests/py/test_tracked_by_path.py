# SPDX-License-Identifier: Apache-2.0
"""Tensors that require grad on some paths only, put into what the function makes and read back: what comes back requires
grad where it does undecorated, and its gradients are the same."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TRACKS = {
    "never": "if 0 > len(l):\n        x = x * w", "by a length": "if len(l) > 1:\n        x = x * w", "by a value": "if x.sum() > 2:\n        x = x * w",
    "by a loop": "for q in l[1:]:\n        x = x * w", "in turn": "if x.sum() > 2:\n        x = x * w\n    else:\n        x = x * 3",
    "cut again": "x = x * w\n    if x.sum() > 0:\n        x = x.detach()", "always": "x = x * w", "nowhere": "x = x + 1",
}
PUTS = {
    "list": ("parts = [x for q in l]", "parts.append(x * 2)", "for p in parts:\n        y = p"),
    "plain beside": ("parts = [x.detach() for q in l]", "parts.append(x * 2)", "for p in parts:\n        y = y + p"),
    "twice": ("parts = [x for q in l]", "parts.append(x)\n    parts.append(x * 2)", "y = parts[-1] + parts[-2]"),
    "dict": ("parts = {str(i): x for i, q in enumerate(l)}", "parts['a'] = x * 2", "for k in parts:\n        y = parts[k]"),
    "tuples": ("parts = [(x, 0) for q in l]", "parts.append((x * 2, 1))", "for p, n in parts:\n        y = p * (n + 1)"),
    "instance": ("box = Box()\n    for q in l:\n        box.part = x", "box.part = x * 2", "y = box.part"),
}
PLACES = {"main": "{put}\n    {get}", "arm": "if x.sum() > 0:\n        {put2}\n        {get2}", "arm, read behind": "if x.sum() > 0:\n        {put2}\n    {get}"}


def text(tracks, puts, place):
    make, put, get = PUTS[puts]
    body = PLACES[place].format(put=put, get=get, put2=put.replace("\n", "\n    "), get2=get.replace("\n", "\n    "))
    return f"""
class Box:
    part = None

def f(x, w, l):
    y = x
    {make}
    {TRACKS[tracks]}
    {body}
    return y
"""


def outcomes(f):
    out = []
    for k in range(12):
        x, w, l = janus.ones(3) * (k % 2 + 0.5), janus.tensor([0.5, 0.75, 1.25], requires_grad=True), [1] * (k // 4)
        try:
            y = f(x, w, l)
            seen = (y.requires_grad, y.tolist())
            if y.requires_grad:
                y.sum().backward()
            out.append((seen, w.grad.tolist() if w.grad is not None else None))
        except (RuntimeError, TypeError) as e:  # box.part is None
            out.append(type(e).__name__)
    return out


@pytest.mark.parametrize("place", PLACES)
def test_requires_grad_where_it_does(place):
    graphs = 0
    for puts in PUTS:
        for tracks in TRACKS:
            names = names_of(text(tracks, puts, place), janus=janus, __name__="program")
            f = janus.function(names["f"], verify="never", measure=False)
            assert outcomes(f) == outcomes(names["f"]), (puts, tracks)
            graphs += f.stats()["graph"]
    assert graphs
