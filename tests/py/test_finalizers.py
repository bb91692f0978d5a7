# SPDX-License-Identifier: Apache-2.0
"""What a graph replaces may have a finalizer, which sees what the program has done by then, and no more."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HEAD = """
import functools
import weakref

log, refs = [], []

def said(what):
    log.append((what, h.n, len(box), table.get('n'), sorted(table) if len(table) < 9 else 0))

class Holder:
    pass

class Slotted:
    __slots__ = ('r',)

class Finalized:
    def __del__(self):
        said('finalizer')
    def method(self):
        pass

class FinalizedList(list):
    def __del__(self):
        said('finalizer of a list')

class Watched:
    pass

def watched(o):
    refs.append(weakref.ref(o, lambda r: said('callback')))
    return o

def seen(o):
    refs.append(weakref.ref(o))
    return o

def begun():
    def go():
        try:
            yield 1
        finally:
            said('finally')
    g = go()
    next(g)
    return g

def attribute(o, name, value):
    setattr(o, name, value)
    return o

def closure(o):
    return lambda: o

def twice(o):
    return [o, (o, o)]

h, s, box, table, x = Holder(), Slotted(), [], {}, None
G = None

def cell():
    r = None
    def put(v):
        nonlocal r
        r = v
    def replace():
        nonlocal r
        r = None
        h.n += 1
    return put, replace
put, replace = cell()

def reset(make, tensor):
    global G, x
    h.n = 0
    h.r, s.r, Holder.c, G, x = make(), make(), make(), make(), tensor
    x.r = make()
    put(make())
    box[:] = [make(), make()]
    table.clear()
    table.update(n=0, r=make(), t=make())
    log.clear()
"""
KINDS = {
    "a finalizer": "Finalized()", "a callback": "watched(Watched())", "a generator": "begun()", "in a list": "[Finalized()]", "deep": "[([{'a': Finalized()}],)]",
    "a key": "{Finalized(): 1}", "in a set": "{Finalized()}", "in an attribute": "attribute(Watched(), 'r', Finalized())",
    "in a slot": "attribute(Slotted(), 'r', Finalized())", "twice": "twice(Finalized())", "in a closure": "closure(Finalized())",
    "a partial": "functools.partial(print, Finalized())", "a method": "Finalized().method", "a list's": "FinalizedList([1])",
    "of a tensor": "attribute(janus.ones(2), 'r', Finalized())", "a tensor's callback": "watched(janus.ones(2))", "of an exception": "ValueError(Finalized())",
    "none": "Watched()", "no callback": "seen(Watched())", "a number": "3",
}
PLACES = {
    "attribute": "h.r = None", "attribute deleted": "del h.r", "slot": "s.r = None", "class": "Holder.c = 1", "tensor's attribute": "x.r = None",
    "of a tensor": "h.r = x * 2", "item": "box[0] = None", "popped": "box.pop()", "popped twice": "box.pop()\n    h.n += 1\n    box.pop()",
    "popped to a variable": "q = box.pop()\n    h.n += 1\n    q = None", "cleared": "box.clear()", "slice": "box[:] = []", "item deleted": "del box[0]",
    "key": "table['r'] = None", "key deleted": "del table['r']", "key popped": "table.pop('t')", "dict cleared": "table.clear()", "key again": "del table['r']\n    table['r'] = 1",
    "global": "global G\n    G = None", "cell": "replace()", "loop": "for i in range(2):\n        box[i] = None\n        h.n += 1",
    "loop of unknown length": "for i in range(n):\n        box[i] = None\n        h.n += 1", "decided": "if x.sum() > 0:\n        h.r = None", "swapped": "h.r, box[0] = box[0], h.r\n    h.n += 1\n    h.r = None",
    "moved": "h.r = box.pop()", "recursion": "down(h, n)", "new": "h.r = Holder()",
    "variable": "q = make()\n    y = x + 1\n    q = y * 2", "variable, later": "q = make()\n    log.append('made')\n    y = x + 1\n    h.n += 1\n    q = y * 2",
    "variable in a loop": "for i in range(3):\n        q = make()\n        y = x + i\n        q = y * 2\n        h.n += 1",
    "of the round before": "for i in range(3):\n        y = x + i\n        q = y * 2\n        h.n += 1\n        q = make()",
    "some unbound": "for i in range(3):\n        y = x + i\n        q = u = y * 2\n        h.n += 1\n        log.append(i)\n        q = make()\n        del u",
    "two variables": "q = r = make()\n    y = x + 1\n    h.n += 1\n    q = y * 2\n    r = y * 3\n    h.n += 1",
    "variable and attribute": "q = make()\n    h.r = q\n    y = x + 1\n    q = h.r = y * 2",
}
REST = """
def down(o, n):
    if n == 0:
        return 0
    o.r = n
    o.n += 1
    return down(o, n - 1)

def f(x, n):
    {place}
    h.n += 1
    table['n'] = h.n
    box.append(x * 2)
    log.append('end')
    return (x * 2).sum()

def make():
    return {kind}
