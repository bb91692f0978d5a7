# SPDX-License-Identifier: Apache-2.0
"""What an op in place computes in a part of a tensor is kept in that tensor's memory: a later write to it, by any name, is seen by backward(). Where no
version says so (`.data`) it is said that the gradient cannot be had, once, and calls are CPython's from then on."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

PARTS = {"slice": "y[1:]", "select": "y[k % 3]", "rest": "y[k % 2:]", "column": "y.view(3, 1)[1:, 0]", "part of it": "y[1:][:1]", "all": "y", "turned": "y.view(3, 1).t()[0]"}
OPS = {"exp": "{p}.exp_()", "tanh": "{p}.tanh_()", "copied": "{p}.copy_(q.exp())", "another": "{p}.copy_(q[...].exp())", "scaled": "{p}.mul_(0.5)", "set": "{p}.copy_((q * 1.5)[...].sigmoid())"}
WRITES = {"none": "pass", "part": "y[:1].mul_(2.0)", "whole": "y.mul_(2.0)", "detached": "y.detach().mul_(2.0)", "data": "y.data.mul_(2.0)", "part of data": "y.data[1:].fill_(2.0)",
          "copy": "q.add_(1.0)", "no grad": "with janus.no_grad():\n        y.add_(1.0)"}
WHERE = {"in": ("{write}\n    return y, y", "pass"), "out": ("return y, y", "{write}"), "op": ("{write}\n    return y * 1.0, y", "pass"), "callee": ("w(y, q, k)\n    return y, y", "pass"),
         "arm": ("if k % 3:\n        w(y, q, k)\n    return y, y", "pass")}
TEXT = """
def w(y, q, k):
    {write}
def f(x, q, k):
    y = x * c
    {does}
    {end}
def later(y, q, k):
    {after}
"""


def outcomes(text, options):
    names = names_of(text, janus=janus, c=janus.ones(3, requires_grad=True))
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(6):
        names["c"].grad, x = None, janus.tensor([0.5, 1.0, 1.5]) + i * 0.1
        q = janus.ones(1) + i
        try:
            r, y = f(x, q, i)
            names["later"](y, q, i)
            r.sum().backward()
            got = [names["c"].grad.tolist(), y.tolist()]
        except RuntimeError as e:
            got = str(e)[:60]
        seen.append(got)
    return seen, f.stats()["graph"] + f.stats()["region_hits"] if options else 0


COPIED = "through .data before backward()"


def raises(got):
    """In how many calls the gradient could not be had."""
    return sum(isinstance(one, str) and COPIED in one for one in got)


def close(a, b):
    if isinstance(b, str) or isinstance(a, str):
        return a == b or COPIED in b
    return janus.allclose(janus.tensor(a), janus.tensor(b), rtol=1e-4)


@pytest.mark.parametrize("options", [{"verify": "never"}, {}, {"verify": "never", "numerics": "exact"}], ids=str)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(where, options):
    wrong, graphs, programs = [], 0, share(itertools.product(PARTS, OPS, WRITES))
    for part, op, write in programs:
        end, after = WHERE[where]
        text = TEXT.format(does=OPS[op].format(p=PARTS[part]), write=WRITES[write], end=end.format(write=WRITES[write]), after=after.format(write=WRITES[write]))
        want, _ = outcomes(text, None)
        got, ran = outcomes(text, {**options, "measure": False})
        graphs += ran > 0
        wrong += [(part, op, write, i, a, b) for i, (a, b) in enumerate(zip(want, got)) if not close(a, b)][:1]
        assert raises(got) <= 2, "the function is CPython's once a gradient was asked for in vain, and so is a region of it"
    assert not wrong, f"{len(wrong)} of {len(programs)}: {wrong[0]}"
    assert graphs > len(programs) // 3, graphs
