# SPDX-License-Identifier: Apache-2.0
"""Values that change between calls: every kind (values.py), held in every kind of place, used in every way.

The functions below are written to a file (janus reads their source there).  One function is called again and
again: with one value until a graph runs, then with another value of the kind, with the first again, with a value of
another kind, with an equal one that is another object, with the first after it was changed in place.  The
undecorated function says at each call what is right: the same results (the very objects, where what came in goes
out), the same exceptions.  Places and uses only read, so both can be called one after the other.
"""
import importlib.util
import math
import os
import types

import janus

from diff import values

# How a body gets at the value, and how the value is put there.
#   before: in front of the function, args: its parameters, load: an expression, put: statements with `v`,
#   call: the arguments of a call
PLACES = {
    "argument": dict(args="x, t, k", load="x", call="v, t, k"),
    "keyword": dict(args="t, k, x", load="x", call="t, k, x=v"),
    "extra": dict(args="t, k, *x", load="x[0]", call="t, k, v"),
    "keywords": dict(args="t, k, **x", load="x['y']", call="t, k, y=v"),
    "default": dict(args="t, k, x=None", load="x", put="raw.__defaults__ = (v,)"),
    "kw_default": dict(args="t, k, *, x=None", load="x", put="raw.__kwdefaults__ = {'x': v}"),
    "attribute": dict(before="o = Holder()", args="t, k, o", load="o.x", put="o.x = v", call="t, k, o"),
    "slot": dict(before="o = Slotted()", args="t, k, o", load="o.x", put="o.x = v", call="t, k, o"),
    "attribute_of_global": dict(before="globals()['GO'] = Holder()", args="t, k", load="GO.x", put="GO.x = v"),
    "instance_dict": dict(before="o = Holder()", args="t, k, o", load="o.x", put="o.__dict__ = {'x': v}",
                          call="t, k, o"),
    "list": dict(before="o = [0, 0]", args="t, k, o", load="o[1]", put="o[1] = v", call="t, k, o"),
    "list_new": dict(args="t, k, o", load="o[1]", call="t, k, [1, v]"),
    "tuple": dict(args="t, k, o", load="o[1]", call="t, k, (1, v)"),
    "dict": dict(before="o = {}", args="t, k, o", load="o['x']", put="o['x'] = v", call="t, k, o"),
    "dict_new": dict(args="t, k, o", load="o[3]", call="t, k, {3: v, 'a': 1}"),
    "nested": dict(before="o = Holder()", args="t, k, o", load="o.x[0]['y'].x", put="o.x = [{'y': Holder(v)}]",
                   call="t, k, o"),
    "global": dict(args="t, k", load="GX", put="globals()['GX'] = v"),
    "cell": dict(before="cell = None", args="t, k", load="cell", put="cell = v", nonlocal_="cell"),
    "class": dict(before="class C:\n        x = None\n    o = C()", args="t, k, o", load="o.x", put="C.x = v",
                  call="t, k, o"),
    "class_itself": dict(before="class C:\n        x = None", args="t, k, C", load="C.x", put="C.x = v",
                         call="t, k, C"),
    "base_class": dict(before="class B:\n        x = None\n    class C(B):\n        pass\n    o = C()",
                       args="t, k, o", load="o.x", put="B.x = v", call="t, k, o"),
    "base_class_itself": dict(before="class B:\n        x = None\n    class C(B):\n        pass",
                              args="t, k, C", load="C.x", put="B.x = v", call="t, k, C"),
    "module": dict(before="globals()['GM'] = types.ModuleType('GM')", args="t, k", load="GM.x", put="GM.x = v"),
    "nn_module": dict(before="o = Net()", args="t, k, o", load="o.held", put="o.__dict__['held'] = v",
                      call="t, k, o"),
    "property": dict(before="o = Holder()", args="t, k, o", load="o.through", put="o.x = v", call="t, k, o"),
    "getattr": dict(before="o = Holder()", args="t, k, o", load="o.missing", put="o.x = v", call="t, k, o"),
    "callee_default": dict(before="def callee(x=None):\n        return x", args="t, k", load="callee()",
                           put="callee.__defaults__ = (v,)"),
    "callee_kw_default": dict(before="def callee(*, x=None):\n        return x", args="t, k", load="callee()",
                              put="callee.__kwdefaults__ = {'x': v}"),
    "bound_self": dict(before="o = Holder()", args="t, k, m", load="m()", put="o.x = v", call="t, k, o.get"),
    "method": dict(before="o = Holder()", args="t, k, o", load="o.get()", put="o.x = v", call="t, k, o"),
    "partial_self": dict(args="t, k, m", load="m()", call="t, k, functools.partial(same, v)"),
}

