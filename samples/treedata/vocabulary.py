# SPDX-License-Identifier: Apache-2.0
"""The words that a model knows, and raw trees of words turned into trees of tensors.

A raw tree is `(word, [raw trees])`.  Only words met often enough in training trees get a number;
every other one is UNKNOWN, so nothing of the test set reaches the model.
"""

from .tree import Example, Node

UNKNOWN = "<unk>"


def words(raw):
    """The words of a raw tree, in no particular order and without recursion."""
    stack = [raw]
    while stack:
        word, children = stack.pop()
        yield word
        stack.extend(children)


def build(raw_trees, least):
    """Words that occur in at least `least` of the trees, UNKNOWN first, as a dict word -> number."""
    seen = {}
    for raw in raw_trees:
        for word in set(words(raw)):
            seen[word] = seen.get(word, 0) + 1
    kept = sorted(word for word, count in seen.items() if count >= least and word != UNKNOWN)
    return {word: number for number, word in enumerate([UNKNOWN] + kept)}


class Encoder:
    """Makes examples.  Nodes of one word share one index tensor: nobody writes to it."""

    def __init__(self, vocabulary, n_classes):
        import janus  # only here: raw trees are of use without it
        self.vocabulary = vocabulary
        self.tokens = [janus.tensor([i]) for i in range(len(vocabulary))]
        self.targets = [janus.tensor([i]) for i in range(n_classes)]

    def tree(self, raw):
        """The Node tree of a raw tree.  Built from an explicit stack: source nests deeply."""
        order, stack = [], [(raw, None)]
        while stack:
            (word, children), parent = stack.pop()
            node = Node(self.tokens[self.vocabulary.get(word, 0)], [])
            order.append(node)
            if parent is not None:
                parent.children.append(node)
            stack.extend((child, node) for child in reversed(children))
        return order[0]

    def example(self, raw, label):
        return Example(self.tree(raw), label, self.targets[label])
