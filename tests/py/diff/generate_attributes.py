# SPDX-License-Identifier: Apache-2.0
"""Programs that read attributes, generated: every attribute of values of every kind, given and made inside, in several ways.

`programs()` gives (name, text); the text defines `make(function)`, which returns calls without arguments.
"""
import collections
import enum
import functools

HEAD = """import collections
import dataclasses
import enum
import functools
import math

import janus


class Plain:
    '''A class.'''
    kind = 'plain'
    table = {'a': 1}

    def __init__(self):
        self.v = 1

    def method(self):
        return self.v

    @staticmethod
    def static():
        return 2

    @classmethod
    def made(cls):
        return cls

    @property
    def twice(self):
        return 2 * self.v


class Sub(Plain):
    kind = 'sub'


class Slots:
    __slots__ = ('v', 'w')

    def __init__(self):
        self.v = 3


class Hook:
    v = 1

    def __getattr__(self, name):
        return 'hook ' + name


class All:
    def __getattribute__(self, name):
        return 'all ' + name


class Data:
    def __get__(self, o, t=None):
        return ('data', o is None)

    def __set__(self, o, v):
        o.__dict__['written'] = v


class NonData:
    def __get__(self, o, t=None):
        return ('non data', o is None)


class Described:
    data, non_data, hidden = Data(), NonData(), NonData()

    def __init__(self):
        self.__dict__.update(data=1, hidden=2, v=3)


class Meta(type):
    of_meta = 5

    def meta_method(cls):
        return 6

    @property
    def meta_property(cls):
        return cls.__name__


class WithMeta(metaclass=Meta):
    v = 1


class Color(enum.Enum):
    RED = 1
    BLUE = 2


Point = collections.namedtuple('Point', 'a b')


@dataclasses.dataclass
class Record:
    a: int = 1
    b: str = 'x'


class Net(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = janus.nn.Linear(1, 1)
        self.v = 1


def plain(a, b=2, *c, d=4, **e):
    '''A function.'''
    return a


x = janus.tensor([1.0, 2.0])
"""
# What `o` is: an expression outside of the function, or one inside of it (of x, and n, a number).
GIVEN = ("3", "2.5", "True", "'text'", "b'bytes'", "None", "(1, 2)", "[1, 2]", "{'a': 1}", "{1}", "frozenset((1,))", "range(2, 7, 2)", "slice(1, 5)",
         "2j", "plain", "len", "[].append", "Plain().method", "Plain.made", "Plain", "Sub", "int", "WithMeta", "Color", "Color.RED", "math", "Plain()",
         "Sub()", "Slots()", "Hook()", "All()", "Described()", "Described", "Point(1, 2)", "Record()", "Record", "functools.partial(plain, 1)",
         "x", "janus.nn.Parameter(x)", "Net()", "janus.float32", "janus.relu", "...", "NotImplemented", "WithMeta()", "Point")
MADE = ("[x, 2]", "(x, 2)", "{'a': x}", "range(n)", "len([x, x])", "n + 1", "x + 1", "lambda: x", "Plain()", "Point(x, 2)", "Record(a=x)", "slice(0, n)",
        "iter([x])", "zip([x], [x])", "(i for i in [x])", "Plain().method", "[].append", "f'{n}'", "enumerate([x])", "{'a': x}.items()", "Sub().twice", "x.sum",
        "janus.zeros(2).shape")
EXTRA = ("absent", "v", "w", "written", "kind", "table", "method", "static", "made", "twice", "data", "non_data", "hidden", "of_meta", "meta_method",
         "meta_property", "RED", "a", "b")
USES = {"read": "(o.{0},)", "has": "(hasattr(o, '{0}'),)", "default": "(getattr(o, '{0}', 'none'),)", "none": "(o.{0} is None, o.{0} is not None)",
        "equal": "(o.{0} == 3, o.{0} != None)", "type": "(type(o.{0}).__name__,)", "truth": "(1 if o.{0} else 0,)"}
# Attributes whose values say where the program runs, or are other at every read.
LEFT_OUT = {"__init_subclass__", "__subclasshook__", "__reduce__", "__reduce_ex__", "__sizeof__", "__builtins__", "__dir__", "__getstate__", "__weakref__"}


def names_of(o):
    return sorted((set(dir(o)) | {"__name__", "__qualname__", "__module__", "__doc__", "__mro__", "__bases__", "__class__", "__dict__", "__self__",
                                  "__func__", "__code__", "__slots__", "__len__", "__iter__", "__wrapped__"}) - LEFT_OUT)


KINDS = {"3": 3, "2.5": 2.5, "True": True, "'text'": "", "b'bytes'": b"", "(1, 2)": (), "[1, 2]": [], "{'a': 1}": {}, "{1}": set(),
         "range(2, 7, 2)": range(1), "slice(1, 5)": slice(1), "2j": 2j, "plain": names_of, "len": len, "Plain().method": "".join, "int": int,
         "Color": enum.Enum, "[x, 2]": [], "(x, 2)": (), "{'a': x}": {}, "range(n)": range(1), "len([x, x])": 3, "n + 1": 3, "lambda: x": names_of,
         "slice(0, n)": slice(1), "f'{n}'": "", "functools.partial(plain, 1)": functools.partial(names_of), "Point(1, 2)": collections.namedtuple("P", "a b")(1, 2)}


def reads():
    few = ("__class__", "__dict__", "__doc__", "__name__", "__module__", "__qualname__", "__mro__", "__init__", "__eq__", "__hash__", "__len__", "__self__",
           "__func__", "__defaults__", "__iter__", "__slots__", "__call__", "__str__", "shape", "dtype", "grad", "T", "real", "imag", "start", "stop", "fields",
           "_fields", "func", "args", "name", "value", "training", "numerator")
    for where, values in (("given", GIVEN), ("made", MADE)):
        for value in values:
            for name in sorted(set(names_of(KINDS[value]) if value in KINDS else few) | set(few) | set(EXTRA)):
                for use, text in USES.items():
                    if use in ("default", "none") or name in few or name in EXTRA:
                        yield where, value, name, use, text.format(name)


def programs():
    groups = {}
    for where, value, name, use, text in reads():
        groups.setdefault((where, value), []).append((name, use, text))
    for (where, value), uses in groups.items():
        text = HEAD + f"\n\ndef make(function):\n    calls, o, n = [], {value if where == 'given' else None}, 3\n"
        for name, use, result in uses:
            inside = f"        o = {value}\n" if where == "made" else ""
            text += f"\n    @function\n    def f(o, n, x):\n{inside}        return {result}\n\n    calls.append(('{name}', '{use}', lambda f=f: f(o, n, x)))\n"
        yield f"{where} {value}", text + "    return calls\n"


