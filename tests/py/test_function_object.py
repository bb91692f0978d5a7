# SPDX-License-Identifier: Apache-2.0
"""janus.Function as an object: it shows, copies and pickles what it stands for."""
import ast
import asyncio
import copy
import functools
import inspect
import os
import pickle
import subprocess
import sys
import types
import typing

import pytest

import janus
from janus import nn

T = typing.TypeVar("T")


@janus.function
def top(x: int, /, y=2, *rest, z=3, **more) -> "int":
    """What it does."""
    return x


def plain_top(x, y=1):
    return x + y


again_top = janus.function(plain_top, numerics="exact")


class Owner:
    @janus.function
    def method(self, x, *, k=1):
        return x

    @staticmethod
    @janus.function
    def static(x):
        return x

    @classmethod
    @janus.function
    def of_class(cls, x):
        return x

    def to_be_bound(self, x):
        return x + 1


def make(kind):
    cell = 5
    if kind == "plain":
        def f(a: int, /, b=2, *c, d=4, **e) -> str:
            """Doc."""
            return a, cell
    elif kind == "generator":
        def f(a):
            yield a
    elif kind == "coroutine":
        async def f(a):
            return a
    elif kind == "async generator":
        async def f(a):
            yield a
    elif kind == "lambda":
        f = lambda a, b=cell: a  # noqa: E731
    elif kind == "wraps":
        def inner(a, b):
            """Inner doc."""

        @functools.wraps(inner)
        def f(*args, **kwargs):
            return inner(*args, **kwargs)
    return f


FUNCTIONS = ["plain", "generator", "coroutine", "async generator", "lambda", "wraps"]
ATTRIBUTES = ["__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__defaults__", "__kwdefaults__", "__code__",
              "__closure__", "__globals__", "__builtins__", "__dict__", "__type_params__", "__class__"]
QUESTIONS = [inspect.isfunction, inspect.ismethod, inspect.isgeneratorfunction, inspect.iscoroutinefunction,
             inspect.isasyncgenfunction, inspect.isroutine, inspect.isbuiltin, inspect.isclass, callable, inspect.signature,
             inspect.getfullargspec, inspect.getsource, inspect.getdoc, inspect.getmodule, inspect.getclosurevars,
             inspect.getfile, asyncio.iscoroutinefunction, typing.get_type_hints, repr, str, "{}".format, ascii,
             lambda f: isinstance(f, types.FunctionType), lambda f: f.__class__.__name__, lambda f: vars(f) is f.__dict__]


def outcome(do):
    try:
        return do()
    except Exception as e:
        return type(e), str(e).replace("janus.Function", "function")


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_it_shows_what_the_function_shows(kind):
    f = make(kind)
    g = janus.function(f)
    for name in ATTRIBUTES:
        want, got = outcome(lambda: getattr(f, name)), outcome(lambda: getattr(g, name))
        assert got == want and (got is want or isinstance(want, (tuple, types.MappingProxyType))), name
    for question in QUESTIONS:
        assert outcome(lambda: question(g)) == outcome(lambda: question(f)), question
    assert type(g) is janus.Function and isinstance(g, janus.Function)


VALUES = [("__name__", "other"), ("__name__", 3), ("__qualname__", "a.b"), ("__doc__", "text"), ("__doc__", None),
          ("__module__", "elsewhere"), ("__annotations__", {"a": int}), ("__annotations__", 3), ("__defaults__", (7,)),
          ("__defaults__", 3), ("__defaults__", None), ("__kwdefaults__", {"d": 8}), ("__kwdefaults__", 3), ("__closure__", ()),
          ("__globals__", {}), ("__code__", 3), ("__code__", make("lambda").__code__), ("__dict__", {"x": 1}), ("__dict__", 3),
          ("anything", 4), ("__wrapped__", 5), ("__class__", int)]


# A code object says its address; parallel workers must find the same names of tests.
@pytest.mark.parametrize("name, value", VALUES, ids=lambda v: type(v).__name__ if hasattr(v, "co_code") else str(v))
def test_it_is_written_as_the_function_is(name, value):
    f, g = make("plain"), janus.function(make("plain"))

    def write(h):
        setattr(h, name, value)
        return getattr(h, name), sorted(vars(h)), outcome(lambda: h(1))

    def delete(h):
        delattr(h, name)
        return outcome(lambda: getattr(h, name)), sorted(vars(h)), outcome(lambda: h(1))
    assert outcome(lambda: write(g)) == outcome(lambda: write(f))
    if name not in ("__wrapped__", "__module__"):  # __wrapped__ of a Function is there in any case
        assert outcome(lambda: delete(g)) == outcome(lambda: delete(f))


