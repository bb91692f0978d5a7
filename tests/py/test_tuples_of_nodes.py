# SPDX-License-Identifier: Apache-2.0
"""Methods of tuples that a graph reads of nodes: index, count and `in`, of what is there and what is not."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TUPLES = {"texts": ('("a", "b", "c", "b")', '"abc"[i % 3]'), "numbers": ("(0, 2, 1, 2)", "i % 3"), "floats": ("(0.0, 1.0, 2)", "float(i % 3)"),
          "mixed": ('("a", 1, None, True)', '("a", None, 1, True)[i % 4]'), "objects": ("ALL", "ALL[i % 3]"), "missing": ('("a", "b")', '"abx"[i % 3]'), "empty": ("()", "i")}
USES = ["{t}.index(n.kind)", "{t}.count(n.kind)", "n.kind in {t}", "{t}.index(n.kind, 1)", "{t}.index(n.kind, 0, 3)", "len({t}) - {t}.count(n.kind)", "{t}.index(value=n.kind)"]
PLACES = {"class": "n.KINDS", "instance": "n.own", "by type": "type(n).KINDS"}
TEXT = """
class Thing:
    pass
ALL = (Thing(), Thing(), Thing())
class Node:
    KINDS = {tuple}
    def __init__(self, i, next):
        self.kind, self.next, self.own = {kind}, next, {tuple}
def made(i, n):
    return None if n == 0 else Node(i, made(i + 1, n - 1))
def f(n, x):
    while n is not None:
        x = x * 0.5 + int({use})
        n = n.next
    return x
def g(n, x):
    x = x * 0.5 + int({use})
    return x if n.next is None else g(n.next, x)
"""


def result(f, *args):
    try:
        return f(*args).tolist()
    except (ValueError, TypeError) as e:
        return type(e).__name__


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", TUPLES)
def test_methods_of_tuples(kind, place):
    graphs = 0
    for use in USES:
        text = TEXT.replace("{tuple}", TUPLES[kind][0]).replace("{kind}", TUPLES[kind][1]).replace("{use}", use.replace("{t}", PLACES[place]))
        names = names_of(text, janus=janus)
        for f in (names["f"], names["g"]):
            decorated = janus.function(f, verify="never", measure=False)
            for k in range(6):
                n, x = names["made"](k, 1 + k % 3), janus.ones(2)
                assert result(decorated, n, x) == result(f, n, x), (use, k)
            graphs += decorated.stats()["graph"]
    assert graphs or kind in ("missing", "empty", "mixed")
