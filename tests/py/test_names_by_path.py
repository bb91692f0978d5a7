# SPDX-License-Identifier: Apache-2.0
"""A tensor of the caller that has another name by path: an arm, a loop, a recursion, a container of the graph gives it
back.  Which object it is, what it holds after a write to the one or the other, and its gradient."""
import itertools

import janus
import janus.nn as nn
import pytest
from compared import close

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Node:
    def __init__(self, word, kids=()):
        self.word, self.kids, self.state = word, list(kids), None


def tree(depth, k=1):
    return Node(k % 3, [tree(depth - 1, 2 * k + i) for i in range(k * depth % 3)] if depth else ())


TREES = [tree(d, k) for d, k in ((0, 0), (1, 1), (2, 2), (2, 1), (3, 1), (0, 1), (1, 2), (3, 2))]


# ---- ways to come by one of the tensors of a model, or a new one -------------------------------------------------


def arm(m, node):
    return m.a if node.word == 1 else m.b


def by_value(m, node):
    return m.a if m.b.sum() > node.word else m.b


def loop(m, node):
    x = m.a
    for k in node.kids:
        x = m.b if k.word else m.a
    return x


def recursion(m, node):
    if not node.kids:
        return m.a if node.word else m.b
    x = recursion(m, node.kids[0])
    return x if node.word != 1 else x * 2


def passed(m, node):
    def deeper(n, x, y):
        return deeper(n.kids[0], y, x) if n.kids else x
    return deeper(node, m.a, m.b)


def memo(m, node):
    def visit(n, known):
        if n.word in known:
            return known[n.word]
        r = m.w[n.word]
        for k in n.kids:
            r = r * visit(k, known)
        known[n.word] = r = r if n.kids else m.a if n.word else m.b
        return r
    return visit(node, {})


def listed(m, node):
    def visit(n, found):
        found.append(m.a if n.word == 1 else m.b)
        for k in n.kids:
            visit(k, found)
        return found
    return visit(node, [])[-1]


def paired(m, node):
    def visit(n, found):
        for k in n.kids:
            visit(k, found)
        found.append((n.word, m.a if n.word == 1 else m.a * m.b))
        return found
    return visit(node, [])[0][1]


def on_nodes(m, node):
    def visit(n):
        for k in n.kids:
            visit(k)
        n.state = m.a if n.word else m.b * 2
    visit(node)
    return node.state


WAYS = {f.__name__: f for f in (arm, by_value, loop, recursion, passed, memo, listed, paired, on_nodes)}


# ---- what is done with it ----------------------------------------------------------------------------------------


def returned(m, node, way):
    return way(m, node)


def used(m, node, way):
    return (way(m, node) * m.w[node.word]).sum()


def backward(m, node, way):
    loss = (way(m, node) * m.w[node.word]).sum()
    m.zero_grad()
    loss.backward()
    return loss.item()


def step(m, node, way):
    loss = (way(m, node) * m.w[node.word]).sum()
    m.zero_grad()
    loss.backward()
    m.optimizer.step()
    return loss


def used_and_written(m, node, way):
    loss = (way(m, node) * m.w[node.word]).sum()
    with janus.no_grad():
        m.a.add_(1)
    return loss


def written(m, node, way):
    x = way(m, node)
    with janus.no_grad():
        m.a.mul_(2)
    return x * 1


def written_and_returned(m, node, way):
    x = way(m, node)
    with janus.no_grad():
        m.a.add_(1)
        m.b.sub_(1)
    return x


def written_in_an_arm(m, node, way):
    x = way(m, node)
    if node.word:
        with janus.no_grad():
            m.a.add_(1)
    return x + m.b


def written_in_a_loop(m, node, way):
    x, total = way(m, node), 0
    for k in range(len(node.kids) + 1):
        total = total + x
        with janus.no_grad():
            m.a.add_(k)
    return total


def written_in_between(m, node, way):
    total = 0
    for k in node.kids:
        total = total + way(m, k).detach()
        with janus.no_grad():
            m.a.add_(1)
    return total


def read_again(m, node, way):
    x = way(m, node).detach().sum()
    with janus.no_grad():
        m.a.add_(1)
    return x + way(m, node).detach().sum()


def compared(m, node, way):
    return way(m, node) is m.a


def compared_when_written(m, node, way):
    with janus.no_grad():
        m.a.add_(1)
    return 1 if way(m, node) is m.a else 0


def returned_when_written(m, node, way):
    with janus.no_grad():
        m.a.add_(1)
    return way(m, node)


THEN = {f.__name__: f for f in (returned, used, backward, step, used_and_written, written, written_and_returned, written_in_an_arm,
                                written_in_a_loop, written_in_between, read_again, compared,
                                compared_when_written, returned_when_written)}


class Model(nn.Module):
    def __init__(self, grad):
        super().__init__()
        self.a = nn.Parameter(janus.tensor([1.0, 2.0]), requires_grad=grad)
        self.b = nn.Parameter(janus.tensor([-0.5, 0.25]), requires_grad=grad)
        self.w = nn.Parameter(janus.tensor([[0.5, 1.5], [2.0, -1.0], [0.75, 0.5]]))
        self.optimizer = janus.optim.SGD(self.parameters(), lr=0.01)


def seen(o, m):
    if isinstance(o, janus.Tensor):
        which = [n for n, p in m.named_parameters() if p is o]
        return which, o.tolist(), o.requires_grad, o.is_leaf
    return o


def run(function, way, then, grad):
    m, log = Model(grad), []
    f = function(lambda node: then(m, node, way))
    for node in TREES * 2:
        try:
            r = f(node)
            log.append(seen(r, m))
            if isinstance(r, janus.Tensor) and r.requires_grad and not r.is_leaf and then is not step:
                m.zero_grad()
                r.sum().backward()
        except RuntimeError as e:  # what a gradient needs was written
            log.append((type(e).__name__, str(e).partition(":")[0]))
        log.append([seen(p, m) for p in m.parameters()] + [None if p.grad is None else p.grad.tolist() for p in m.parameters()])
        for n in (node, *node.kids):
            log.append(seen(n.state, m))
            n.state = None
    return log, f


@pytest.mark.parametrize("way, then", list(itertools.product(WAYS, THEN)))
@pytest.mark.parametrize("verify", ("never", "always"))
def test_names(way, then, verify):
    for grad in (True, False):
        want, _ = run(lambda f: f, WAYS[way], THEN[then], grad)
        got, _ = run(janus.function(verify=verify, measure=False), WAYS[way], THEN[then], grad)
        for i, (x, y) in enumerate(zip(want, got)):
            assert close(x, y), (grad, i, x, y)


# What was a graph stays one: of the tensors that require grad, with numerics that are fast.  What a recursion has put
# into a dict and read again may be a part of the caller's tensor, and is none where it is returned (docs/roadmap.md).
@pytest.mark.parametrize("way, then", [(w, t) for w in WAYS for t in ("returned", "used", "backward", "step")
                                       if w != "on_nodes" and (w, t) != ("memo", "returned")])
def test_graphs(way, then):
    _, f = run(janus.function(verify="never", measure=False), WAYS[way], THEN[then], True)
    assert f.stats()["graph"] > 2, str(janus.explain(f))
