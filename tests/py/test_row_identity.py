# SPDX-License-Identifier: Apache-2.0
"""Items of lists of unknown length, which a graph keeps as rows, are the objects that they are in CPython wherever that is
seen: what a recursion stores and hands on, what is read twice, what the caller has, what is written afterwards, by the
graph or after the call.  Programs are what leaves are, times ways to make a list, times ways to hand an item on, times
places where it stays; and what is put in a list, times writes to it, times reads."""
import itertools
import random

import janus
import pytest
from compared import close
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

STAYS = """
def make(w, E, box):
    def step(n):
        def rec(n):
            if not n.kids:
                {leaf}
            {parts}
            {hand}
            {place}
        {end}
    return step
"""
LEAVES = {
    "new": "return w * n.v",
    "stored": "r = w * n.v; box.append(r); return r",
    "attribute": "n.h = w * n.v; return n.h",
    "table": "return E[int(n.v)]",
    "held": "return n.x",
    "argument": "return w",
    "view": "return w[0:2]",
}
PARTS = {
    "list": "parts = [rec(k) for k in n.kids]",
    "again": "parts = [rec(k) for k in n.kids]; parts = [p for p in parts]",
    "grown": "parts = []\n            for k in n.kids: parts.append(rec(k))",
    "pairs": "parts = [p for p, i in [(rec(k), k.v) for k in n.kids]]",
    "generator": "parts = list(rec(k) for k in n.kids)",
}
HANDS = {
    "first": "r = parts[0]",
    "last": "r = parts[-1]",
    "loop": "r = None\n            for p in parts: r = p",
    "some": "r = parts[0]\n            for p, k in zip(parts, n.kids):\n                if k.c: r = p",
    "max": "r = max(parts, key=lambda t: float(t.sum()))",
    "sorted": "r = sorted(parts, key=lambda t: float(t.sum()))[0]",
    "next": "r = next(iter(parts))",
    "slice": "r = parts[:1][0]",
    "unpack": "r, *_ = parts",
    "view": "r = parts[0].view(2)",
    "computed": "r = parts[0] * 2",
}
PLACES = {
    "result": "return r",
    "list": "box.append(r); return r",
    "two": "box.append(r); box.append(parts[0]); return r * 2",
    "each": "for p in parts: box.append(p)\n            return r",
    "attribute": "n.h = r; return r",
    "dict": "n.d['h'] = r; return r",
    "tuple": "box.append((r, r)); return r",
}
ENDS = {
    "result": "return rec(n)",
    "sum": "return rec(n).sum()",
    "pair": "q = rec(n); return q, q",
    "list": "parts = [rec(k) for k in n.kids] or [w * 1]\n        box.append(parts[0])\n        return parts[0], parts[-1]",
}

WRITES = """
def make(w, E, box):
    def step(n):
        def rec(n):
            {before}
            parts = {put}
            {write}
            {read}
        return rec(n)
    return step
"""
BEFORE = {
    "own": "h = w * n.v",
    "added": "h = w * n.v\n            for k in n.kids: h += rec(k)",
    "call": "h = rec(n.kids[0]) if n.kids else w * n.v",
    "sum": "h = w * n.v\n            for k in n.kids: h = h + rec(k)",
}
PUT = {
    "same": "[h for k in n.kids]",
    "view": "[h[0:2] for k in n.kids]",
    "row": "[h[int(k.v) // 2] for k in n.kids]",
    "calls": "[rec(k) for k in n.kids]",
    "either": "[h if k.c else rec(k) for k in n.kids]",
    "held": "[k.x for k in n.kids]",
    "one": "[w if k.c else h for k in n.kids]",
}
WRITE = {
    "mul_": "h.mul_(2)",
    "iadd": "h += 1",
    "item": "h[0] = 7",
    "data": "h.data.mul_(2)",
    "condition": "if n.c: h.mul_(3)",
    "loop": "for k in n.kids: h.mul_(1.5)",
    "view": "h[1:].mul_(2)",
    "read": "q = h\n            for k in n.kids:\n                h = h + parts[0]\n                q.mul_(2)",
    "first": "if n.kids: parts[0].mul_(2)",
    "each": "for p, k in zip(parts, n.kids): p += k.v",
}
READ = {
    "first": "return h + parts[0] if n.kids else h",
    "sum": "for p in parts: h = h + p\n            return h",
    "last": "return parts[-1] if n.kids else h",
    "none": "return h",
}


class Node:
    pass


