# SPDX-License-Identifier: Apache-2.0
"""Recursive networks over trees, each written for one tree: no batch, no level, no padding.

A node is an object with attributes: `word` and `label` (binary trees; a leaf has no `left`), or
`token` and `children`.  `word`, `label` and `token` are int64 tensors of one element.

The benchmarks run this very text with PyTorch as well: they let `janus` name its module.
"""
import janus
import janus.nn as nn
import janus.nn.functional as F


class ChildSumTreeLSTM(nn.Module):
    """State of a tree from its token and any number of children (Tai, Socher and Manning 2015)."""

    def __init__(self, n_words, size):
        super().__init__()
        self.embedding = nn.Embedding(n_words, size)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.gates_x = nn.Linear(size, 3 * size)
        self.gates_h = nn.Linear(size, 3 * size, bias=False)
        self.forget_x = nn.Linear(size, size)
        self.forget_h = nn.Linear(size, size, bias=False)

    def forward(self, node):
        x = self.embedding(node.token)
        forget = self.forget_x(x)
        h_sum = janus.zeros_like(x)
        c_sum = janus.zeros_like(x)
        for child in node.children:
            h, c = self.forward(child)
            h_sum = h_sum + h
            c_sum = c_sum + janus.sigmoid(forget + self.forget_h(h)) * c
        i, o, u = (self.gates_x(x) + self.gates_h(h_sum)).chunk(3, 1)
        c = janus.sigmoid(i) * janus.tanh(u) + c_sum
        return janus.sigmoid(o) * janus.tanh(c), c


class TreeClassifier(nn.Module):
    """Scores of the classes for a tree."""

    def __init__(self, n_words, size, n_classes):
        super().__init__()
        self.tree = ChildSumTreeLSTM(n_words, size)
        self.output = nn.Linear(size, n_classes)

    def forward(self, root):
        h, _ = self.tree(root)
        return self.output(h)

    def loss(self, root):
        return F.cross_entropy(self.forward(root), root.label)


class TreeRNN(nn.Module):
    """Binary trees, a class at every node: the vector of a node is a layer over its children's.

    Called with a node it returns the node's vector and the loss of all nodes under it.
    """

    def __init__(self, n_words, size, n_classes):
        super().__init__()
        self.embedding = nn.Embedding(n_words, size)
        self.inner = nn.Linear(2 * size, size)
        self.output = nn.Linear(size, n_classes)

    def forward(self, node):
        if node.left is None:
            h = self.embedding(node.word)
            return h, F.cross_entropy(self.output(h), node.label)
        left, left_loss = self.forward(node.left)
        right, right_loss = self.forward(node.right)
        h = janus.tanh(self.inner(janus.cat([left, right], 1)))
        return h, left_loss + right_loss + F.cross_entropy(self.output(h), node.label)

    def loss(self, root):
        return self.forward(root)[1]


class RNTN(nn.Module):
    """The same with a tensor layer, a quadratic form of the children for each element (Socher 2013)."""

    def __init__(self, n_words, size, n_classes):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(n_words, size)
        self.tensor = nn.Parameter(nn.init.normal_(janus.empty(2 * size, 2 * size * size), std=0.01))
        self.inner = nn.Linear(2 * size, size)
        self.output = nn.Linear(size, n_classes)

    def forward(self, node):
        if node.left is None:
            h = self.embedding(node.word)
            return h, F.cross_entropy(self.output(h), node.label)
        left, left_loss = self.forward(node.left)
        right, right_loss = self.forward(node.right)
        x = janus.cat([left, right], 1)
        forms = (x @ self.tensor).view(self.size, 2 * self.size)
        h = janus.tanh((forms @ x.t()).t() + self.inner(x))
        return h, left_loss + right_loss + F.cross_entropy(self.output(h), node.label)

    def loss(self, root):
        return self.forward(root)[1]


class BinaryTreeLSTM(nn.Module):
    """Binary trees, a class at every node: a Tree-LSTM with a forget gate for each child."""

    def __init__(self, n_words, size, n_classes):
        super().__init__()
        self.embedding = nn.Embedding(n_words, size)
        self.leaf = nn.Linear(size, 3 * size)
        self.inner = nn.Linear(2 * size, 5 * size)
        self.output = nn.Linear(size, n_classes)

    def forward(self, node):
        if node.left is None:
            i, o, u = self.leaf(self.embedding(node.word)).chunk(3, 1)
            c = janus.sigmoid(i) * janus.tanh(u)
            h = janus.sigmoid(o) * janus.tanh(c)
            return h, c, F.cross_entropy(self.output(h), node.label)
        left_h, left_c, left_loss = self.forward(node.left)
        right_h, right_c, right_loss = self.forward(node.right)
        i, o, fl, fr, u = self.inner(janus.cat([left_h, right_h], 1)).chunk(5, 1)
        c = janus.sigmoid(i) * janus.tanh(u) + janus.sigmoid(fl) * left_c + janus.sigmoid(fr) * right_c
        h = janus.sigmoid(o) * janus.tanh(c)
        return h, c, left_loss + right_loss + F.cross_entropy(self.output(h), node.label)

    def loss(self, root):
        return self.forward(root)[2]


class TopDownTreeLSTM(nn.Module):
    """A tree that grows from its root: by its own state a node decides whether it has children.

    Called with a state, the levels that may follow and a class, it returns the loss of the nodes it
    grows and how many they are.
    """

    def __init__(self, n_words, size, n_classes, levels=6):
        super().__init__()
        self.levels = levels
        self.embedding = nn.Embedding(n_words, size)
        self.below = nn.Linear(size, 8 * size)
        self.grow = nn.Linear(size, 1)
        self.output = nn.Linear(size, n_classes)

    def forward(self, h, c, levels, label):
        loss = F.cross_entropy(self.output(h), label)
        if levels == 0:
            return loss, 1
        if self.grow(h) < 0:
            return loss, 1
        il, ol, fl, ir, orr, fr, ul, ur = self.below(h).chunk(8, 1)
        left_c = janus.sigmoid(il) * janus.tanh(ul) + janus.sigmoid(fl) * c
        right_c = janus.sigmoid(ir) * janus.tanh(ur) + janus.sigmoid(fr) * c
        left_h, right_h = janus.sigmoid(ol) * janus.tanh(left_c), janus.sigmoid(orr) * janus.tanh(right_c)
        left, left_nodes = self.forward(left_h, left_c, levels - 1, label)
        right, right_nodes = self.forward(right_h, right_c, levels - 1, label)
        return loss + left + right, left_nodes + right_nodes + 1

    def loss(self, root):
        c = self.embedding(root.word)
        return self.forward(janus.tanh(c), c, self.levels, root.label)
