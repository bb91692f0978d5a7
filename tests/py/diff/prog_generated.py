# SPDX-License-Identifier: Apache-2.0
"""Programs that generate.py found, made smaller."""

import janus

from .harness import MUST, case, t


class Node:
    def __init__(self, k, kids=()):
        self.k, self.kids, self.h = k, list(kids), None
        self.left, self.right = (kids[0], kids[-1]) if kids else (None, None)


def tree(depth, k=0):
    return Node(k, [tree(depth - 1, 2 * k + 1), tree(depth - 1, 2 * k + 2)] if depth else [])


@case
def an_argument_that_is_no_value(function, log):
    """A call that was left halfway, its argument being None, was met again."""
    w = janus.ones(3)

    def visit(node, above, memo):
        if id(node) in memo:
            return memo[id(node)]
        if node.left is None:
            return w * node.k, 1
        x, n = visit(node.left, above, memo)
        y, m = visit(node.right, node, memo)
        if node.k == 4:
            return x, n
        h = x if above is None else y * above.k
        memo[id(node)] = result = (h + y, n + m)
        return result

    @function
    def f(roots):
        return sum([visit(root, None, {})[0] for root in roots])

    for d in (3, 2, 3, 1, 3, 2, 3, 3):
        log(f([tree(d), tree(2, 3), tree(2)]))


@case(graph=MUST)
def detached_on_some_paths(function, log):
    """Whether a recursion's result requires grad depends on the tree."""
    w = t(3, grad=True)

    def visit(node):
        if node.left is None:
            return w * (node.k + 1)
        x, y = visit(node.left), visit(node.right)
        if node.k % 3 == 1:
            return (x + y).detach()
        return janus.tanh(x) + y

    @function
    def f(roots):
        return sum([visit(root).sum() for root in roots])

    @function
    def step(roots):
        loss = f(roots)
        w.grad = None
        loss.backward()
        return loss.detach()

    for ks in ((3, 0), (3, 2)), ((2, 0), (2, 2)), ((2, 1),), ((2, 4), (1, 1)), ((2, 0),), ((2, 1),), ((2, 2), (2, 1)):
        roots = [tree(*k) for k in ks]
        log(f(roots))
        log.raises(step, roots)
        log(w.grad)


@case(graph=MUST)
def an_argument_that_may_require_grad(function, log):
    """A recursion that returns what it got."""
    w = t(3, grad=True)

    def visit(node, state):
        if node.left is None:
            return state * 2
        if node.k == 2:
            return visit(node.right, state * w)
        return visit(node.left, state) + visit(node.right, state)

    @function
    def f(node, state):
        return visit(node, state)

    for d, k in ((3, 0), (2, 1), (2, 0), (1, 2), (2, 1), (3, 0), (0, 2), (2, 2)):
        w.grad = None
        y = f(tree(d, k), t(3, seed=d))
        if y.requires_grad:
            y.sum().backward()
        log(y, w.grad)


@case
def a_view_of_what_a_node_has(function, log):
    """It shares memory with the node's tensor wherever it comes from."""

    def find(node):
        if node.left is None:
            return node.h[0]
        return find(node.left if node.k % 2 else node.right)

    f = function(lambda node: find(node))
    for d, k in ((3, 0), (2, 1), (2, 0), (1, 2), (2, 1), (3, 0)):
        root, todo = tree(d, k), []
        todo.append(root)
        while todo:
            node = todo.pop()
            node.h = t(2, 3, seed=node.k)
            todo += node.kids
        y = f(root)
        y.add_(1.0)
        log(y, root)
