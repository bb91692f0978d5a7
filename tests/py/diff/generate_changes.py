# SPDX-License-Identifier: Apache-2.0
"""The program itself changes between calls: classes, functions, modules, builtins.

A *scene* is a function and what it reads; a *change* is code that runs between two calls.  Each scene is called until
a graph runs, changed, called, changed back, called; then with every other change of the scene.  The undecorated
function, which reads the same places, says at each call what is right.  `calls` counts what ran: no guard may.
"""
import importlib.util

import janus

HEAD = '''
import builtins
import collections
import enum
import functools
import types
import weakref

import janus
from janus import nn

calls = []


def note(what, value=None):
    calls.append(what)
    return value


class Plain:
    """A data descriptor."""

    def __get__(self, obj, owner=None):
        return note("data descriptor", 41) if obj is not None else self

    def __set__(self, obj, value):
        note("set")
        obj.__dict__["x"] = value


class Partly:
    """A descriptor without __set__."""

    def __get__(self, obj, owner=None):
        return note("descriptor", 42) if obj is not None else self


class Odd:
    """A key that looks like another one."""

    def __init__(self, like):
        self.like = like

    def __hash__(self):
        return note("hash", hash(self.like))

    def __eq__(self, other):
        return note("eq", False)
'''

# name: (what is read, the function, its arguments, changes as (do, undo))
INSTANCE = '''
    class B:
        base = 5

    class A(B):
        c = 3

        def m(self, t):
            return t * self.x

        @property
        def p(self):
            return self.x

        @staticmethod
        def s(t):
            return t + 1

        @classmethod
        def k(cls, t):
            return t * cls.c

    class Other(B):
        c, q = 7, 8
        x = 6

        def m(self, t):
            return t - self.x

        p = 9

        @staticmethod
        def s(t):
            return t + 2

        @classmethod
        def k(cls, t):
            return t - cls.c

    class Base2:
        base = 6

    o = A()
    o.x = 2
    old = dict(A.__dict__)

    def restore(name):
        if name in old:
            setattr(A, name, old[name])
        elif name in A.__dict__:
            delattr(A, name)
'''
READS = {
    "attribute": "t * o.x",
    "class_attribute": "t * o.c",
    "base_attribute": "t * o.base",
    "method": "o.m(t)",
    "property": "t * o.p",
    "static": "o.s(t)",
    "class_method": "o.k(t)",
    "of_class": "t * A.c",
    "base_of_class": "t * A.base",
    "function_of_class": "A.m(o, t)",
    "static_of_class": "A.s(t)",
    "class_method_of_class": "A.k(t)",
    "has": "(t, hasattr(o, 'q'), hasattr(o, 'x'))",
    "has_of_class": "(t, hasattr(A, 'q'))",
    "get_or": "(t, getattr(o, 'q', 5))",
    "isinstance": "(t, isinstance(o, Other), isinstance(o, A), isinstance(o, Base2))",
    "type": "(t, type(o) is A, o.__class__)",
    "name": "(t, A.__name__, type(o).__name__)",
    "truth": "t if o else t + 1",
    "equal": "(t, o == o2)",
    "stored": "store(o, t)",
    "called": "call(o, t)",
    "added": "add(o, t)",
}
NAMES = ("x", "c", "base", "m", "p", "s", "k", "q")


