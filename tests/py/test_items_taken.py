# SPDX-License-Identifier: Apache-2.0
"""What generators leave of the iterators that they go over, by who takes items of which, and when."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

SOURCES = {"list": "iter([1, 2, n, 3, 5])", "range": "iter(range(6))", "tensors": "iter([x, x + 1, x + 2, x + 3])", "generator": "(v for v in (1, 2, n, 3, 5))", "dict": "iter({1: 2, 3: 4, 5: 6}.values())",
           "zip": "(a * b for a, b in zip([1, 2, 3, 4], [n, 2, 1, 0]))"}
OVER = {"expression": "(v * 2 for v in it)", "function": "doubled(it)", "closure": "around(it)()", "filter": "filter(lambda v: v is not None, it)", "takewhile": "itertools.takewhile(lambda v: v is not None, it)",
        "dropwhile": "itertools.dropwhile(lambda v: v is None, it)", "map": "map(lambda v: v * 2, it)", "enumerate": "(v for _, v in enumerate(it))", "of another": "(v for v in doubled(it))", "islice": "itertools.islice(it, 3)",
        "pairs": "(a + b for a, b in zip(it, it))", "chain": "itertools.chain(it, it)", "accumulate": "itertools.accumulate(it)", "two": "merged(it, iter([7, 8, 9]))", "itself": "it", "compress": "itertools.compress(it, [1, 0, 1])"}
TAKES = {"next": "a = next(g)\n    b = list(it)", "next twice": "a = [next(g), next(g)]\n    b = list(it)", "in turn": "a = [next(g), next(it)]\n    b = list(g)", "rest of it": "a = next(g)\n    b = [next(it, None), list(g)]",
         "loop": "a = []\n    for v in g:\n        a.append(v)\n        if len(a) == 2: break\n    b = list(it)", "loop of it": "a = []\n    for v in it:\n        a.append(v)\n        if len(a) == 2: break\n    b = [list(g), list(it)]",
         "any": "a = any(v is not None for v in g)\n    b = list(it)", "all": "a = all(v is None for v in g)\n    b = list(it)", "sum": "a = sum(g)\n    b = list(it)", "zip": "a = list(zip([1, 2], g))\n    b = list(it)", "zip behind": "a = list(zip(g, [1, 2]))\n    b = list(it)",
         "unpacked": "a, *b = g\n    b = [b, list(it)]", "nothing": "a = list(it)\n    b = list(g)", "both": "a = next(it)\n    b = [next(g), list(it), list(g)]", "in": "a = [v for v in g if v is not None][:1]\n    b = list(it)"}
TEXT = """
import itertools
def doubled(it):
    for v in it:
        yield v * 2
def around(it):
    def made():
        for v in it:
            yield v * 2
    return made
def merged(a, b):
    for v in a:
        yield v
        yield next(b)
def arguments(k):
    return janus.ones(2) * k, k
def f(x, n):
    it = {source}
    g = {over}
    {takes}
    return a, b, x + 1
"""


@pytest.mark.parametrize("over", OVER)
def test_what_is_left(over):
    graphs = 0
    first = list(OVER).index(over) % 3
    every = [(source, takes) for source in SOURCES for takes in TAKES][first::3]
    for source, takes in shares.share(every):
        graphs += alike(TEXT.replace("{source}", SOURCES[source]).replace("{over}", OVER[over]).replace("{takes}", TAKES[takes]), calls=5, options=({"verify": "never", "measure": False},))[0]
    assert graphs or shares.LIGHT or over not in ("expression", "closure", "itself")  # elsewhere most use what is not followed


EFFECTS = {"sum": "a = sum(g)", "start": "a = sum(g, x)", "any": "a = any(v > 4 for v in g)", "all": "a = all(v < 5 for v in g)", "list": "a = list(g)", "loop": "a = 0\n    for v in g:\n        a = a + v * box.n"}


@pytest.mark.parametrize("takes", EFFECTS)
def test_generators_that_count(takes):
    """Their items change what the program made, so they are made in turn with what is done with them."""
    text = """
class Box:
    def __init__(self): self.n = 0
def counting(box, items):
    for v in items:
        box.n += 1
        yield v * box.n
def arguments(k):
    return janus.ones(2) * k, k
def f(x, n):
    box = Box()
    g = counting(box, [1, 2, n])
    {takes}
    return a, box.n, x + 1
""".replace("{takes}", EFFECTS[takes])
    assert alike(text)[0] or takes in ("any", "all")  # which end where the graph knows