# What is done with it: statements with the value `x`, a tensor `t` and another value `k`.
USES = {
    "returned": "return x",
    "returned_inside": "return [x, {'a': (x, 1)}]",
    "passed_on": "return same(x)",
    "called_with_tensor": "return x(t)",
    "called": "return x()",
    "called_with_number": "return x(2)",
    "called_star": "return plain(*x)",
    "called_stars": "return plain(**x)",
    "equal": "return x == k",
    "unequal": "return x != k",
    "less": "return x < k",
    "is": "return x is k",
    "is_not_none": "return x is not None",
    "equal_itself": "return x == x",
    "equal_constant": "return x == 2",
    "in_list": "return x in [1, 'a1', k]",
    "in_itself": "return 2 in x",
    "branch": "if x == k:\n        return t + 1\n    return t",
    "truth": "return t if x else t + 1",
    "not": "return not x",
    "iterated": "return [e for e in x]",
    "loop": "r = t\n    for e in x:\n        r = r * e\n    return r",
    "list_of": "return list(x)",
    "unpacked": "a, b = x\n    return b, a",
    "length": "return len(x)",
    "item": "return x[0]",
    "item_last": "return x[-1]",
    "key": "return x['a']",
    "get": "return x.get('a')",
    "indexes_tensor": "return t[x]",
    "indexes_list": "return [10, 20, 30, 40, 50][x]",
    "slices": "return [10, 20, 30, 40, 50][x:]",
    "attribute": "return x.a",
    "attribute_of_class": "return x.n",
    "attribute_times": "return t * x.a",
    "attribute_start": "return x.start, x.stop",
    "attribute_real": "return x.real",
    "attribute_value": "return x.value",
    "attribute_name": "return x.__name__",
    "attribute_class": "return x.__class__",
    "attribute_self": "return x.__self__",
    "has": "return hasattr(x, 'a'), getattr(x, 'n', None)",
    "method": "return x.scaled(t)",
    "key_of_dict": "return {x: 1}",
    "looks_up": "return {1: 'a', 2: 'b', 'a1': 'c', None: 'd', (1, 2): 'e', k: 'f'}.get(x)",
    "looks_up_given": "return x in k",
    "hashed": "return hash(x) == hash(x)",
    "times_tensor": "return t * x",
    "tensor_times": "return x * t",
    "tensor_plus": "return t + x",
    "sum_over": "return t.sum(x)",
    "to": "return t.to(x)",
    "shape_of": "return janus.zeros(x)",
    "full": "return janus.full((2,), x)",
    "stacked": "return janus.stack(list(x))",
    "applied": "return apply(x, t)",
    "mapped": "return list(map(x, [1, 2]))",
    "sorted_by": "return sorted([3, 1, 2], key=x)",
    "isinstance": "return isinstance(x, (int, str, list, tuple, Thing))",
    "isinstance_of": "return isinstance(1, x)",
    "type": "return type(x)",
    "type_is": "return type(x) is int",
    "callable": "return callable(x)",
    "text": "return f'{x}'",
    "str": "return str(x)",
    "plus": "return x + x",
    "minus": "return x - 1",
    "negative": "return -x",
    "times": "return x * 2",
    "or": "return x or 5",
    "max": "return max(x, 2)",
    "int": "return int(x)",
    "tuple_of": "return tuple(x)",
    "matched": "match x:\n        case 1 | 'a1':\n            return 'one'\n        case [a, *_]:\n            return a\n        case Thing():\n            return 'thing'\n    return 'other'",
    "joined": "return ','.join(x)",
    "stored": "box = Holder()\n    box.x = x\n    return box.x",
    "appended": "box = []\n    box.append(x)\n    return box",
    "number": "return t * float(x)",
    "closure_over": "return (lambda y: (x, y))(t)",
    "super_of": "return type(x).__name__",
}

HEAD = '''
import functools
import types

import janus
from janus import nn

from diff.values import Thing

GX = GO = GM = None


class Holder:
    def __init__(self, x=None):
        self.x = x

    @property
    def through(self):
        return self.x

    def __getattr__(self, name):
        if name != "missing":
            raise AttributeError(name)
        return self.x

    def get(self):
        return self.x


class Slotted:
    __slots__ = ("x",)


class Net(nn.Module):
    pass


def same(x):
    return x


def plain(*args, **kwargs):
    return args, kwargs


def apply(f, t):
    return f(t)
'''

FUNCTION = '''

def {name}(function):
    {before}

    def raw({args}):
        x = {load}
        {body}

    decorated = function(raw)

    def put(v):
        {scope}
        {put}

    def call(which, v, t, k):
        return (decorated if which else raw)({call})

    return decorated, put, call
'''


PAIRS = [(place, use) for place in PLACES for use in USES]


