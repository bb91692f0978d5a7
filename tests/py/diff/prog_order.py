# SPDX-License-Identifier: Apache-2.0
"""Gradients whose last bit depends on the order in which the uses of a value are added up."""

import math

import janus

from .harness import MUST, case, t


class Tree:
    def __init__(self, v, left=None, right=None):
        self.v, self.l, self.r = v, left, right


def tree(n, k=0):
    v = 0.9 + math.sin(3.7 * n + k) * 0.8
    if n == 1:
        return Tree(v)
    left = 1 + (n * 7 + k) % (n - 1)
    return Tree(v, tree(left, k + 1), tree(n - left, k + 2))


def watch(function, log, f):
    """Each function on trees of many shapes, with backward() outside and inside of the graph."""
    w = t(3, grad=True)
    outside = function(lambda node: f(node, w).sum())

    @function
    def inside(node):
        w.grad = None
        loss = f(node, w).sum()
        loss.backward()
        return loss

    for k in range(24):
        node = tree(2 + k % 9, k)
        w.grad = None
        loss = outside(node)
        loss.backward()
        log(loss, w.grad)
        log(inside(node), w.grad)


def changing(node, x):
    if node.l is None:
        return x * node.v + x * 1.3
    return changing(node.l, x) * 0.7 + changing(node.r, x * 0.9) + x * node.v


@case(graph=MUST)
def argument_that_changes(function, log):
    watch(function, log, changing)


def swapped(node, a, b):
    if node.l is None:
        return a * node.v + b * 1.3
    return swapped(node.l, b, a) * 0.7 + swapped(node.r, a, b) * node.v


@case(graph=MUST)
def arguments_that_swap(function, log):
    watch(function, log, lambda node, w: swapped(node, w, w * 1.1))


def twice(node, a, b):
    if node.l is None:
        return a * node.v + b * 1.3 + a * 0.3
    return twice(node.l, a, a * 0.5) * 0.7 + twice(node.r, b, b) * node.v + a * 0.1


@case
def one_value_as_two_arguments(function, log):
    watch(function, log, lambda node, w: twice(node, w, w) + w * 1.9)


def beside(node, h, w):
    if node.l is None:
        return janus.tanh(h * node.v) + w * 0.1
    a, b = beside(node.l, h * 0.5 + w, w), beside(node.r, h, w)
    return janus.tanh(a * 0.3 + b * b * w - h * w + a)


@case(graph=MUST)
def argument_beside_a_weight(function, log):
    def f(node, x):
        w = x * janus.tensor([1.0, 2.0, 3.0])
        return beside(node, w * 0.3, w) * w

    watch(function, log, f)


@case(graph=MUST)
def arms_of_a_branch(function, log):
    def f(node, x):
        if (x * node.v).sum().item() > 0.6:
            y = x * 1.1 * node.v + x * 1.3 + x * x
        else:
            y = x * 0.3 + x * 1.7 * node.v + x * 0.1
        return y + x * 0.7

    watch(function, log, f)


@case(graph=MUST)
def branches_without_else(function, log):
    def f(node, x):
        y = x * node.v
        s = (x * node.v).sum().item()
        if s > 0.5:
            y = y * 1.1 + x * 1.3 * node.v + x * x
        if s < 0.9:
            y = y + x * 0.3 + x * 1.7 * node.v + x * 0.1
        return y + x * 0.7

    watch(function, log, f)


@case(graph=MUST)
def arms_of_a_round(function, log):
    def f(node, x):
        y = x * node.v
        for i in range(int(node.v * 10) + 1):
            if i % 3 == 1:
                if (y.detach() * 0 + x * node.v).sum() > 0.6:
                    y = y * 0.5 + x * 1.3 * node.v + x * 1.9
                else:
                    y = y * 0.5 + x * 0.3 + x * 1.7 * node.v
            else:
                y = y * 0.9 + x * 0.4
        return y + x * 0.7

    watch(function, log, f)


@case
def carried_and_used_again(function, log):
    def f(node, x):
        y = x
        for _ in range(int(node.v * 10) + 2):
            y = y * 0.2 + y * 0.3 + y * node.v * 0.1
        return y + x * 0.7 + x * 1.7

    watch(function, log, f)
