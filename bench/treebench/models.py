# SPDX-License-Identifier: Apache-2.0
"""The models of bench/trees: their weights' shapes and the arithmetic they cannot do without.

FLOPs count the matrix products of real rows only, two for each multiply-add; a training step does
each product three times (forward, gradient of the rows, gradient of the weights).
"""


def tree_rnn(words, size, classes):
    return {"embedding.weight": (words, size), "inner.weight": (size, 2 * size), "inner.bias": (size,),
            "output.weight": (classes, size), "output.bias": (classes,)}


def binary_tree_lstm(words, size, classes):
    return {"embedding.weight": (words, size), "leaf.weight": (3 * size, size), "leaf.bias": (3 * size,),
            "inner.weight": (5 * size, 2 * size), "inner.bias": (5 * size,),
            "output.weight": (classes, size), "output.bias": (classes,)}


class Model:
    """`shapes(words, size, classes)`; `flops(counts, size, classes)` of one tree's forward pass.

    `counts` has the number of nodes by number of children.  `binary` trees have a class at every
    node and come from the treebank, others have it at the root and come from the main job's data.
    """

    def __init__(self, name, cls, shapes, leaf, inner, binary=True):
        self.name = name
        self.cls = cls  # of samples/treemodels.py
        self.shapes = shapes
        self.leaf = leaf
        self.inner = inner
        self.binary = binary

    def flops(self, counts, size, classes):
        leaves, nodes = counts.get(0, 0), sum(counts.values())
        scored = nodes if self.binary else 1
        return 2 * (leaves * self.leaf(size) + (nodes - leaves) * self.inner(size) + scored * size * classes)


MODELS = {model.name: model for model in [
    Model("treernn", "TreeRNN", tree_rnn, lambda size: 0, lambda size: 2 * size * size),
    Model("treelstm", "BinaryTreeLSTM", binary_tree_lstm, lambda size: 3 * size * size,
          lambda size: 10 * size * size),
]}
