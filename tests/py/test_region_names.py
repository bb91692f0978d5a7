# SPDX-License-Identifier: Apache-2.0
"""What statements of a region make is named for the function that it is in, however deep regions are in it."""
import importlib.util
import itertools

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MADE = {  # expressions that make functions, generators and classes, and what these make
    "lambda": "lambda q, k=n: q * k",
    "lambda in a lambda": "(lambda: (lambda: n))()",
    "lambda in a list": "[lambda: n for _ in range(2)][0]",
    "generator": "(z for z in [n])",
    "lambda of a generator": "next((lambda: z) for z in [n])",
    "lambda of a dict": "{z: lambda: z for z in [n]}[n]",
}
STATEMENTS = {  # in compound statements, which may be regions as a whole
    "function": "if n:\n    def made():\n        def inner(): return n\n        return inner",
    "class": "if n:\n    class made:\n        def m(self): return n\n        class inner: pass",
    "rounds": "for i in range(n):\n    made = lambda: i",
}
AROUND = {  # where the statement stands
    "alone": "{0}",
    "loop": "for r in [1, 2]:\n    print(end='')\n    y = y + x\n{1}",
    "with": "with janus.no_grad():\n    y = y + x\n{1}",
    "try": "try:\n    y = y + x\n{1}\nfinally:\n    y = y * 2",
}
SCOPES = {"function": "def build(function):\n{f}    return step\n",
          "method": "class Of:\n    @staticmethod\n    def build(function):\n        class In:\n{m}        return In().step\nbuild = Of.build\n"}


def indented(text, by=4):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def programs():
    texts = {**{k: "made = " + e for k, e in MADE.items()}, **STATEMENTS}
    for (k, made), (a, around), scope in itertools.product(texts.items(), AROUND.items(), SCOPES):
        body = around.format(made, indented(made).rstrip())
        own = "self, x, n" if scope == "method" else "x, n"
        f = f"@function\ndef step({own}):\n    y = x * n\n    print(end='')\n" + indented("y = y + x\n" + body) + "    return y * 2, made\n"
        yield f"{k}-{a}-{scope}", "import janus\n\n\n" + SCOPES[scope].format(f=indented(f), m=indented(f, 12))


def names(made):
    """The names of a function, generator or class, and of what is made by it and in it."""
    code = getattr(made, "__code__", None) or getattr(made, "gi_code", None)
    found = [made.__name__, made.__qualname__, getattr(made, "__module__", None), getattr(code, "co_name", None),
             getattr(code, "co_qualname", None)]
    if hasattr(made, "inner"):
        found += names(made.m) + names(made.inner)
    elif made.__name__ == "made":
        found += names(made())
    return found


@pytest.mark.parametrize("name,text", list(programs()), ids=lambda p: p if "\n" not in p else "")
def test_names(tmp_path, name, text):
    path = tmp_path / "region_names.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("region_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plain = module.build(lambda f: f)
    step = module.build(janus.function(verify="never", measure=False))
    x = janus.ones(3)
    for _ in range(4):
        want, got = plain(x, 2), step(x, 2)
        assert got[0].tolist() == want[0].tolist()
        assert names(got[1]) == names(want[1]), name
