# SPDX-License-Identifier: Apache-2.0
"""The models of bench/trees: their weights' shapes and the arithmetic they cannot do without.

FLOPs count the matrix products of real rows only, two for each multiply-add; a training step does
each product three times (forward, gradient of the rows, gradient of the weights).
"""


def tree_rnn(words, size, classes):
    return {"embedding.weight": (words, size), "inner.weight": (size, 2 * size), "inner.bias": (size,),
            "output.weight": (classes, size), "output.bias": (classes,)}


def rntn(words, size, classes):
    return {**tree_rnn(words, size, classes), "tensor": (2 * size, 2 * size * size)}


def child_sum(words, size, classes):
    return {"tree.embedding.weight": (words, size), "tree.gates_x.weight": (3 * size, size),
            "tree.gates_x.bias": (3 * size,), "tree.gates_h.weight": (3 * size, size),
            "tree.forget_x.weight": (size, size), "tree.forget_x.bias": (size,),
            "tree.forget_h.weight": (size, size), "output.weight": (classes, size), "output.bias": (classes,)}


def top_down(words, size, classes):
    return {"embedding.weight": (words, size), "below.weight": (8 * size, size), "below.bias": (8 * size,),
            "grow.weight": (1, size), "grow.bias": (1,), "output.weight": (classes, size),
            "output.bias": (classes,)}


def binary_tree_lstm(words, size, classes):
    return {"embedding.weight": (words, size), "leaf.weight": (3 * size, size), "leaf.bias": (3 * size,),
            "inner.weight": (5 * size, 2 * size), "inner.bias": (5 * size,),
            "output.weight": (classes, size), "output.bias": (classes,)}


def every_node(leaf, inner):
    """FLOPs of a model with so many multiply-adds a leaf and an inner node, and a class at each."""
    def flops(counts, size, classes):
        leaves, nodes = counts.get(0, 0), sum(counts.values())
        return 2 * (leaves * leaf(size) + (nodes - leaves) * inner(size) + nodes * size * classes)
    return flops


def child_sum_flops(counts, size, classes):
    nodes, edges = sum(counts.values()), sum(children * count for children, count in counts.items())
    return 2 * size * size * (4 * nodes + 3 * (nodes - counts.get(0, 0)) + edges) + 2 * size * classes


class Model:
    """`shapes(words, size, classes)`; `flops(counts, size, classes)` of one tree's forward pass.

    `counts` has the number of nodes by number of children.  Data is "sst", binary trees with a class
    at every node, or "stdlib", the main job's, with a class at the root; where `grows` the trees say
    only where to begin, and how many nodes there were is what the systems tell.
    """

    def __init__(self, name, cls, shapes, flops, data="sst", scales=None, grows=False):
        self.name = name
        self.cls = cls  # of samples/treemodels.py
        self.shapes = shapes
        self.flops = flops
        self.data = data
        self.scales = scales
        self.grows = grows


MODELS = {model.name: model for model in [
    Model("treernn", "TreeRNN", tree_rnn, every_node(lambda size: 0, lambda size: 2 * size * size)),
    Model("rntn", "RNTN", rntn, every_node(lambda size: 0, lambda size: (4 * size + 4) * size * size),
          scales={"tensor": 0.2}),
    Model("treelstm", "BinaryTreeLSTM", binary_tree_lstm,
          every_node(lambda size: 3 * size * size, lambda size: 10 * size * size)),
    Model("childsum", "TreeClassifier", child_sum, child_sum_flops, data="stdlib"),
    Model("topdown", "TopDownTreeLSTM", top_down,
          every_node(lambda size: size, lambda size: 8 * size * size + size), scales={"below.weight": 3.0},
          grows=True),
]}
