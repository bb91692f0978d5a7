# SPDX-License-Identifier: Apache-2.0
"""PyTorch batched by hand: one step a level, autograd behind it.

The plan of a batch is made from the Python trees in every step, as each batch is another one.
Nodes are numbered level by level (leaves first); the rows of a level are computed together from
the rows of their children, which are taken from one table that grows by a level at a time.  The
classes of all nodes are one product at the end.
"""
import warnings

import serve
import torch
import torch.nn.functional as F

LEVELS = 6  # of TopDownTreeLSTM


def prepare(_system, threads):
    warnings.filterwarnings("ignore", "Sparse invariant checks")
    torch.set_num_threads(threads)


def version():
    return f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, " \
           f"{'MKL' if torch.backends.mkl.is_available() else 'no MKL'}"


def stats(_step):
    return None


def builder(inputs):
    return serve.tree_builder(inputs, int, int)


def plan(batch):
    """`(words, labels, levels)`: a level is the numbers of its left and of its right children.

    Labels are in the order of the numbers.
    """
    words, leaf_labels, levels, level_labels = [], [], [], []
    places = []  # of the finished subtrees: (level, index in it)
    for root in batch:
        stack = [root]
        order = []
        while stack:  # parents before children, right before left
            node = stack.pop()
            order.append(node)
            if node.left is not None:
                stack.append(node.left)
                stack.append(node.right)
        for node in reversed(order):
            if node.left is None:
                places.append((-1, len(words)))
                words.append(node.word)
                leaf_labels.append(node.label)
            else:
                right, left = places.pop(), places.pop()
                height = max(left[0], right[0]) + 1
                if height == len(levels):
                    levels.append(([], []))
                    level_labels.append([])
                lefts, rights = levels[height]
                places.append((height, len(lefts)))
                lefts.append(left)
                rights.append(right)
                level_labels[height].append(node.label)
        places.clear()
    starts, at = [], len(words)
    for lefts, _ in levels:
        starts.append(at)
        at += len(lefts)
    starts.append(0)  # of level -1
    labels = leaf_labels
    for found in level_labels:
        labels.extend(found)
    numbered = [([starts[level] + i for level, i in lefts], [starts[level] + i for level, i in rights])
                for lefts, rights in levels]
    return torch.tensor(words), torch.tensor(labels), numbered


def parameters(inputs):
    return {name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape).clone().requires_grad_()
            for name, (shape, data) in inputs["weights"].items()}


class TreeRNN:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, words, levels):
        """The vectors of all nodes in the order of their numbers."""
        table = [F.embedding(words, self.embedding, sparse=True)]
        for lefts, rights in levels:
            known = torch.cat(table)
            pairs = known[torch.tensor([lefts, rights]).t().reshape(-1)].view(len(lefts), -1)
            table = [known, self.act(pairs)]
        return torch.cat(table)

    def act(self, x):
        return torch.tanh(F.linear(x, *self.inner))


class BinaryTreeLSTM:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.leaf = weights["leaf.weight"], weights["leaf.bias"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, words, levels):
        i, o, u = F.linear(F.embedding(words, self.embedding, sparse=True), *self.leaf).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h_table, c_table = [torch.sigmoid(o) * torch.tanh(c)], [c]
        for lefts, rights in levels:
            h_known, c_known = torch.cat(h_table), torch.cat(c_table)
            children = torch.tensor([lefts, rights]).t().reshape(-1)
            c_pairs = c_known[children].view(len(lefts), 2, -1)
            gates = F.linear(h_known[children].view(len(lefts), -1), *self.inner)
            size = c_known.shape[1]
            iof = torch.sigmoid(gates[:, :size * 4])
            i, o, fl, fr = iof.chunk(4, 1)
            c = i * torch.tanh(gates[:, size * 4:]) + fl * c_pairs[:, 0] + fr * c_pairs[:, 1]
            h_table, c_table = [h_known, o * torch.tanh(c)], [c_known, c]
        return torch.cat(h_table)


class RNTN(TreeRNN):
    def __init__(self, weights):
        super().__init__(weights)
        self.tensor = weights["tensor"]

    def act(self, x):
        forms = (x @ self.tensor).view(len(x), -1, x.shape[1])
        return torch.tanh(torch.bmm(forms, x.unsqueeze(2)).squeeze(2) + F.linear(x, *self.inner))


