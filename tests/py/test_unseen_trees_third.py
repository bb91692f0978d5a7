# SPDX-License-Identifier: Apache-2.0
"""Tree programs of other domains, written without a look at what janus can do: the share of ops in graphs that each has
today is the least it may have."""
import heapq
import math

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from test_unseen_trees import OPTIONS, check_as_undecorated, trainer


def parameters(*modules):
    return [p for m in modules for p in m.parameters()]


def felsenstein():
    """The likelihood of the letters at the leaves of a phylogenetic tree, by pruning; branch lengths are data."""
    rates, root = nn.Parameter(janus.zeros(4, 4)), nn.Parameter(janus.zeros(4))

    class Taxon:
        def __init__(self, name=None, children=(), length=0.1):
            self.name, self.children, self.length = name, list(children), length

    def loss_of(tree, sites):
        q = F.softplus(rates)

        def partial(node):
            if not node.children:
                return F.one_hot(janus.tensor(sites[node.name]), 4).float()
            p = janus.ones(4)
            for child in node.children:
                t = F.softmax(q * child.length, dim=1)
                p = p * (t @ partial(child))
            return p
        return -janus.log((F.softmax(root, 0) * partial(tree)).sum())

    def make(rng, d):
        if d == 0 or rng.random() < 0.15:
            return Taxon(rng.choice("abcdef"), length=rng.uniform(0.1, 1))
        return Taxon(None, [make(rng, d - 1) for _ in range(rng.randint(2, 3))], rng.uniform(0.1, 1))

    params = [rates, root]
    return trainer(loss_of, params), lambda rng: (make(rng, 3), {n: rng.randrange(4) for n in "abcdef"}), params


def huffman():
    """The path of bits to a word in a Huffman tree, made once by a heap; a vector at each inner node."""
    class Inner:
        def __init__(self, index, left, right):
            self.index, self.left, self.right = index, left, right

    class Leaf:
        def __init__(self, word):
            self.word = word

    counts = [9, 7, 5, 3, 2, 2, 1, 1]
    heap = [(n, i, Leaf(i)) for i, n in enumerate(counts)]
    heapq.heapify(heap)
    k = 0
    while len(heap) > 1:
        (a, _, x), (b, i, y) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (a + b, 100 + k, Inner(k, x, y)))
        k += 1
    root = heap[0][2]
    words, inner = nn.Embedding(8, 4), nn.Embedding(8, 4)

    def path_to(node, word):
        if isinstance(node, Leaf):
            return [] if node.word == word else None
        for kid, sign in ((node.left, 1), (node.right, -1)):
            rest = path_to(kid, word)
            if rest is not None:
                return [(node.index, sign)] + rest
        return None

    paths = {w: path_to(root, w) for w in range(8)}

    def loss_of(context, word):
        h = words.weight[context].mean(0)
        loss = 0
        for index, sign in paths[word]:
            loss = loss - F.logsigmoid(sign * inner.weight[index].dot(h))
        return loss

    params = parameters(words, inner)
    step = trainer(loss_of, params)
    return step, lambda rng: (janus.tensor([rng.randrange(8) for _ in range(3)]), rng.randrange(8)), params


def game_tree():
    """Alpha-beta over a value net: positions are dicts, the bounds are numbers."""
    value = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))

    def search(node, alpha, beta, maximize):
        if not node["moves"]:
            return value(node["board"]).squeeze(0)
        best = None
        for child in node["moves"]:
            v = search(child, alpha, beta, not maximize)
            if best is None or (v.item() > best.item()) == maximize:
                best = v
            if maximize:
                alpha = max(alpha, best.item())
            else:
                beta = min(beta, best.item())
            if beta <= alpha:
                break
        return best

    def make(rng, d):
        moves = [] if d == 0 else [make(rng, d - 1) for _ in range(rng.randint(1, 3))]
        return {"board": janus.randn(4), "moves": moves}

    params = parameters(value)
    step = trainer(lambda t, y: (search(t, -math.inf, math.inf, True) - y) ** 2, params)
    return step, lambda rng: (make(rng, 2), rng.uniform(-1, 1)), params