def tree(depth, rng):
    n = Node()
    n.v, n.c, n.d, n.h = float(rng.randrange(3)), rng.random() < 0.5, {}, None
    n.x = janus.tensor([rng.random(), 1.0])
    n.kids = [tree(depth - 1 - rng.randrange(2), rng) for _ in range(rng.randrange(1, 4))] if depth > 0 else []
    return n


def tensors(o, out):
    """All tensors that something leads to, in order."""
    if isinstance(o, janus.Tensor):
        out.append(o)
    elif isinstance(o, Node):
        tensors([o.x, o.h, o.d, o.kids], out)
    else:
        for x in o.values() if isinstance(o, dict) else o if isinstance(o, (list, tuple)) else ():
            tensors(x, out)
    return out


def seen_of(o):
    """Which of them are one object, and what they hold."""
    all_of, first = tensors(o, []), {}
    return [first.setdefault(id(t), len(first)) for t in all_of], [t.detach().tolist() for t in all_of]


def run(text, grad, numerics):
    w, tables, box = janus.tensor([2.0, 3.0], requires_grad=grad), [janus.tensor([1.0, 1.5 + i]) for i in range(3)], []
    step = names_of(text, janus=janus)["make"](w, tables, box)
    if numerics:
        step = janus.function(step, verify="never", measure=False, numerics=numerics)
    rng, seen = random.Random(3), []
    for i in range(6):
        box.clear()
        w.grad = None
        n = tree(1 + i % 3, rng)
        try:
            r = step(n)
        except RuntimeError as e:
            seen.append(type(e).__name__)
            continue
        everything = [r, box, n, w, tables]
        seen.append(seen_of(everything))
        first = tensors(r, [])[0]
        if first.requires_grad and not first.is_leaf:
            try:
                first.sum().backward()
            except RuntimeError as e:
                seen.append(type(e).__name__)
            seen.append(None if w.grad is None else w.grad.tolist())
        if i > 2:  # writes after the call reach all names
            with janus.no_grad():
                for k, t in enumerate({id(t): t for t in tensors(everything, [])}.values()):
                    t.data.mul_(1 + k / 8)
                seen.append(seen_of(everything))
                for k, t in enumerate([w, *tables]):
                    t.data.copy_(janus.tensor([1.0, 0.5 + k] if k else [2.0, 3.0]))
    return seen, step.stats()["graph"] if numerics else 0


def check(programs):
    rng, graphs = random.Random(1), 0
    for names, text in programs:
        grad, numerics = rng.random() < 0.4, rng.choice(["fast", "fast", "exact"])
        want, _ = run(text, grad, None)
        have, n = run(text, grad, numerics)
        graphs += n > 0
        assert close(want, have), (names, grad, numerics)
    return graphs


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_stays_is_one_object(leaf):
    combinations = random.Random(leaf).sample(list(itertools.product(PARTS, HANDS, PLACES, ENDS)), 24)
    combinations.append(("list", "first", "list", "result"))
    graphs = check([((leaf, p, h, place, e), STAYS.format(leaf=LEAVES[leaf], parts=PARTS[p], hand=HANDS[h], place=PLACES[place],
                                                        end=ENDS[e])) for p, h, place, e in combinations])
    assert graphs or leaf == "view"


@pytest.mark.parametrize("put", PUT)
def test_writes_reach_what_a_list_holds(put):
    combinations = random.Random(put).sample(list(itertools.product(BEFORE, WRITE, READ)), 24)
    combinations.append(("added", "mul_", "first"))
    graphs = check([((put, b, w, r), WRITES.format(before=BEFORE[b], put=PUT[put], write=WRITE[w], read=READ[r]))
                    for b, w, r in combinations])
    assert graphs


def test_a_list_whose_items_nobody_sees_stays_rows():
    """A list of objects is made where objects are seen, and nowhere else."""
    for place, objects in (("result", False), ("list", True)):
        text = STAYS.format(leaf=LEAVES["new"], parts=PARTS["list"], hand=HANDS["first"], place=PLACES[place],
                            end=ENDS["result"])
        step = janus.function(names_of(text, janus=janus)["make"](janus.tensor([2.0, 3.0]), [], []), verify="never",
                              measure=False)
        rng = random.Random(1)
        for i in range(4):
            step(tree(1 + i % 3, rng))
        assert step.stats()["graph"] > 0
        assert any("host.item" in str(g) and "select" not in str(g) for g in step.graphs()) == objects
