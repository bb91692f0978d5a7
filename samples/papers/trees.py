# SPDX-License-Identifier: Apache-2.0
"""Binary trees as of the Stanford Sentiment Treebank: a class at every node, words at the leaves."""
import random

import janus as torch


class Tree:
    def __init__(self, label, word=None, left=None, right=None):
        self.label = torch.tensor([label])
        self.word = None if word is None else torch.tensor([word])
        self.left, self.right = left, right

    def is_leaf(self):
        return self.word is not None

    def size(self):
        return 1 if self.is_leaf() else 1 + self.left.size() + self.right.size()


def grow(rng, leaves, words):
    label = rng.randrange(5)
    if leaves == 1:
        return Tree(label, word=rng.randrange(words))
    cut = rng.randrange(1, leaves)
    return Tree(label, left=grow(rng, cut, words), right=grow(rng, leaves - cut, words))


def forests(small, words):
    """Batches of trees."""
    rng = random.Random(5)
    rows, most = (3, 6) if small else (25, 30)
    return [[grow(rng, rng.randint(1, most), words) for _ in range(rows)] for _ in range(4)]