def dependency_parse():
    """A child-sum Tree-LSTM over a dependency parse: heads as a list, children in a dict of lists."""
    emb, iou, f = nn.Embedding(10, 4), nn.Linear(8, 12), nn.Linear(8, 4)

    class Cell(nn.Module):
        def forward(self, x, states):
            h = janus.stack([s[0] for s in states]).sum(0) if states else janus.zeros(4)
            i, o, u = iou(janus.cat([x, h])).chunk(3)
            c = janus.sigmoid(i) * janus.tanh(u)
            for hk, ck in states:
                c = c + janus.sigmoid(f(janus.cat([x, hk]))) * ck
            return janus.sigmoid(o) * janus.tanh(c), c

    cell = Cell()

    def loss_of(words, heads):
        children = {}
        root = None
        for i, head in enumerate(heads):
            if head < 0:
                root = i
            else:
                children.setdefault(head, []).append(i)

        def encode(i):
            return cell(emb.weight[words[i]], [encode(j) for j in children.get(i, [])])
        return encode(root)[0].pow(2).sum()

    def data(rng):
        n = rng.randint(2, 6)
        return [rng.randrange(10) for _ in range(n)], [-1] + [rng.randrange(i) for i in range(1, n)]

    params = parameters(emb, iou, f)
    return trainer(loss_of, params), data, params


def brackets():
    """A tree is parsed from text and then encoded."""
    w, emb = nn.Linear(8, 4), nn.Embedding(5, 4)

    def parse(text):
        stack = [[]]
        for ch in text:
            if ch == "(":
                stack.append([])
            elif ch == ")":
                done = stack.pop()
                stack[-1].append(tuple(done))
            else:
                stack[-1].append(ch)
        return stack[0][0]

    def encode(t):
        if isinstance(t, str):
            return emb.weight["abcde".index(t)]
        return janus.tanh(w(janus.cat([encode(t[0]), encode(t[1])])))

    def make(rng, d):
        return rng.choice("abcde") if d == 0 or rng.random() < 0.2 else f"({make(rng, d - 1)}{make(rng, d - 1)})"

    params = parameters(w, emb)
    return trainer(lambda s: encode(parse(s)).pow(2).sum(), params), lambda rng: (make(rng, 3),), params


def visitor():
    """An interpreter of a small language: a visitor whose methods are found by the names of node classes, with an
    environment that assignments write."""
    consts, net = nn.Parameter(janus.randn(6)), nn.Linear(1, 1)

    class Num:
        def __init__(self, i):
            self.i = i

    class Var:
        def __init__(self, name):
            self.name = name

    class Bin:
        def __init__(self, op, a, b):
            self.op, self.a, self.b = op, a, b

    class Assign:
        def __init__(self, name, e):
            self.name, self.e = name, e

    class Block:
        def __init__(self, body):
            self.body = body

    class Interpreter:
        def __init__(self):
            self.env = {"x": consts[0], "y": consts[1]}
            self.steps = 0

        def visit(self, node):
            self.steps += 1
            return getattr(self, "visit_" + type(node).__name__)(node)

        def visit_Num(self, node):
            return consts[node.i]

        def visit_Var(self, node):
            return self.env[node.name]

        def visit_Bin(self, node):
            a, b = self.visit(node.a), self.visit(node.b)
            return a + b if node.op == "+" else a * b

        def visit_Assign(self, node):
            self.env[node.name] = self.visit(node.e)
            return self.env[node.name]

        def visit_Block(self, node):
            r = None
            for s in node.body:
                r = self.visit(s)
            return r

    def expr(rng, d):
        if d == 0 or rng.random() < 0.2:
            return Num(rng.randrange(6)) if rng.random() < 0.5 else Var(rng.choice("xy"))
        return Bin(rng.choice("+*"), expr(rng, d - 1), expr(rng, d - 1))

    def data(rng):
        return (Block([Assign(rng.choice("xy"), expr(rng, 2)) for _ in range(rng.randint(1, 3))] + [expr(rng, 2)]),)

    params = [consts, *parameters(net)]

    def loss_of(program):
        i = Interpreter()
        r = net(i.visit(program).reshape(1))
        return (r * i.steps).tanh().sum()
    return trainer(loss_of, params), data, params


