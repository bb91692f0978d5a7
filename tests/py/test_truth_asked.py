# SPDX-License-Identifier: Apache-2.0
"""How often, and in which order, the truth of objects is asked whose __bool__ or __len__ can be seen to have been asked."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

KINDS = {
    "bool": "def __bool__(self):\n        log.append((self.name, 'bool'))\n        return self.v > k()",
    "len": "def __len__(self):\n        log.append((self.name, 'len'))\n        return max(self.v - k(), 0)",
    "both": "def __len__(self):\n        log.append((self.name, 'len'))\n        return self.v\n"
            "    def __bool__(self):\n        self.asked += 1\n        return self.v > k()",
    "compared": "def __lt__(self, other):\n        log.append((self.name, '<'))\n        return P('r', self.v - other.v)\n"
                "    def __bool__(self):\n        log.append((self.name, 'bool'))\n        return self.v > k()",
}
EXPRESSIONS = ["a", "not a", "a and b", "a or b", "a and b or c", "(a or b) and c", "a and (b or c)", "not (a and b)", "not (a or b) and c", "a and b and c or b",
               "(a and b or c) and (b or a)", "a if b else c", "(a and b) if (c or a) else b", "bool(a and b)", "(a or b) is a", "1 if a and b or c else 0", "any([a, b and c])"]
CHAINS = ["a < b", "a < b < c", "a < b < c or b", "not a < b < c", "(a < b < c) and a"]
CONTEXTS = {
    "bound": "r = {e}\n    return x * 2, name(r)",
    "if": "if {e}:\n        return x * 2, 1\n    return x * 3, 0",
    "elif": "if b and c:\n        return x, 2\n    elif {e}:\n        return x * 2, 1\n    return x * 3, 0",
    "while": "n = 0\n    while ({e}) and n < 2:\n        n += 1\n        x = x * 2\n    return x, n",
    "expression": "return (x * 2 if {e} else x * 3), 0",
    "filter": "return x, [i for i in (1, 2) if {e}]",
    "assert": "assert {e}\n    return x * 2, 0",
    "case": "match 1:\n        case 1 if {e}:\n            return x * 2, 1\n        case _:\n            return x * 3, 0",
    "argument": "return x * 2, name(dict(v={e})['v'])",
}
TEXT = """
class P:
    def __init__(self, name, v):
        self.name, self.v, self.asked = name, v, 0
    {made}

def name(r):
    return r if isinstance(r, (bool, int)) else r.name

def f(x, a, b, c):
    {body}
"""


def outcomes(text, numerics):
    log, k = [], [0]
    names = names_of(text, janus=janus, log=log, k=lambda: k[0], __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    seen, P = [], names["P"]
    objects = [P("a", 1), P("b", 2), P("c", 0)]
    for i in range(8):
        a, b, c = objects[i % 3:] + objects[:i % 3]
        k[0] = i % 2
        log.clear()
        try:
            y, r = f(janus.tensor([1.0, 2.0]), a, b, c)
            seen.append((y.tolist(), r))
        except AssertionError as e:
            seen.append(str(e))
        seen.append((list(log), [o.asked for o in objects]))
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_truth_is_asked_as_often(kind, context):
    expressions = CHAINS if kind == "compared" else EXPRESSIONS
    for e, numerics in shares.share(itertools.product(expressions, ("fast", "exact"))):
        text = TEXT.format(made=KINDS[kind], body=CONTEXTS[context].format(e=f"({e})"))
        assert outcomes(text, None) == outcomes(text, numerics), (e, numerics)
