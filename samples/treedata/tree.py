# SPDX-License-Identifier: Apache-2.0
"""A labelled ordered tree, what every reader of this folder returns.

Plain attributes on purpose: the samples show that janus needs no special containers, so a node is
what anybody would write.  `token` is an int64 tensor of one element, ready for an embedding.
"""


class Node:
    """One node: a token of the vocabulary and any number of children, left to right."""

    def __init__(self, token, children):
        self.token = token
        self.children = children

    def size(self):
        """Number of nodes of the tree under this node, found without recursion."""
        count, stack = 0, [self]
        while stack:
            node = stack.pop()
            count += 1
            stack.extend(node.children)
        return count


class Example:
    """A tree with its class: `label` is a number, `target` the same as an int64 tensor."""

    def __init__(self, root, label, target):
        self.root = root
        self.label = label
        self.target = target


class Dataset:
    """Training and test examples with what their numbers mean.

    `kinds` has for every example of `train` and `test` (in the same order) the list of its node
    types as small ints, or None where a task has no node types: what the baseline looks at.
    """

    def __init__(self, name, classes, vocabulary, train, test, kinds=None):
        self.name = name
        self.classes = classes
        self.vocabulary = vocabulary
        self.train = train
        self.test = test
        self.kinds = kinds
