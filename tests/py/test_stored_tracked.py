# SPDX-License-Identifier: Apache-2.0
"""What a graph stores in objects of the program requires grad, or not, by the path that was taken: paths of every kind,
places of every kind, with and without a backward() in the call, after several calls."""
import itertools

import janus
import janus.nn as nn
import pytest
from compared import close

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Node:
    def __init__(self, word, rounds, kids=()):
        self.word, self.rounds, self.kids, self.state = word, rounds, list(kids), None


def loop(x, node):
    for _ in range(node.rounds):
        x = x.detach()
    return x


def grows(x, node):
    y = x.detach()
    for _ in range(node.rounds):
        y = y + x
    return y


def arm(x, node):
    return x * 2 if node.rounds > 1 else x.detach() * 3


def silent_arm(x, node):
    if node.rounds % 2:
        with janus.no_grad():
            return x * 2
    return x + 1


def tensor_arm(x, node):
    return x.detach() if x.sum() > 0 else x


def recursion(x, node):
    return recursion(x, node.kids[0]) * 2 if node.kids else (x if node.rounds else x.detach())


def on_list(node, y, log, table):
    log.append(y)


def on_tuple(node, y, log, table):
    log.append((node.rounds, y))


def on_node(node, y, log, table):
    node.state = y


def in_dict(node, y, log, table):
    table[node.word] = y


PATHS = {f.__name__: f for f in (loop, grows, arm, silent_arm, tensor_arm, recursion)}
PLACES = {f.__name__: f for f in (on_list, on_tuple, on_node, in_dict)}


def seen(o):
    if isinstance(o, janus.Tensor):
        return o.tolist(), o.requires_grad, o.is_leaf
    return [seen(x) for x in (o.items() if isinstance(o, dict) else o)] if isinstance(o, (list, tuple, dict)) else o


def run(decorate, path, place, way):
    janus.manual_seed(0)
    words = nn.Embedding(6, 3)

    def visit(node, log, table):
        x = words(janus.tensor(node.word))
        place(node, path(x, node).sum(), log, table)
        for kid in node.kids:
            x = x + visit(kid, log, table)
        return x

    def step(roots, log, table):
        total = janus.zeros(())
        for root in roots:
            if way == "mapped":
                total = total + janus.vmap(lambda r: visit(root, log, table) * r)(janus.ones(2, 3)).pow(2).sum()
            else:
                total = total + visit(root, log, table).pow(2).sum()
        if way != "forward":
            total.backward()
        return total

    step, out = decorate(step), []
    for k in range(7):
        roots = [Node((k + j) % 6, (3 * k + j) % 4, [Node(i, (k + i) % 3) for i in range((k + j) % 3)]) for j in range(1 + k % 3)]
        log, table = [], {}
        total = step(roots, log, table)
        states = [n.state for root in roots for n in (root, *root.kids)]
        out.append(seen((total.detach(), log, table, states, words.weight.grad)))
        words.weight.grad = None
    return out


@pytest.mark.parametrize("way", ["forward", "backward", "mapped"])
@pytest.mark.parametrize("path,place", list(itertools.product(PATHS, PLACES)))
def test_stored(path, place, way):
    want = run(lambda f: f, PATHS[path], PLACES[place], way)
    got = run(lambda f: janus.function(f, verify="never", measure=False), PATHS[path], PLACES[place], way)
    for k, (w, g) in enumerate(zip(want, got)):
        assert close(w, g), (k, w, g)
