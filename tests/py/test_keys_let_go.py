# SPDX-License-Identifier: Apache-2.0
"""Keys of the caller's dicts that are objects: a graph finds what CPython finds, and its entry keeps none of them alive."""
import itertools
import weakref

import pytest

import janus
from texts import names_of

KEYS = {"object": "o", "tuple": "(o, 1)", "deep": "(1, (o,))", "with its type": "(type(o), o)", "text": "('a', 2)"}
OPS = {"pop": "v = d.pop({k})", "read": "v = d[{k}]", "get": "v = d.get({k}, x)", "in": "v = x if {k} in d else x * 3",
       "set": "d[{k}] = v = x * 2", "absent": "v = d.get(({k}, 9), x)", "read and set": "v = d[{k}]\n    d[{k}] = v + 1",
       "deleted": "v = d[{k}]\n    del d[{k}]", "default": "v = d.setdefault({k}, x)",
       "put if absent": "v = x\n    if ({k}, 3) not in d:\n        d[({k}, 3)] = x", "loop": "v = x\n    for k in d:\n        v = v + d[k]"}
KINDS = {"instance": "Node()", "tensor": "janus.ones(2)", "function": "(lambda: 3)", "slots": "Slots()", "slots and references": "Referred()",
         "bare": "object()", "finalizer": "Loud()", "method": "Node().method", "exception": "ValueError(3)"}
TEXT = """
class Node:
    def method(self):
        pass

class Slots:
    __slots__ = ('held',)

class Referred:
    __slots__ = ('held', '__weakref__')

class Loud:
    def __del__(self):
        log.append('finalizer')

log = []

def make():
    return {kind}

def key(o):
    return {key}

def f(o, d, x):
    {op}
    return v * 2
"""


def outcome(key, op, kind, decorated):
    names = names_of(TEXT.format(kind=KINDS[kind], key=KEYS[key].format(), op=OPS[op].format(k=KEYS[key])), janus=janus, __name__="program")
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    log, o = names["log"], None
    for round in range(8):
        o = names["make"]() if o is None else o
        held = janus.ones(1)
        try:
            o.held = held
        except AttributeError:
            pass
        try:
            seen = weakref.ref(o, lambda r: log.append("callback"))
        except TypeError:
            seen = None
        parts, held = weakref.ref(held), None
        d = {names["key"](o): janus.ones(2), "x": janus.ones(2) * 3}
        log.append(f(o, d, janus.ones(2) * round).tolist())
        log.append([type(k).__name__ for k in d])
        if round < 4 or round > 5:  # the others have one object
            d = o = None
            log.append((seen is None or seen() is None, parts() is None))
    return log, f.stats()["graph"] if decorated else 0


@pytest.mark.parametrize("kind", KINDS)
def test_keys(kind):
    wrong, graphs = [], 0
    for key, op in itertools.product(KEYS, OPS):
        want, got = outcome(key, op, kind, False), outcome(key, op, kind, True)
        graphs += got[1] > 0
        if want[0] != got[0]:
            wrong.append((key, op, [(w, g) for w, g in zip(want[0], got[0]) if w != g][0]))
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    assert graphs >= 8 or kind == "exception"
