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


def test_check_of_a_partial():
    with pytest.raises(ValueError, match="^janus.check: no graph for these arguments: a call of functools.partial"):
        janus.check(functools.partial(plain), janus.ones(2))
