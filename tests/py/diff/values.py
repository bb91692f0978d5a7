# SPDX-License-Identifier: Apache-2.0
"""Every kind of value that a program can hold, for generate_values.py.

A kind is a function of a number: equal numbers give values made alike (equal ones, where the kind has an
equality), other numbers give others of the same kind.  CHANGES has, by kind, what changes such a value in place.
"""
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import operator
import pathlib
import re
import types
import typing
import weakref

import janus
from janus import nn

KINDS, CHANGES = {}, {}


def kind(make):
    KINDS[make.__name__.rstrip("_")] = make
    return make


def change(fn):
    CHANGES[fn.__name__.rstrip("_")] = fn
    return fn


# ---- numbers, strings, singletons


KINDS["int"] = lambda i: i
KINDS["int_large"] = lambda i: 3000 * i + 7
KINDS["int_huge"] = lambda i: 2**70 + i
KINDS["float"] = lambda i: i + 0.5
KINDS["float_zero"] = lambda i: (0.0, -0.0, 1.0)[i % 3]
KINDS["float_nan"] = lambda i: (float("nan"), float("inf"))[i % 2]
KINDS["bool"] = lambda i: i % 2 == 0
KINDS["complex"] = lambda i: complex(i, 1)
KINDS["complex_zero"] = lambda i: complex(0.0, (0.0, -0.0)[i % 2])
KINDS["str"] = lambda i: "".join(["a", str(i)])
KINDS["str_empty"] = lambda i: ("", "x")[i % 2]
KINDS["bytes"] = lambda i: bytes([65, i])
KINDS["none_or_int"] = lambda i: (None, i)[i % 2]
KINDS["singleton"] = lambda i: (None, Ellipsis, NotImplemented)[i % 3]
KINDS["decimal"] = lambda i: decimal.Decimal(i)
KINDS["fraction"] = lambda i: fractions.Fraction(i, 3)
KINDS["date"] = lambda i: datetime.date(2020, 1, 1 + i)


class Int(int):
    pass


class Text(str):
    pass


class Real(float):
    pass


KINDS["int_subclass"] = lambda i: Int(i)
KINDS["str_subclass"] = lambda i: Text(i)
KINDS["float_subclass"] = lambda i: Real(i)


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2
    HUGE = 3


class Flag(enum.Flag):
    A = 1
    B = 2
    C = 4


KINDS["enum"] = lambda i: list(Color)[i % 3]
KINDS["int_enum"] = lambda i: list(Size)[i % 3]
KINDS["flag"] = lambda i: list(Flag)[i % 3]

# ---- immutable containers

KINDS["range"] = lambda i: range(i, 5)
KINDS["slice"] = lambda i: slice(0, i)
KINDS["tuple"] = lambda i: (i, 2)
KINDS["tuple_empty"] = lambda i: ((), (1,))[i % 2]
KINDS["tuple_nested"] = lambda i: ((i, "a"), [i], None)
KINDS["tuple_of_slices"] = lambda i: (slice(0, i),)
KINDS["frozenset"] = lambda i: frozenset([i, 9])
KINDS["frozenset_nested"] = lambda i: frozenset([frozenset([i]), i])

Point = collections.namedtuple("Point", "x y")


class Pair(tuple):
    pass


class Named(typing.NamedTuple):
    a: int
    n: int = 3


KINDS["namedtuple"] = lambda i: Point(i, 2)
KINDS["typed_namedtuple"] = lambda i: Named(i)
KINDS["tuple_subclass"] = lambda i: Pair([i, 2])
KINDS["mappingproxy"] = lambda i: types.MappingProxyType({"a": i})

# ---- mutable containers


KINDS["list"] = lambda i: [i, 2]
KINDS["list_empty"] = lambda i: [[], [1]][i % 2]
KINDS["list_nested"] = lambda i: [[i], {"a": [i, 2]}]
KINDS["dict"] = lambda i: {"a": i, 0: i}
KINDS["dict_nested"] = lambda i: {"a": {"a": i}, 0: [i]}
KINDS["set"] = lambda i: {i, 9}
KINDS["bytearray"] = lambda i: bytearray([i, 1])
KINDS["deque"] = lambda i: collections.deque([i, 2])
KINDS["defaultdict"] = lambda i: collections.defaultdict(int, {"a": i})
KINDS["ordered_dict"] = lambda i: collections.OrderedDict([("a", i)])
KINDS["counter"] = lambda i: collections.Counter({"a": i})
KINDS["chain_map"] = lambda i: collections.ChainMap({"a": i})
KINDS["array"] = lambda i: array.array("d", [i, 2.0])
KINDS["memoryview"] = lambda i: memoryview(bytes([i, 1]))


