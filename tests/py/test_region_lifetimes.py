# SPDX-License-Identifier: Apache-2.0
"""Random programs whose variables hold objects with finalizers, in statements of which regions are graphs, or run by themselves."""
import random

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HEAD = """
import time, weakref
log, refs = [], []
class G:
    def __init__(self, i): self.i = i; self.o = None
    def __del__(self): log.append(('del', self.i))
class P: pass
class W:
    pass
def watched(i):
    o = W(); o.i = i; o.o = None
    refs.append(weakref.ref(o, lambda r: log.append(('cb', i))))
    return o
def pl(i):
    o = P(); o.i = i; o.o = G(i + 100)
    return o
class Ctx:
    def __enter__(self): return self
    def __exit__(self, *e): log.append('exit')
def unknown(): log.append(time.time() > 0)
h, box, t = P(), [], {}
def own(o): return o
def maybe(x, a, b):
    if x.sum() > 2: return a
    return b
def dropa(): unknown(); h.a = None
def dropb(): unknown(); h.b = h.c
def dropbox(): unknown(); box.clear()
def dropt(): unknown(); t.clear()
def dropall(): unknown(); h.a = h.b = h.c = None; box.clear(); t.clear(); unknown()
def reset(kind):
    make = {'g': G, 'w': watched, 'p': pl, 'l': lambda i: [G(i)], 'n': lambda i: i}[kind]
    h.a, h.b, h.c = make(1), make(2), make(3)
    box[:] = [make(4), make(5), make(6)]
    t.clear(); t.update(k=make(7), m=make(8))
    log.clear()
"""
VARIABLES = "pqrs"
SOURCES = (
    "h.a", "h.b", "h.c", "box[0]", "box[-1]", "box[n]", "t['k']", "t.get('m')", "own(h.a)", "(h.a, h.b)", "[h.a]", "[h.b, box[0]]", "{'z': h.c}", "maybe(x, h.a, h.b)", "maybe(y, box[0], None)",
    "h", "box", "None", "3", "y * 2", "(h.a, 1)", "h.a if n else h.b", "h.b if z.sum() > 4 else h.c", "h.b if z.sum() > 4 else None", "p", "q",
)
WORK = "z = z + 1", "y = z * 0.5", "z = y + x", "y = y * 2 + z"
WRITES = "h.a = None", "h.b = h.a", "h.c = None", "box[0] = None", "if len(box) > 1: box.pop()", "t['k'] = None", "h.a = own(h.b)"
BARRIERS = "unknown()", "log.append('m')", "print('', end='')"
DROPS = "dropa()", "dropb()", "dropbox()", "dropt()"
TESTS = "z.sum() > 3", "n", "x.sum() > 100", "y.sum() > n", "h.a is None"
LEAVES = "if z.sum() > 6: break", "if n: continue", "if y.sum() > 50: break"


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        choice = self.random.choice
        self.bound = self.random.random() < 0.4
        lines = ["p = q = r = s = None"] if self.bound else ["p = q = None"]
        lines += ["y = x * 2", "z = y + 1", *self.block(0, False), "z = z * 2 + y", "unknown()", *self.block(0, False)]
        lines += choice((["w = z + y", "log.append('end')"], [])) + choice((["dropall()"], []))
        self.body = "\n".join("    " + line for line in [*lines, "y = y * 3 + z", "return (z * y).sum()"])
        self.kind = choice("ggwpln")

    def block(self, depth, loop):
        return [line for _ in range(self.random.randint(2, 5)) for line in self.statement(depth, loop)]

    def statement(self, depth, loop):
        choice, k = self.random.choice, self.random.random()
        if k < 0.34:
            return [f"{choice(VARIABLES)} = {choice(SOURCES)}"]
        if k < 0.52 or (k > 0.82 and depth > 2) or (0.79 < k <= 0.82 and not self.bound):
            return [choice(WORK)]
        for most, lines in ((0.57, WRITES), (0.67, BARRIERS), (0.75, BARRIERS if loop else DROPS)):
            if k < most:
                return [choice(lines)]
        if k <= 0.82:
            return [f"{choice(VARIABLES)} = None" if k < 0.79 else f"log.append({choice(VARIABLES)} is None)"]
        inner = ["    " + line for line in self.block(depth + 1, loop or k > 0.9)]
        if k < 0.9:
            other = ["else:", *("    " + line for line in self.block(depth + 1, loop))] if choice((False, True)) else []
            return [f"if {choice(TESTS)}:", *inner, *other]
        if k < 0.96:
            inner += ["    " + choice(LEAVES), "    z = z + 0.5"] if self.random.random() < 0.3 else []
            return [f"for {choice(('i in range(2)', 'i in range(n + 1)', 'p in box', 'q in [h.a, h.b]'))}:", *inner]
        return ["with Ctx():", *inner]


def outcome(program, decorate):
    names = names_of(HEAD + "def f(x, n):\n" + program.body + "\n", janus=janus, __name__="program")
    f, out = decorate(names["f"]), []
    for n in 0, 1, 0, 1, 0, 0:
        names["reset"](program.kind)
        try:
            result = f(janus.ones(3), n).item()
        except (AttributeError, IndexError, KeyError, TypeError, UnboundLocalError) as e:
            result = type(e).__name__, str(e)
        out.append((result, list(names["log"])))
    return out, f


@pytest.mark.parametrize("seed", range(16))
def test_what_variables_hold_dies_in_its_time(seed):
    hits = 0
    for k in range(2):
        program = Program(2 * seed + k)
        expected, _ = outcome(program, lambda f: f)
        got, f = outcome(program, lambda f: janus.function(f, verify=("never", "rarely")[seed % 3 == 2], measure=False))
        assert got == expected, program.body
        hits += f.stats()["region_hits"]
    assert hits
