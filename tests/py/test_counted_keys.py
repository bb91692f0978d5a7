# SPDX-License-Identifier: Apache-2.0
"""Keys whose class says what is equal to them, put into a dict or set before or after a conversion: `__eq__` and `__hash__` run as
often as undecorated, and in that order, whatever guards, runs and commits look up in it."""
import itertools

import pytest

import janus
from texts import names_of

# What has the hash of the wanted key, or another one.
KEYS = {"own": "Own(h)", "text": "Text(h)", "number": "Number(h)", "tuple": "(Own(h),)", "frozen": "frozenset([Own(h)])",
        "of C": "OfC(h)", "named": "Named(Own(h))", "slotted": "Slotted(h)", "inherited": "Inherited(h)"}
OPS = {
    "read": "v = n.d[{k}]", "get": "v = n.d.get({k}, x)", "in": "v = x if {k} in n.d else x * 3", "set": "n.d[{k}] = v = x * 2",
    "counted": "n.d[{k}] = n.d.get({k}, 0) + 1\n    v = x", "deleted": "v = n.d[{k}]\n    del n.d[{k}]\n    n.d[{k}] = v * 2",
    "popped": "v = n.d.pop({k}, x)", "default": "v = n.d.setdefault({k}, x)", "in a set": "v = x if {k} in n.s else x * 3",
    "items": "v = x\n    for k, w in n.d.items():\n        v = v + w", "nodes": "v = walk(n, {k}, x)", "counted nodes": "v = count(n, {k}, x)",
    "sets of nodes": "v = member(n, {k}, x)", "global": "v = G[{k}]", "keys": "v = x * len(list(n.d))", "tried": "try:\n        v = n.d[{k}]\n    except KeyError:\n        v = x",
}
WANTED = {"text": "'a'", "int": "3", "tuple": "('a', 3)", "name": "n.name", "object": "n.o"}
TEXT = """
import collections
log = []
asked = []

class Own:
    def __init__(self, h):
        self.h = h
    def __hash__(self):
        log.append('hash')
        return self.h
    def __eq__(self, o):
        log.append('eq ' + type(o).__name__)
        return {equal}

class Inherited(Own):
    pass

class Slotted:
    __slots__ = ('h',)
    __init__, __hash__, __eq__ = Own.__init__, Own.__hash__, Own.__eq__

class Text(str):
    def __new__(cls, h):
        t = str.__new__(cls, 'b')
        t.h = h
        return t
    __hash__, __eq__ = Own.__hash__, Own.__eq__

class Number(int):
    def __new__(cls, h):
        t = int.__new__(cls, 17)
        t.h = h
        return t
    __hash__, __eq__ = Own.__hash__, Own.__eq__

class OfC:
    __init__, __hash__ = Own.__init__, Own.__hash__
    __eq__ = asked.append

Named = collections.namedtuple('Named', 'k')

class Node:
    def __init__(self, d, s, kids):
        self.d, self.s, self.kids, self.name, self.o = d, s, kids, 'a', free

G = {{}}

def key(h):
    return {key}

def walk(n, k, x):
    for m in n.kids:
        x = x + walk(m, k, x)
    return x + n.d[k] if k in n.d else x

def count(n, k, x):
    for m in n.kids:
        x = x + count(m, k, x)
    n.d[k] = x
    return x

def member(n, k, x):
    for m in n.kids:
        x = x + member(m, k, x)
    return x if k in n.s else x * 2

def f(n, x):
    {op}
    return v * 2
"""


class Free:
    pass


FREE = Free()  # one object in both ways: where it lies in a table goes by its address


def outcome(key, op, wanted, there, equal, options):
    names = names_of(TEXT.format(key=KEYS[key], op=OPS[op].format(k=WANTED[wanted]), equal=equal), janus=janus, free=FREE, __name__="program")
    f = janus.function(names["f"], **options) if options else names["f"]
    log = names["log"]
    k = {"text": "a", "int": 3, "tuple": ("a", 3), "name": "a", "object": FREE}[wanted]

    def node(kids, odd):
        d, s = {"z": janus.ones(2), 5: janus.ones(2)}, {"z", 5}
        if odd:
            hashed = hash(k) if odd == "as the wanted" else hash(k) + 1
            odd_key = names["key"](hashed)
            d[odd_key] = janus.ones(2) * 7
            s.add(odd_key)
        if there:
            d[k] = janus.ones(2) * 3
            s.add(k)
        return names["Node"](d, s, kids)

    made = []
    for round in range(12):
        odd = {6: "as the wanted", 7: "another", 8: "as the wanted", 10: "as the wanted", 11: "as the wanted"}.get(round)
        n = node([node([], odd if round < 10 else None), node([node([], odd)], None)], odd if round < 11 else None)
        names["G"].clear()
        names["G"].update(n.d)
        log.append(("round", round))
        try:
            log.append(f(n, janus.ones(2) * round).tolist())
        except Exception as e:
            log.append(type(e).__name__)
        log.append([type(k).__name__ for k in n.d])
        log.append(len(names["asked"]))
        made.append(n)
    return log, f.stats() if options else None


@pytest.mark.parametrize("options", [{"verify": "never", "measure": False}, {"measure": False}], ids=["never verified", "verified"])
@pytest.mark.parametrize("op", OPS)
def test_asked_as_often(op, options):
    wrong, graphs = [], 0
    for key, wanted, there, equal in itertools.product(KEYS, WANTED, (True, False), ("False", "NotImplemented")):
        if equal != "False" and key not in ("own", "text"):
            continue
        want, got = outcome(key, op, wanted, there, equal, None), outcome(key, op, wanted, there, equal, options)
        graphs += got[1]["graph"] > 0
        if [str(x) for x in want[0]] != [str(x) for x in got[0]]:
            wrong.append((key, wanted, there, equal, [p for p in zip(want[0], got[0]) if str(p[0]) != str(p[1])][:1]))
        assert not got[1]["disproved"]
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    assert graphs
