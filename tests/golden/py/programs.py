# SPDX-License-Identifier: Apache-2.0
"""Small programs whose graphs are kept as goldens (NAME.jir beside this file; tests/py/test_golden.py).

Each is a function that is decorated, and the calls made before its newest graph is looked at.
"""

import collections

import janus
from janus import nn

PROGRAMS = {}


def program(*calls):
    def register(f):
        PROGRAMS[f.__name__] = (f, calls)
        return f

    return register


class Node:
    def __init__(self, value, *children):
        self.value, self.children = value, list(children)


def tree():
    return Node(1.0, Node(2.0), Node(3.0, Node(4.0), Node(5.0)), Node(6.0, Node(7.0)))


def x(*shape):
    return janus.ones(*(shape or (3,)))


State = collections.namedtuple("State", "h c")


@program(lambda f: f(x(2, 3), x(3, 4), x(4)))
def arithmetic(a, b, c):
    return (a @ b + c).tanh().sum(1) * 2 - 1


@program(lambda f: f(x()))
def branch(a):
    if a.sum() > 2:
        return a * 2
    return a - 1


@program(lambda f: f(x(), 3), lambda f: f(x(), 5), lambda f: f(x(), 7))
def counted_loop(a, n):
    for i in range(n):
        a = a * 0.5 + i
    return a


@program(lambda f: f(x()))
def while_loop(a):
    n = 0
    while a.sum() < 100:
        a = a * 1.5
        n += 1
    return a, n


@program(lambda f: f(x()))
def left_loop(a):
    for i in range(40):
        a = a * 1.5
        if a.sum() > 50:
            return a, i
    return a, -1


@program(lambda f: f(tree(), x()))
def recursion(node, a):
    b = a * node.value
    for c in node.children:
        b = b + recursion_again(c, a)
    return b


@program(lambda f: f(tree(), x()))
def list_of_children(node, a):
    below = [list_of_children_again(c, a) for c in node.children]
    return a * node.value + sum(below)


@program(lambda f: f(tree()))
def depth(node):
    return 1 + max((depth_again(c) for c in node.children), default=0)


@program(lambda f: f(tree(), State(x(), x())))
def tuples_through_a_recursion(node, s):
    s = State(s.h * node.value, s.c + s.h)
    for c in node.children:
        s = tuples_through_a_recursion_again(c, s)
    return s


@program(lambda f: f(janus.ones(3, requires_grad=True)))
def gradient(w):
    return (w * w).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, v):
        return self.b(self.a(v).relu())


NET = Net()


@program(lambda f: f(NET, x(5, 3)))
def module(net, v):
    return net(v).mean()


@program(lambda f: f(NET, x(5, 3)))
def training_step(net, v):
    loss = net(v).square().mean()
    net.zero_grad()
    loss.backward()
    return loss.detach()


@program(lambda f: f(x()))
def random_numbers(a):
    return a + janus.rand(3), janus.nn.functional.dropout(a, 0.5)


def odd(w, node):
    return even(node.children[0], w) + w if node.children else w


def even(node, v):
    b = v * node.value
    for c in node.children:
        b = b + odd(v, c)
    return b


W = janus.tensor([1.0, 2.0, 3.0], requires_grad=True)


@program(lambda f: f(tree(), W), lambda f: f(tree().children[1], W), lambda f: f(tree().children[2], W))
def weights_passed_down(node, w):
    w.grad = None
    even(node, w).sum().backward()


def walk(node, h):
    gate = janus.sigmoid(h * 2.0)
    if not node.children:
        return (h * node.value).sum()
    return walk(node.children[0], h * gate) if node.value > 1 else (W * node.value).sum()


@program(lambda f: f(tree()), lambda f: f(tree().children[1]), lambda f: f(tree().children[2]))
def a_gradient_on_some_paths(node):
    return walk(node, W * 3.0)
