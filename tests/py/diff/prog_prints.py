# SPDX-License-Identifier: Apache-2.0
"""Programs that print."""

import io
import sys

import janus

from .harness import MUST, case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


@case(graph=MUST)
def options_of_print(function, log):
    @function
    def f(x, n):
        print("a", n, 2.5, None, True, sep="-", end="!\n")
        print()
        print(x.shape, x.dtype, sep="", flush=True)
        print("no newline", end="")
        print("", end=None, sep=None)
        return x * n

    for n in (1, 1, 2, 3):
        log(f(t(2), n))


@case(graph=MUST)
def in_a_recursion(function, log):
    def visit(node, depth):
        print(depth, node.value)
        for c in node.children:
            visit(c, depth + 1)
        print("up", depth)

    f = function(lambda node, x: (visit(node, 0), x + 1)[1])
    for k in range(4):
        log(f(Node(k, [Node(2, [Node(3)]), Node(4)]), t(1)))


@case(graph=MUST)
def under_a_condition(function, log):
    @function
    def f(x):
        if x.sum() > 0:
            print("positive", x.sum().item())
            x = x * 2
        else:
            print("negative")
        print("then", x)
        return x

    for i in range(6):
        log(f(t(3, seed=i)))


@case(graph=MUST)
def in_a_loop(function, log):
    @function
    def f(nodes, x):
        for n in nodes.children:
            print(n.value, end=" ")
            x = x + n.value
        print("|", x)
        return x

    for k in (2, 2, 3, 0, 4):
        log(f(Node(0, [Node(i) for i in range(k)]), t(1)))


@case(graph=MUST)
def between_effects(function, log):
    class State:
        def __init__(self):
            self.n, self.seen = 0, []

    s = State()

    @function
    def f(x):
        s.n += 1
        print("n", s.n)
        x.mul_(2)
        print("x", x)
        s.seen.append(s.n)
        print(x, "twice")
        return x + s.n

    x = t(2) + 0
    for _ in range(4):
        log(f(x), x, s)


@case(graph=MUST)
def to_other_files(function, log):
    out = io.StringIO()

    @function
    def f(x, file):
        print("first", file=file)
        print("second")
        print("third", x, file=file, end="")
        return x

    for i in range(4):
        log(f(t(1, seed=i), out), out.getvalue())
    log(f(t(1), None), out.getvalue())


@case(graph=MUST)
def closed_in_the_middle(function, log):
    """What cannot be printed raises where CPython raises it, with what was done until then done."""

    class State:
        n = 0

    s, out = State(), io.StringIO()

    @function
    def f(x, file):
        s.n += 1
        print("here", s.n, file=file)
        s.n += 10
        return x

    for _ in range(3):
        log(f(t(1), out), s.n)
    out.close()
    log.raises(f, t(1), out)
    log(s.n)


@case
def user_stream(function, log):
    lines = []

    class Stream:
        def write(self, s):
            lines.append(s)

        def flush(self):
            lines.append("flush")

    @function
    def f(x):
        print("to a stream", x.shape, flush=True)
        return x

    was = sys.stdout
    for i in range(4):
        if i > 1:
            sys.stdout = Stream()
        try:
            f(t(2))
        finally:
            sys.stdout = was
        log(lines)


@case
def tensors_with_history(function, log):
    w = t(2, grad=True)
    f = function(lambda x: (print(w), print(w * x), x)[2])
    for i in range(3):
        log(f(t(2, seed=i)))


@case(graph=MUST)
def strings_of_nodes(function, log):
    def visit(node):
        print(node.name, node.value)
        for c in node.children:
            visit(c)

    f = function(lambda node, x: (visit(node), x)[1])
    for _ in range(3):
        a, b = Node(1), Node(2)
        root = Node(3, [a, b])
        a.name, b.name, root.name = "a", "b", "root"
        log(f(root, t(1)))