def instance_changes():
    for n in NAMES:
        yield f"{n} on the object", f"o.__dict__['{n}'] = 11", f"o.__dict__.pop('{n}', None); o.__dict__['x'] = 2"
        yield f"{n} on the class", f"A.{n} = 12", f"restore('{n}')"
        yield f"{n} a function", f"A.{n} = lambda self, t=None: 13", f"restore('{n}')"
        yield f"{n} a property", f"A.{n} = property(lambda self: 14)", f"restore('{n}')"
        yield f"{n} a data descriptor", f"A.{n} = Plain()", f"restore('{n}'); o.__dict__['x'] = 2"
        yield f"{n} a descriptor", f"A.{n} = Partly()", f"restore('{n}')"
        yield f"{n} cached", (f"'{n}' in o.__dict__ and o.__dict__.pop('{n}'); A.{n} = functools.cached_property(lambda self: note('cached', 15)); "
                              f"A.{n}.__set_name__(A, '{n}')"), f"restore('{n}'); o.__dict__.pop('{n}', None); o.x = 2"
        yield f"{n} gone from the class", f"A.__dict__.get('{n}') and delattr(A, '{n}')", f"restore('{n}')"
        yield f"{n} gone from the object", f"o.__dict__.pop('{n}', None)", "o.x = 2"
        yield f"{n} on the base", f"B.{n} = 16", f"B.__dict__.get('{n}') and delattr(B, '{n}'); B.base = 5"
    yield "__class__", "o.__class__ = Other", "o.__class__ = A"
    yield "__dict__", "o.__dict__ = {'x': 17}", "o.__dict__ = {'x': 2}"
    yield "__bases__", "A.__bases__ = (Base2, B)", "A.__bases__ = (B,)"
    yield "__name__", "A.__name__ = 'Z'", "A.__name__ = 'A'"
    yield "__getattr__", "A.__getattr__ = lambda self, n: note('hook', 18)", "del A.__getattr__"
    yield ("__getattribute__", "A.__getattribute__ = lambda self, n: 19 if n in ('x', 'c') else object.__getattribute__(self, n)",
           "del A.__getattribute__")
    for special in ("__bool__", "__eq__", "__call__", "__add__", "__setattr__", "__len__", "__radd__"):
        yield special, f"A.{special} = lambda self, *a: note('{special}', True)", f"del A.{special}"
    yield "method code", "A.__dict__['m'].__code__ = (lambda self, t: t + 100).__code__", \
        "A.__dict__['m'].__code__ = Other_m"
    yield "odd key", "o.__dict__[Odd('x')] = 1", "o.__dict__ = {'x': 2}"
    yield "unrelated", "A.unrelated = 1", "A.unrelated = 2"


