# SPDX-License-Identifier: Apache-2.0
"""Programs that recurse over numbers and objects."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def tree(depth, k=0):
    if depth == 0:
        return Node(k % 5)
    return Node((k + depth) % 5, [tree(depth - 1, 2 * k + 1 + i) for i in range(1 + (k + depth) % 3)])


@case
def factorial(function, log):
    @function
    def f(n):
        return 1 if n <= 1 else n * f(n - 1)

    for n in (5, 5, 1, 10, 20, 25, 5):
        log(f(n))


@case
def fibonacci_times_tensor(function, log):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    f = function(lambda x, n: x * fib(n))
    for n in (5, 5, 10, 1):
        log(f(t(2), n))


@case
def even_and_odd(function, log):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    f = function(lambda n: even(n))
    for n in (4, 4, 7, 0, 10):
        log(f(n))


@case
def tensor_recursion(function, log):
    def power(x, n):
        if n == 0:
            return janus.ones_like(x)
        return power(x, n - 1) * x

    f = function(lambda x, n: power(x, n).sum())
    for n in (3, 3, 0, 6):
        x = t(3, grad=True)
        y = f(x, n)
        log(y)
        if y.requires_grad:
            y.backward()
        log(x)


@case
def sum_of_a_tree(function, log):
    def total(node):
        s = node.value
        for c in node.children:
            s += total(c)
        return s

    f = function(lambda x, node: x + total(node))
    for d in (2, 2, 3, 0, 4):
        log(f(t(2), tree(d)))


class TreeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.w = nn.Linear(3, 3)
        self.out = nn.Linear(3, 2)

    def encode(self, node):
        h = self.embed.weight[node.value]
        for child in node.children:
            h = h + janus.tanh(self.w(self.encode(child)))
        return h

    def forward(self, node):
        return self.out(self.encode(node))


@case
def tree_network_forward(function, log):
    m = TreeNet()
    f = function(lambda node: m(node))
    for d in (2, 2, 1, 3, 0):
        log(f(tree(d)))


@case
def tree_network_training(function, log):
    m = TreeNet()
    opt = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(nodes):
        opt.zero_grad()
        loss = 0
        for node in nodes:
            loss = loss + F.cross_entropy(m(node).unsqueeze(0), janus.tensor([node.value % 2]))
        loss = loss / len(nodes)
        loss.backward()
        opt.step()
        return loss.item()

    for k in range(4):
        log(step([tree(d, k) for d in (1, 2, 3)]), m)


class Tree2:
    def __init__(self, left=None, right=None, word=0):
        self.left, self.right, self.word = left, right, word


def binary(depth, k=1):
    if depth == 0 or k % 7 == 5:
        return Tree2(word=k % 6)
    return Tree2(binary(depth - 1, 2 * k), binary(depth - 1, 2 * k + 1))


@case
def binary_tree_lstm(function, log):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.leaf, self.inner = nn.Embedding(6, 4), nn.Linear(4, 6), nn.Linear(6, 15)

        def forward(self, node):
            if node.left is None:
                i, o = self.leaf(self.embed(janus.tensor([node.word]))).chunk(2, dim=1)
                c = janus.sigmoid(i)
                return janus.sigmoid(o) * janus.tanh(c), c
            hl, cl = self(node.left)
            hr, cr = self(node.right)
            i, fl, fr, o, u = self.inner(janus.cat([hl, hr], dim=1)).chunk(5, dim=1)
            c = janus.sigmoid(i) * janus.tanh(u) + janus.sigmoid(fl) * cl + janus.sigmoid(fr) * cr
            return janus.sigmoid(o) * janus.tanh(c), c

    m = Model()
    f = function(lambda node: m(node)[0].sum())
    for d in (2, 2, 3, 0, 4):
        loss = f(binary(d))
        loss.backward()
        log(loss, m)


def vine(depth, leaf_left):
    """A tree with a leaf beside each inner node."""
    node = Tree2(word=depth % 6)
    for k in range(depth):
        leaf = Tree2(word=k % 6)
        node = Tree2(leaf, node) if leaf_left else Tree2(node, leaf)
    return node


@case(graph=MUST)
def end_far_below(function, log):
    """More levels, and more roots at once, than restarts of the conversion would see."""
    def total(node):
        if node.left is None:
            return janus.tensor(float(node.word))
        return 0.5 * total(node.left) + total(node.right)

    f = function(lambda roots: sum([total(root) for root in roots]))
    for depth in (40, 40, 3, 0, 60):
        for leaf_left in (False, True):
            log(f([vine(depth + i, leaf_left) for i in range(30)]))


@case(graph=MUST)
def list_by_links(function, log):
    class Link:
        def __init__(self, value, rest):
            self.value, self.rest = value, rest

    def weigh(link, w):
        if link.rest is None:
            return w * link.value
        return weigh(link.rest, w) + w * link.value

    w = janus.tensor(2.0, requires_grad=True)

    @function
    def f(link):
        w.grad = None
        loss = weigh(link, w)
        loss.backward()
        return loss

    for n in (300, 300, 1, 2, 150):
        link = None
        for k in range(n):
            link = Link(k % 7, link)
        log(f(link), w.grad)


@case(graph=MUST)
def link_without_an_end(function, log):
    """The ring is walked by a counter: its objects lead nowhere."""
    class Link:
        def __init__(self, value):
            self.value, self.rest = value, self

    def weigh(link, n):
        if n == 0:
            return janus.tensor(0.0)
        return weigh(link.rest, n - 1) * 0.5 + link.value

    a, b = Link(1.0), Link(2.0)
    a.rest, b.rest = b, a
    f = function(lambda link, n: weigh(link, n))
    for n in (30, 30, 5, 0, 40):
        log(f(a, n))


@case
def writes_in_recursion(function, log):
    def visit(node, depth, seen):
        node.depth = depth
        seen.append(node.value)
        for c in node.children:
            visit(c, depth + 1, seen)

    @function
    def f(node, x):
        seen = []
        visit(node, 0, seen)
        return x * len(seen), seen

    for d in (2, 2, 3):
        root = tree(d)
        log(f(root, t(2)), root)


@case
def tensor_stored_in_nodes(function, log):
    w = t(3, 3, seed=4)

    def encode(node):
        h = janus.full((3,), float(node.value))
        for c in node.children:
            h = h + encode(c) @ w
        node.h = janus.tanh(h)
        return node.h

    f = function(lambda node: encode(node))
    for d in (1, 1, 2):
        root = tree(d)
        log(f(root), root)


@case
def exception_in_a_leaf(function, log):
    def total(node):
        if node.value == 99:
            raise ValueError(f"bad leaf {node.value}")
        return node.value + sum(total(c) for c in node.children)

    f = function(lambda x, node: x + total(node))
    for d in (1, 2):
        log(f(t(2), tree(d)))
    bad = tree(2)
    bad.children[-1].children.append(Node(99))
    log.raises(f, t(2), bad)
    log(f(t(2), tree(2)))


@case
def node_of_another_type(function, log):
    class Odd(Node):
        pass

    def total(node):
        return node.value + sum(total(c) for c in node.children)

    f = function(lambda x, node: x + total(node))
    for node in (tree(1), tree(2), Node(1, [Odd(2, [Node(3)])]), Node(True, [Node(2.5)]), tree(2)):
        log(f(t(2), node))


@case
def memo_over_a_dag(function, log):
    def encode(node, memo):
        if id(node) in memo:
            return memo[id(node)]
        h = janus.full((2,), float(node.value))
        for c in node.children:
            h = h * 0.5 + encode(c, memo)
        memo[id(node)] = h
        return h

    f = function(lambda node: encode(node, {}))
    shared = Node(3)
    for _ in range(3):
        log(f(Node(1, [shared, Node(2, [shared])])))


@case
def dropout_in_every_frame(function, log):
    drop = nn.Dropout(0.5)

    def encode(node):
        h = janus.full((4,), float(node.value) + 1)
        for c in node.children:
            h = h + encode(c)
        return drop(h)

    f = function(lambda node: encode(node))
    for d in (1, 2, 2):
        log(f(tree(d)))


@case
def deep_chain(function, log):
    def last(node):
        return node.value if not node.children else last(node.children[0])

    f = function(lambda x, node: x + last(node))
    node = Node(4)
    for i in range(200):
        node = Node(i % 5, [node])
    for _ in range(3):
        log(f(t(2), node))


@case
def ackermann(function, log):
    def ack(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return ack(m - 1, 1)
        return ack(m - 1, ack(m, n - 1))

    f = function(lambda m, n: ack(m, n))
    for m, n in ((1, 2), (1, 2), (2, 2), (2, 3)):
        log(f(m, n))


@case
def data_dependent_stop(function, log):
    def shrink(x, n):
        if x.abs().sum().item() < 1.0:
            return x, n
        return shrink(x * 0.7, n + 1)

    f = function(lambda x: shrink(x, 0))
    for i in range(4):
        log(f(t(4, seed=i) * 3))


class Branching:
    """A node of a binary tree: inner nodes have no value, leaves no children."""

    def __init__(self, left, right, value=None):
        self.left, self.right, self.value = left, right, value
        self.is_leaf = left is None
        self.kids = [] if left is None else [left, right]


def branching(depth, k=1):
    if depth == 0:
        return Branching(None, None, t(1, 3) * k)
    return Branching(branching(depth - 1, 2 * k), branching(max(depth - 2, 0), 2 * k + 1))


@case
def attributes_that_leaves_have(function, log):
    w = t(3, 3).requires_grad_()

    def by_none(n):
        value = n.value
        if n.left is None:
            return janus.tanh(value @ w)
        return by_none(n.left) * 0.5 + by_none(n.right)

    def by_flag(n):
        if not n.is_leaf:
            return by_flag(n.left) - by_flag(n.right)
        return janus.tanh(n.value @ w)

    def by_length(n):
        if len(n.kids) == 0:
            return janus.tanh(n.value @ w)
        return by_length(n.kids[0]) - by_length(n.kids[1])

    for state in (by_none, by_flag, by_length):
        f = function(lambda n: state(n).sum())
        for depth in (3, 3, 4, 1, 0, 5):
            loss = f(branching(depth))
            loss.backward()
            log(loss, w.grad)


@case(graph=MUST)
def tree_network_with_state_of_the_optimizer(function, log):
    """The step counter in the optimizer's dict is written while children are read from lists."""
    m = TreeNet()
    opt = janus.optim.Adagrad(m.parameters(), lr=0.1)

    @function
    def step(nodes):
        opt.zero_grad()
        loss = 0
        for node in nodes:
            loss = loss + m(node).square().sum()
        loss.backward()
        opt.step()
        return loss.item()

    for k in range(4):
        log(step([tree(d, k) for d in (1, 2, 3)]), m, [opt.state[p]["step"] for p in m.parameters()])


