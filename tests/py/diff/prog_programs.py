# SPDX-License-Identifier: Apache-2.0
"""Small programs as people write them: parsers, evaluators, searches, over lists, tuples and dicts."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t
from .prog_inplace import Node, train, tree as bushy


class Tree:
    def __init__(self, label, left=None, right=None):
        self.label, self.left, self.right = label, left, right


def binary(depth, k=1):
    if depth == 0 or k % 7 == 0:
        return Tree(k % 5)
    return Tree(k % 3, binary(depth - 1, 2 * k), binary(depth - 1, 3 * k + 1))


def dag(n):
    nodes = [Node(0.5), Node(1.5)]
    for i in range(n):
        nodes.append(Node(0.1 * i, [nodes[-1], nodes[-2]]))
    return nodes[-1]


@case(graph=MUST)
def halves_of_a_list(function, log):
    """A merge over the two halves of a list."""
    w = t(3, 3, seed=1, grad=True)

    def merge(xs):
        if len(xs) == 1:
            return xs[0]
        mid = len(xs) // 2
        return janus.tanh(merge(xs[:mid]) @ w + merge(xs[mid:]))

    @function
    def f(xs):
        return merge(xs).sum()

    train(f, log, (w,), [[t(3, seed=k + n) for k in range(n)] for n in (4, 5, 3, 7, 1, 8, 6)])


@case(graph=MUST)
def words_by_halves(function, log):
    emb, w = nn.Embedding(10, 4), nn.Linear(8, 4)

    def encode(words):
        if len(words) == 1:
            return emb(janus.tensor(words[0]))
        k = len(words) // 2
        return janus.tanh(w(janus.cat([encode(words[:k]), encode(words[k:])])))

    @function
    def f(words):
        return encode(words).sum()

    ps = list(emb.parameters()) + list(w.parameters())
    train(f, log, ps, [[(3 * k + n) % 10 for k in range(n)] for n in (4, 5, 3, 7, 1, 8)])


@case(graph=MUST)
def head_and_tail(function, log):
    w = t(3, 3, seed=1, grad=True)

    def fold(xs, h):
        if not xs:
            return h
        return fold(xs[1:], janus.tanh(h @ w + xs[0]))

    @function
    def f(xs):
        return fold(xs, janus.zeros(3)).sum()

    train(f, log, (w,), [[t(3, seed=k + n) for k in range(n)] for n in (4, 5, 3, 7, 1, 8)])


@case(graph=FAST)
def tuples_as_nodes(function, log):
    """An evaluator of expressions that are tuples."""
    a, b = t(2, seed=1, grad=True), t(2, seed=2, grad=True)

    def ev(e):
        if isinstance(e, str):
            return a if e == "a" else b
        if isinstance(e, float):
            return janus.full((2,), e)
        op, left, right = e
        if op == "add":
            return ev(left) + ev(right)
        if op == "mul":
            return ev(left) * ev(right)
        return janus.tanh(ev(left)) - ev(right)

    @function
    def f(e):
        return ev(e).sum()

    es = [
        ("add", "a", ("mul", "b", 2.0)),
        ("mul", ("add", "a", "b"), ("sub", 0.5, "a")),
        ("sub", ("mul", "a", "b"), ("add", ("mul", "b", "a"), 1.5)),
        ("mul", "a", "a"),
        ("add", "a", ("sub", ("add", "b", "a"), ("mul", "b", 0.25))),
        "a",
    ]
    train(f, log, (a, b), [es[0], es[1], es[2], es[4], es[3], ("add", es[2], es[1])])


@case(graph=FAST)
def tuples_by_position(function, log):
    a, b = t(2, seed=1, grad=True), t(2, seed=2, grad=True)
    def ev(e):
        if isinstance(e, tuple):
            if e[0] == "neg":
                return -ev(e[1])
            if e[0] == "add":
                return ev(e[1]) + ev(e[2])
            return ev(e[1]) * ev(e[2])
        return a if e == "a" else b

    @function
    def f(e):
        return ev(e).sum()

    es = [
        ("add", "a", ("neg", "b")),
        ("mul", ("add", "a", "b"), ("neg", ("neg", "a"))),
        ("neg", ("mul", ("add", ("neg", "a"), "b"), "b")),
        ("mul", "a", ("add", "b", "b")),
    ]
    train(f, log, (a, b), [es[0], es[1], es[2], es[3], ("add", es[2], es[1])])


@case(graph=MUST)
def pairs_as_trees(function, log):
    """Leaves are numbers, inner nodes pairs."""
    emb, w = nn.Embedding(8, 3), t(3, 3, seed=1, grad=True)

    def encode(tree):
        if isinstance(tree, int):
            return emb(janus.tensor(tree))
        left, right = tree
        return janus.tanh(encode(left) @ w + encode(right))

    @function
    def f(tree):
        return encode(tree).sum()

    trees = [(1, 2), ((1, 2), 3), ((1, (2, 3)), (4, 5)), (7, ((1, 6), 0)), 3, (((1, 2), 3), 4)]
    train(f, log, (w, emb.weight), trees[:4] + trees[5:])


@case(graph=MUST)
def lists_as_trees(function, log):
    emb, w = nn.Embedding(8, 3), t(3, 3, seed=1, grad=True)

    def encode(tree):
        if isinstance(tree, list):
            h = janus.zeros(3)
            for sub in tree:
                h = h + encode(sub) @ w
            return janus.tanh(h)
        return emb(janus.tensor(tree))

    @function
    def f(tree):
        return encode(tree).sum()

    trees = [[1, 2], [[1, 2, 4], 3], [[1, [2, 3]], [4, 5]], [7, [[1], 6, 0]], [[[[1]]], 2]]
    train(f, log, (w, emb.weight), trees)


@case(graph=MUST)
def dicts_as_trees(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(d):
        h = b * d["value"]
        for c in d["children"]:
            h = h + encode(c) @ w
        return janus.tanh(h) * d.get("scale", 1.0)

    def make(n):
        d = {"value": n.value, "children": [make(c) for c in n.children]}
        if len(n.children) == 2:
            d["scale"] = 0.5
        return d

    @function
    def f(d):
        return encode(d).sum()

    train(f, log, (w, b), [make(bushy(d)) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def memo_with_key_error(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, memo):
        try:
            return memo[id(node)]
        except KeyError:
            pass
        h = b * node.value
        for c in node.children:
            h = h + encode(c, memo) @ w
        memo[id(node)] = h
        return h

    @function
    def f(node):
        return encode(node, {}).sum()

    train(f, log, (w, b), [dag(n) for n in (3, 4, 2, 5, 6)])


@case(graph=FAST)
def memo_with_get(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, memo):
        h = memo.get(node)
        if h is not None:
            return h
        h = b * node.value
        for c in node.children:
            h = h + encode(c, memo) @ w
        memo[node] = h
        return h

    @function
    def f(node):
        return encode(node, {}).sum()

    train(f, log, (w, b), [dag(n) for n in (3, 4, 2, 5, 6)])


@case
def memo_that_holds_none(function, log):
    def visit(node, memo):
        if memo.get(node) is None:
            memo[node] = None if node.children else node.value
            for c in node.children:
                visit(c, memo)
        return len(memo)

    @function
    def f(node, x):
        return x * visit(node, {})

    for n in (3, 4, 2, 5, 6):
        log(f(dag(n), t(2)))


@case(graph=MUST)
def counts_with_setdefault(function, log):
    def visit(node, counts):
        counts.setdefault(len(node.children), 0)
        counts[len(node.children)] += 1
        for c in node.children:
            visit(c, counts)

    @function
    def f(node, x):
        counts = {}
        visit(node, counts)
        return x * len(counts), counts

    for d in (2, 1, 2, 3, 0):
        log(f(bushy(d), t(2)))


@case(graph=MUST)
def explicit_stack(function, log):
    """Depth first without recursion."""
    w = t(3, 3, seed=1, grad=True)

    @function
    def f(root):
        total = janus.zeros(3)
        stack = [root]
        while stack:
            node = stack.pop()
            total = janus.tanh(total @ w + node.value)
            for c in node.children:
                stack.append(c)
        return total.sum()

    train(f, log, (w,), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=MUST)
def explicit_stack_post_order(function, log):
    """Results are kept on a second stack."""
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    @function
    def f(root):
        stack, values = [(root, False)], []
        while stack:
            node, done = stack.pop()
            if done:
                h = b * node.value
                for _ in node.children:
                    h = h + values.pop() @ w
                values.append(janus.tanh(h))
            else:
                stack.append((node, True))
                for c in node.children:
                    stack.append((c, False))
        return values[0].sum()

    train(f, log, (w, b), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=MUST)
def breadth_first(function, log):
    w = t(3, 3, seed=1, grad=True)

    @function
    def f(root):
        queue, i = [root], 0
        total = janus.zeros(3)
        while i < len(queue):
            node = queue[i]
            total = janus.tanh(total @ w + node.value)
            queue.extend(node.children)
            i += 1
        return total.sum()

    train(f, log, (w,), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case
def shift_and_reduce(function, log):
    """A parser: a buffer of words and a stack of tensors."""
    emb, w = nn.Embedding(10, 4), nn.Linear(8, 4)

    @function
    def f(words, actions):
        buffer = [emb(janus.tensor(x)) for x in words]
        stack, i = [], 0
        for a in actions:
            if a == "s":
                stack.append(buffer[i])
                i += 1
            else:
                right = stack.pop()
                left = stack.pop()
                stack.append(janus.tanh(w(janus.cat([left, right]))))
        return stack[0].sum()

    ps = list(emb.parameters()) + list(w.parameters())
    for words, actions in [([1, 2, 3], "ssrsr"), ([4, 5, 6, 7], "ssrssrr"), ([1, 2], "ssr"), ([3, 4, 5, 9], "ssssrrr")]:
        for p in ps:
            p.grad = None
        y = f(words, list(actions))
        y.backward()
        log(y, [p.grad for p in ps])


@case(graph=MUST)
def greedy_decoder(function, log):
    emb, cell, out = nn.Embedding(6, 4), nn.Linear(8, 4), nn.Linear(4, 6)

    @function
    def f(h):
        with janus.no_grad():
            token, tokens = 0, []
            for _ in range(12):
                h = janus.tanh(cell(janus.cat([emb(janus.tensor(token)), h])))
                token = out(h).argmax().item()
                tokens.append(token)
                if token == 5:
                    break
        return tokens, h

    for s in range(6):
        log(f(t(4, seed=s) * 3))


@case(graph=MUST)
def beam_search(function, log):
    emb, out = nn.Embedding(6, 4), nn.Linear(4, 6)

    @function
    def f(h):
        with janus.no_grad():
            beams = [(0.0, 0, h)]
            for _ in range(3):
                found = []
                for score, token, state in beams:
                    state = janus.tanh(emb(janus.tensor(token)) + state)
                    p = F.log_softmax(out(state), -1)
                    best = p.topk(2)
                    for i in range(2):
                        found.append((score + best.values[i].item(), best.indices[i].item(), state))
                found.sort(key=lambda b: b[0], reverse=True)
                beams = found[:2]
        return [b[0] for b in beams], [b[1] for b in beams]

    for s in range(6):
        log(f(t(4, seed=s)))


@case(graph=MUST)
def children_in_order(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node):
        h = b * node.value
        for c in sorted(node.children, key=lambda n: n.value):
            h = janus.tanh(h @ w + encode(c))
        return h

    @function
    def f(node):
        return encode(node).sum()

    train(f, log, (w, b), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=MUST)
def longest_path(function, log):
    def depth(node):
        return 1 + max((depth(c) for c in node.children), default=0)

    @function
    def f(node, x):
        return x * depth(node)

    for d in (2, 1, 2, 3, 0):
        log(f(bushy(d), t(2)))


@case(graph=MUST)
def best_child(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node):
        h = b * node.value
        if node.children:
            best = max(node.children, key=lambda n: n.value)
            h = h + encode(best) @ w
        return janus.tanh(h)

    @function
    def f(node):
        return encode(node).sum()

    train(f, log, (w, b), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=MUST)
def recursive_generator(function, log):
    w = t(3, 3, seed=1, grad=True)

    def walk(node):
        yield node
        for c in node.children:
            yield from walk(c)

    @function
    def f(root):
        h = janus.zeros(3)
        for node in walk(root):
            h = janus.tanh(h @ w + node.value)
        return h.sum()

    train(f, log, (w,), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=MUST)
def generator_of_a_binary_tree(function, log):
    w = t(3, 3, seed=1, grad=True)

    def leaves(tree):
        if tree.left is None:
            yield tree.label
        else:
            yield from leaves(tree.left)
            yield from leaves(tree.right)

    @function
    def f(root):
        h = janus.zeros(3)
        for label in leaves(root):
            h = janus.tanh(h @ w + label)
        return h.sum()

    train(f, log, (w,), [binary(d) for d in (2, 1, 2, 3, 4)])


@case(graph=MUST)
def flag_or_tensor(function, log):
    w = t(3, 3, seed=1, grad=True)

    def grow(depth, h):
        if depth == 0 or h.sum() < 0:
            return h @ w
        return janus.tanh(grow(depth - 1, h @ w) + h)

    @function
    def f(depth, h):
        return grow(depth, h).sum()

    for d, s in ((3, 0), (4, 1), (2, 2), (5, 3), (0, 4), (6, 5)):
        w.grad = None
        y = f(d, t(3, seed=s) + 0.5)
        log(y)
        if y.requires_grad:
            y.backward()
        log(w.grad)


@case(graph=MUST)
def flag_and_tensor(function, log):
    @function
    def f(nodes, x):
        n = 0
        for node in nodes:
            if node.value > 1 and x.sum() * node.value > 2.5:
                n += 1
            if not node.children or x[0] > node.value:
                x = x + 1
        return x, n

    for n in (3, 4, 2, 5, 6, 7):
        log(f([bushy(k % 2, k + n) for k in range(n)], t(2, seed=n)))


@case(graph=MUST)
def any_and_all_of_nodes(function, log):
    def good(node):
        return node.value > 0.2 and all(good(c) for c in node.children)

    def some(node):
        return node.value > 3 or any(some(c) for c in node.children)

    @function
    def f(node, x):
        return x * 2 if good(node) else x * 3, x if some(node) else -x

    for d in (2, 1, 2, 3, 0, 4):
        log(f(bushy(d), t(2)))


@case
def set_of_seen(function, log):
    w = t(3, 3, seed=1, grad=True)

    def visit(node, seen, h):
        if id(node) in seen:
            return h
        seen.add(id(node))
        h = janus.tanh(h @ w + node.value)
        for c in node.children:
            h = visit(c, seen, h)
        return h

    @function
    def f(node):
        return visit(node, set(), janus.zeros(3)).sum()

    train(f, log, (w,), [dag(n) for n in (3, 4, 2, 5, 6)])


@case(graph=MUST)
def set_of_constants(function, log):
    @function
    def f(words, x):
        stop = {"a", "the", "of"}
        for w in words:
            if w not in stop:
                x = x * 2 + len(stop)
        return x

    for ws in (["a", "b"], ["the", "c", "of"], ["d", "e", "a", "b"], ["x"], ["q", "r", "s", "t", "of"]):
        log(f(ws, t(2)))


@case(graph=MUST)
def neighbours(function, log):
    """Pairs of neighbours, from the end, numbered."""
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = janus.zeros(3)
        for i, (a, b) in enumerate(zip(xs, xs[1:])):
            h = h + (a - b) * w * i
        for a, b in zip(xs, reversed(xs)):
            h = h + a * b * w
        for i, a in reversed(list(enumerate(xs))):
            h = h * 0.5 + a * i
        return h.sum()

    train(f, log, (w,), [[t(3, seed=k + n) for k in range(n)] for n in (4, 5, 3, 7, 6, 8)])


@case(graph=FAST)
def losses_stacked(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, losses):
        h = b * node.value
        for c in node.children:
            h = h + encode(c, losses) @ w
        h = janus.tanh(h)
        losses.append(h.square().sum())
        return h

    @function
    def f(node):
        losses = []
        encode(node, losses)
        return janus.stack(losses).mean()

    train(f, log, (w, b), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def states_stacked(function, log):
    """Attention over the states of all nodes."""
    w, q, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)

    def encode(node, states):
        h = b * node.value
        for c in node.children:
            h = h + encode(c, states) @ w
        h = janus.tanh(h)
        states.append(h)
        return h

    @function
    def f(node):
        states = []
        encode(node, states)
        hs = janus.stack(states)
        a = F.softmax(hs @ q, 0)
        return (a @ hs).sum()

    train(f, log, (w, q, b), [bushy(d) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def outputs_of_a_loop_stacked(function, log):
    w = t(3, 3, seed=1, grad=True)

    @function
    def f(xs):
        h, hs = janus.zeros(3), []
        for x in xs:
            h = janus.tanh(h @ w + x)
            hs.append(h)
        return janus.stack(hs).sum(0).square().sum() + janus.cat(hs).mean()

    train(f, log, (w,), [[t(3, seed=k + n) for k in range(n)] for n in (4, 5, 3, 7, 6, 8)])
