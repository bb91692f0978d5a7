# SPDX-License-Identifier: Apache-2.0
"""Recursions over nodes that carry strings, enums and functions by name: syntax trees, module networks."""

import enum

import janus
from diff.harness import FAST, MUST, case, t

nn = janus.nn
DEPTHS = (1, 2, 3, 4, 3, 2, 4)


class Node:
    def __init__(self, op, *kids, v=0.0):
        self.op, self.kids, self.v = op, list(kids), v


def expression(d, s=0):
    if d == 0:
        return Node("leaf", v=0.5 + s * 0.1)
    return Node("add" if (d + s) % 2 else "mul", expression(d - 1, 2 * s),
                expression(d - 1 if s % 3 else 0, 2 * s + 1))


class Word:
    def __init__(self, word=None, left=None, right=None):
        self.word, self.left, self.right = word, left, right


def sentence(d, s=0):
    if d == 0:
        return Word("abc"[s % 3] if s % 4 else "zz")
    return Word(None, sentence(d - 1, s * 2), sentence(max(d - 2, 0), s * 2 + 1))


def train(function, log, ev, make, leaves):
    @function
    def f(n):
        return ev(n).sum()

    for d in DEPTHS:
        y = f(make(d))
        y.backward()
        log(y)
    log(*[w.grad for w in leaves])


@case(graph=MUST)
def string_tags(function, log):
    w = t(3, grad=True)

    def ev(n):
        if n.op == "leaf":
            return w * n.v
        a, b = ev(n.kids[0]), ev(n.kids[1])
        if n.op == "add":
            return a + b
        return a * b

    train(function, log, ev, expression, [w])


@case(graph=MUST)
def string_in(function, log):
    w = t(3, grad=True)
    leaves = {"leaf", "const"}

    def ev(n):
        if n.op in ("leaf", "const") and n.op in leaves and n.op not in ["add", "mul"]:
            return w * n.v
        a, b = [ev(k) for k in n.kids]
        return a + b if "mul" != n.op else a * b

    train(function, log, ev, expression, [w])


@case(graph=MUST)
def functions_by_name(function, log):
    w = t(3, grad=True)
    ops = {"add": lambda a, b: a + b,
           "mul": lambda a, b: a * b,
           "never": lambda a, b: a / b}

    def ev(n):
        if not n.kids:
            return w * n.v
        a, b = map(ev, n.kids)
        return ops[n.op](a, b)

    train(function, log, ev, expression, [w])


@case(graph=MUST)
def modules_by_name(function, log):
    mods = nn.ModuleDict({"add": nn.Linear(6, 3), "mul": nn.Linear(6, 3)})
    w = t(3, grad=True)

    def ev(n):
        if len(n.kids) == 0:
            return w * n.v
        return janus.tanh(mods[n.op](janus.cat([ev(k) for k in n.kids])))

    train(function, log, ev, expression, [w, *mods.parameters()])


@case(graph=MUST)
def starred_children(function, log):
    lin = nn.Linear(3, 3)
    w = t(3, grad=True)

    def join(a, b):
        return janus.tanh(lin(a) * b)

    def ev(n):
        return join(*[ev(k) for k in n.kids]) if n.kids else w * n.v

    train(function, log, ev, expression, [w, lin.weight])


@case(graph=MUST)
def vocabulary(function, log):
    words = {"a": 1, "b": 2, "c": 3}
    emb, lin = nn.Embedding(5, 3), nn.Linear(6, 3)

    def ev(n):
        if n.word is not None:
            i = words[n.word] if n.word in words else 0
            return emb(janus.tensor([i]))
        return janus.tanh(lin(janus.cat([ev(n.left), ev(n.right)], 1)))

    @function
    def f(n):
        return ev(n).sum()

    for d in DEPTHS:
        y = f(sentence(d))
        y.backward()
        log(y)
    words["zz"] = 4  # seen at once
    for d in DEPTHS:
        log(f(sentence(d)))
    del words["zz"], words["b"]
    for d in DEPTHS:
        log(f(sentence(d)))
    log(emb.weight.grad)


@case(graph=MUST)
def vocabulary_get(function, log):
    words = {"a": 1, "b": 2, "c": 3}
    emb = nn.Embedding(4, 3)

    def ev(n):
        if n.word is not None:
            return emb(janus.tensor([words.get(n.word, 0)]))
        return janus.tanh(ev(n.left) - ev(n.right) * 0.5)

    train(function, log, ev, sentence, [emb.weight])


@case
def missing_word(function, log):
    words = {"a": 1, "b": 2, "c": 3}
    emb = nn.Embedding(4, 3)

    def ev(n):
        if n.word is not None:
            return emb(janus.tensor([words[n.word]]))
        return ev(n.left) - ev(n.right) * 0.5

    @function
    def f(n):
        return ev(n).sum()

    plain = Word(None, Word("a"), Word(None, Word("b"), Word("c")))
    for _ in range(3):
        log(f(plain))
        log.raises(f, sentence(3))
    words[None] = 2
    log(f(plain))