class Grower(nn.Module):
    """Uses its weights in another order on the path that recurses than on the other."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 2)
        self.grow = nn.Linear(3, 1)
        self.down = nn.Linear(3, 6)

    def forward(self, h, levels):
        score = self.out(h).square().sum()
        if levels == 0:
            return score, 1
        if self.grow(h) < 0:
            return score, 1
        left, right = janus.tanh(self.down(h)).chunk(2, 1)
        a, n = self.forward(left, levels - 1)
        b, m = self.forward(right, levels - 1)
        return score + a + b, n + m + 1


@case(graph=MUST)
def trees_that_grow_by_their_own_state(function, log):
    m = Grower()
    with janus.no_grad():
        m.grow.bias.fill_(0.5)  # some grow in every step, so that all weights are used
    opt = janus.optim.SGD([p for name, p in m.named_parameters() if "grow" not in name], lr=0.01)

    @function
    def step(seeds):
        opt.zero_grad()
        loss, nodes = janus.zeros(()), 0
        for seed in seeds:
            own, n = m(seed, 4)
            loss, nodes = loss + own, nodes + n
        loss.backward()
        opt.step()
        return loss.detach(), nodes

    for k in range(4):
        log(step([t(1, 3, seed=k), t(1, 3, seed=k + 1)]))
    log(m)


@case
def a_weight_that_no_path_uses_gets_no_gradient(function, log):
    w = t(3, 3).requires_grad_()
    v = t(3, 3, seed=1).requires_grad_()

    def state(n):
        if n.left is None:
            return janus.tanh(n.value @ w)
        return janus.tanh((state(n.left) + state(n.right)) @ v)

    def train(roots):
        w.grad = v.grad = None
        loss = janus.zeros(())
        for root in roots:
            loss = loss + state(root).sum()
        loss.backward()
        return loss.detach()

    f = function(train)
    for depth in (2, 2, 3, 0, 0, 2, 0, 1):
        log(f([branching(depth), branching(depth)]), w.grad, v.grad)


@case
def so_many_products_that_some_are_made_early(function, log):
    """More rows than are kept for one product, of a weight that a body uses twice."""
    w = (t(16, 512) * 0.05).requires_grad_()

    def state(n, s):
        if n == 0:
            return s
        s = state(n - 1, s)
        wide = (s @ w).reshape(256, 16, 32).sum(2)
        return s + 0.01 * janus.tanh(wide - ((s * 0.5) @ w)[:, :16])

    def train(n, s):
        w.grad = None
        loss = (state(n, s) ** 2).mean()
        loss.backward()
        return loss.detach()

    f = function(train)
    for n in (36, 36, 70, 36):
        log(f(n, t(256, 16)), w.grad[::5, ::29])


@case
def closures_of_one_text(function, log):
    """Two functions of the same code with cells of their own."""
    def make(k):
        def down(n):
            return k if n == 0 else down(n - 1) + 1
        return down

    a, b = make(10), make(200)
    f = function(lambda x, n: x * a(n) + b(n))
    for n in (2, 2, 3):
        log(f(t(2), n))


@case
def arguments_written_on_the_way_down(function, log):
    def down(x, n):
        x.add_(1)
        return x.sum() if n == 0 else down(x, n - 1)

    f = function(lambda x, n: down(x, n))
    for n in (2, 2, 3):
        x = t(3)
        log(f(x, n), x)


@case(graph=MUST)
def child_sum_tree_lstm_with_adam(function, log):
    class Node:
        def __init__(self, word, children):
            self.word, self.children = janus.tensor([word]), children

    def tree(k, depth):
        return Node(7 * k % 11, [tree(3 * k + i, depth - 1) for i in range(1 + k % 3)] if depth else [])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.gates = nn.Embedding(11, 4), nn.Linear(8, 12)
            self.forget, self.out = nn.Linear(8, 4), nn.Linear(4, 3)

        def state(self, n):
            x, hs, cs = self.words(n.word), janus.zeros(1, 4), janus.zeros(1, 4)
            for child in n.children:
                h, c = self.state(child)
                hs = hs + h
                cs = cs + janus.sigmoid(self.forget(janus.cat([x, h], 1))) * c
            i, o, u = self.gates(janus.cat([x, hs], 1)).chunk(3, 1)
            c = janus.sigmoid(i) * janus.tanh(u) + cs
            return janus.sigmoid(o) * janus.tanh(c), c

    m = Model()
    optimizer = janus.optim.Adam(m.parameters(), lr=0.01)

    @function
    def step(trees):
        optimizer.zero_grad()
        loss = 0
        for n in trees:
            loss = loss + m.out(m.state(n)[0]).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for k in range(6):
        log(step([tree(k + i, 3) for i in range(3)]), m)


@case
def a_batch_of_trees_large_enough_for_lanes(function, log):
    """Trees of a batch run on threads of their own, until one of them names a word that is none."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(200, 96)
            self.inner = nn.Linear(96, 96)
            self.output = nn.Linear(96, 3)

        def state(self, node):
            loss = janus.zeros(())
            if not node.children:
                h = self.embedding(janus.tensor([node.value]))
            else:
                h = janus.zeros(1, 96)
                for child in node.children:
                    below, below_loss = self.state(child)
                    h = h + below
                    loss = loss + below_loss
                h = janus.tanh(self.inner(h))
            return h, loss + F.cross_entropy(self.output(h), janus.tensor([node.value % 3]))

    net = Net()
    # Adagrad's first steps are as long as the rate, whatever the gradients are: at 0.1 their last bits decide
    optimizer = janus.optim.Adagrad(net.parameters(), lr=0.01)
    seen = []

    def train(roots):
        optimizer.zero_grad()
        loss = janus.zeros(())
        for root in roots:
            _, below = net.state(root)
            loss = loss + below
            seen.append(root.value)
        loss.backward()
        optimizer.step()
        return loss.detach() / len(roots)

    f = function(train)
    for step in range(5):
        log(f([tree(5, k + step) for k in range(16)]), net.inner.weight[::9, ::7], net.embedding.weight[:6, ::9])
    wrong = tree(5, 3)
    wrong.children[0].children[0].children = [Node(1000)]
    try:
        f([tree(5, k) for k in range(8)] + [wrong] + [tree(5, k) for k in range(8)])
    except IndexError:
        log("no such word")
    loss = f([tree(5, k) for k in range(16)])
    # on a device the IndexError comes when its flags are read, which is some trees later or others
    log(loss, net.inner.weight[::9, ::7], seen if loss.device.type == "cpu" else seen[:80] + seen[-16:])