def trie():
    """Words share the states of their beginnings: a trie of dicts, summed up from its ends."""
    cell, emb, out = nn.GRUCell(4, 4), nn.Embedding(4, 4), nn.Linear(4, 1)

    def score(node, h):
        total = out(h).sum() if "end" in node else 0.0
        for ch in "abcd":
            if ch in node:
                hk = cell(emb.weight["abcd".index(ch)][None], h)
                total = total + score(node[ch], hk)
        return total

    def data(rng):
        root = {}
        for _ in range(rng.randint(2, 5)):
            node = root
            for _ in range(rng.randint(1, 3)):
                node = node.setdefault(rng.choice("abcd"), {})
            node["end"] = True
        return (root,)

    params = parameters(cell, emb, out)
    return trainer(lambda t: score(t, janus.zeros(1, 4)).tanh(), params), data, params


def octree():
    """Points in a tree of up to eight cells; features of cells are means of what lies below."""
    point, merge = nn.Linear(3, 4), nn.Linear(4, 4)

    class Cell:
        def __init__(self, points, depth):
            self.points, self.cells = points, []
            if depth and len(points) > 1:
                by = {}
                for p in points:
                    by.setdefault(tuple(x > 0 for x in p), []).append([abs(x) * 2 - 1 for x in p])
                self.cells = [Cell(ps, depth - 1) for ps in by.values()]
            self.x = janus.tensor(points)

    def encode(cell):
        if not cell.cells:
            return janus.relu(point(cell.x)).mean(0)
        below = [encode(c) for c in cell.cells]
        return janus.tanh(merge(sum(below) / len(below)))

    def data(rng):
        return (Cell([[rng.uniform(-1, 1) for _ in range(3)] for _ in range(rng.randint(2, 6))], 3),)

    params = parameters(point, merge)
    return trainer(lambda t: encode(t).pow(2).sum(), params), data, params


def merkle():
    """A list is folded level by level; levels of odd length end with their last one again."""
    w, emb = nn.Linear(8, 4), nn.Embedding(6, 4)

    def loss_of(items):
        level = [emb.weight[i] for i in items]
        while len(level) > 1:
            if len(level) % 2:
                level.append(level[-1])
            level = [janus.tanh(w(janus.cat([a, b]))) for a, b in zip(level[::2], level[1::2])]
        return level[0].pow(2).sum()

    params = parameters(w, emb)
    return trainer(loss_of, params), lambda rng: ([rng.randrange(6) for _ in range(rng.randint(1, 7))],), params


def kd_tree():
    """The nearest of some points by a k-d tree whose search prunes; a metric is trained."""
    metric, label = nn.Parameter(janus.ones(2)), nn.Embedding(8, 3)

    class KD:
        def __init__(self, points, depth=0):
            axis = depth % 2
            points = sorted(points, key=lambda p: p[0][axis])
            mid = len(points) // 2
            self.axis, (self.at, self.id) = axis, points[mid]
            self.point = janus.tensor(list(self.at))
            self.left = KD(points[:mid], depth + 1) if mid else None
            self.right = KD(points[mid + 1:], depth + 1) if mid + 1 < len(points) else None

    def loss_of(tree, query, y):
        q = janus.tensor(query)
        best, best_node = None, None

        def search(node):
            nonlocal best, best_node
            if node is None:
                return
            d = ((node.point - q).abs() * metric).sum()
            if best is None or d.item() < best.item():
                best, best_node = d, node
            near, far = (node.left, node.right) if query[node.axis] < node.at[node.axis] else (node.right, node.left)
            search(near)
            if abs(query[node.axis] - node.at[node.axis]) < best.item():
                search(far)
        search(tree)
        return F.cross_entropy((label.weight[best_node.id] / (1 + best))[None], y)

    def data(rng):
        points = [((rng.random(), rng.random()), i) for i in range(rng.randint(3, 8))]
        return KD(points), [rng.random(), rng.random()], janus.tensor([rng.randrange(3)])

    params = [metric, *parameters(label)]
    return trainer(loss_of, params), data, params


