# SPDX-License-Identifier: Apache-2.0
"""A function is parsed from its own lines, and what that gives is what the whole file gives: positions, decorators, the class that
private names are of.  Where lines are no guide the file is parsed."""
import ast
import builtins
import marshal
import os
import pathlib
import random
import types

import pytest
from texts import code_of

import janus

MODULES = """argparse ast base64 calendar cmd code codecs collections configparser contextlib copy csv dataclasses difflib dis enum
    fractions functools gettext heapq inspect json.decoder json.encoder logging ntpath optparse os pickle posixpath pprint random
    shlex shutil statistics string tarfile textwrap threading tokenize traceback typing unittest.case uuid warnings weakref""".split()


def codes_in(code):
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield c
            yield from codes_in(c)


def functions_in(code):
    """Of `def` and `lambda`, which CO_OPTIMIZED | CO_NEWLOCALS has, as comprehensions and expressions of generators do."""
    return [c for c in codes_in(code) if c.co_flags & 3 == 3 and (c.co_name == "<lambda>" or not c.co_name.startswith("<"))]


def dumped(node):
    return ast.dump(node, include_attributes=True)


class Whole:
    """What the tree of a whole file says."""

    def __init__(self, text):
        self.nodes = {}
        self.visit(ast.parse(text), None)

    def visit(self, node, in_class):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            line = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])])
            self.nodes.setdefault((getattr(node, "name", "<lambda>"), line), []).append((dumped(node), in_class))
        for field, value in ast.iter_fields(node):
            inside = node.name if isinstance(node, ast.ClassDef) and field == "body" else in_class
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child, inside)

    def has(self, code, found):
        return (dumped(found[0]), found[1]) in self.nodes[code.co_name, code.co_firstlineno]


@pytest.fixture
def parsed(monkeypatch):
    """How many lines with something on them were parsed, each time."""
    seen, compiled = [], builtins.compile

    def counting(what, *args, **kwargs):
        if isinstance(what, str):
            seen.append(sum(bool(line.strip()) for line in what.splitlines()))
        return compiled(what, *args, **kwargs)

    monkeypatch.setattr(builtins, "compile", counting)
    return seen