OUTSIDE = '''
    g = globals()
    g.update(G=2, table={{'a': 2, 1: 3}}, numbers=[1, 2], module=types.ModuleType("module"))
    g["module"].v, g["module"].f = 4, lambda t: t * 4
    for name in ("len", "abs", "max", "range"):
        g.pop(name, None)
    cell = 3

    def callee(t, k=2, *, j=3):
        return t * k + j + cell

    def other(t, k=3, *, j=4):
        return t - k - j - G

    def free(t, k=2, *, j=3):
        return t * k + j + cell * 2

    g["callee"] = callee
    code, kw = callee.__code__, {{"j": 3}}
    real = {{n: getattr(builtins, n) for n in ("len", "abs", "max", "range")}}

    class Slotted:
        __slots__ = ("x", "__weakref__")

    class Words(dict):
        pass

    slotted = Slotted()
    slotted.x = 2
    words = Words(a=2)
    ref = weakref.ref(slotted)
    part = functools.partial(callee, k=4)
    bound = slotted.__class__

    class E(enum.Enum):
        RED = 1
        BLUE = 2
    g["E"] = E
    g["shade"] = E.RED
'''
OUTSIDE_READS = {
    "global": "t * G",
    "global_item": "t * table['a']",
    "global_items": "(t, list(table.items()))",
    "number_key": "t * table[1]",
    "in_table": "(t, 'b' in table, 1 in table)",
    "list": "t * numbers[0]",
    "list_length": "t * len(numbers)",
    "loop": "[t * i for i in numbers]",
    "builtin": "(t, len(numbers), max(1, 2))",
    "builtin_abs": "abs(t), abs(-3)",
    "range": "[t * i for i in range(2)]",
    "module": "t * module.v",
    "module_function": "module.f(t)",
    "callee": "callee(t)",
    "callee_default": "callee(t, j=1)",
    "cell": "t * cell",
    "partial": "part(t)",
    "slot": "t * slotted.x",
    "dict_subclass": "t * words['a']",
    "weak": "t * ref().x",
    "enum": "t * 2 if shade is E.RED else t",
    "enum_value": "t * shade.value",
    "name_of": "(t, callee.__name__)",
}
OUTSIDE_CHANGES = [
    ("G", "g['G'] = 7", "g['G'] = 2"),
    ("G kind", "g['G'] = 7.5", "g['G'] = 2"),
    ("G gone", "del g['G']", "g['G'] = 2"),
    ("item", "table['a'] = 8", "table['a'] = 2"),
    ("item added", "table['b'] = 9", "del table['b']"),
    ("number key", "table[1] = 5", "table[1] = 3"),
    ("equal key", "del table[1]; table[True] = 6", "del table[True]; table[1] = 3"),
    ("item gone", "del table['a']", "g['table'] = {'a': 2, 1: 3}"),
    ("odd key", "table[Odd('a')] = 1; table[Odd(1)] = 2", "g['table'] = {'a': 2, 1: 3}"),
    ("another table", "g['table'] = {'a': 10, 1: 11}", "g['table'] = {'a': 2, 1: 3}"),
    ("table of a subclass", "g['table'] = collections.defaultdict(int)", "g['table'] = {'a': 2, 1: 3}"),
    ("numbers", "numbers.append(3)", "numbers.pop()"),
    ("number", "numbers[0] = 9", "numbers[0] = 1"),
    ("numbers a tuple", "g['numbers'] = (4, 5)", "g['numbers'] = [1, 2]"),
    ("len shadowed", "g['len'] = lambda x: 77", "del g['len']"),
    ("abs shadowed", "g['abs'] = lambda x: x + 1", "del g['abs']"),
    ("range shadowed", "g['range'] = lambda x: [5]", "del g['range']"),
    ("len patched", "builtins.len = lambda x: 78", "builtins.len = real['len']"),
    ("max patched", "builtins.max = lambda *a: 79", "builtins.max = real['max']"),
    ("range patched", "builtins.range = lambda x: [6]", "builtins.range = real['range']"),
    ("module attribute", "module.v = 12", "module.v = 4"),
    ("module attribute gone", "del module.v", "module.v = 4"),
    ("module function", "module.f = lambda t: t - 1", "module.f = lambda t: t * 4"),
    ("another module", "g['module'] = types.SimpleNamespace(v=5, f=lambda t: t)", "g['module'] = old_module"),
    ("module __getattr__", "module.__getattr__ = lambda n: note('module', 5); del module.v",
     "del module.__getattr__; module.v = 4"),
    ("callee", "g['callee'] = other", "g['callee'] = callee_"),
    ("code", "callee_.__code__ = free.__code__", "callee_.__code__ = code"),
    ("defaults", "callee_.__defaults__ = (9,)", "callee_.__defaults__ = (2,)"),
    ("no defaults", "callee_.__defaults__ = None", "callee_.__defaults__ = (2,)"),
    ("kw defaults", "callee_.__kwdefaults__ = {'j': 20}", "callee_.__kwdefaults__ = {'j': 3}"),
    ("kw default in place", "callee_.__kwdefaults__['j'] = 21", "callee_.__kwdefaults__['j'] = 3"),
    ("callee name", "callee_.__name__ = 'z'", "callee_.__name__ = 'callee'"),
    ("cell", "cell = 30", "cell = 3"),
    ("cell kind", "cell = 3.5", "cell = 3"),
    ("slot", "slotted.x = 5", "slotted.x = 2"),
    ("slot gone", "del slotted.x", "slotted.x = 2"),
    ("slot class", "Slotted.y = 1", "del Slotted.y"),
    ("words", "words['a'] = 9", "words['a'] = 2"),
    ("words __getitem__", "Words.__getitem__ = lambda s, k: note('item', 9)", "del Words.__getitem__"),
    ("shade", "g['shade'] = E.BLUE", "g['shade'] = E.RED"),
    ("raw code", "raw.__code__ = raw2.__code__", "raw.__code__ = raw_code"),
    ("unrelated", "g['unrelated'] = 1", "g['unrelated'] = 2"),
]

