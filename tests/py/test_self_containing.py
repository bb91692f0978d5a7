# SPDX-License-Identifier: Apache-2.0
"""Lists, tuples and dicts that contain themselves, made inside or given."""
import io

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MAKES = {
    "list": "a = []\n    a.append(a)", "twice": "a = []\n    a += [a, a]", "two": "a, b = [], []\n    a.append(b)\n    b.append(a)",
    "tuple": "b = []\n    a = (b, 1)\n    b.append(a)", "dict": "a = {}\n    a[0] = a", "mixed": "a = [1]\n    a.append({'k': (a, 2)})",
    "attribute": "a = [O()]\n    a[0].me = a", "given list": "a = given[0]", "given dict": "a = given[1]", "given tuple": "a = given[2]",
}
USES = [
    "repr(a)", "str(a)", "f'{a}'", "'%s' % (a,)", "'{}'.format(a)", "len(a)", "a == a", "a is a", "bool(a)", "list(a)", "[*a]", "copy.copy(a)",
    "len(copy.deepcopy(a))", "print(a, file=sink)", "(a, x)[0] is a", "rec(a, 3)", "kept.append(a)", "[v for v in a] == a", "any(a)", "{1: a}[1] is a",
    "list(zip(a, a))", "a * 2", "a + a", "a in a", "[a].index(a)", "janus.tensor(a)", "json.dumps(a)", "a[0]", "a[0] is a", "max([a], key=len)", "a == [1]",
    "[1] == a", "a != [a]",
]


def shown(value):
    text = repr(value)
    return "" if "0x" in text else text


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKES)
def test_containers_of_themselves(make, use):
    text = f"""import copy
import json
class O:
    pass
def rec(v, n):
    return len(v) if n == 0 else rec(v, n - 1)
def f(x, given, sink, kept):
    {MAKES[make]}
    try:
        r = {use}
    except Exception as e:
        r = type(e).__name__
    return (x * 2).sum(), r
"""
    found = []
    for verify in (None, "never"):
        names = names_of(text, janus=janus, __name__="program")
        f = names["f"] if verify is None else janus.function(names["f"], verify=verify, measure=False)
        seen = []
        for _ in range(3):
            inner, table, pair = [], {}, ([], 1)
            inner.append(inner)
            table["a"] = table
            pair[0].append(pair)
            sink, kept = io.StringIO(), []
            r = f(janus.ones(3), (inner, table, pair), sink, kept)[1]
            seen.append((shown(r), len(sink.getvalue()) > 0, shown(kept)))
        found.append(seen)
    assert found[0] == found[1]
