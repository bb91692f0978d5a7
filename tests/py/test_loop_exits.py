# SPDX-License-Identifier: Apache-2.0
"""Two loops, one in the other, and every way to leave either of them at every place, `else` included."""
import itertools

import pytest

import janus
from shares import share
from texts import code_of

EXITS = ["break", "continue", "return ('r', out)", "pass"]
LOOPS = {"for": ("for {v} in {items}:", ""), "while": ("while {v} < 3:", "{v} = {v} + 1")}


def source(outer, inner, where, exits, test):
    """A function whose loops are left by `exits` at the places: inner body, inner else, outer body."""
    def loop(kind, v, items, indent, body, otherwise):
        head, step = LOOPS[kind]
        lines = [f"{v} = 0"] if step else []
        lines.append(head.format(v=v, items=items))
        lines += ["    " + line for line in ([step.format(v=v)] if step else []) + body]
        lines += ["else:"] + ["    " + line for line in otherwise]
        return [indent + line for line in lines]

    def leave(i, v, name):
        # break and continue in an else belong to the loop around; in the outermost else there is none
        return [f"out.append(({name!r}, {v}))", f"if {test.format(v=v)}:", f"    {exits[i]}", f"out.append(({name!r}, 'on'))"]

    inside = loop(inner, "j", "items", "", leave(0, "j", "body"), leave(1, "i", "else"))
    lines = loop(outer, "i", "items", "    ", inside + leave(2, "i", "outer"), ["out.append('done')"])
    return "\n".join(["def f(items, x, at):", "    out = []"] + lines + ["    return out, x + len(out)", ""])


@pytest.mark.parametrize("outer", LOOPS)
@pytest.mark.parametrize("inner", LOOPS)
@pytest.mark.parametrize("test", ["{v} == at", "x.sum() > {v}", "True"])
def test_exits(outer, inner, test):
    for exits in share(itertools.product(EXITS, EXITS, EXITS)):
        text = source(outer, inner, None, exits, test)
        code = code_of(text)

        def run(decorate):
            space = {}
            exec(code, space)
            f = decorate(space["f"])
            seen = []
            for value in (0.5, 0.5, 0.5, 1.5, 5.0, -1.0, 0.5):
                out = f([0, 1, 2], janus.tensor([value]), 1)
                seen.append(str(out))
            return seen
        assert run(janus.function) == run(lambda f: f), text
