# SPDX-License-Identifier: Apache-2.0
"""Dicts and sets whose keys only the graph knows: numbers that it reads or computes, strings, None, mixed. The class is
generated: containers times what is done with them times kinds of keys (pyfront/convert/heap/live.c)."""
import random

import pytest

import janus


class Node:
    def __init__(self, k, *kids):
        self.k, self.kids = k, kids


NAN = float("nan")
KEYS = {"ints": [0, 1, 2, 3, -1], "bools": [True, False], "ints and bools": [0, True, 2, False, 1],
        "floats": [0.0, 1.0, 2.5, 3.0], "ints and floats": [0, 1.0, 2, 3.0, 2.5], "strings": ["a", "b", "ab"],
        "strings and None": ["a", None, "b"],
        "everything": [1, True, 1.0, "1", None, 2], "nan": [NAN, 1.0, float("nan")],
        "large": [2 ** 62, -2 ** 63, 2 ** 80, 1]}
COMPUTED = {"itself": lambda k: k, "computed": lambda k: k + 1, "halved": lambda k: k * 0.5,
            "compared": lambda k: k > 1,
            "pair": lambda k: (k, 1)}

TABLE = {0: 1.0, 1: 2.0, 2: 3.0, 2.5: 4.0, 3: 5.0, "a": 6.0, "ab": 7.0, None: 8.0, NAN: 9.0, -1: 10.0, 2 ** 62: 11.0}
ITEMS = {0, 1, 2.5, "a", None, NAN, 2 ** 80}


def item(k, box, d):
    return d[k] if k in d else 0.5


def raising(k, box, d):
    return d[k]


def got(k, box, d):
    return d.get(k, 0.25)


def is_there(k, box, d):
    return 2.0 if k in ITEMS else 3.0


def one_of_a_few(k, box, d):
    return {0: 2.0, 1: 3.0}.get(k, 4.0)


def visited(k, box, d):
    if k in box[0]:
        return 0.5
    box[0].add(k)
    return 2.0


def memo(k, box, d):
    if k not in box[1]:
        box[1][k] = len(box[1]) + 1.0
    return box[1][k]


def counts(k, box, d):
    box[1][k] = box[1].get(k, 0) + 1
    return 1.0


def written(k, box, d):
    d[k] = 2.0
    return d[k]


def taken_out(k, box, d):
    if k in d:
        del d[k]
    return 1.0


def lists(k, box, d):
    return sum([v for v in {0: [1.0, 2.0], 1: [3.0], True: [4.0, 5.0, 6.0]}.get(k, [])]) + 1.0


DONE = {f.__name__: f for f in (item, raising, got, is_there, one_of_a_few, visited, memo, counts, written, taken_out,
                                lists)}


def tree(rng, keys, depth):
    return Node(rng.choice(keys), *[tree(rng, keys, depth - 1) for _ in range(rng.randint(0, 2) if depth else 0)])


def run(done, keys, computed, options):
    f, of = DONE[done], COMPUTED[computed]

    def walk(n, x, box, d):
        x = x * f(of(n.k), box, d)
        for kid in n.kids:
            x = x + walk(kid, x, box, d)
        return x

    def step(t, x, d):
        box = (set(), {})
        y = walk(t, x, box, d)
        return y, len(box[0]), len(box[1])

    g = step if options is None else janus.function(step, **options)
    rng, out, d = random.Random(5), [], dict(TABLE)
    for _ in range(12):
        t = tree(rng, KEYS[keys], 3)
        try:
            y, *rest = g(t, janus.ones(2), d)
            out.append((y.tolist(), rest))
        except (KeyError, TypeError) as e:
            out.append((type(e), str(e)))
        out.append([(type(k), k if k == k else "nan", v) for k, v in d.items()])
    return out, g


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("keys", KEYS)
def test_as_undecorated(done, keys):
    for computed in COMPUTED:
        want, _ = run(done, keys, computed, None)
        got, g = run(done, keys, computed, {"verify": "never", "measure": False})
        assert want == got, computed


@pytest.mark.parametrize("done", ["item", "got", "is_there", "one_of_a_few", "visited", "memo"])
def test_ints_are_keys_of_the_graph(done):
    for computed in ("itself", "computed"):
        _, g = run(done, "ints", computed, {"verify": "never", "measure": False})
        assert g.stats()["graph"] > 5, computed