class Word:
    def __init__(self, word, left=None, right=None):
        self.word, self.left, self.right = word, left, right


@case(graph=MUST)
def a_weight_added_before_a_cat(function, log):
    """Its gradient is the sum of slices, which are no block of rows."""
    words, row, mix = t(6, 3, grad=True), t(3, grad=True, seed=1), t(6, 3, grad=True, seed=2)

    def visit(node):
        if node.left is None:
            x = F.embedding(janus.tensor([node.word]), words)
            return janus.cat([x, x + row], 1) @ mix
        return visit(node.left) * visit(node.right)

    @function
    def f(node):
        return visit(node).square().sum()

    pair = Word(0, Word(1), Word(2))
    for node in (Word(1), pair, Word(3), pair, Word(0, pair, Word(5)), Word(0, pair, pair), Word(0, Word(4), pair)):
        words.grad = row.grad = mix.grad = None
        y = f(node)
        y.backward()
        log(y, words.grad, row.grad, mix.grad)


@case
def a_weight_that_no_cache_holds(function, log):
    """9 MB: its products are not dealt to lanes, and their gradients collect more rows than others do."""
    wide = nn.Parameter(janus.linspace(-0.01, 0.01, 16 * 147456).reshape(16, 147456))

    def state(node):
        h = janus.full((1, 16), node.value * 0.1)
        for child in node.children:
            h = h + state(child)
        return janus.tanh((h @ wide).reshape(16, 9216).sum(1) + h)

    @function
    def step(roots):
        loss = 0
        for root in roots:
            loss = loss + state(root).sum()
        loss.backward()
        return loss.detach()

    for k in range(3):
        log(step([tree(1, k), tree(2, k + 1)]), wide.grad[:, ::20011])
        wide.grad = None