def text(pairs):
    """The source of a function for each place and use."""
    out = [HEAD]
    for place, use in pairs:
        p = PLACES[place]
        out.append(FUNCTION.format(
            name=f"{place}__{use}", before=p.get("before", "pass"), args=p["args"], load=p["load"],
            body=USES[use].replace("\n    ", "\n        "), put=p.get("put", "pass"),
            scope="nonlocal " + p["nonlocal_"] if "nonlocal_" in p else "pass", call=p.get("call", "t, k")))
    return "".join(out)


def load(folder, pairs):
    path = folder / "generated_values.py"
    path.write_text(text(pairs))
    spec = importlib.util.spec_from_file_location("generated_values", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ATOMS = (int, float, str, bytes, bool, complex, type(None))


def difference(want, got, known, depth=0):
    """What tells two results apart, or None.  known: ids of objects that came in."""
    if want is got:
        return None
    if id(want) in known or id(got) in known:
        return f"another object: {want!r:.60} {got!r:.60}"
    if type(want) is not type(got):
        return f"another type: {want!r:.60} {got!r:.60}"
    if isinstance(want, float) and not isinstance(want, type):
        same = (math.isnan(want) and math.isnan(got)) or (want == got and math.copysign(1, want) == math.copysign(1, got))
        return None if same else f"{want!r} {got!r}"
    if isinstance(want, ATOMS):
        return None if repr(want) == repr(got) else f"{want!r:.60} {got!r:.60}"
    if isinstance(want, janus.Tensor):
        a, b = ((v.dtype, v.shape, v.requires_grad, repr(v.tolist())) for v in (want, got))
        return None if a == b else f"{a} {b}"
    if depth > 6:
        return None
    if isinstance(want, (list, tuple)):
        if len(want) != len(got):
            return f"{len(want)} items, {len(got)}"
        return next((d for d in (difference(a, b, known, depth + 1) for a, b in zip(want, got)) if d), None)
    if isinstance(want, dict):
        if list(map(repr, want)) != list(map(repr, got)):
            return f"keys {list(want)} {list(got)}"
        for a, b in zip(want, got):
            d = difference(a, b, known, depth + 1) or difference(want[a], got[b], known, depth + 1)
            if d:
                return d
        return None
    if isinstance(want, (types.MethodType, types.BuiltinMethodType)):
        return None if want == got else f"{want!r:.60} {got!r:.60}"
    if isinstance(want, BaseException):
        return None if str(want) == str(got) else f"{want!r:.60} {got!r:.60}"
    if hasattr(want, "__dict__") and not isinstance(want, (type, types.FunctionType)):
        return difference(vars(want), vars(got), known, depth + 1)
    if isinstance(want, types.MappingProxyType):
        return None
    return None if want == got else f"{want!r:.60} {got!r:.60}"


def outcome(call, *args):
    try:
        result = call(*args)
        if os.environ.get("JANUS_DEVICE") == "cuda":
            janus.cuda.synchronize()  # which reports what went wrong on the device
        return result
    except Exception as e:  # the exception is what is compared
        return e


def steps(kind, other):
    """Pairs (what happens, value): the values that are put, in order."""
    make = values.KINDS[kind]
    first = make(1)
    yield from [("first", first)] * 4
    second = make(2)
    yield from [("another", second)] * 2
    yield "back", first
    yield "other kind", values.KINDS[other](1)
    yield from [("alike", make(1))] * 2
    if kind in values.CHANGES:
        yield "again", first
        values.CHANGES[kind](first)
        yield from [("changed", first)] * 2
    yield "end", second


USED_UP = ("iterator", "generator", "zip", "count", "lru_cache")


# A number that the graph chooses is a new object, as one that it computes.
CHOSEN = ("or", "max", "key_of_dict", "indexes_list", "matched")


def run(module, kind, place, use, other):
    """(difference or None, runs as a graph)."""
    f, put, call = getattr(module, f"{place}__{use}")(lambda raw: janus.function(raw, measure=False, verify="never"))
    seen = []
    for n, (what, v) in enumerate(steps(kind, other)):
        t = janus.tensor([1.0, 2.0])
        k = seen[0] if seen else v
        seen.append(v)
        known = {id(v), id(k), id(t)}
        if kind in USED_UP or other in USED_UP or (use in CHOSEN and isinstance(v, (int, float))):
            known = set()
        outcome(put, v)
        if (kind in USED_UP or other in USED_UP) and use not in ("returned", "is", "type"):
            return None, 0
        want = outcome(call, 0, v, t, k)
        got = outcome(call, 1, v, t, k)
        d = difference(want, got, known)
        if d:
            return f"call {n}, {what}: {d}", f.stats()["graph"]
    return None, f.stats()["graph"]


def cases(pairs, rng, share):
    """(kind, place, use, other kind), a share of them picked by `rng`."""
    kinds = list(values.KINDS)
    for i, kind in enumerate(kinds):
        for j, (place, use) in enumerate(pairs):
            if rng.random() < share:
                yield kind, place, use, kinds[(i + 7 * j + 1) % len(kinds)]