@pytest.mark.parametrize("module", MODULES)
def test_of_the_library(module, parsed):
    stem = pathlib.Path(os.__file__).parent.joinpath(*module.split("."))
    file = str(stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py"))
    with open(file, encoding="utf-8") as f:
        text = f.read()
    top, whole = compile(text, file, "exec", dont_inherit=True), Whole(text)
    lines = sum(bool(line.strip()) for line in text.splitlines())
    # coroutines have no source; aliases of types have codes like functions
    functions = [c for c in functions_in(top) if not c.co_flags & 0x280 and (c.co_name, c.co_firstlineno) in whole.nodes]
    for code in functions[::1 + len(functions) // 40]:
        del parsed[:]
        found = janus._C._source_node(code, {})
        assert found and whole.has(code, found), code
        assert all(n < lines for n in parsed), (code, parsed, lines)


FRAGMENTS = [  # {n}: a number of its own
    "def plain{n}(x, y={n}): return x + y + {n}\n",
    "def long{n}(x):\n    '''def no{n}(x):\n  return x'''\n    y = [x,\n{n}]\n# a comment of no indent\n    return y\n",
    "@decorate\n@decorate(lambda f: f,\n    {n})\n\n# between\ndef decorated{n}(x):\n    return x.a{n}\n",
    "def outer{n}(x):\n    def inner(y):\n        z = x + {n}\n        return lambda: (y, z)\n    return inner\n",
    "def continued{n}(x): \\\n  return x + \\\n{n}\n",
    "def spread{n}(x,\n  y=(1,\n{n})):\n\n    if x:\n        return '''\n'''\n    else: return y\n",
    "pair{n} = lambda x: x + {n}, lambda x: x - {n}\n",
    "table{n} = {{'a': lambda x: x * {n},\n'b': lambda x: x.b{n},\n}}; one{n} = lambda: {n}\n",
    "text{n} = '''\ndef plain{n}(x): return 3\nclass A: pass'''\n",
    "other{n} = r'\\' + \"\\\"'#\" + rb'''\\'''' '''.decode()\n",
    "async def waits{n}(x):\n    def inner(y): return y + {n}\n    return await x\n",
    "if decorate:\n    def here{n}(x): return x.c{n}()\nelif other:\n    here{n} = lambda x: {n}\nelse:\n    def here{n}(x): return -{n}\n",
    "try:\n    import math as m{n}\nexcept ImportError:\n    m{n} = None\nfinally:\n    def after{n}(x): return m{n}.sqrt(x)\n",
    "def uses_math{n}(x): return m{n}.sqrt(x) + os.path.join('a', x)\n",
    "for i{n} in range(3):\n\tdef tabbed{n}(x):\n\t\tif x:\n\t\t\treturn {n}\n\t\treturn i{n}\n",
    "def formatted{n}(x): return f'{{x!r:>{n}}}' f\"\"\"{{x}}\n'{{x}}'\"\"\"\n",
    "def nested_quotes{n}(x): return f\"{{x['k']}}\" + f'{{\"}}\"}}'\n",
    "\f\ndef fed{n}(x): return x @ {n}\n",
    "class C{n}(Base, metaclass=Meta(lambda: {n})):\n    '''Of {n}.'''\n    __slots__ = ()\n{methods}\n",
    "@decorate\nclass D{n}:\n    f = lambda self: self.__private + {n}\n    class E:\n        def g(self): return self.__of_e\n{methods}",
    "class One{n}: f = lambda self: self.__x{n}; g = None\n",
    "match decorate:\n    case 1:\n        def matched{n}(x): return {n}\n    case _:\n        pass\n",
]
METHODS = [
    "def m{n}(self, x): return self.__private{n} + super().m(x)\n",
    "@property\ndef p{n}(self):\n    return [y.__z for y in self.v if y is not None and {n}]\n",
    "if other:\n    def q{n}(self): return self.__q\nelse:\n    q{n} = None\n",
    "x{n}: int = {n}\n",
    "@staticmethod\n@decorate(1,\n  2)\ndef s{n}(x): return lambda y: x.__w + y\n",
    "def lines{n}(self):\n    return '''\ndef m(self): pass\n'''\n",
]


def indented(text, by):
    """Its lines, but for those in strings, which METHODS have at the line's beginning."""
    inside, out = False, []
    for line in text.splitlines(keepends=True):
        out.append(line if inside or line.isspace() else by + line)
        inside ^= line.count("'''") % 2 == 1
    return "".join(out)


def text_of(rng):
    future = "from __future__ import annotations\n" if rng.random() < 0.5 else ""
    parts = ["#!/usr/bin/python\n'''About.'''\n" + future + "import os.path, sys\n"]
    for n in range(rng.randrange(3, 12)):
        methods = "".join(rng.choice(METHODS).format(n=100 * n + k) for k in range(rng.randrange(1, 5)))
        by = rng.choice(["    ", "  ", "\t"])
        fragment = rng.choice(FRAGMENTS)
        if "{methods}" in fragment:
            fragment = fragment.replace("    ", by)
        parts.append(fragment.format(n=n, methods=indented(methods, by)) + "\n" * rng.randrange(3))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(150))
def test_of_texts(seed, parsed):
    text = text_of(random.Random(seed))
    code, whole = code_of(text), Whole(text)
    functions = [c for c in functions_in(code) if not c.co_flags & 0x280]
    for c in functions:
        del parsed[:]
        found = janus._C._source_node(c, {})
        if found is None:  # lambdas of one line and one code
            assert c.co_name == "<lambda>" and len(whole.nodes[c.co_name, c.co_firstlineno]) > 1, c
            continue
        assert whole.has(c, found), (c, ast.dump(found[0]))


def test_lines_that_are_no_guide():
    """What no brackets and quotes tell: the whole file says it."""
    quotes = """
def before(x): return x
y = 'a' \\
  'b'
def between(x): return x + 1
"""
    if hasattr(ast, "TypeAlias"):  # CPython 3.12: the quotes of a text may be in it
        quotes += "z = f'''{y + f'''{y}'''}''' + f'{'a' + '}'}'\n"
    quotes += "def after(x): return x + 2\n"
    for c in functions_in(code_of(quotes)):
        found = janus._C._source_node(c, {})
        assert found and Whole(quotes).has(c, found), c


@pytest.mark.parametrize("encoding, first", [("utf-8", ""), ("utf-8-sig", ""), ("latin-1", "# -*- coding: latin-1 -*-\n"),
                                             ("cp1251", "# coding: cp1251\n")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_of_encoded_files(tmp_path, encoding, first, newline):
    letter = "\u0416" if encoding == "cp1251" else "\u00e9"
    text = f"{first}x = '{letter}'\ndef f{letter}(x): return x + '{letter}'\nclass A:\n    def g(self):\n\n        return '{letter}'\n"
    path = tmp_path / "encoded.py"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    code, whole = compile(path.read_bytes(), str(path), "exec", dont_inherit=True), Whole(text)
    functions = functions_in(code)
    assert len(functions) == 2
    for c in functions:
        found = janus._C._source_node(c, {})
        assert found and whole.has(c, found), c


def test_a_text_that_changes(tmp_path):
    """The file is written anew, with a line more, or another function in its place."""
    path = tmp_path / "changing.py"
    texts = ["def f(x): return x\ndef g(x): return x + 1\n", "def f(x): return x\n\ndef g(x): return x + 1\n", "def f(x): return x * 3\n"]
    codes = []
    for text in texts:
        path.write_text(text)
        codes.append({c.co_name: c for c in functions_in(compile(text, str(path), "exec", dont_inherit=True))})
        for name, c in codes[-1].items():
            found = janus._C._source_node(c, {})
            assert found and Whole(text).has(c, found), (text, name)
    assert janus._C._source_node(codes[0]["f"], {}) is None and janus._C._source_node(codes[1]["g"], {}) is None


@pytest.mark.parametrize("items", [2, 7, 30])
def test_sets_of_a_code_that_was_kept(items):
    """`x in {...}` is a frozenset of the code, of which one that was read from a file may have another order."""
    sets = ["{" + ", ".join(repr(f"{k}{i}") for i in range(items)) + f", {k}, ({k}, {k}.0, True), -0.0" + "}" for k in range(40)]
    text = "".join(f"def f{k}(x): return x in {s} and (lambda y: y in {s})\n" for k, s in enumerate(sets))
    code, whole = code_of(text), Whole(text)
    kept = marshal.loads(marshal.dumps(code))
    for c in functions_in(kept):
        found = janus._C._source_node(c, {})
        assert found and whole.has(c, found), c
    for old, new in (("-0.0", "0.0"), ("True", "1"), ("'10'", "'z'"), (", 1, ", ", 1.0, ")):
        other = {c.co_name: c for c in functions_in(compile(text.replace(old, new), code.co_filename, "exec"))}
        assert janus._C._source_node(other["f1"], {}) is None, (old, new)