def test_written_defaults_and_code_count():
    def f(x, y=1, *, k=1):
        return x * y + k

    g = janus.function(f)
    x = janus.ones(2)
    for _ in range(4):
        assert g(x).tolist() == [2, 2]
    g.__defaults__, g.__kwdefaults__ = (5,), {"k": 2}
    for _ in range(4):
        assert g(x).tolist() == [7, 7]
    g.__code__ = (lambda x, y, *, k: x - y - k).__code__
    for _ in range(4):
        assert g(x).tolist() == [-6, -6]


def test_wraps_and_update_wrapper():
    def other(a):
        """Other."""
    other.mark = 3
    f, g = make("plain"), janus.function(make("plain"))
    for h in (f, g):
        functools.update_wrapper(h, other)
    assert (g.__name__, g.__doc__, g.mark, g.__wrapped__) == (f.__name__, f.__doc__, f.mark, f.__wrapped__)
    assert inspect.signature(g) == inspect.signature(f) and inspect.unwrap(g) is other
    assert functools.wraps(g)(lambda: 0).__name__ == "other"
    assert functools.partial(g, 1).func is g and functools.partialmethod(g, 1).func is g
    assert functools.lru_cache(g).__wrapped__ is g
    single = functools.singledispatch(lambda x: "other")
    single.register(types.FunctionType, lambda x: "function")
    assert single(g) == "function" == single(f)


def test_of_what_is_no_function():
    bound = janus.function(Owner().to_be_bound)
    assert inspect.ismethod(bound) and bound.__func__ is Owner.to_be_bound and isinstance(bound.__self__, Owner)
    assert bound.__name__ == "to_be_bound" and str(inspect.signature(bound)) == "(x)"
    part = janus.function(functools.partial(plain_top, 1))
    with pytest.raises(AttributeError):
        part.__name__
    with pytest.raises(AttributeError):
        part.__code__
    assert str(inspect.signature(part)) == "(y=1)" and not inspect.isfunction(part)
    assert repr(part) == repr(part.__wrapped__) and repr(bound) == repr(bound.__wrapped__)
    assert janus.function(ast.dump).__module__ == "ast" and janus.function(len).__name__ == "len"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("pickler", [pickle.dumps, pickle._dumps])
def test_pickled_by_name(protocol, pickler):
    for f in (top, Owner.method, Owner.static):
        if protocol >= 4 or "." not in f.__qualname__:
            assert pickle.loads(pickler(f, protocol)) is f
    made = pickle.loads(pickler(again_top, protocol))
    assert made is not again_top and made.__wrapped__ is plain_top and made(janus.ones(1)).tolist() == [2]
    owner = pickle.loads(pickler({"m": Owner().method}, protocol))["m"]
    assert isinstance(owner.__self__, Owner) and owner(3) == 3
    bound = pickle.loads(pickler(janus.function(Owner().to_be_bound), protocol))
    assert type(bound) is janus.Function and bound(3) == 4
    for local in (make("plain"), make("lambda")):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickler(janus.function(local), protocol)


def test_copies_of_functions_are_the_functions():
    g = janus.function(make("plain"))
    assert copy.copy(g) is g and copy.deepcopy(g) is g and copy.deepcopy([g, g])[1] is g
    owner = Owner()
    owner.step = janus.function(owner.to_be_bound)
    other = copy.deepcopy(owner)
    assert type(other.step) is janus.Function and other.step.__self__ is other and owner.step.__self__ is owner
    assert copy.copy(owner.step).__self__ is owner


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)
        self.scale = 1.0

    def forward(self, x):
        return self.l(x) * self.scale


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle", "save", "nested", "data"])
def test_a_decorated_module_is_copied(how, tmp_path):
    def copied(net):
        if how == "copy":
            return copy.copy(net)
        if how == "deepcopy":
            return copy.deepcopy(net)
        if how == "pickle":
            return pickle.loads(pickle.dumps(net))
        if how == "save":
            janus.save(net, str(tmp_path / "net"))
            return janus.load(str(tmp_path / "net"), weights_only=False) if "weights_only" in inspect.signature(
                janus.load).parameters else janus.load(str(tmp_path / "net"))
        if how == "nested":
            return copy.deepcopy(nn.Sequential(net))[0]
        return pickle.loads(pickle.dumps([net, {"net": net}]))[1]["net"]

    def run(decorate):
        janus.manual_seed(0)
        net = Net()
        decorate(net)
        x = janus.ones(2, 3)
        seen = [net(x).tolist() for _ in range(4)]
        other = copied(net)
        other.scale = 3.0
        if how != "copy":
            with janus.no_grad():
                other.l.weight.add_(1.0)
        seen += [other(x).tolist() for _ in range(4)] + [net(x).tolist() for _ in range(4)]
        return seen, type(other).__name__, sorted(other.state_dict())

    assert run(janus.function) == run(lambda net: net)
    net = janus.function(Net())
    other = copied(net)
    assert "forward" in vars(other) and other.forward.__self__ is other and other.forward is not net.forward
    for _ in range(4):
        other(janus.ones(2, 3))
    assert other.stats()["graph"] and not net.stats()["graph"]


