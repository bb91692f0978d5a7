# SPDX-License-Identifier: Apache-2.0
"""Texts that differ from call to call: what hands them on, or asks for kind and length, is one graph, what asks more is right."""
import contextlib
import importlib.util
import io

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Box:
    def __init__(self):
        self.name, self.names, self.by, self.step = "", [], {}, 0


BOX = Box()


def inner(x, name):
    return x + 1, name


def keeps(x, name):
    BOX.name = name
    return x * 2


HANDED_ON = """pass
y = inner(y, name)[0]
out = inner(y, name)
out = name
out = [name, (name, name)]
out = {"name": name}
BOX.name = name
y = keeps(y, name)
BOX.names.append(name)
BOX.by["last"] = name
print(name, end=" ")
print(1, name, y.sum() > 0)
print(f"{name}: {BOX.step} {name}")
print(f"{name!s}" if BOX.step < 0 else "-", end="")
for i in range(2): BOX.names.append(name)
if y.sum() > 0: BOX.name = name
out = (lambda n: n)(name)
a, b = name, y; out = a
keep = lambda: name; out = keep()
BOX.step += 1; out = name, BOX.step
y = y * len(name)
out = name is None, isinstance(name, str), isinstance(name, (int, list)), type(name) is str
if name is not None: out = name
if isinstance(name, str): BOX.name = name
if len(name) < 9: y = y + len(name)""".splitlines()
ASKED = """if name: y = y * 3
y = y if not name else y * 2
y = y * 2 if name == "n3" else y
y = y + (name in ("n1", "n2"))
out = name + "!"
out = f"<{name}>"
out = f"{name:>5}", f"{name!r}"
out = name[0], name[-1:], name * 2
out = {name: 1}
BOX.by[name] = BOX.step
out = name.upper(), str(name), repr(name)
out = "n" in name, not name, name is None, name or "x"
out = int(name[1:])
print("%s" % name, "{}".format(name), sep=name)
out = [c for c in name]
y = y + getattr(BOX, "step") + hasattr(BOX, name)
out = sorted([name, "n2"]), max(name, "n2")
out = hash(name) == hash(name), type(name) is str, isinstance(name, str)
assert name != "n5", name
out = inner(y, name)[1] + name
BOX.name = name; out = BOX.name == "n1"
match name:
    case "n1": y = y + 5
    case _: pass""".splitlines()
ASKED[-3:] = ["\n        ".join(ASKED[-3:])]
WAYS = {"argument": ("name", "x, {0}"), "keyword": ("*, name", "x, name={0}"), "item": ("d", "x, {{'name': {0}}}"),
        "attribute": ("o", "x, named({0})"), "pair": ("p", "x, ({0}, 1)")}
READS = {"argument": "", "keyword": "", "item": "name = d['name']", "attribute": "name = o.name", "pair": "name = p[0]"}


def named(text):
    box = Box()
    box.name = text
    return box


def seen(value):
    if isinstance(value, janus.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value), [seen(v) for v in value]
    return value


def observed(f, call, names):
    BOX.__init__()
    found, out = [], io.StringIO()
    with contextlib.redirect_stdout(out):
        for name in names:
            try:
                found.append(seen(eval(call.format("name"), {"f": f, "name": name, "x": janus.ones(2), "named": named})))
            except (AssertionError, IndexError, ValueError) as e:
                found.append((type(e).__name__, str(e)))
            found.append((BOX.name, list(BOX.names[-3:]), dict(BOX.by)))
    return found, out.getvalue()


def made(statement, way):
    text = f"def f(x, {WAYS[way][0]}):\n        {READS[way]}\n        y, out = x * 2, None\n        {statement}\n        return y, out\n"
    return "def build(BOX, inner, keeps):\n    " + text + "    return f\n"


def function_of(tmp_path, statement, way):
    path = tmp_path / "varying_texts_program.py"
    path.write_text(made(statement, way))
    spec = importlib.util.spec_from_file_location("varying_texts_program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build(BOX, inner, keeps)


NAMES = [f"n{i % 9}" for i in range(24)] + ["", "n1", "\u00e4\u20ac"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("statement", HANDED_ON + ASKED)
def test_varying_texts(tmp_path, statement, way):
    plain = function_of(tmp_path, statement, way)
    want = observed(plain, f"f({WAYS[way][1]})", NAMES)
    f = janus.function(plain, verify="never", measure=False)
    assert observed(f, f"f({WAYS[way][1]})", NAMES) == want
    if statement in HANDED_ON:
        assert f.stats()["conversions"] <= 4, f.stats()
        assert f.stats()["graph"] >= len(NAMES) - 5, f.stats()
    assert observed(janus.function(plain), f"f({WAYS[way][1]})", NAMES) == want
