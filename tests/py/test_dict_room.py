# SPDX-License-Identifier: Apache-2.0
"""Dicts that a function makes have the room and the gaps that CPython's have: ways to make one x what is put in and taken out."""
import itertools
import sys

import pytest

import janus
from shares import share
from texts import names_of

MADE = {
    "empty": "d = {}", "few": "d = {'a': x, 'b': 2}", "five": "d = {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5}",
    "six": "d = {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': x, 'f': 6}", "eleven": "d = {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10, 'k': 11}",
    "numbers": "d = {1: 1, 2: x, 3: 3}", "text first": "d = {'a': 1, 'b': 2, 'c': x, 4: 5}", "number first": "d = {4: 5, 'a': 1, 'b': 2}", "both": "d = {'a': 1, 2: x}",
    "called": "d = dict(a=1, b=x)", "pairs": "d = dict([('a', 1), ('b', x), (3, 4)])", "comprehension": "d = {k: x for k in ('a', 'b', 'c')}",
    "of numbers": "d = {i: x for i in range(7)}", "spread": "d = {**{'a': 1, 'b': x}, 'c': 2}", "spread both": "d = {'z': 1, **{'a': 1, 'b': x, 3: 4}}",
    "copied": "d = {'a': 1, 'b': x}.copy()", "dict of": "d = dict({'a': 1, 'b': x, 'c': 3, 5: 6})", "joined": "d = {'a': 1} | {'b': x, 'c': 2}",
    "zipped": "d = dict(zip(('a', 'b'), (1, x)))", "from keys": "d = dict.fromkeys(('a', 'b', 'c', 'd', 'e', 'f'), 1)", "keywords": "d = made(a=1, b=x, c=3)",
}
CHANGED = {
    "as it is": "pass", "put": "d['y'] = x", "number put": "d[7] = x", "many put": "for k in 'mnopqr':\n        d[k] = x", "taken out": "d.pop('a', None)",
    "put and taken out": "d['y'] = x\n    del d['y']", "taken out, put": "d.pop('a', None)\n    d['a'] = x", "cleared": "d.clear()\n    d['b'] = x",
    "updated": "d.update({'p': 1, 'q': x, 'r': 3})", "updated more": "d.update(p=1, q=x, r=3, s=4, t=5, u=6, v=7)", "default": "d.setdefault('w', x)",
    "by path": "if float(x[0]) > 1.5:\n        d.pop('b', None)", "put by path": "if float(x[0]) > 1.5:\n        d['t'] = x", "or": "d |= {'l': x, 9: 1}",
    "put in rounds": "for i in range(3):\n        d[str(i)] = i\n        d.pop('a', None)",
}
TEXT = "def made(**kw):\n    return kw\ndef f(x):\n    {made}\n    {changed}\n    return d\n"


def went(d):
    """Its keys, its room, and where an iterator ends while keys are put in and taken out."""
    seen = [list(d), sys.getsizeof(d)]
    it, steps = iter(d), []
    try:
        for i in range(6):
            steps.append(next(it, None))
            d["new"] = 1
            del d["new"]
    except RuntimeError as e:
        steps.append(str(e))
    return [*seen, steps, sys.getsizeof(d), sys.getsizeof(d.copy())]


def outcomes(text, options):
    f = names_of(text, janus=janus)["f"]
    f = janus.function(f, measure=False, **options) if options is not None else f
    seen = []
    for i in range(5):
        seen.append(went(f(janus.ones(2) * (1 + i % 2))))
    return seen, f.stats()["graph"] if options is not None else 0


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning", "error::janus.SpeculationWarning")
def test_room_and_gaps():
    wrong, graphs = [], 0
    for made, changed in share(itertools.product(MADE, CHANGED)):
        text = TEXT.format(made=MADE[made], changed=CHANGED[changed])
        want, _ = outcomes(text, None)
        got, ran = outcomes(text, {"verify": "never"})
        graphs += ran > 0
        if want != got:
            wrong.append((made, changed, [(w, g) for w, g in zip(want, got) if w != g][0]))
    assert not wrong, (len(wrong), wrong[:5])
    assert graphs >= len(share(itertools.product(MADE, CHANGED))) // 4, graphs