class Items(list):
    pass


class Table(dict):
    pass


class Default(dict):
    def __missing__(self, key):
        return key


class Keyed(list):
    n = 5

    def __getitem__(self, k):
        return "item", k, len(self)


KINDS["list_subclass"] = lambda i: Items([i, 2])
KINDS["dict_subclass"] = lambda i: Table(a=i)
KINDS["dict_missing"] = lambda i: Default(a=i)
KINDS["list_keyed"] = lambda i: Keyed([i, 2])
KINDS["simple_namespace"] = lambda i: types.SimpleNamespace(a=i, n=2)
for _name in ("list", "list_empty", "list_nested", "list_subclass", "list_keyed", "deque"):
    CHANGES[_name] = lambda v: v.append(77)
for _name in ("dict", "dict_nested", "defaultdict", "ordered_dict", "counter", "dict_subclass", "dict_missing", "chain_map"):
    CHANGES[_name] = lambda v: v.update(a=77)
CHANGES["set"] = lambda v: v.add(77)
CHANGES["bytearray"] = lambda v: v.append(7)
CHANGES["array"] = lambda v: v.append(7.0)

# ---- instances


class Thing:
    n = 4

    def __init__(self, a):
        self.a = a

    def scaled(self, x):
        return x * self.a

    @classmethod
    def of(cls, x):
        return cls.n * x

    @staticmethod
    def plain(x):
        return x + 1

    @janus.function
    def decorated(self, x):
        return x - self.a

    @property
    def n_of(self):
        return self.a


class Callable(Thing):
    def __call__(self, x=3):
        return self.a * x


class Slots:
    __slots__ = ("a", "n")

    def __init__(self, a):
        self.a, self.n = a, 2


class Equal(Thing):
    def __eq__(self, other):
        return isinstance(other, Equal) and other.a == self.a

    def __hash__(self):
        return hash(self.a)


class Sized(Thing):
    def __len__(self):
        return self.a

    def __getitem__(self, i):
        if i == 3:
            raise IndexError(i)
        return self.a + 10


class Iterable(Thing):
    def __iter__(self):
        return iter([self.a, 1])


class Dynamic:
    def __init__(self, a):
        self.__dict__["_a"] = a

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name, self._a


class Lazy:
    def __init__(self, a):
        self._a = a

    @functools.cached_property
    def a(self):
        return [self._a]

    @functools.cached_property
    def n(self):
        return self._a


class Meta(type):
    def __getattribute__(cls, name):
        return ("meta", name) if name in ("a", "n") else type.__getattribute__(cls, name)

    def __call__(cls, *args):
        return super().__call__(*args)


class WithMeta(metaclass=Meta):
    a, n = 1, 2

    def __init__(self, v=1):
        self.v = v


class Liar(Thing):
    @property
    def __class__(self):
        return list


@dataclasses.dataclass
class Data:
    a: int
    n: int = 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    n: int = 2


for _class in (Thing, Callable, Slots, Equal, Sized, Iterable, Dynamic, Lazy, WithMeta, Liar, Data, Frozen):
    KINDS["instance_" + _class.__name__.lower()] = lambda i, t=_class: t(i)
KINDS["object"] = lambda i: object()


def _set(v):
    v.a = 77


for _class in (Thing, Callable, Slots, Equal, Sized, Iterable, Liar, Data):
    CHANGES["instance_" + _class.__name__.lower()] = _set
CHANGES["instance_dynamic"] = lambda v: v.__dict__.update(_a=77)
CHANGES["instance_lazy"] = lambda v: v.__dict__.update(a=77)
CHANGES["simple_namespace"] = _set

# ---- what is called


def _double(x=3):
    return x * 2


def _negate(x=3):
    return -x


def _add(x=3, k=1, *, j=1):
    return x + k + j


def _over(x=3):
    return _decorated_inner(x)


def _closure(i):
    def inner(x=3):
        return x * i

    return inner


def _cell():
    n = 1

    def inner(x=3):
        return x * n

    def put(v):
        nonlocal n
        n = v

    inner.put = put
    return inner


