# SPDX-License-Identifier: Apache-2.0
"""list(), tuple(), sorted(), extend() and stars ask what they take for its length, after iter(): code of the program's."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HINTS = {
    "none": "",
    "len": "    def __len__(self):\n        log.append('len')\n        return 2\n",
    "hint": "    def __length_hint__(self):\n        log.append('hint')\n        return 2\n",
    "declined": "    def __length_hint__(self):\n        log.append('hint')\n        return NotImplemented\n",
    "TypeError": "    def __len__(self):\n        log.append('len')\n        raise TypeError\n"
                 "    def __length_hint__(self):\n        log.append('hint')\n        return 2\n",
    "KeyError": "    def __len__(self):\n        log.append('len')\n        raise KeyError(1)\n",
    "negative": "    def __len__(self):\n        log.append('len')\n        return -1\n",
    "text": "    def __length_hint__(self):\n        log.append('hint')\n        return 'a'\n",
}
ITERS = {
    "generator": "    def __iter__(self):\n        log.append('iter')\n        yield 1\n        yield 2\n",
    "iterator": "    def __iter__(self):\n        log.append('iter')\n        return iter([1, 2])\n",
    "itself": "    def __iter__(self):\n        self.n = 0\n        return self\n    def __next__(self):\n        self.n += 1\n"
              "        if self.n > 2:\n            raise StopIteration\n        return self.n\n",
    "items": "    def __getitem__(self, i):\n        if i > 1:\n            raise IndexError\n        return i\n",
}
USES = {
    "list": "r = list(a)", "tuple": "r = tuple(a)", "sorted": "r = sorted(a)", "set": "r = set(a)", "star": "r = [0, *a]",
    "tuple star": "r = (*a,)", "extend": "r = []; r.extend(a)", "add": "r = []; r += a", "unpacked": "p, q = a; r = p",
    "rest": "p, *r = a", "map": "r = list(map(abs, a))", "zip": "r = list(zip(a, a))", "call": "r = g(*a)",
    "slice": "r = [1, 2, 3]; r[1:] = a", "sum": "r = sum(a)", "max": "r = max(a)", "in": "r = 2 in a", "iter": "r = list(iter(a))",
    "comprehension": "r = [v for v in a]", "tensor": "r = janus.tensor(list(a)).sum().item()", "keys": "r = dict.fromkeys(a)",
}


@pytest.mark.parametrize("where", ["instance", "class", "made"])
@pytest.mark.parametrize("hint", HINTS)
def test_length_hints(hint, where):
    for kind, methods in ITERS.items():
        define = f"class K{'(type)' if where == 'class' else ''}:\n{HINTS[hint]}{methods}"
        define += {"instance": "B = K()\n", "class": "class B(metaclass=K):\n    pass\n", "made": ""}[where]
        for use, statement in USES.items():
            text = f"""log = []
def g(*a):
    return len(a)
{define}
def f(x):
    a = {'K()' if where == 'made' else 'B'}
    try:
        {statement}
    except Exception as e:
        r = repr(e)
    log.append('after')
    return (x * 2).sum(), r
"""
            found = []
            for verify in (None, "never"):
                names = names_of(text, janus=janus, __name__="program")
                f = names["f"] if verify is None else janus.function(names["f"], verify=verify, measure=False)
                seen = []
                for _ in range(4):
                    names["log"].clear()
                    seen.append((f(janus.ones(3))[1], list(names["log"])))
                found.append(seen)
            assert found[0] == found[1], (kind, use)
