# SPDX-License-Identifier: Apache-2.0
"""What a tensor with a history held before all of it is overwritten has a gradient of zeros, as in PyTorch, whatever is copied into it;
decorated functions agree, whether the gradient is taken inside or out of them."""
import itertools

import pytest

import janus
from texts import names_of

WRITES = {
    "a leaf": "y.copy_(u)", "a result": "y.copy_(u * 3)", "without a history": "y.copy_(x)", "broadcast": "y.copy_(u[0])", "another dtype": "y.copy_(u.double())",
    "twice": "y.copy_(u)\n    y.copy_(u * 2)", "in rounds": "for i in range(3):\n        y.copy_(u * i)", "an item": "y[...] = u", "by a view": "y.view(-1).copy_(u.view(-1))",
    "number": "y.fill_(3.0)", "used between": "z = y * 1.5\n    y.copy_(u)\n    y = y + z", "in an arm": "if float(x[0]) % 2 == 0:\n        y.copy_(u)",
    "transposed": "y = (w * x).view(1, 3).expand(2, 3).clone().t()\n    y.copy_(u.view(3, 1))\n    y = y[:, 0]", "and then": "y.copy_(u)\n    y.mul_(w)",
    "a part": "y = y[:2]\n    y.copy_(u[:2])", "a part of a view": "y = y.view(-1)[1:]\n    y.copy_(u[1:])", "number, used": "y.fill_(2.0)\n    y = y * u", "zeros, used": "y.zero_()\n    y = y + u", "drawn, used": "y.normal_()\n    y = y * u",
    "compared, used": "y.gt_(0.5)\n    y = y * u", "without a history, used": "y.copy_(x)\n    y = y * u", "by a view, used": "y.view(1, 3).fill_(2.0)\n    y = y * u",
    "itself": "y.copy_(y + u)", "by a callee": "over(y, u * 2)", "by a loop": "n = int(x[0])\n    while n > 0:\n        y.copy_(u * n)\n        n -= 1\n    y = y * u",
    "of no dims": "y = y.sum()\n    y.copy_(u[0])", "all items": "y[:] = u", "an item of one": "y = y[:1].clone()\n    y[0] = u[0]", "a row": "y = (w * x).view(1, 3).expand(2, 3).clone()[0]\n    y.copy_(u)",
}
ENDS = {"inside": "y.sum().backward()\n    return y.detach()", "outside": "return y", "retained": "y.retain_grad()\n    y.sum().backward()\n    return y.grad"}
TEXT = """
def over(t, by):
    t.copy_(by)

def f(w, u, x):
    y = w * x
    {write}
    {end}
"""


def outcomes(write, end, options, graphs=None):
    f = names_of(TEXT.format(write=WRITES[write], end=ENDS[end]), janus=janus)["f"]
    f = janus.function(f, **options) if options else f
    all = []
    for i in range(6):
        janus.manual_seed(i)
        w, u = (janus.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
        r = f(w, u, janus.ones(3) * (i + 2))
        if end == "outside":
            r.sum().backward()
        all.append([None if t is None else t.tolist() for t in (r, w.grad, u.grad)])
    if graphs is not None and f.stats()["graph"]:
        graphs.append(write)
    return all


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("options", [{"verify": "never", "measure": False}, {"measure": False}, {"verify": "never", "measure": False, "numerics": "exact"}], ids=str)
def test_as_undecorated(options, end):
    graphs = []
    for write in WRITES:
        want, got = outcomes(write, end, None), outcomes(write, end, options, graphs)
        assert want == got, write
    assert end == "retained" or len(graphs) > len(WRITES) * 2 // 3, graphs


@pytest.mark.parametrize("write", ["a leaf", "a result", "without a history", "broadcast", "another dtype", "twice", "in rounds", "an item", "by a view", "number", "transposed", "a part", "a part of a view", "a row"])
def test_zeros(write):
    for _, w, u in outcomes(write, "inside", None):
        assert w == [0.0, 0.0, 0.0] and (u is None) == (write in ("without a history", "number"))


def test_as_pytorch():
    """What PyTorch 2.15 printed for x of 2."""
    want = {"used between": [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]], "in an arm": [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
            "and then": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], "twice": [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]], "in rounds": [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]}
    for write, grads in want.items():
        assert outcomes(write, "inside", None)[0][1:] == grads, write


@pytest.mark.parametrize("pair", list(itertools.product(("float32", "float64"), repeat=2)))
def test_they_are_of_its_dtype(pair):
    old, new = (getattr(janus, name) for name in pair)
    w, u = janus.ones(3, dtype=old, requires_grad=True), janus.ones(3, dtype=new, requires_grad=True)
    y = w * 2
    y.copy_(u)
    y.sum().backward()
    assert (w.grad.dtype, u.grad.dtype, w.grad.tolist()) == (old, new, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("view", ["d[:]", "d.view(-1)", "d[1:]", "d.view(1, 3)"])
@pytest.mark.parametrize("write", ["b.copy_(x[0])", "d.mul_(2.0)", "b.fill_(1.0)", "b[0] = w[1]"])
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_a_region_is_given_a_view_whose_root_was_written(view, write):
    """The view is brought up to date when a statement of the region uses it: that is no change of its history, and it was no leaf before."""
    text = f"def f(w, x):\n    a = w * x\n    d = a * w\n    b = {view}\n    {write}\n    a[:] = a * 2\n    return (a * b.sum()).sum() + x\n"
    f = janus.function(names_of(text)["f"], measure=False)
    for i in range(5):
        f(janus.ones(3, requires_grad=True), janus.ones(3) * i)
    assert f.stats()["disproved"] == 0 and f.stats()["region_hits"] + f.stats()["graph"] > 0


REGION = "def f(w, x):\n    d = w * 2\n    x.numpy() + 0\n    b = {view}\n    x.numpy() + 0\n    {write}\n    x.numpy() + 0\n    c = b * 2\n    return {end}\n"


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.parametrize("view", ["d[1:]", "d[:]", "d.view(-1)", "d.view(3, 1)"])
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_a_graph_is_made_of_a_view_that_was_written(view, options):
    """What a statement of CPython's has filled has the history of its root, though nothing has asked for it when a graph is made."""
    hits = 0
    for write, end in itertools.product(("b.fill_(1.0)", "b.copy_(x[0])", "b.zero_()", "b.mul_(2.0)", "b[0] = 1.0", "d.fill_(1.0)"), ("c + b", "b + 1", "c * b", "(b * w[0]).exp()")):
        text, seen = REGION.format(view=view, write=write, end=end), []
        for decorate in (lambda f: f, lambda f: janus.function(f, measure=False, **options)):
            f, all = decorate(names_of(text)["f"]), []
            for i in range(6):
                w = janus.tensor([1.0, 2.0, 3.0], requires_grad=True)
                y = f(w, janus.ones(3) * i)
                all.append((y.requires_grad, y.tolist()))
                y.sum().backward()
                all.append(w.grad.tolist())
            seen.append(all)
        assert seen[0] == seen[1], text
        hits += f.stats()["region_hits"] > 0
    assert hits >= 20, hits