INSTANCE_FUNCTION = '''

def instance__{name}(function):
{setup}
    o2 = A()
    Other_m = A.__dict__["m"].__code__

    def store(o, t):
        o.x = 2
        return t * o.__dict__["x"]

    def call(o, t):
        return o(t)

    def add(o, t):
        return o + 1

    def raw(t, o):
        return {read}

    decorated = function(raw)

    def call_it(which, t):
        return (decorated if which else raw)(t, o)

    def change(what):
        {changes}

    return decorated, call_it, change
'''
OUTSIDE_FUNCTION = '''

def outside__{name}(function):
{setup}
    callee_, old_module = callee, g["module"]

    def raw(t):
        if cell is None:
            return t
        return {read}

    def raw2(t):
        return t * 1000 + (cell and 1){more}

    raw_code, read_all = raw.__code__, raw.__code__
    decorated = function(raw)

    def call_it(which, t):
        return (decorated if which else raw)(t)

    def change(what):
        nonlocal cell
        {changes}

    return decorated, call_it, change
'''


def branches(changes):
    lines = []
    for what, do, undo in changes:
        lines.append(f"if what == {what!r}:\n            {do}")
        lines.append(f"if what == {'not ' + what!r}:\n            {undo}")
    return "\n        ".join(lines)


def text():
    out = [HEAD]
    for name, read in READS.items():
        out.append(INSTANCE_FUNCTION.format(name=name, setup=INSTANCE, read=read, changes=branches(instance_changes())))
    for name, read in OUTSIDE_READS.items():
        free = [n for n in ("part", "slotted", "words", "ref", "callee", "E") if n in read]
        more = "".join(f" + ({n} is None)" for n in free)
        out.append(OUTSIDE_FUNCTION.format(name=name, setup=OUTSIDE.replace("{{", "{").replace("}}", "}"), read=read,
                                           more=more, changes=branches(OUTSIDE_CHANGES)))
    return "".join(out)


def load(folder):
    path = folder / "generated_changes.py"
    path.write_text(text())
    spec = importlib.util.spec_from_file_location("generated_changes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(rng=None, share=1.0):
    for scenes, changes in ((["instance__" + n for n in READS], list(instance_changes())),
                            (["outside__" + n for n in OUTSIDE_READS], OUTSIDE_CHANGES)):
        for scene in scenes:
            for what, _, _ in changes:
                if rng is None or rng.random() < share:
                    yield scene, what


def outcome(module, call, *args):
    del module.calls[:]
    try:
        value = call(*args)
    except Exception as e:  # the exception is what is compared
        value = e
    return value, list(module.calls)


def run(module, scene, what, difference):
    """(difference or None, calls that ran as graphs)."""
    f, call, change = getattr(module, scene)(lambda raw: janus.function(raw, measure=False, verify="never"))
    plan = [""] * 4 + [what, ""] + ["not " + what, ""] + [what] + ["not " + what, "", ""]
    for n, step in enumerate(plan):
        change(step)
        t = janus.tensor([1.0, 2.0])
        want, effects = outcome(module, call, 0, t)
        if "cached" in what:
            change(step)
        got, more = outcome(module, call, 1, t)
        d = difference(want, got, {id(t)})
        if not d and effects != more:
            d = f"ran {effects}, {more}"
        if d:
            if step == what:
                change("not " + what)
            return f"call {n}, {step or 'as before'}: {d}", f.stats()["graph"]
    return None, f.stats()["graph"]
