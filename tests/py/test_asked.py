# SPDX-License-Identifier: Apache-2.0
"""What public functions say of what they cannot call, or is no path: their name, what they expect and what came."""
import functools
import inspect

import pytest

import janus

TAKES = {"f": "function", "func": "function", "models": "function", "path": "path"}
GIVEN = (5, 2.5, [janus.ones(2)], janus.ones(2))
# what these are given for f is a file, or what janus.function made (tests of their own), and vmap is converted, which callable() of a function is not
OTHERS = {("vmap", "func"), ("load", "f"), ("save", "f"), ("explain", "f"), ("dump", "path"), ("checkpoint", "func")}
MADE = janus.function(lambda x: x + 1)


def asking():
    """(name, parameter) of public callables that take a function or a path, as their signatures have them."""
    for name in dir(janus):
        try:
            parameters = inspect.signature(getattr(janus, name)).parameters
        except (TypeError, ValueError):
            continue
        if not name.startswith("_") and (getattr(janus, name).__module__ or "").split(".")[0] == "janus":
            yield from ((name, p) for p in parameters if p in TAKES and name != "Merged" and (name, p) not in OTHERS)


def plain(x):
    return x + 1


async def later(x):
    return x + 1


async def each(x):
    yield x


def test_there_are_some():
    assert {name for name, _ in asking()} >= {"check", "export", "merge", "load_graph", "profile"}


@pytest.mark.parametrize("given", GIVEN, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("name,parameter", list(asking()))
def test_it_is_named(name, parameter, given, tmp_path):
    if name == "merge" and isinstance(given, (list, janus.Tensor)):
        given = [plain, given]
    told = {"f": plain, "func": plain, "path": tmp_path / "x"} | {parameter: given}
    wanted = [p for p in inspect.signature(getattr(janus, name)).parameters if p == parameter or (name == "export" and p == "f")]
    arguments = [told[p] for p in ("f", "path") if p in told] if name == "export" else [told.get(p, given) for p in wanted]
    came = given[1] if name == "merge" and isinstance(given, list) else given
    with pytest.raises(TypeError, match=f"^janus.{name}: expected .*, got {type(came).__name__}$"):
        getattr(janus, name)(*arguments)


@pytest.mark.parametrize("f", [later, each], ids=lambda f: f.__name__)
def test_check_of_what_runs_nothing_when_it_is_called(f):
    with pytest.raises(ValueError, match=f"^janus.check: no graph for these arguments: {f.__name__} is an `async def` function.*test_asked.py:"):
        janus.check(f, janus.ones(2))


@pytest.mark.parametrize("given", GIVEN, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("call,who", [(lambda v: janus.save(janus.ones(2), v), "janus.save"), (janus.load, "janus.load"),
                                      (lambda v: janus.dump(MADE, v), "janus.dump"), (janus.debug.find_nan, "janus.debug.find_nan")],
                         ids=["save", "load", "dump", "find_nan"])
def test_files_and_what_is_traced(call, who, given):
    with pytest.raises(TypeError, match=f"^{who}: expected .*, got {type(given).__name__}$"):
        call(given)


def test_a_stream_need_not_seek():
    class Pipe:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)
            return len(data)

        def read(self, n=-1):
            n = len(self.data) if n is None or n < 0 else n
            part, self.data = self.data[:n], self.data[n:]
            return part

    pipe = Pipe()
    janus.save({"x": janus.arange(3)}, pipe)
    assert janus.load(pipe)["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("f", [later, each], ids=lambda f: f.__name__)
def test_what_runs_nothing_says_so(f):
    made = janus.function(f)
    for _ in range(3):
        called = made(janus.ones(2))
        getattr(called, "close", lambda: None)()
    assert made.stats()["graph"] == 0
    assert "a call of an `async def` function runs none of it" in str(janus.explain(made))


def test_check_of_a_partial():
    assert janus.check(functools.partial(plain), janus.ones(2)).tolist() == plain(janus.ones(2)).tolist()
