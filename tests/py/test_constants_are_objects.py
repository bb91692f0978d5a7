# SPDX-License-Identifier: Apache-2.0
"""A constant in the text of a function is one object, whoever runs the function: CPython, its skeleton or a graph of it."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

CONSTANTS = ["(1, 2)", "2.5", "'two words'", "b'two words'", "123456789", "-123456789", "-3.5", "10**20", "1j", "-2j", "(1, (2, 'a b'))", "2 * 1.5",
             "('two words', 2.5, -7.25)", "7 - 10**9", "1.5 - 2j", "(1.0, 1, True)", "(1, 1.0, True)", "0.0", "-0.0", "2**40", "22 / 7", "10007 % 4099"]

PROGRAMS = {
    "returned": "def f(x):\n    return {0}, x * 2\n",
    "in a list": "def f(x):\n    y = [x * 2, {0}]\n    return y[1], y\n",
    "in a dict": "def f(x):\n    d = {{'k': {0}}}\n    return d['k'], x + 1, d\n",
    "of a callee": "def g(x):\n    return {0}, x.sum()\ndef f(x):\n    a, b = g(x * 2)\n    return a, b\n",
    "of a function inside": "def f(x):\n    def g(y):\n        return {0}, y.exp()\n    a, b = g(x)\n    return a, b\n",
    "a default": "def g(x, c={0}):\n    return c, x * 3\ndef f(x):\n    return g(x)\n",
    "in a region": "import time\ndef f(x):\n    y = x * 2\n    time.time()\n    c = {0}\n    z = (y + 1).exp()\n    z = z * y\n    time.time()\n    return c, z\n",
    "in a loop": "import time\ndef f(x):\n    out = []\n    for i in range(3):\n        x = (x * 2).tanh()\n        x = x + i\n        time.time()\n        out.append({0})\n    return out[0], out, x\n",
    "kept": "class O: pass\no = O()\ndef f(x):\n    o.c = {0}\n    return o.c, x - 1\n",
    "appended": "l = []\ndef f(x):\n    l.append({0})\n    return l[-1], x * 2\n",
    "a key's": "d = {{}}\ndef f(x):\n    d[len(d)] = {0}\n    return d[len(d) - 1], x * 2\n",
    "items": "def f(x):\n    for c in ({0}, {0}):\n        x = x * 2\n    return c, x\n",
    "in an arm": "def f(x):\n    c = {0} if x.sum() > 0 else None\n    return c, x * 2\n",
}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("where", PROGRAMS)
def test_the_object_of_the_code(where, verify):
    for constant in CONSTANTS:
        if where == "items" and constant[0] == "(":
            continue  # a loop of the graph hands on what is in it
        names = names_of(PROGRAMS[where].format(constant))
        x = janus.ones(3)
        want = names["f"](x)[0]
        f = janus.function(names["f"], verify=verify, measure=False)
        got = [f(x)[0] for _ in range(6)]
        assert all(c is want for c in got), (constant, [c is want for c in got], got)
        if where != "in an arm":
            assert f.stats()["ops_graph"], constant


def test_what_a_text_cannot_have():
    """Sums and powers that raise, or that CPython leaves to the run."""
    names = names_of("def f(x, k):\n    if k == 1:\n        return 1 / 0\n    if k == 2:\n        return 2 ** 70000 % 7, x\n"
                     "    if k == 3:\n        return 1e308 * 10, 2.0 ** 5000\n    return x * k, 10 ** -3, 5 // 2\n")
    f = janus.function(names["f"])
    x = janus.ones(2)

    def outcome(g, k):
        try:
            return repr(g(x, k))
        except ArithmeticError as e:
            return type(e), str(e)

    for k in [0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 0]:
        assert outcome(f, k) == outcome(names["f"], k)


PLACES = {"attribute": ("o.a = v", "o.a"), "another": ("o.b = v", "o.b"), "append": ("o.l.append(v)", "o.l[-1]"), "item": ("o.l[0] = v", "o.l[0]"), "key": ("o.d['k'] = v", "o.d['k']"),
          "result": ("r = v", "r"), "in a list": ("r = [v]", "r[0]"), "in a tuple": ("r = (v, 1)", "r[0]")}
VALUES = {"pair": "(n, n)", "with a tensor": "(n, x)", "computed": "(x * 2, n)", "of the text": "(1, 2)", "sum": "x.sum().item()", "half": "n * 0.5", "product": "n * 1000 + 7", "tensor": "x * 2"}


@pytest.mark.parametrize("value", VALUES)
def test_one_object_in_two_places(value):
    """But for numbers in a list or dict that the graph writes there itself (docs/differences.md)."""
    for one in PLACES:
        for two in PLACES:
            if "r =" in PLACES[one][0] and "r =" in PLACES[two][0]:
                continue
            if value in ("sum", "half", "product") and {one, two} & {"append", "item", "key"}:
                continue
            text = "class O:\n    def __init__(self):\n        self.l, self.d = [0], {}\ndef f(o, x, n):\n    r, v = None, %s\n    %s\n    %s\n    return r" % (
                VALUES[value], PLACES[one][0], PLACES[two][0])
            seen = []
            for decorated in (False, True):
                names = names_of(text, janus=janus)
                f, o, out = names["f"], names["O"](), []
                f = janus.function(f, verify="never", measure=False) if decorated else f
                for k in range(7):
                    r = f(o, janus.ones(2) * k, 300 + k % 3)
                    out.append(eval(PLACES[one][1]) is eval(PLACES[two][1]))
                seen.append(out)
            assert seen[0] == seen[1], (one, two)
