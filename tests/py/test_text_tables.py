# SPDX-License-Identifier: Apache-2.0
"""What functions and methods of strings that nodes hold give, of which there are many: a look-up in a graph, equal to CPython's."""
import itertools
import random

import pytest

import janus
from compared import close
from janus import nn
from texts import names_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXT = """
def go(n):
    h = emb.weight[{number}]
    if {test}:
        h = h * 0.5 + 1
    for kid in n.kids:
        h = janus.tanh(h + go(kid) * 0.5)
    return h
def f(n):
    return go(n).sum()
"""
NUMBERS = {"index": "'abcdefghijklmnopqrstuvwxyz'.index(n.w[0]) % 8", "ord": "ord(n.w[-1]) % 8", "count": "n.w.count('a')",
           "find": "'xaybzc'.find(n.w) + 1", "upper": "len(n.w.upper())", "kind": "int(n.w.isalpha()) + int(n.w.islower())",
           "several": "n.w.strip('a').replace('b', 'cc').count('c') % 8", "slice": "len(n.w[1:]) + 'abc'.find(n.w[:1]) + 1",
           "number": "int(n.w, 36) % 8"}
TESTS = {"part": "n.w in 'abcabd'", "no part": "n.w not in 'aab'", "start": "n.w.startswith('a')", "vowel": "n.w[0] in 'aeiou'",
         "lower": "n.w.lower() == 'ab'", "end": "n.w[-1] == 'c' or n.w.endswith('b')"}
WORDS = {"few words": ["a", "ab", "", "bc", "aab"], "words": [a + b for a in "abcxyz" for b in ["", "a", "ab", "Bc", "cc", "d", "zza"]],
         "letters": list(LETTERS), "marks": list(LETTERS) + ["?", "1", "\u00e9", "\u4e2d"]}


class Node:
    def __init__(self, w, kids):
        self.w, self.kids = w, kids


def tree(rng, words, depth):
    return Node("".join(rng.choice(words)), [tree(rng, words, depth - 1) for _ in range(rng.randint(1, 3) if depth else 0)])


def result(f, t, emb):
    emb.zero_grad()
    try:
        r = f(t)
    except (ValueError, IndexError) as e:
        return [type(e), str(e)]
    r.backward()
    return [r.detach(), emb.weight.grad.contiguous()]


@pytest.mark.parametrize("options", [{"verify": "never"}, {"verify": "always"}, {"verify": "always", "numerics": "exact"}],
                         ids=["never", "always", "exact"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("at", range(3))
def test_of_nodes(at, words, options):
    chosen, graphs = list(itertools.product(NUMBERS.items(), TESTS.items()))[at * 4::11], 0
    for (k, number), (t, test) in chosen:
        rng, emb = random.Random(f"{k}, {t}"), nn.Embedding(8, 3)
        f = names_of(TEXT.format(number=number, test=test), janus=janus, emb=emb)["f"]
        g = janus.function(f, measure=False, **options)
        for i in range(8):
            n = tree(rng, WORDS[words], 4)
            assert close(result(f, n, emb), result(g, n, emb)), (k, t, i)
        s = g.stats()
        assert not s["disproved"], (k, t, janus.explain(g))
        graphs += s["graph"]
    if words == "letters":
        assert graphs >= len(chosen)


LISTS = """
def f(words):
    h = zeros
    for i, w in enumerate(words):
        h = janus.tanh(h + emb.weight[{number}] * (i + 1))
        if {test}:
            h = h - 1
    return h.sum()
"""


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("words", WORDS)
def test_of_lists(words, numerics):
    chosen = list(itertools.product(NUMBERS.items(), TESTS.items()))[::13]
    for (k, number), (t, test) in chosen:
        rng, emb = random.Random(f"{k}, {t}"), nn.Embedding(8, 3)
        text = LISTS.format(number=number, test=test).replace("n.w", "w")
        f = names_of(text, janus=janus, emb=emb, zeros=janus.zeros(3))["f"]
        g = janus.function(f, measure=False, verify="always", numerics=numerics)
        for i in range(10):
            some = [rng.choice(WORDS[words]) for _ in range(rng.randint(1, 7))]
            assert close(result(f, some, emb), result(g, some, emb)), (k, t, i, some)
        assert not g.stats()["disproved"], (k, t, janus.explain(g))