def test_a_decorated_module_offers_what_functions_do():
    net = janus.function(Net())
    for _ in range(4):
        net(janus.ones(1, 3))
    assert net.stats()["calls"] == 4 and net.graphs() and "forward" in janus.explain(net)
    assert not hasattr(Net(), "stats") and not hasattr(nn.Linear(1, 1), "graphs")

    class Own(Net):
        def stats(self):
            return "mine"
    assert janus.function(Own()).stats() == "mine"
    net.stats = 5
    assert net.stats == 5


def test_a_misspelt_topic_is_named_once():
    def run(value):
        code = "import janus\nf = janus.function(lambda x: x + 1)\nfor i in range(5): f(janus.ones(1))"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ,
                                                                                               "JANUS_LOG": value}).stderr
    assert run("") == ""
    text = run("gaurds,plan,graphs")
    assert text.count("gaurds") == 1 and text.count("\"plan\"") == 1 and \
        "guards, graphs, conversions, fallbacks, plans, schedule, all" in text
    assert "JANUS_LOG" not in run("all") and "JANUS_LOG" not in run("guards,fallbacks")


def test_another_interpreter_does_not_take_it_away():
    code = ("import _xxsubinterpreters as s\n"
            "try:\n i = s.create(isolated=False)\nexcept TypeError:\n i = s.create()\n"
            "try:\n r = s.run_string(i, 'try:\\n import janus\\n print(\"in\")\\nexcept ImportError as e:\\n print(e)')\n"
            "except Exception as e:\n print(e)\n"
            "s.destroy(i)\nimport janus\nprint(janus.ones(1).tolist())")
    if sys.version_info >= (3, 13):
        code = code.replace("_xxsubinterpreters", "_interpreters").replace("isolated=False", "'legacy'")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert lines[1] == "[1.0]" and "interpreter" in lines[0]


@pytest.mark.parametrize("decorate", [lambda f: f, janus.function])
def test_methods_that_a_class_makes_its_own(decorate):
    """What CPython makes static and class methods of functions with these names, and no other, while it makes a class."""
    class Base:
        @decorate
        def __new__(cls, x):
            o = super().__new__(cls)
            o.x = x
            return o

        @decorate
        def __init_subclass__(cls, **more):
            super().__init_subclass__()
            cls.more = more

        @decorate
        def __class_getitem__(cls, item):
            return cls, item

        @decorate
        def plain(self):
            return self.x

    class Derived(Base, a=1):
        pass

    o = Derived(3)
    assert (o.x, o.plain(), Derived.more, o.__new__(Base, 4).x) == (3, 3, {"a": 1}, 4)
    assert Derived[int] == (Derived, int) and o.__class_getitem__(2) == (Derived, 2)
    kinds = {"__new__": staticmethod, "__init_subclass__": classmethod, "__class_getitem__": classmethod}
    for name, kind in kinds.items():
        assert type(Base.__dict__[name]) is kind and type(Base.__dict__[name].__func__) is type(Base.__dict__["plain"])
    assert list(Base.__dict__)[:5] == ["__module__", "__new__", "__init_subclass__", "__class_getitem__", "plain"] or sys.version_info >= (3, 13)
    Base.__new__ = decorate(lambda cls: 5)  # afterwards nothing is made of it
    assert type(Base.__dict__["__new__"]) is not staticmethod and Base() == 5