"""


def outcome(place, kind, verify):
    names = names_of(HEAD + REST.format(place=PLACES[place], kind=KINDS[kind]), janus=janus, __name__="program")
    f = names["f"] if verify is None else janus.function(names["f"], verify=verify, measure=False)
    seen = []
    for _ in range(4):
        names["reset"](names["make"], janus.ones(3))
        f(names["x"], 2)
        seen.append(list(names["log"]))
    return seen, f.stats()["graph"] if verify else 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_finalizers(place, kind):
    plain, _ = outcome(place, kind, None)
    which = list(KINDS).index(kind) + list(PLACES).index(place)
    for verify in ("never", ("rarely", "always")[which % 2])[:1 + (which % 3 == 0)]:
        assert outcome(place, kind, verify)[0] == plain, verify


@pytest.mark.parametrize("place", PLACES)
def test_what_has_none_is_a_graph(place):
    if place == "decided":
        pytest.skip("objects of two kinds are joined by no graph")
    kinds = ["a number", "none"] + ["no callback"] * ("make()" not in PLACES[place])  # it makes a weak reference
    number, *others = (outcome(place, kind, "never")[1] for kind in kinds)
    assert min(others) >= min(number, 1)


RAISES = {
    "first": "for s in items:\n        v = parse(s)\n        w = v + 1\n        total = total + w",
    "second": "for s in ['1', *items]:\n        v = parse(s)\n        w = v + 1\n        total = total + w\n        del w",
    "inner": "for k in range(2):\n        for s in items:\n            u = parse('2') + k\n            v = parse(s) + u\n            total = total + v",
    "around": "for s in items:\n        log.append(s)\n        v = parse(s)\n        w = [v, v + 1]\n        total = total + w[0] * w[1]",
}


@pytest.mark.parametrize("measure", (False, True))
@pytest.mark.parametrize("raises", RAISES)
def test_exceptions_of_regions_have_no_context(raises, measure):
    """Variables that are not bound yet are found out about before: what is raised later has nothing to do with it."""
    text = f"""
log = []

def parse(s):
    v = int(s) * 2
    w = v + 1
    return v + w

def f(items, x):
    total = x * 2
    {RAISES[raises]}
    return total
"""
    seen = []
    for decorate in (lambda f: f, lambda f: janus.function(f, measure=measure)):
        names, out = names_of(text, janus=janus, __name__="program"), []
        names["parse"], f = decorate(names["parse"]), decorate(names["f"])
        for k in range(12):
            try:
                out.append(f(["1", "2"] if k % 3 else ["a"], janus.ones(2)).tolist())
            except ValueError as e:
                out.append((str(e), e.__context__, e.__cause__))
        seen.append(out)
    assert seen[0] == seen[1]


OWNERS = {
    "made": "g = Guard()", "argument": "g = Guard(n)", "returned": "g = passed_on(Guard())", "in a list": "g = [Guard()]", "a generator": "g = started()", "second": "a, g = 1, Guard()",
    "popped": "g = box.pop()", "walrus": "k = [g := Guard()]", "augmented": "g = []\n    g += [Guard()]", "of a loop": "for g in [Guard()]:\n        pass",
    "referred to": "o = Plain()\n    g = weakref.ref(o, lambda r: log.append('callback'))",
}
HOMES = {
    "flat": "OWNER\n    y = x * 2\n    z = y + 1\n    log.append('work')\n    w = z * y\n    log.append('end')\n    return w",
    "late": "y = x * 2\n    z = y + 1\n    OWNER\n    w = z * y + z\n    print('', end='')\n    v = w * 2 + 1\n    log.append('end')\n    return v",
    "loop": "z = x\n    for i in range(3):\n        OWNER\n        y = z * 2\n        z = y + 1\n        log.append(i)\n        z = z * 0.5\n    log.append('end')\n    return z",
    "in the middle": "z = x\n    for i in range(3):\n        y = z * 2\n        OWNER\n        z = y + 1\n        z = z * 0.5\n        log.append(i)\n    log.append('end')\n    return z",
    "inner loop": "z = x\n    for j in range(2):\n        for i in range(2):\n            OWNER\n            y = z * 2\n            z = y + i\n        log.append(j)\n"
                  "        z = z * 0.5 + j\n    log.append('end')\n    return z",
    "branch": "y = x * 2\n    if n:\n        OWNER\n        y = y * 3 + 1\n        y = y - 2\n    log.append('end')\n    return y",
    "continue": "z = x\n    for j in range(3):\n        for i in range(3):\n            OWNER\n            if i == 1:\n                continue\n            y = z * 2\n            z = y + i\n        log.append(j)\n"
                "        z = z * 0.5 + j\n    log.append('end')\n    return z",
    "break": "z = x\n    for j in range(3):\n        for i in range(3):\n            y = z * 2\n            z = y + i\n            OWNER\n            if i == 1:\n                break\n            z = z + 1\n        log.append(j)\n"
             "        z = z * 0.5 + j\n    log.append('end')\n    return z",
}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("home", HOMES)
def test_variables_live_on(home, owner):
    """What a variable holds that nobody reads dies with the variable, though a skeleton of the statements may have run."""
    lines = []
    for line in HOMES[home].split("\n"):
        indent = " " * max(4, line.find("OWNER"))
        lines.append(line.replace("OWNER", OWNERS[owner].replace("\n    ", "\n" + indent)))
    text = f"""
import weakref
log, box = [], []

class Guard:
    def __init__(self, n=0):
        self.n = n
    def __del__(self):
        log.append('finalizer')

class Plain:
    pass

def passed_on(o):
    return o

def started():
    def go():
        try:
            yield 1
        finally:
            log.append('finally')
    g = go()
    next(g)
    return g

def f(x, n):
    """ + "\n".join(lines) + "\n"
    seen = []
    for decorate in (lambda f: f, janus.function, lambda f: janus.function(f, verify="never", measure=False)):
        names, out = names_of(text, janus=janus, __name__="program"), []
        f = decorate(names["f"])
        for _ in range(6):
            names["box"][:] = [names["Guard"]() for _ in range(12)]
            names["log"].clear()
            f(janus.ones(3), 1)
            out.append(list(names["log"]))
        seen.append(out)
    assert seen[0] == seen[1] == seen[2]