class ChildSum:
    """Any number of children: the edges of a level are rows too, and are added up by parent."""

    def __init__(self, weights):
        self.weights = {name[len("tree."):]: weight for name, weight in weights.items()}

    def rows(self, plan):
        w, words = self.weights, plan.words
        x = F.embedding(words, w["embedding.weight"], sparse=True)
        inputs = F.linear(x, w["gates_x.weight"], w["gates_x.bias"])
        forgets = F.linear(x, w["forget_x.weight"], w["forget_x.bias"])
        leaves, size = plan.starts[1], x.shape[1]
        io, u = torch.sigmoid(inputs[:leaves, :2 * size]), torch.tanh(inputs[:leaves, 2 * size:])
        c = io[:, :size] * u
        h_table, c_table = io[:, size:] * torch.tanh(c), c
        for start, end, parents, children in plan.levels:
            h_children, c_children = h_table[children], c_table[children]
            zeros = torch.zeros(end - start, size)
            h_sum = zeros.index_add(0, parents, h_children)
            f = torch.sigmoid(F.linear(h_children, w["forget_h.weight"]) + forgets[start:end][parents])
            gates = inputs[start:end] + F.linear(h_sum, w["gates_h.weight"])
            io, u = torch.sigmoid(gates[:, :2 * size]), torch.tanh(gates[:, 2 * size:])
            c = torch.index_add(io[:, :size] * u, 0, parents, f * c_children)
            h_table = torch.cat([h_table, io[:, size:] * torch.tanh(c)])
            c_table = torch.cat([c_table, c])
        return h_table[plan.roots]


class ChildSumPlan:
    """Nodes by height; a level is (start, end, parent of each edge in the level, child of each edge)."""

    def __init__(self, batch):
        levels, roots = [[]], []
        for root in batch:
            order, stack = [], [root]
            while stack:
                node = stack.pop()
                order.append(node)
                stack.extend(node.children)
            for node in reversed(order):
                height = 1 + max([child.place[0] for child in node.children], default=-1)
                if height == len(levels):
                    levels.append([])
                node.place = height, len(levels[height])
                levels[height].append(node)
            roots.append(root)
        self.starts = [0]
        for level in levels:
            self.starts.append(self.starts[-1] + len(level))
        self.words = torch.tensor([node.token for level in levels for node in level])
        self.roots = torch.tensor([self.number(root) for root in roots])
        self.labels = torch.tensor([root.label for root in roots])
        self.levels = []
        for height, level in enumerate(levels[1:], 1):
            parents = [i for i, node in enumerate(level) for _ in node.children]
            children = [self.number(child) for node in level for child in node.children]
            self.levels.append((self.starts[height], self.starts[height + 1], torch.tensor(parents),
                                torch.tensor(children)))

    def number(self, node):
        return self.starts[node.place[0]] + node.place[1]


class TopDown:
    """The trees of a batch grow together, level by level."""

    def __init__(self, weights):
        self.weights = weights

    def grow(self, words, labels):
        """`(vectors, labels)` of all nodes."""
        w = self.weights
        c = F.embedding(words, w["embedding.weight"], sparse=True)
        h, vectors, all_labels = torch.tanh(c), [], []
        for level in range(LEVELS + 1):
            vectors.append(h)
            all_labels.append(labels)
            if level == LEVELS:
                break
            with torch.no_grad():
                growing = (F.linear(h, w["grow.weight"], w["grow.bias"]) >= 0).squeeze(1).nonzero().squeeze(1)
            if not len(growing):
                break
            h, c, size = h[growing], c[growing].repeat(2, 1), h.shape[1]
            gates = F.linear(h, w["below.weight"], w["below.bias"])
            iof = torch.sigmoid(gates[:, :6 * size])
            iof = torch.cat([iof[:, :3 * size], iof[:, 3 * size:]])
            i, o, f = iof.chunk(3, 1)
            c = i * torch.tanh(torch.cat([gates[:, 6 * size:7 * size], gates[:, 7 * size:]])) + f * c
            h, labels = o * torch.tanh(c), labels[growing].repeat(2)
        return torch.cat(vectors), torch.cat(all_labels)


MODELS = {"treernn": TreeRNN, "rntn": RNTN, "treelstm": BinaryTreeLSTM, "childsum": ChildSum,
          "topdown": TopDown}


def make_step(_system, inputs):
    weights = parameters(inputs)
    kind = inputs["model"]
    model = MODELS[kind](weights)
    output = weights["output.weight"], weights["output.bias"]
    dense = [weight for name, weight in weights.items() if "embedding" not in name]
    sparse = [weight for name, weight in weights.items() if "embedding" in name]
    optimizers = [torch.optim.Adagrad(dense, lr=inputs["lr"]), torch.optim.Adagrad(sparse, lr=inputs["lr"])]

    def vectors(batch):
        """The rows that are classified, and their classes."""
        if kind == "topdown":
            return model.grow(torch.tensor([root.word for root in batch]),
                              torch.tensor([root.label for root in batch]))
        if kind == "childsum":
            made = ChildSumPlan(batch)
            return model.rows(made), made.labels
        words, labels, levels = plan(batch)
        return model.rows(words, levels), labels

    def loss_of(batch):
        rows, labels = vectors(batch)
        loss = F.cross_entropy(F.linear(rows, *output), labels, reduction="sum") / len(batch)
        return loss, len(rows) if kind == "topdown" else 0

    def train(batch):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss, nodes = loss_of(batch)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item(), nodes

    def infer(batch):
        with torch.no_grad():
            loss, nodes = loss_of(batch)
            return loss.item(), nodes

    return train if inputs["mode"] == "train" else infer
