# SPDX-License-Identifier: Apache-2.0
"""The first and the last items of a list of the caller's that the graph makes longer: `losses[-3:]`."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

PLACES = {  # of the list: made, and how the function comes to it
    "an argument": ("[]", "s"),
    "a value of a dict": ("{'loss': []}", "s['loss']"),
    "an attribute": ("Box(losses=[])", "s.losses"),
    "a dict of an object": ("Box(history={'loss': [], 'n': []})", "s.history['loss']"),
}
PARTS = ["[-1:]", "[-3:]", "[-4:-1]", "[-2:-2]", "[:2]", "[1:3]", "[0:1]", "[-1:-3]", "[-3:len('ab') - 3]"]
USES = [
    "y = y + sum({l}{p})",
    "r = {l}{p}\n    {l}.append(0.5)\n    y = y + len(r) + sum(r)",
    "for q in {l}{p}:\n        y = y * 0.5 + q",
    "print({l}{p})",
    "y = y + sum({l}{p}) / max(len({l}{p}), 1)",
    "y = y + torch.tensor([1.0, *{l}{p}]).sum()",
    "r = {l}{p}\n    r.append(2.0)\n    y = y + r[0] + r[-1]",
]


class Box:
    def __init__(self, **names):
        self.__dict__.update(names)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("part", PARTS)
def test_ends_of_what_grows(place, part, capsys):
    make, l = PLACES[place]
    for use, kind in share(itertools.product(USES, ["y.sum().item()", "n"])):
        body = use.format(l=l, p=part)
        text = f"def f(x, s, n):\n    y = x * 2\n    {l}.append({kind})\n    {body}\n    return y\n"
        seen = {}
        for decorated in (False, True):
            f = names_of(text, torch=janus)["f"]
            f = janus.function(f, measure=False, verify="never", regions=False) if decorated else f
            s = eval(make, {"Box": Box})
            for i in range(40):
                if decorated and i == 24:
                    before = f.stats()["graph"]
                y = f(janus.tensor([1.5, i / 4]), s, i * 3)
                seen.setdefault(decorated, []).append(y.tolist() + [list(eval(l, {"s": s}))])
            seen[decorated].append(capsys.readouterr().out)
        assert seen[True] == seen[False], text
        assert f.stats()["graph"] - before >= 14, (text, janus.explain(f))


UNKNOWN = ["[1:]", "[:-1]", "[-2:2]", "[::-1]", "[-40:]", "[:n]", "[-n:]"]


@pytest.mark.parametrize("part", UNKNOWN)
def test_other_parts_are_right(part):
    text = f"def f(x, s, n):\n    s.append(x.sum().item())\n    return x * len(s{part}) + sum(s{part})\n"
    f = names_of(text, torch=janus)["f"]
    g, a, b = janus.function(f, measure=False), [], []
    for i in range(30):
        x = janus.tensor([1.5, i])
        assert f(x, a, i % 5).tolist() == pytest.approx(g(x, b, i % 5).tolist())
    assert a == b
