# SPDX-License-Identifier: Apache-2.0
"""Draws of Python's own generators: functions of `random` and methods of its instances, wherever they are called.  Numbers, and where each generator stands after every call,
are CPython's; a run that is discarded has drawn nothing."""
import itertools
import random

import pytest

import janus
from shares import share
from texts import names_of

DRAWS = {"random": "R.random()", "randrange": "R.randrange(9)", "from to": "R.randrange(3, 9)", "steps": "R.randrange(10, -10, -3)", "randint": "R.randint(-2, 2)",
         "one": "R.randrange(1)", "large": "R.randrange(10 ** 15)", "bits": "R.getrandbits(5)", "many bits": "R.getrandbits(53)", "no bits": "R.getrandbits(0)",
         "32 bits": "R.getrandbits(32)", "33 bits": "R.getrandbits(33) % 1000", "uniform": "R.uniform(-1, n)", "triangular": "R.triangular(0, 1, 0.3)",
         "expovariate": "R.expovariate(2.0)", "computed": "R.randrange(n + 2)", "of a draw": "R.randint(0, R.randrange(5))", "gauss": "R.gauss(0.5, 2.0)",
         "index": "box.items[R.randrange(5)]", "chosen": "R.choice(box.items)", "decision": "1 if R.random() < 0.4 else R.random()",
         "both": "R.random() < 0.5 and R.random() < 0.5", "two": "(R.random(), other.random(), R.randrange(3))", "unused": "R.random() * 0 + n"}
PLACES = {"straight": "    return {draw}", "twice": "    a = {draw}\n    return a, {draw}", "loop": "    out = []\n    for _ in range(n):\n        out.append({draw})\n    return out",
          "while": "    i, out = 0, None\n    while i < n + 3:\n        out = {draw}\n        i += 1\n    return out, i", "branch": "    if R.random() < 0.5:\n        return {draw}\n    return 0",
          "callee": "    def g():\n        return {draw}\n    return g(), R.random()", "comprehension": "    return [{draw} for _ in range(3)]",
          "recursion": "    def down(k):\n        if k <= 0 or R.random() < 0.1:\n            return 0.5\n        v = {draw}\n        return down(k - 1) + R.random()\n    return down(n + 3), R.random()",
          "tensor": "    a = {draw}\n    return x * R.random(), a", "seeded": "    a = {draw}\n    R.seed(n)\n    return a, {draw}",
          "raises": "    a = {draw}\n    if R.random() < 0.3:\n        raise ValueError('drawn')\n    return a"}
OWNERS = {"module": "random", "instance": "rng", "attribute": "box.rng", "item": "box.all[n % 2]", "derived": "box.derived"}
TEXT = """
def f(rng, other, box, x, n):
{body}
"""


class Derived(random.Random):
    pass


class Box:
    def __init__(self):
        self.items = [3, 1, 4, 1, 5]
        self.rng, self.derived, self.all = random.Random(4), Derived(5), [random.Random(6), random.Random(7)]


def outcome(draw, place, owner, decorated):
    body = PLACES[place].format(draw=DRAWS[draw]).replace("R.", OWNERS[owner] + ".")
    names = names_of(TEXT.format(body=body), random=random, __name__="program")
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    random.seed(11)
    rng, other, box, log = random.Random(1), random.Random(2), Box(), []
    for i in range(8):
        try:
            v = f(rng, rng if i == 6 else other, box, janus.ones(2), 2 + i % 2)
            log.append(repr((v[0].tolist(), v[1]) if place == "tensor" else v))
        except ValueError as e:
            log.append(str(e))
        log.append([hash(g.getstate()) for g in (rng, other, box.rng, box.derived, *box.all, random._inst)])
    return log, f


ALL = [x for x in itertools.product(DRAWS, PLACES, OWNERS)]


@pytest.mark.parametrize("place", PLACES)
def test_draws_are_cpythons(place):
    differ = [x for x in share(ALL) if x[1] == place and outcome(*x, False)[0] != outcome(*x, True)[0]]
    assert differ == []


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("draw", [d for d in DRAWS if d != "gauss"])  # that one is of two kinds in turn
def test_draws_are_part_of_graphs(draw, owner):
    f = outcome(draw, "straight", owner, True)[1]
    assert f.stats()["graph"] >= 2, janus.explain(f)


def program(text, **names):
    return names_of(text, random=random, __name__="program", **names)["f"]


def test_generators_that_are_one_or_two():
    plain = program("def f(a, b):\n    return a.random() - b.random(), random.random()\n")
    logs = []
    for f in (plain, janus.function(plain, measure=False)):
        random.seed(3)
        a, b, log = random.Random(5), random.Random(6), []
        for i in range(24):
            log.append(f(a, [b, a, random._inst][i // 4 % 3]))
            log.append([g.getstate() for g in (a, b, random._inst)])
        logs.append(log)
    assert logs[0] == logs[1]


def test_a_discarded_run_has_drawn_nothing():
    plain = program("def f(r, x):\n    a = r.random()\n    if x.sum() > 1.0:\n        a = a + 1 // int(x[0].item() - 3)\n    return a, r.randrange(5)\n")
    logs = []
    for f in (plain, janus.function(plain, measure=False)):
        r, log = random.Random(5), []
        for i in range(12):
            try:
                log.append(f(r, janus.tensor([float(i % 4), 1.0])))
            except ZeroDivisionError as e:
                log.append(str(e))
            log.append(r.getstate())
        logs.append(log)
    assert logs[0] == logs[1]


def test_methods_that_are_replaced_are_called():
    class Counting(random.Random):
        def random(self):
            self.n = getattr(self, "n", 0) + 1
            return super().random()

    class Bits(random.Random):
        def getrandbits(self, k):
            return super().getrandbits(k) // 2

    plain = program("def f(r):\n    return r.random(), r.randrange(100), r.uniform(0, 1)\n")
    logs = []
    for f in (plain, janus.function(plain, measure=False)):
        log = []
        for r in (Counting(1), Bits(1), random.Random(1)):
            for i in range(6):
                if i == 4 and type(r) is random.Random:
                    r.getrandbits = lambda k: 1
                log.append((f(r), r.getstate(), getattr(r, "n", None)))
        logs.append(log)
    assert logs[0] == logs[1]


def test_a_long_run_of_draws():
    plain = program("def f(r, n):\n    s = 0\n    for i in range(n):\n        s += r.randrange(1000)\n    return s\n")
    a, b, f = random.Random(3), random.Random(3), janus.function(plain, measure=False)
    for n in (3, 5, 623, 624, 625, 2000, 700, 1):
        assert f(a, n) == plain(b, n) and a.getstate() == b.getstate()


def test_verification_sees_other_numbers():
    plain = program("def f(r, x):\n    return x * r.random()\n")
    f = janus.function(plain, measure=False)
    a, b = random.Random(1), random.Random(1)
    for _ in range(40):
        assert f(a, janus.ones(2)).tolist() == plain(b, janus.ones(2)).tolist() and a.getstate() == b.getstate()
    assert f.stats()["graph"] >= 36 and f.stats()["disproved"] == 0