@janus.function
def _decorated_inner(x):
    return x * 5


KINDS["function"] = lambda i: (_double, _negate)[i % 2]
KINDS["lambda"] = lambda i: ((lambda x=3: x * 7), (lambda x=3: x - 7))[i % 2]
KINDS["closure"] = _closure


@kind
def closure_cell(i):
    f = _cell()
    f.put(i)
    return f


@change
def closure_cell(v):  # noqa: F811
    v.put(77)


@kind
def function_defaults(i):
    f = types.FunctionType(_add.__code__, globals(), "_add", (3, i))
    f.__kwdefaults__ = {"j": i}
    return f


@change
def function_defaults(v):  # noqa: F811
    v.__defaults__, v.__kwdefaults__ = (4, 77), {"j": 78}


@kind
def function_code(i):
    return types.FunctionType((_double, _negate)[i % 2].__code__, globals(), "f", (3,))


@change
def function_code(v):  # noqa: F811
    v.__code__ = _over.__code__


KINDS["function_globals"] = lambda i: types.FunctionType(_reads_global.__code__, {"HELD": i, "__builtins__": __builtins__})


def _reads_global():
    return HELD  # noqa: F821


def _vary(*args, **kwargs):
    return args, kwargs


KINDS["function_named"] = lambda i: _renamed(i)


def _renamed(i):
    f = _closure(2)
    f.__name__ = f"f{i}"
    f.a = i
    return f


KINDS["op"] = lambda i: (janus.tanh, janus.relu)[i % 2]
KINDS["builtin"] = lambda i: (abs, repr)[i % 2]
KINDS["builtin_type_of"] = lambda i: (len, sum)[i % 2]
KINDS["c_function"] = lambda i: (operator.neg, operator.pos)[i % 2]
KINDS["builtin_method"] = lambda i: [i].index
KINDS["str_method"] = lambda i: ("a" * i).upper
KINDS["method_descriptor"] = lambda i: (str.upper, str.lower)[i % 2]
KINDS["tensor_descriptor"] = lambda i: (janus.Tensor.exp, janus.Tensor.neg)[i % 2]
KINDS["slot_wrapper"] = lambda i: (int.__neg__, int.__abs__)[i % 2]
KINDS["tensor_method"] = lambda i: janus.tensor([float(i)]).mul
KINDS["itemgetter"] = lambda i: operator.itemgetter(i % 2)
KINDS["attrgetter"] = lambda i: operator.attrgetter(("a", "n")[i % 2])
KINDS["partial"] = lambda i: functools.partial(_add, i)
KINDS["partial_op"] = lambda i: functools.partial((janus.tanh, janus.relu)[i % 2])
KINDS["bound_method"] = lambda i: Thing(i).scaled
KINDS["bound_builtin"] = lambda i: types.MethodType(abs, i)
KINDS["class_method"] = lambda i: type("K", (Thing,), {"n": i}).of
KINDS["static_method"] = lambda i: Thing.plain
KINDS["static_method_object"] = lambda i: staticmethod((_double, _negate)[i % 2])
KINDS["decorated_function"] = lambda i: janus.function((_double, _negate)[i % 2])
KINDS["decorated_closure"] = lambda i: janus.function(_closure(i))
KINDS["decorated_method"] = lambda i: Thing(i).decorated
KINDS["lru_cache"] = lambda i: functools.lru_cache(_closure(i))
KINDS["vmap"] = lambda i: janus.vmap((janus.tanh, janus.relu)[i % 2]) if hasattr(janus, "vmap") else None
KINDS["single_dispatch"] = lambda i: functools.singledispatch((_double, _negate)[i % 2])
CHANGES["bound_method"] = lambda v: setattr(v.__self__, "a", 77)
CHANGES["decorated_method"] = lambda v: setattr(v.__self__, "a", 77)
CHANGES["class_method"] = lambda v: setattr(v.__self__, "n", 77)
CHANGES["partial"] = lambda v: v.__setstate__((_add, (77,), {}, {}))
CHANGES["function_named"] = lambda v: setattr(v, "__name__", "changed")

# ---- types, modules, odd things

