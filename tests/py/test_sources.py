# SPDX-License-Identifier: Apache-2.0
"""Every function of a file is found in its text, though the rest of the file is not compiled again for it."""
import fractions
import heapq
import random
import textwrap
import types

import pytest
from texts import code_of

import janus
from janus import data, nn, optim

MODULES = [fractions, heapq, random, textwrap, janus._tensor, nn.module, nn._losses, nn.rnn, optim.adam, data.dataloader]


def codes_in(code):
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield c
            yield from codes_in(c)


def found(code, names):
    """The place of a function's node, None: there is none."""
    pair = janus._C._source_node(code, names)
    return pair and (pair[0].name if hasattr(pair[0], "name") else "<lambda>",
                     min([pair[0].lineno] + [d.lineno for d in getattr(pair[0], "decorator_list", [])]))


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_of_modules(module):
    with open(module.__file__) as file:
        whole = compile(file.read(), module.__file__, "exec", dont_inherit=True)
    seen = 0
    for code in codes_in(whole):
        made_by_def = not code.co_name.startswith("<") and code.co_flags & 3 == 3  # CO_OPTIMIZED | CO_NEWLOCALS: no class
        if made_by_def:
            assert found(code, module.__dict__) == (code.co_name, code.co_firstlineno)
            seen += 1
    assert seen > 3


TEXT = """
from __future__ import annotations
import math, os.path
try:
    import random as r
except ImportError:
    r = None
if True:
    def under(x):
        return math.sqrt(x) + r.random()
def decorate(f): return f
@decorate
@(lambda f: f)
def decorated(x):
    return r.random() + x
class A:
    __private = 1
    def method(self):
        def inner(y: int): return self.__private + y
        return inner
    class B:
        def method(self): return os.path.join(str(self), "x")
two = lambda x: x.lower()
def again(x): return math.sin(x)
def again(x): return math.sin(x) + 1
several = [
    lambda x: x + 1, lambda x: x + 2,
    lambda x: x + 3]; many = {k: lambda x, k=k: x * k for k in range(3)}
"""


def test_of_a_text():
    code = code_of(TEXT)
    names = {}
    exec(code, names)
    functions = [c for c in codes_in(code) if c.co_flags & 3 == 3 and c.co_name not in ("<dictcomp>", "<listcomp>")]
    assert len(functions) >= 14
    for c in functions:
        at = found(c, names)
        assert at is not None and at[0] == c.co_name, c
        if c.co_name != "<lambda>":
            assert at[1] == c.co_firstlineno
