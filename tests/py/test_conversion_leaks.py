# SPDX-License-Identifier: Apache-2.0
"""Conversions leave nothing behind, those that start again or are refused included."""
import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import ctypes, gc, sys
import janus
from janus import nn

class Info(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info

def used():
    gc.collect()
    m = libc.mallinfo2()
    return m.uordblks + m.hblkhd

class Node:
    def __init__(self, depth):
        self.v, self.kids = float(depth), [Node(depth - 1), Node(depth - 1)] if depth else []

class P:
    def __init__(self, a):
        self.a = a
x = janus.tensor([1.0, 2.0])
w = janus.ones(2, requires_grad=True)
tree = Node(3)

"""

PROGRAMS = {
    "loop that is peeled": """
        b, k = None, 0
        while k < x.sum().item():
            b = x if b is None else b + x
            k += 1
        return b""",
    "several variables peeled": """
        a = b = c = None
        k = 0
        while k < x.sum().item():
            a = x if a is None else a + x
            b = x if b is None else b + x
            c = x if c is None else c + x
            k += 1
        return a + b + c""",
    "recursion": """
        def total(t):
            s = x * t.v
            for k in t.kids:
                s = s + total(k)
            return s
        return total(tree)""",
    "branches": """
        y = x
        for i in range(4):
            if y.sum() > i:
                y, p = y + 1, [i, y]
            else:
                y, p = y - 1, [i, x]
        return y, p""",
    "training step": """
        w.grad = None
        loss = (x * w).sum()
        loss.backward()
        return loss.item()""",
    "objects": """
        ps = [P(i) for i in range(40)]
        return x, sum([p.a for p in ps])""",
    "refused at its end": """
        ps = [P(i) for i in range(10)]
        y = x + 1 if x.sum() > 0 else x - 1
        return y, id(ps)""",
    "refused in a loop": """
        k = 0
        while k < x.sum().item():
            k += 1
            sys.getsizeof(k)
        return k""",
    "refused in both arms": """
        if x.sum() > 0:
            return sys.getsizeof(1)
        else:
            return sys.getsizeof(2)""",
    "one arm refused": """
        if x.sum() < 0:
            return sys.getsizeof(1)
        return x * 2""",
    "kinds that do not settle": """
        v = 1
        for i in range(int(x.sum().item())):
            v = [v] if isinstance(v, int) else 2
        return v""",
    "comprehensions": """
        ys = [x * i for i in range(5) if i != 2]
        return {i: y.sum().item() for i, y in enumerate(ys)}, sum(ys)""",
    "printed": """
        print(x.sum().item(), end="", file=sys.stderr)
        return x""",
}


def shown_by(script):
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "JANUS_MEASURE": "0",
                              # free blocks that the allocator keeps at hand count as used
                              "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"})
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the C library's allocator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left(name, tmp_path):
    script = tmp_path / "leak.py"
    body = textwrap.indent(textwrap.dedent(PROGRAMS[name]), "    ")
    script.write_text(PRELUDE + f"def f(x):{body}\n" + textwrap.dedent("""
        def once():
            g = janus.function(f)
            for _ in range(2):
                g(x)
            assert g.stats()["conversions"]

        grown = []
        for _ in range(20):
            before, blocks = used(), sys.getallocatedblocks()
            for _ in range(50):
                once()
            gc.collect()
            grown.append(((used() - before) / 50, (sys.getallocatedblocks() - blocks) / 50))
        print(grown)
        """))
    grown = shown_by(script)
    # bytes outside of Python's pools, and blocks in them, a conversion; CPython's free lists fill up in the first rounds
    assert min(b for b, _ in grown[1:]) < 1 and min(n for _, n in grown[1:]) < 0.9, grown


MADE = {**PROGRAMS, "regions": """
        y = x + 1
        for i in range(3):
            y = y * 2 + i
            open("/dev/null").close()
        return y, [x * i for i in range(2)]"""}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the C library's allocator")
@pytest.mark.parametrize("name", MADE)
def test_nothing_is_left_of_functions_that_are_made(name, tmp_path):
    """Of a function whose text a program makes nothing is kept when it is gone, whatever was learnt of its code."""
    script = tmp_path / "leak.py"
    body = textwrap.indent(textwrap.dedent(MADE[name]), "    ")
    script.write_text(PRELUDE + f"TEXT = {f'def f(x):{body}' + chr(10)!r}\n" + textwrap.dedent("""
        import linecache

        def once(i):
            file = f"<made {i}>"
            linecache.cache[file] = len(TEXT), None, TEXT.splitlines(True), file
            exec(compile(TEXT, file, "exec"), globals())
            g = janus.function(f)
            for _ in range(3):
                g(x)
            assert g.stats()["conversions"]
            linecache.clearcache()

        grown = []
        for i in range(150):  # of as many files what was parsed is kept (pyfront/base/lines.h)
            once(i)
        for turn in range(6):
            before, blocks = used(), sys.getallocatedblocks()
            for i in range(10):
                once((turn, i))
            gc.collect()
            grown.append(((used() - before) / 10, (sys.getallocatedblocks() - blocks) / 10))
        print(grown)
        """))
    grown = shown_by(script)
    assert min(b for b, _ in grown) < 100 and min(n for _, n in grown) < 5, grown


def test_what_is_known_of_a_code_is_its_own():
    """A signal's handler that raises wherever a code dies: nothing is lost, and the next one at its address is not taken for it."""
    from janus import _skeleton

    known, seen = _skeleton._OfCodes(), []
    for i in range(300):
        code = compile(f"def f(x): return x + {i}", f"<code {i}>", "exec").co_consts[0]
        assert code not in known
        known[code] = i
        assert code in known and known[code] == i
        seen.append(id(code))
        sys.settrace(lambda *_: 1 / 0)  # as a handler would, in whatever is called that is written in Python
        try:
            del code
        finally:
            sys.settrace(None)
    assert len(set(seen)) < 300 and len(known._known) <= 1
