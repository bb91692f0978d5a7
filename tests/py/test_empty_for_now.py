# SPDX-License-Identifier: Apache-2.0
"""What is made of a list whose length only the graph knows, and which was empty when that was converted: a loop over it
is assumed not to run, and the result has the type that CPython's has.  Each expression runs decorated and plain."""
import pytest
from texts import names_of

import janus

MADE = ["tuple(a)", "list(a)", "(*a,)", "[*a]", "set(a)", "frozenset(a)", "sorted(a)", "tuple(v for v in a)", "[v for v in a]",
        "{v for v in a}", "{v: 1 for v in a}", "dict.fromkeys(a)", "tuple(reversed(a))", "list(reversed(a))", "tuple(map(abs, a))",
        "list(map(abs, a))", "tuple(filter(None, a))", "list(zip(a, a))", "tuple(zip(a, a))", "tuple(enumerate(a))",
        "a + []", "a * 2", "a[:]", "a[::-1]", "a.copy()", "tuple(a) + (1,)", "tuple(a) == ()", "tuple(a) == []",
        "isinstance(tuple(a), tuple)", "isinstance(tuple(a), list)", "type(tuple(a)).__name__", "(tuple(a), list(a))",
        "tuple(tuple(a))", "list(tuple(a))", "tuple(list(a))", "sum(a)", "len(tuple(a))", "bool(tuple(a))", "any(a)",
        "hash(tuple(a))", "{tuple(a): 1}", "'%s' % (tuple(a),)", "min(a, default=3)", "tuple(sorted(a))", "f'{tuple(a)}'"]
SHAPES = ["[{made}, h.t]", "({made}, h.t)", "{made}"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.filterwarnings("ignore")
def test_what_is_made_of_it(made):
    for shape in SHAPES:
        text = ("class C: pass\nh = C()\ndef f(y, a):\n    if y.sum() > 2:\n        h.l[:] = [1]\n"
                f"    r = {shape.format(made=made)}\n    more = (a * 2, 'b' in h.s)\n    return r, more, (y * 2).sum()\n")
        seen = []
        for decorate in (lambda f: f, lambda f: janus.function(f, verify="never", measure=False)):
            names = names_of(text, __name__="program")
            f, h, out = decorate(names["f"]), names["h"], []
            for k, length in enumerate([0, 1, 1, 0, 2, 0, 0, 3, 0, 1, 0]):
                h.__dict__.clear()
                h.l, h.t, h.s = [7, 8, 9][:length], (1, 2) + (3,) * (k % 2), "a" * (k % 2)
                out.append(repr(f(janus.ones(2), h.l if k % 5 else h.l[:])))
            seen.append(out)
        assert seen[0] == seen[1], text
