# SPDX-License-Identifier: Apache-2.0
"""What is chosen of several tensors by a number of the graph, sorted(), min() and max() by a key, in turn or by a dict, has behind it what the one chosen
has: whether a second backward() raises is told by it alone, though all were computed."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

WAYS = {"sorted": "sorted([a, b], key=lambda t: t.sum().item())[0]", "last": "sorted([a, b, x], key=lambda t: float(t.sum()), reverse=True)[2]",
        "max": "max(a, b, key=lambda t: t.sum().item())", "min of three": "min([a, b, a + 1], key=lambda t: t[0].item())",
        "if": "a if s > 0 else b", "twice": "(a if s > 2 else b) if s > -1 else x", "in turn": "pick(a, b, s)", "sum": "(a if s > 0 else b) + (b if s > 1 else a)",
        "key": "{0: a, 1: b, 2: x}[k]", "got": "{0: a, 1: b}.get(k, x)", "field": "put(a if s > 0 else b).v", "fields": "of(a, b, k)"}
OPS = {"itself": "x", "halved": "x * 0.5", "moved": "x + 1", "twice moved": "x + 1 + c", "product": "x * c", "exp": "x.exp() * 0.1", "negated": "-x", "by a leaf": "c * x.detach()"}
ENDS = {"it": "return y", "moved": "return y + 1", "both": "return y, a", "used": "y.sum().backward()\n    return y + 1", "other used": "(a + b).sum().backward()\n    return y",
        "arm": "if k:\n        y = y + 2\n    return y, b", "kept": "return (y * c).sum(), y"}
TEXT = """
class N: pass
def pick(a, b, s):
    for t in (a, b):
        if t.sum().item() > 0:
            return t
    return a
def put(t):
    n = N()
    n.v = t
    return n
def of(a, b, k):
    ns = [N(), N()]
    ns[0].v = a
    ns[1].v = b
    m = ns[0] if k else ns[1]
    return m.v
def f(w, k):
    x = w + 1
    s = x.sum().item()
    a = {a}
    b = {b}
    y = {way}
    {end}
"""


def outcomes(text, options):
    names = names_of(text, janus=janus, c=janus.ones(3, requires_grad=True))
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(8):
        w = janus.tensor([i * 1.0 - 5, 0.5, 1.0], requires_grad=True)
        said = []
        try:
            of = f(w, i % 3)
            for v in of if isinstance(of, tuple) else (of,):
                said.append(v.tolist())
                for _ in range(2):
                    if v.requires_grad:
                        v.sum().backward()
                    said.append(None if w.grad is None else w.grad.tolist())
        except RuntimeError as e:
            said.append(str(e)[:40])
        seen.append((said, names["c"].grad is None or names["c"].grad.tolist()))
        names["c"].grad = None
    return seen, f.stats()["graph"] + f.stats()["region_hits"] if options else 0


def close(a, b):
    if isinstance(a, float):
        return isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return a == b


@pytest.mark.parametrize("options", [{"verify": "never"}, {"verify": "never", "numerics": "exact"}], ids=["fast", "exact"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(way, options):
    wrong, graphs, programs = [], 0, share(itertools.product(OPS, OPS, ENDS))
    for a, b, end in programs:
        text = TEXT.format(a=OPS[a], b=OPS[b], way=WAYS[way], end=ENDS[end])
        want, _ = outcomes(text, None)
        got, ran = outcomes(text, {**options, "measure": False})
        graphs += ran > 0
        wrong += [(a, b, end, i, u, v) for i, (u, v) in enumerate(zip(want, got)) if not close(u, v)][:1]
    assert not wrong, f"{len(wrong)} of {len(programs)}: {wrong[0]}"
    assert graphs > len(programs) // 3, graphs


STORES = {"nonlocal": ("", "nonlocal x\n        x = down(x, k + 1)", "x"), "field": ("n = N()\n    n.v = x", "n.v = down(n.v, k + 1)", "n.v"),
          "list": ("l = [x]", "l[0] = down(l[0], k + 1)", "l[0]"), "dict": ("m = {'a': x}", "m['a'] = down(m['a'], k + 1)", "m['a']")}
STORING = """
class N: pass
def down(x, d):
    x = {op}
    if d:
        x = down(x * 0.5, d - 1)
    return x
def f(x, k):
    {made}
    def again(d):
        {stored}
        if d:
            again(d - 1)
        return {read}
    return again(k % 2) + {read}
"""


@pytest.mark.parametrize("options", [{"verify": "never"}, {"verify": "never", "numerics": "exact"}], ids=["fast", "exact"])
@pytest.mark.parametrize("where", STORES)
@pytest.mark.parametrize("op", ["x + 1", "x * 2.0", "x.sigmoid()", "x * x"])
def test_what_a_function_stores_and_reads_in_a_call_without_tracked_operands(op, where, options):
    made, stored, read = STORES[where]
    text = STORING.format(op=op, made=made, stored=stored, read=read)

    def outcomes_of(options):
        f, seen = names_of(text, janus=janus)["f"], []
        f = janus.function(f, measure=False, **options) if options else f
        for i in range(12):
            x, raised = janus.tensor([i - 5.0, 1.0], requires_grad=i % 5 != 4), 0
            y = f(x, (0, 1, 2, 2, 1, 0, 3, 1)[i % 8])
            for _ in range(2 if y.requires_grad else 0):
                try:
                    y.sum().backward()
                except RuntimeError:
                    raised += 1
            seen.append(([y.tolist(), None if x.grad is None else x.grad.tolist()], raised))
        return seen

    wrong = [(i, u, v) for i, (u, v) in enumerate(zip(outcomes_of(None), outcomes_of(options))) if not close(list(u), list(v))]
    assert not wrong, wrong[0]