KINDS["type"] = lambda i: (int, float)[i % 2]
KINDS["type_list"] = lambda i: (list, tuple)[i % 2]
KINDS["type_made"] = lambda i: type("Made", (Thing,), {"a": i, "n": i})
KINDS["type_meta"] = lambda i: Meta("Other", (WithMeta,), {"v": i})
KINDS["type_enum"] = lambda i: (Color, Size)[i % 2]
KINDS["type_tensor"] = lambda i: (nn.Tanh, nn.ReLU)[i % 2]
KINDS["exception"] = lambda i: (ValueError, KeyError)[i % 2]
KINDS["exception_instance"] = lambda i: ValueError(i)
KINDS["generic_alias"] = lambda i: (list[int], dict[str, int])[i % 2]
KINDS["union"] = lambda i: (int | str, int | None)[i % 2]
KINDS["typing"] = lambda i: (typing.Any, typing.Optional[int])[i % 2]
KINDS["type_var"] = lambda i: typing.TypeVar("T")
KINDS["pattern"] = lambda i: re.compile("a" * i)
KINDS["path"] = lambda i: pathlib.PurePosixPath("a", str(i))
KINDS["property"] = lambda i: property((_double, _negate)[i % 2])
KINDS["iterator"] = lambda i: iter((i, 2))
KINDS["generator"] = lambda i: (j for j in (i, 2))
KINDS["zip"] = lambda i: zip((i,), (2,))
KINDS["count"] = lambda i: itertools.repeat(i, 2)
KINDS["code"] = lambda i: (_double.__code__, _negate.__code__)[i % 2]
KINDS["cell"] = lambda i: types.CellType(i)
KINDS["dict_keys"] = lambda i: {i: 1}.keys()
KINDS["dict_values"] = lambda i: {"a": i}.values()
CHANGES["type_made"] = _set
CHANGES["cell"] = lambda v: setattr(v, "cell_contents", 77)


@kind
def module(i):
    m = types.ModuleType("made")
    m.a, m.n = i, 2
    return m


CHANGES["module"] = _set


@kind
def weak_reference(i):
    o = Thing(i)
    KEPT.append(o)
    return weakref.ref(o)


@kind
def weak_proxy(i):
    o = Thing(i)
    KEPT.append(o)
    return weakref.proxy(o)


KEPT = []
CHANGES["weak_reference"] = lambda v: setattr(v(), "a", 77)
CHANGES["weak_proxy"] = _set

# ---- of janus

KINDS["dtype"] = lambda i: (janus.float32, janus.float64, janus.int64)[i % 3]
KINDS["device"] = lambda i: janus.device("cpu")
KINDS["shape"] = lambda i: janus.zeros(i, 2).shape
KINDS["tensor"] = lambda i: janus.tensor([float(i), 2.0])
KINDS["tensor_scalar"] = lambda i: janus.tensor(float(i))
KINDS["tensor_index"] = lambda i: janus.tensor(i % 2)
KINDS["tensor_grad"] = lambda i: janus.tensor([float(i), 2.0], requires_grad=True)
KINDS["tensor_bool"] = lambda i: janus.tensor([i % 2 == 0, True])
KINDS["parameter"] = lambda i: nn.Parameter(janus.tensor([float(i), 2.0]))
KINDS["list_of_tensors"] = lambda i: [janus.tensor([float(i), 2.0]), janus.tensor([1.0, 2.0])]
KINDS["dict_of_tensors"] = lambda i: {"a": janus.tensor([float(i), 2.0])}
KINDS["activation"] = lambda i: (nn.Tanh(), nn.ReLU())[i % 2]
KINDS["generator_of_random"] = lambda i: janus.default_generator if hasattr(janus, "default_generator") else None
for _name in ("tensor", "tensor_scalar"):
    CHANGES[_name] = lambda v: v.add_(5)


class Net(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.w = nn.Parameter(janus.tensor([float(a), 1.0]))
        self.a, self.n = a, 3

    def forward(self, x=3):
        return self.w * x + self.a


KINDS["nn_module"] = lambda i: Net(i)
KINDS["nn_module_list"] = lambda i: nn.ModuleList([Net(i), Net(2)])
KINDS["nn_module_decorated"] = lambda i: janus.function(Net(i))
CHANGES["nn_module"] = _set
CHANGES["nn_module_decorated"] = _set
CHANGES["list_of_tensors"] = lambda v: v.reverse()
CHANGES["dict_of_tensors"] = lambda v: v.update(a=janus.tensor([7.0, 7.0]))
