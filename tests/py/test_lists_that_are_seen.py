# SPDX-License-Identifier: Apache-2.0
"""Lists whose length only the run knows, made by each kind of expression, that are then written, stored, returned or compared:
who sees which object a list is, or which its items are, sees the same in a graph."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MADE = {
    "comprehension": "[{item} for v in xs]", "condition": "[v for v in xs if heavy(v)]", "times": "[{one}] * len(xs)", "sum": "xs + [{one}]",
    "slice": "xs[1:]", "step": "xs[::-1]", "list": "list(xs)", "copy": "xs.copy()", "sorted": "sorted(xs, key=weight)",
    "reversed": "list(reversed(xs))", "part of a list": "[v for v in xs][1:]", "map": "list(map(same, xs))", "star": "[*xs, {one}]",
    "sum of two": "[v for v in xs] + xs[1:]",
}
DONE = {
    "append": "l.append({one})", "set": "for i in range(len(l)):\n        l[i] = {other}", "last": "if l:\n        l[-1] = {one}", "pop": "if l:\n        l.pop()",
    "while": "while l:\n        x = x * 0.5 + weight(l.pop())", "sort": "l.sort(key=weight)", "extend": "l.extend(xs)", "insert": "l.insert(0, {one})",
    "iadd": "l += xs", "reverse": "l.reverse()", "clear": "l.clear()", "del": "if l:\n        del l[0]", "stored": "box.kept = l",
    "in a list": "box.all.append(l)\n    l.append({one})", "in a tuple": "box.kept = (l, l)", "in a dict": "box.by['l'] = l", "two": "box.kept = [l, l[:1]]",
    "nothing": "pass", "by path": "if len(xs) > 3:\n        l = l + [{one}]", "in rounds": "for v in xs:\n        l = l + [v]", "helper": "touch(l, {one})",
}
ITEMS = {  # of xs, an item made inside, one that is put in
    "numbers": ("0.5 * i", "v * 2", "l[i] * 0.5 + i"), "ints": ("i", "v + 1", "l[i] + i"), "nodes": ("Node(i)", "v", "one"), "texts": ("'n%d' % i", "v", "one"),
    "tensors": ("janus.ones(2) * i", "v * 2", "l[i] * 0.5"), "made": ("0.5 * i", "Node(v)", "one"), "pairs": ("(i, 0.5 * i)", "(v[0] + 1, v[1])", "one"),
}
PROGRAM = """
class Node:
    def __init__(self, w):
        self.w = w
class Box:
    def __init__(self):
        self.kept, self.all, self.by = None, [], {{}}
def weight(v):
    if isinstance(v, Node):
        return v.w + 0.0
    if isinstance(v, str):
        return 1.0
    if isinstance(v, tuple):
        return v[1]
    return v.sum().item() if isinstance(v, janus.Tensor) else v
def heavy(v):
    return weight(v) > 0.6
def same(v):
    return v
def touch(l, one):
    l.append(one)
    return l
def f(x, xs, one, box):
    x = x + 1
    l = {made}
    m = l
    {done}
    for v in m:
        x = x * 0.5 + weight(v)
    return x, l, m
def in_an_arm(x, xs, one, box):
    l, m = [one], xs
    if len(xs) % 3:
        x, l, m = f(x, xs, one, box)
    return x, l, m
def in_rounds(x, xs, one, box):
    for i in range(len(xs) // 2):
        x, l, m = f(x, xs, one, box)
        box.all.append(m)
    return x, box.all
def in_recursion(x, xs, one, box):
    if len(xs) < 2:
        return x
    x, l, m = f(x, xs, one, box)
    return in_recursion(x, xs[:len(xs) // 2], one, box) + in_recursion(x, xs[len(xs) // 2:], one, box)
"""
WHERE = ["f", "in_an_arm", "in_rounds", "in_recursion"]


def outcome(f, names, given, n):
    scope = {**names, "janus": janus}
    xs, one, box = [eval(given, {**scope, "i": i}) for i in range(n)], eval(given, {**scope, "i": 7}), names["Box"]()
    try:
        r = f(janus.ones(2), xs, one, box)
    except (ValueError, IndexError, TypeError, RuntimeError) as e:
        r = type(e), str(e)
    seen = {id(v): i for i, v in enumerate(xs)}

    def shown(v):
        if isinstance(v, (list, tuple)):
            if id(v) in seen and isinstance(v, list):
                return "again", seen[id(v)]
            seen.setdefault(id(v), len(seen)) if isinstance(v, list) else None
            return type(v), [shown(w) for w in v]
        if isinstance(v, (janus.Tensor, names["Node"])):
            return seen.setdefault(id(v), len(seen)), v.tolist() if isinstance(v, janus.Tensor) else shown(v.w)
        return shown(list(v.items())) if isinstance(v, dict) else v

    return [shown(v) for v in (r, box.kept, box.all, box.by, xs)]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("items", ITEMS)
def test_as_undecorated(items, where):
    given, item, other = ITEMS[items]
    graphs = []
    for made, done in shares.share(itertools.product(MADE, DONE)):
        source = PROGRAM.format(made=MADE[made].format(item=item, one="one"), done=DONE[done].format(one="one", other=other))
        names = names_of(source, janus=janus)
        f = names[where]
        decorated = janus.function(f, verify="never", measure=False)
        for n in (3, 5, 2, 4, 0, 6, 1, 7, 3, 9):
            want, got = outcome(f, names, given, n), outcome(decorated, names, given, n)
            assert got == want, (made, done, n, source)
        graphs.append(decorated.stats()["graph"])
    assert sum(g >= 3 for g in graphs) >= 0.7 * len(graphs), graphs