def leaves_of_all():
    """Leaves found by a generator that yields from itself; scores are averaged."""
    f, emb = nn.Linear(4, 1), nn.Embedding(6, 4)

    class Tree:
        def __init__(self, label, *kids):
            self.label, self.kids = label, kids

        def leaves(self):
            if not self.kids:
                yield self
            for k in self.kids:
                yield from k.leaves()

    def loss_of(t):
        scores = [f(emb.weight[leaf.label]) for leaf in t.leaves()]
        return janus.stack(scores).mean().tanh()

    def make(rng, d):
        return Tree(rng.randrange(6), *[make(rng, d - 1) for _ in range(rng.randint(1, 3) if d else 0)])

    params = parameters(f, emb)
    return trainer(loss_of, params), lambda rng: (make(rng, 2),), params


def random_projections():
    """A random projection tree with its planes on the nodes: rows go left or right by a mask."""
    leaf = nn.Embedding(8, 2)

    class Plane:
        def __init__(self, depth, path=0):
            self.normal, self.path = janus.randn(3), path
            self.left = self.right = None
            if depth:
                self.left, self.right = Plane(depth - 1, 2 * path), Plane(depth - 1, 2 * path + 1)

    root = Plane(2)

    def predict(node, x):
        if node.left is None:
            return leaf.weight[node.path].expand(x.shape[0], 2)
        side = (x @ node.normal > 0)[:, None]
        return janus.where(side, predict(node.left, x), predict(node.right, x))

    params = parameters(leaf)
    return trainer(lambda x, y: F.cross_entropy(predict(root, x), y), params), lambda rng: (janus.randn(4, 3), janus.randint(0, 2, (4,))), params


def heap_order():
    """A binary heap in an array: children of i are 2 i + 1 and 2 i + 2."""
    w, emb = nn.Linear(12, 4), nn.Embedding(9, 4)

    def loss_of(heap):
        def state(i):
            if i >= len(heap):
                return janus.zeros(4)
            return janus.tanh(w(janus.cat([emb.weight[heap[i]], state(2 * i + 1), state(2 * i + 2)])))
        return state(0).pow(2).sum()

    params = parameters(w, emb)
    return trainer(loss_of, params), lambda rng: (sorted(rng.randrange(9) for _ in range(rng.randint(1, 9))),), params


def summed_losses():
    """A loss at each node, added to a variable of the enclosing call."""
    w, emb, out = nn.Linear(8, 4), nn.Embedding(6, 4), nn.Linear(4, 2)

    class Parse:
        def __init__(self, word, label, kids):
            self.word, self.label, self.kids = word, label, kids

    def loss_of(t):
        loss, n = 0.0, 0

        def encode(node):
            nonlocal loss, n
            h = emb.weight[node.word]
            for k in node.kids:
                h = janus.tanh(w(janus.cat([h, encode(k)])))
            loss = loss + F.cross_entropy(out(h)[None], janus.tensor([node.label]))
            n += 1
            return h
        encode(t)
        return loss / n

    def make(rng, d):
        return Parse(rng.randrange(6), rng.randrange(2), [make(rng, d - 1) for _ in range(rng.randint(0, 2) if d else 0)])

    params = parameters(w, emb, out)
    return trainer(loss_of, params), lambda rng: (make(rng, 3),), params


PROGRAMS = {felsenstein: 0.9, huffman: 0.9, game_tree: 0.85, dependency_parse: 0.0, brackets: 0.0, visitor: 0.3, trie: 0.9, octree: 0.9,
            merkle: 0.6, kd_tree: 0.0, leaves_of_all: 0.3, random_projections: 0.0, heap_order: 0.8, summed_losses: 0.85}


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_undecorated(program, options):
    check_as_undecorated(program, options, PROGRAMS[program])