class Kind(enum.Enum):
    ADD = 1
    SUB = 2
    LEAF = 3


class Tagged:
    def __init__(self, kind, *kids, v=0.0):
        self.kind, self.kids, self.v = kind, kids, v


def tagged(d, s=0):
    if d == 0:
        return Tagged(Kind.LEAF, v=0.3 + s * 0.1)
    return Tagged(Kind.ADD if (d + s) % 2 else Kind.SUB, tagged(d - 1, 2 * s), tagged(max(d - 2, 0), 2 * s + 1))


@case(graph=MUST)
def enums(function, log):
    w = t(3, grad=True)

    def ev(n):
        if n.kind is Kind.LEAF:
            return w * n.v
        a, b = n.kids
        if n.kind == Kind.ADD:
            return ev(a) + ev(b) * w
        return ev(a) - ev(b)

    train(function, log, ev, tagged, [w])


@case(graph=FAST)
def none_or_string(function, log):
    """A leaf is returned as it is: what flows to it goes to its sum."""
    w = t(3, grad=True)

    def ev(n):
        if n.word == "a":
            return w
        if n.word == None:  # noqa: E711
            return ev(n.left) - ev(n.right) * 0.5
        if n.word != "b":
            return w * w
        return w * 2

    train(function, log, ev, sentence, [w])


@case(graph=FAST)
def leaf_returned(function, log):
    w = t(3, grad=True)

    def ev(n):
        if n.left is None:
            return w
        return ev(n.left) - ev(n.right) * 0.5

    train(function, log, ev, sentence, [w])


@case(graph=FAST)
def leaves_returned(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    def ev(n):
        if n.left is None:
            return (w, v) if n.word == "a" else (v * 2, w)
        a, b = ev(n.left)
        c, d = ev(n.right)
        return a - c * 0.5, b + d

    @function
    def f(n):
        a, b = ev(n)
        return (a * b).sum()

    for d in DEPTHS:
        y = f(sentence(d))
        y.backward()
        log(y)
    log(w.grad, v.grad)


class Odd(str):
    def __eq__(self, other):
        return str.__eq__(self, other) or other == "odd"

    __hash__ = str.__hash__


@case
def strings_with_a_mind_of_their_own(function, log):
    w = t(3, grad=True)

    def ev(n):
        if n.word == "odd":
            return w
        if n.left is None:
            return w * 2
        return ev(n.left) - ev(n.right) * 0.5

    @function
    def f(n):
        return ev(n).sum()

    for d in DEPTHS:
        log(f(sentence(d)))
    log(f(Word(None, Word(Odd("x")), Word("b"))))
    log(f(Word(None, Word("odd"), Word("b"))))


@case
def numbers_equal_strings_and_bools(function, log):
    """1 == True == 1.0 and nothing equals NaN."""
    nan = float("nan")

    def ev(n):
        if n.left is None:
            return ((1.0 if n.word == 1 else 0.0) + (2.0 if n.word == "1" else 0.0) +
                    (4.0 if n.word == nan else 0.0) + (8.0 if n.word in (2, True) else 0.0))
        return 10 * ev(n.left) + ev(n.right)

    @function
    def f(n, x):
        return x * ev(n)

    kinds = [1, True, 1.0, "1", nan, 2, 2.0, None, "2", b"1"]
    for i in range(12):
        log(f(Word(None, Word(kinds[i % 10]), Word(None, Word(kinds[(i * 3) % 10]), Word("x"))), t(2)))


@case
def written_vocabulary(function, log):
    """The dict gets words while it is read."""
    w = t(3, grad=True)

    def ev(n, seen):
        if n.left is None:
            if n.word not in seen:
                seen[n.word] = len(seen)
            return w * seen[n.word]
        return ev(n.left, seen) - ev(n.right, seen) * 0.5

    @function
    def f(n, seen):
        return ev(n, seen).sum()

    for d in DEPTHS:
        seen = {"a": 5}
        log(f(sentence(d), seen), seen)


@case(graph=FAST)
def sets_of_words(function, log):
    w = t(3, grad=True)
    stop = {"a", "zz"}

    def ev(n):
        if n.left is None:
            return w * 0.5 if n.word in stop else w
        return janus.tanh(ev(n.left) - ev(n.right) * 0.5)

    @function
    def f(n, word, number):
        y = ev(n).sum()
        return y * 2 if word in stop and number not in stop else y

    for i, d in enumerate(DEPTHS * 2):
        log(f(sentence(d), "ab"[i % 2], i))
        if i == 8:
            stop.add("b")
    log(stop)
