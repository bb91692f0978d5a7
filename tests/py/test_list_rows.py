# SPDX-License-Identifier: Apache-2.0
"""Which rows of a list of unknown length get a gradient: what only the others lead to keeps `.grad` None, and no factor of
theirs is multiplied by zeros (inf would make NaN of it).  Programs are ways to make a list times ways to use it."""
import random

import janus
import pytest
from compared import close
from shares import LIGHT

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
def make(w, E):
    def step(n):
        def rec(n):
            if not n.kids:
                if n.v < 1:
                    return E[0] * 1.5
                if n.v < 2:
                    return E[1] * n.v
                return E[2] / (E[2] * n.z)
            kids = {items}
            {use}
        {end}
    return step
"""

LISTS = {
    "plain": "[rec(k) for k in n.kids]",
    "again": "[k * 2 for k in [rec(k) for k in n.kids]]",
    "some": "[rec(k) for k in n.kids if k.c]",
    "pairs": "[(rec(k), rec(k) * w) for k in n.kids]",
}

USES = {
    "first": "return kids[0] * w",
    "last": "return kids[-1] * w",
    "computed": "return kids[n.j] * w",
    "either": "return kids[0 if n.c else -1] * w",
    "branch": """
            if n.c:
                return kids[0] * w
            return kids[-1]""",
    "two": "return kids[0] * w + kids[-1]",
    "detached": "return kids[0].detach() * w + kids[-1]",
    "all": """
            s = w
            for k in kids:
                s = s + k
            return s""",
    "all_from_none": """
            s = None
            for k in kids:
                s = k if s is None else s + k
            return s""",
    "break": """
            s = w
            for k in kids:
                s = s + k
                if n.c:
                    break
            return s""",
    "condition": """
            s = w
            for i, k in enumerate(kids):
                if i == n.j:
                    s = s + k * w
            return s""",
    "overwritten": """
            s = w
            for k in kids:
                s = k * w
            return s""",
    "beside": """
            s = w
            for k, m in zip(kids, n.kids):
                if m.c:
                    s = s + k
            return s""",
    "mapped": """
            s = w
            for k in map(lambda k: k * w + kids[0], kids):
                s = k
            return s""",
    "some_rounds": """
            s = w
            for i in range(n.j):
                s = s + kids[i]
            return s""",
    "none": "return w * len(kids)",
}

PAIRS = {
    "one": "return kids[0][0] * w",
    "across": "return kids[0][0] * kids[-1][1]",
    "rounds": """
            s = w
            for a, b in kids:
                s = s + a
            return s""",
}

ENDS = {
    "outside": "return rec(n).sum()",
    "inside": "l = rec(n).sum()\n        l.backward()\n        return l.detach()",
    "results": "l = rec(n)\n        return (l * 2).sum(), l.mean()",
    "twice": """
        l = rec(n)
        a = (l * 2).sum()
        b = l.mean()
        a.backward(retain_graph=True)
        b.backward()
        return a.detach(), b.detach()""",
}


class Node:
    pass


def tree(depth, rng, zero):
    n = Node()
    n.v, n.z = float(rng.randrange(3)), 0.0 if zero else 1.0
    n.kids = [tree(depth - 1 - rng.randrange(2), rng, zero) for _ in range(rng.randrange(2, 6))] if depth > 0 else []
    n.c = rng.random() < 0.5
    for k in n.kids[:1]:
        k.c = True  # `some` is not empty
    n.j = rng.randrange(1 + sum(k.c for k in n.kids[1:])) if n.kids else 0
    return n


def run(source, name, zero, numerics):
    """What each of some calls gives and leaves in .grad, and how many were graphs."""
    names = {"janus": janus}
    exec(compile(source, name, "exec"), names)
    w = janus.tensor([2.0, 3.0], requires_grad=True)
    leaves = [w, *(janus.tensor([1.0, 1.5 + i], requires_grad=True) for i in range(3))]
    step = names["make"](w, leaves[1:])
    if numerics:
        step = janus.function(step, verify="never", measure=False, numerics=numerics)
    rng, seen = random.Random(5), []
    for i in range(12):
        for p in leaves:
            p.grad = None
        out = step(tree(1 + i % 2, rng, zero))
        for x in out if isinstance(out, tuple) else (out,):
            seen.append([x.item()])
            if x.requires_grad:
                x.backward(retain_graph=isinstance(out, tuple))
            seen.extend(None if p.grad is None else p.grad.tolist() for p in leaves)
    return seen, step.stats()["graph"] if numerics else 0


def cases():
    for end in ENDS:
        for items in LISTS:
            for use in PAIRS if items == "pairs" else USES:
                if end == "outside" or items == "plain":
                    yield end, items, use


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.mark.parametrize("end,items,use", list(cases()))
def test_rows(folder, end, items, use):
    source = PROGRAM.format(items=LISTS[items], use=(PAIRS if items == "pairs" else USES)[use], end=ENDS[end])
    path = folder / f"{end}_{items}_{use}.py"
    path.write_text(source)
    for zero, numerics in [(True, "fast")] if LIGHT else [(False, "fast"), (True, "fast"), (True, "exact")]:
        want, _ = run(source, str(path), zero, None)
        have, graphs = run(source, str(path), zero, numerics)
        assert len(want) == len(have)
        for i, (a, b) in enumerate(zip(want, have)):
            assert close(a, b), (zero, numerics, i)
        if numerics == "fast" and end == "outside":
            assert graphs > 0


LATER = """
def make(w, E):
    def step(n):
        kids = [E[int(k.v)] * k.z for k in n.kids]
        a = kids[0].sum()
        b = (a * kids[-1]).sum()
        return a, b
    return step
"""


def test_rows_read_behind_a_result(folder):
    """What is computed from a result has a gradient of its own."""
    path = folder / "later.py"
    path.write_text(LATER)
    want, _ = run(LATER, str(path), False, None)
    have, _ = run(LATER, str(path), False, "fast")
    assert len(want) == len(have) and all(map(close, want, have))


def test_lists_read_whole_have_no_keys(folder):
    """Where all rows are read on the same terms, nothing is asked when the graph runs."""
    for use, keys in (("all", False), ("first", True)):
        path = folder / f"keys_{use}.py"
        source = PROGRAM.format(items=LISTS["plain"], use=USES[use], end=ENDS["outside"])
        path.write_text(source)
        names = {"janus": janus}
        exec(compile(source, str(path), "exec"), names)
        w = janus.tensor([2.0, 3.0], requires_grad=True)
        step = janus.function(names["make"](w, [janus.tensor([1.0, 1.5], requires_grad=True) for _ in range(3)]),
                              verify="never", measure=False)
        rng = random.Random(5)
        for i in range(12):
            step(tree(1 + i % 2, rng, False)).backward()
        assert step.stats()["graph"] > 0
        assert any("rows." in str(g) for g in step.graphs()) == keys
