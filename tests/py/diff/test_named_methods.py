# SPDX-License-Identifier: Apache-2.0
"""CPython's own methods called by their names: each slot of the converter's table and each public method, on values of
each native type, of the graph and not, bound and through the class, decorated against undecorated; and round()."""

import pathlib
import re
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_slots, harness  # noqa: E402
from shares import LIGHT  # noqa: E402
from texts import code_of  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parents[3] / "pyfront/convert/model/slots.def"
SLOTS = sorted({name for row in generate_slots.read(TABLE.read_text()) for name in row[2:] if name}) if TABLE.exists() else []
# What a value is in the program: v is a number of the graph, x a tensor, i an int of the graph.
VALUES = {"list": ("[3, v, 1.5]", "[i, 4, 6]", "kept"), "tuple": ("(3, v)", "(i, 4)"), "dict": ("{'k': v, 2: x}", "{'k': 1, 2: 3}"),
          "range": ("range(4)",), "int": ("5", "i"), "float": ("2.5", "v"), "bool": ("True", "v > 1.0"), "str": ("'a,b'", "f'{i}'")}
ARGUMENTS = {0: ("",), 1: ("1", "v", "'k'", "[7]", "(i,)", "None", "a", "key=1", "1, default=2"), 2: ("0, v", "'k', 1", "1, 2")}
PUBLIC = {"list": ("append", "extend", "pop", "insert", "remove", "index", "count", "reverse", "clear", "copy", "sort"),
          "dict": ("get", "pop", "setdefault", "keys", "values", "items", "update", "clear", "copy"),
          "tuple": ("index", "count"), "str": ("upper", "split", "join", "startswith")}
HIDDEN = re.compile("__(enter|exit|next|call|hash|repr|str|format)__")  # of iterators, functions, or texts with addresses
PROGRAM = """
import janus
kept = [1, 2, 3]


def f(x, i, kept):
    v = x.sum().item()
    a = {value}
    return {call}, {after}, x + 1
"""


def programs(kind):
    names = [n for n in SLOTS if not HIDDEN.fullmatch(n)] + list(PUBLIC.get(kind, ()))
    for value in VALUES[kind]:
        for name in names:
            for arguments in (x for some in ARGUMENTS.values() for x in some):
                for of in (f"a.{name}({arguments})", f"{kind}.{name}(a{', ' if arguments else ''}{arguments})"):
                    call = f"list({of})" if name in ("__iter__", "__reversed__", "keys", "values", "items") else of
                    yield PROGRAM.format(value=value, call=call, after="list(a)" if kind == "range" else "a")


def observe(f):
    log = harness.Log()
    for k in range(4):
        kept = [1, 2, 3]
        try:
            log(f(janus.tensor([0.5 * k, 1.25]), k, kept))
        except Exception as e:
            log.entries.append((type(e).__name__, str(e)))
        log(kept)
    return log.entries


@pytest.mark.parametrize("kind", VALUES)
def test_called_by_name(kind):
    bad, graphs, all_of_them = [], 0, list(programs(kind))
    for text in all_of_them[::5 if LIGHT else 1]:
        space = {}
        exec(code_of(text), space)
        want = observe(space["f"])
        if all(e[0] in ("TypeError", "AttributeError") for e in want[::2]):
            continue  # what always raises is never converted
        g = janus.function(space["f"], verify="never", measure=False)
        got = observe(g)
        graphs += g.stats()["graph"] > 0
        if not harness.close(want, got, True):
            bad.append(f"{text.splitlines()[-2:]}\n  {want}\n  {got}")
    assert not bad, f"{len(bad)} differ\n" + "\n".join(bad[:5])
    assert graphs > (0 if LIGHT else 3) or kind == "str", graphs


NUMBERS = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.125, 2.675, 1e-7, -1e-7, 1e22, 123456789.987654321, 1e300, 5e-324,
           float("inf"), float("-inf"), float("nan"), 0.045, 1.005, 1234.5, 2 ** 53 + 1.0]


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("digits", [0, 1, 2, 3, 7, 15, 17, 300, 400, -1, -3, True, None, "n"])
def test_round(digits, verify):
    def positional(x, n):
        v = x.item()
        return round(v, digits if digits != "n" else n), x + 1

    def named(x, n):
        v = x.item()
        return round(v, ndigits=digits if digits != "n" else n), round(number=v, ndigits=1), x + 1

    def whole(x, n):
        v = x.isfinite().sum().item() * 12345 - 6789
        return round(v, digits if digits != "n" else n), round(v > 1, 1), x + 1

    for f in (positional, named, whole):
        g = janus.function(f, verify=verify, measure=False)
        for n, number in enumerate(NUMBERS):
            x = janus.tensor(number, dtype=janus.float64)
            want, got = raised(f, x, n), raised(g, x, n)
            assert repr(want) == repr(got), (f.__name__, number, digits)
        if verify == "never" and digits is not True and digits in (0, 1, 2, 3, 7, 15, 17, 300, 400, "n"):
            assert g.stats()["graph"] > len(NUMBERS) / 2, f.__name__


def raised(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return type(e).__name__, str(e)
