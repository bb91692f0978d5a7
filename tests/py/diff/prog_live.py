# SPDX-License-Identifier: Apache-2.0
"""Programs whose graphs write objects while they run: in recursions, in loops, under conditions."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


class Cell(Node):
    h = None
    parent = None


def tree(depth, k=0, make=Node):
    if depth == 0:
        return make(k % 5)
    return make((k + depth) % 5, [tree(depth - 1, 2 * k + 1 + i, make) for i in range(1 + (k + depth) % 3)])


@case(graph=MUST)
def stored_on_every_node(function, log):
    w = t(3, 3, seed=4)

    def encode(node):
        h = janus.full((3,), float(node.value))
        for c in node.children:
            h = h + encode(c) @ w
        node.h = janus.tanh(h)
        return node.h

    @function
    def f(node):
        return encode(node)

    for d in (1, 1, 2, 3):
        root = tree(d)
        y = f(root)
        log(y is root.h, y, root)


@case(graph=MUST)
def read_back_from_children(function, log):
    def visit(node, x):
        s = x * node.value
        for c in node.children:
            visit(c, x)
            s = s + c.h * 0.5
        node.h = s
        node.n = 1 + len(node.children)

    @function
    def f(node, x):
        visit(node, x)
        return node.h * 2 + node.n

    for d in (1, 2, 2, 0):
        root = tree(d)
        log(f(root, t(2, seed=d)), root)


@case(graph=MUST)
def appended_in_a_recursion(function, log):
    def visit(node, x, out):
        out.append(x * node.value)
        for c in node.children:
            visit(c, x + 1, out)

    @function
    def f(node, x, out):
        visit(node, x, out)
        return len(out)

    out = []
    for d in (1, 2, 2, 0):
        log(f(tree(d), t(2), out), out)
    log(f(tree(1), t(2), out), [a is b for a, b in zip(out, out[1:])])


@case(graph=MUST)
def losses_of_all_nodes(function, log):
    def visit(node, x, losses):
        h = janus.tanh(x * node.value)
        losses.append((h * h).sum())
        for c in node.children:
            visit(c, h, losses)

    @function
    def f(node, x):
        losses = []
        visit(node, x, losses)
        total = losses[0]
        for loss in losses:
            total = total + loss
        return total, len(losses)

    for d in (1, 2, 2, 3):
        log(f(tree(d), t(2)))


@case(graph=MUST)
def counter_attribute(function, log):
    class Counter:
        def __init__(self):
            self.n, self.deepest = 0, 0

        def visit(self, node, depth):
            self.n += 1
            if depth > self.deepest:
                self.deepest = depth
            for c in node.children:
                self.visit(c, depth + 1)

        def run(self, node, x):
            self.visit(node, 0)
            return x * self.n

    c = Counter()
    f = function(c.run)
    for d in (1, 2, 2, 3, 0):
        log(f(tree(d), t(2)), c)


@case(graph=MUST)
def module_counts_its_nodes(function, log):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)
            self.nodes = 0

        def encode(self, node):
            self.nodes += 1
            h = janus.full((2,), float(node.value))
            for c in node.children:
                h = h + self.encode(c)
            return janus.tanh(self.lin(h))

        def forward(self, node):
            with janus.no_grad():
                return self.encode(node)

    m = Net()
    f = function(lambda node: m(node))
    for d in (1, 2, 2, 3):
        log(f(tree(d)), m.nodes, list(vars(m)))


def dag():
    shared = Node(3, [Node(1)])
    return Node(1, [shared, Node(2, [shared, shared]), shared])


@case(graph=MUST)
def memo_by_id(function, log):
    def encode(node, memo):
        if id(node) in memo:
            return memo[id(node)]
        h = janus.full((2,), float(node.value))
        for c in node.children:
            h = h * 0.5 + encode(c, memo)
        memo[id(node)] = h
        return h

    @function
    def f(node):
        memo = {}
        return encode(node, memo), len(memo)

    for _ in range(3):
        log(f(dag()))
    log(f(tree(2)))


@case(graph=MUST)
def memo_by_node_of_the_caller(function, log):
    def encode(node, memo):
        if node in memo:
            return memo[node]
        h = janus.full((2,), float(node.value))
        for c in node.children:
            h = h * 0.5 + encode(c, memo)
        memo[node] = h
        return h

    f = function(lambda node, memo: encode(node, memo))
    memo, root = {}, dag()
    for _ in range(3):
        log(f(root, memo), [(k.value, v) for k, v in memo.items()])
    root.children.append(Node(4))
    del memo[root]
    log(f(root, memo), len(memo), f(dag(), memo), len(memo), f(dag(), {}))


@case(graph=MUST)
def memo_on_the_nodes(function, log):
    def encode(node):
        if node.h is not None:
            return node.h
        h = janus.full((2,), float(node.value))
        for c in node.children:
            h = h * 0.5 + encode(c)
        node.h = h
        return h

    f = function(lambda node: encode(node))
    for d in (1, 2, 2):
        root = tree(d, make=Cell)
        a = f(root)
        log(a is root.h, a, root)
        log(f(root) is a)


@case(graph=MUST)
def written_under_an_if(function, log):
    def visit(node, seen):
        if node.value > 2:
            node.big = True
            seen.append(node.value)
        elif node.value == 1:
            node.one = node.value * 2.5
        else:
            seen.append(None)
        for c in node.children:
            visit(c, seen)

    @function
    def f(node, x):
        seen = ["first"]
        visit(node, seen)
        return seen, x + 1

    for d in (1, 2, 2, 3):
        root = tree(d)
        log(f(root, t(1)), root)


@case(graph=MUST)
def through_an_alias(function, log):
    def visit(node, acc):
        acc.total = acc.total + node.value
        node.before = acc.total
        for c in node.children:
            visit(c, acc)

    @function
    def f(node, acc, x):
        visit(node, acc)
        return x * acc.total + node.before

    class Acc(Node):
        total = 0

    for acc in (Acc(0), Acc(1), Acc(2)):
        root = tree(2)
        log(f(root, acc, t(2)), acc.total, root)
    one = tree(2, make=Acc)
    log(f(one, one, t(2)), one)
    log(f(one, one.children[0], t(2)), one)


@case(graph=MUST)
def parent_accumulates(function, log):
    def visit(node):
        node.sum = node.value
        for c in node.children:
            c.parent = node
            visit(c)
        if node.parent is not None:
            node.parent.sum = node.parent.sum + node.sum

    @function
    def f(node, x):
        visit(node)
        return x + node.sum

    for d in (1, 2, 2, 3):
        root = tree(d, make=Cell)
        log(f(root, t(2)), root.sum, root.children[0].sum, root.children[0].parent is root)


@case(graph=MUST)
def loop_over_objects(function, log):
    @function
    def f(nodes, x):
        out = []
        for i, n in enumerate(nodes):
            n.index = i
        for n in nodes:
            n.twice = n.value * 2
            out.append(n)
        return out, x * len(out)

    class Holder:
        pass

    for k in (2, 2, 3, 5, 0):
        nodes = [Node(i) for i in range(k)]
        out, y = f(nodes, t(2))
        log([a is b for a, b in zip(out, nodes)], y, [vars(n) for n in nodes])


@case(graph=MUST)
def loop_of_unknown_length(function, log):
    def collect(node, out):
        for c in node.children:
            out.append(c.value)
            c.seen = len(out)

    @function
    def f(node, x):
        out = []
        collect(node, out)
        for c in node.children:
            collect(c, out)
        return x + len(out), out

    for d in (2, 2, 3):
        root = tree(d)
        log(f(root, t(1)), root)
    log(f(Node(1, [Node(2), Node(3, [Node(4)] * 4), Node(5)]), t(1)))


@case(graph=MUST)
def list_that_is_read_and_written(function, log):
    """The list appended to is one that is read from a node that is visited."""

    class Bag(Node):
        def __init__(self, value, children=()):
            super().__init__(value, children)
            self.values = [value, 1]

    def visit(node, out):
        out.append(node.value)
        s = 0
        for v in node.values:
            s += v
        for c in node.children:
            s += visit(c, out)
        return s

    @function
    def f(node, out, x):
        return x + visit(node, out) + len(node.values)

    for d in (1, 2, 2):
        out = []
        log(f(tree(d, make=Bag), out, t(1)), out)
    root = tree(2, make=Bag)
    log(f(root, root.children[1].values, t(1)), root)
    log(f(root, root.values, t(1)), root)
    log(f(tree(1, make=Bag), out, t(1)), out)


@case(graph=MUST)
def tuple_and_list_states(function, log):
    def encode(node, x):
        h, c = x, x * 2
        for k in node.children:
            encode(k, x)
            kh, kc = k.state
            h, c = h + kh, c + kc * node.value
        node.state = (h, c)
        node.both = [h, node.value]

    @function
    def f(node, x):
        encode(node, x)
        return node.state

    for d in (1, 2, 2):
        root = tree(d)
        s = f(root, t(2) + 0)
        log(s is root.state, s, root.both, root.state[0] is root.both[0], root)


@case(graph=MUST)
def which_tensors_are_one(function, log):
    def visit(node, x, every):
        y = x * 2
        z = x * 2
        node.x, node.y, node.z, node.again = x, y, z, y
        every.append(y)
        for c in node.children:
            visit(c, y, every)

    @function
    def f(node, x):
        every = []
        visit(node, x, every)
        return every

    for d in (1, 2, 2):
        root, x = tree(d), t(2) + 0
        every = f(root, x)
        log(root.x is x, root.y is root.z, root.y is root.again, every[0] is root.y)
        log([c.x is root.y for c in root.children])
        root.y.add_(1)
        log(root, every)


@case(graph=MUST)
def order_of_new_attributes(function, log):
    def visit(node, k):
        if node.value % 2:
            node.odd = k
        node.last = 0
        if k > 1:
            node.deep = True
        node.value = node.value + 1
        for c in node.children:
            visit(c, k + 1)

    @function
    def f(node, x):
        node.first = 1
        visit(node, 0)
        node.end = 2
        return x + node.value

    for d in (1, 2, 2, 3):
        root = tree(d)
        log(f(root, t(1)), root, list(vars(root)))


@case(graph=MUST)
def slots_and_setters(function, log):
    class Slim:
        __slots__ = ("value", "children", "_h", "n")

        def __init__(self, value, children=()):
            self.value, self.children, self.n = value, list(children), 0

        @property
        def h(self):
            return self._h

        @h.setter
        def h(self, v):
            self._h = v
            self.n += 1

    def visit(node, x):
        node.h = x * node.value
        for c in node.children:
            visit(c, node.h)

    @function
    def f(node, x):
        visit(node, x)
        return node.h

    for d in (1, 2, 2):
        root = tree(d, make=Slim)
        log(f(root, t(2)), root.n, root.h, root.children[0].h)


@case(graph=MUST)
def stack_of_nodes(function, log):
    @function
    def f(root, x):
        stack, order, total = [root], [], 0
        while stack:
            node = stack.pop()
            order.append(node.value)
            total = total + node.value
            for c in node.children:
                stack.append(c)
        return order, x * total

    for d in (1, 2, 2, 3, 0):
        log(f(tree(d), t(2)))


@case(graph=MUST)
def exception_after_writes(function, log):
    def visit(node, out):
        node.seen = len(out)
        out.append(node.value)
        if node.value == 99:
            raise ValueError("bad")
        for c in node.children:
            visit(c, out)

    f = function(lambda node, out, x: (visit(node, out), x * 2)[1])
    for d in (1, 2):
        out = []
        log(f(tree(d), out, t(1)), out)
    bad, out = tree(2), []
    bad.children[0].children.append(Node(99))
    log.raises(f, bad, out, t(1))
    log(bad, out, f(tree(2), out, t(1)), out)


@case(graph=MUST)
def attribute_error_in_the_middle(function, log):
    def visit(node):
        node.total = node.value
        for c in node.children:
            node.total = node.total + visit(c)
        return node.total

    f = function(lambda node, x: x + visit(node))
    for d in (1, 2):
        log(f(tree(d), t(1)))
    bad = tree(2)
    del bad.children[-1].children[0].value
    log.raises(f, bad, t(1))
    log(bad.total, hasattr(bad.children[-1], "total"), f(tree(1), t(1)))


@case(graph=MUST)
def trained_with_states_kept(function, log):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.w, self.out = nn.Embedding(5, 3), nn.Linear(3, 3), nn.Linear(3, 2)

        def encode(self, node):
            h = self.embed.weight[node.value] * 2
            for c in node.children:
                h = h + janus.tanh(self.w(self.encode(c)))
            node.h = h
            return h

    m, target = Net(), janus.tensor([1])
    opt = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(node):
        opt.zero_grad()
        loss = F.cross_entropy(m.out(m.encode(node)).unsqueeze(0), target)
        loss.backward()
        opt.step()
        return loss.item()

    for d in (1, 2, 2, 3):
        root = tree(d)
        log(step(root), m, root.h.detach(), root.h.requires_grad)
    log.raises(lambda: root.h.sum().backward())


@case(graph=False)
def view_of_a_weight_stored(function, log):
    w = t(5, 3) + 0

    def encode(node):
        h = w[node.value]
        for c in node.children:
            h = h + encode(c)
        node.h = h
        return h

    f = function(lambda node: encode(node))
    for d in (1, 2, 2):
        root = tree(d)
        log(f(root), root)
    w.mul_(2)
    log(root.h + 0, [c.h + 0 for c in root.children], [c.h + 0 for k in root.children for c in k.children])


@case(graph=MUST)
def objects_stored(function, log):
    def visit(node, last, names):
        node.previous = last
        node.name = names[node.value]
        node.nothing = None
        for c in node.children:
            visit(c, node, names)
            c.sibling = node.children[0]

    @function
    def f(node, names, x):
        visit(node, node, names)
        return x + 1

    names = ["a", "b", "c", "d", "e"]
    for d in (1, 2, 2):
        root = tree(d)
        f(root, names, t(1))
        k = root.children[-1]
        log(root.previous is root, k.previous is root, k.name is names[k.value], k.nothing, k.sibling is root.children[0])


@case(graph=MUST)
def what_was_replaced_dies_late(function, log):
    died = []

    class Loud:
        def __init__(self, k):
            self.k = k

        def __del__(self):
            died.append((self.k, root.mark, root.children[0].mark))

    def visit(node, k):
        node.mark = k
        for c in node.children:
            visit(c, k + 1)

    f = function(lambda node, x: (visit(node, 0), x)[1])
    for _ in range(3):
        root = tree(1)
        f(root, t(1))
        log(root.mark, root.children[0].mark)
    root.children[0].mark = Loud(1)
    f(root, t(1))
    log(sorted(died))


@case(graph=MUST)
def item_written_in_a_loop(function, log):
    @function
    def f(nodes, out, x):
        i = 0
        for n in nodes:
            out[i] = n.value + out[i]
            i += 1
        return x + len(out)

    for k in (2, 2, 2, 4, 1):
        out = [7, 8, 9, 10, 11]
        log(f([Node(j) for j in range(k)], out, t(1)), out)
    out = [1, 2]
    log.raises(f, [Node(j) for j in range(3)], out, t(1))
    log(out)


@case(graph=False)
def class_with_its_own_setattr(function, log):
    class Odd(Node):
        def __setattr__(self, name, v):
            object.__setattr__(self, name, v)
            if name == "mark":
                object.__setattr__(self, "marks", getattr(self, "marks", 0) + 1)

    def visit(node, k):
        node.mark = k
        for c in node.children:
            visit(c, k + 1)

    f = function(lambda node, x: (visit(node, 0), x)[1])
    for _ in range(3):
        root = tree(1, make=Odd)
        f(root, t(1))
        f(root, t(1))
        log(root.mark, root.marks, root.children[0].marks)


@case(graph=MUST)
def deep_chain_with_writes(function, log):
    def visit(node, k):
        node.k = k
        if node.next is not None:
            visit(node.next, k + 1)

    class Link:
        def __init__(self, following):
            self.next = following

    f = function(lambda node, x: (visit(node, 0), x + 1)[1])
    for n in (3, 3, 200):
        root = None
        for _ in range(n):
            root = Link(root)
        log(f(root, t(1)))
        ks, node = [], root
        while node is not None:
            ks.append(node.k)
            node = node.next
        log(ks)
