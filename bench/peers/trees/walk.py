# SPDX-License-Identifier: Apache-2.0
"""What the hand-batched peers plan for a batch from its Python trees, in every step.

Nodes are numbered level by level, leaves first, a level in the order in which its nodes are met.
While the trees are walked a node is known by its place, its height and its index in that level in
one integer; when all levels are known, places become numbers in one go.
"""
import torch

HEIGHT = 1 << 32


def numbers(places, sizes):
    """The numbers of the nodes at these places; the levels have these sizes, leaves first."""
    starts = torch.tensor([0, *sizes]).cumsum(0)
    places = torch.tensor(places, dtype=torch.int64)
    return starts[places >> 32].add_(places.bitwise_and_(HEIGHT - 1))


class Binary:
    """Binary trees with a label at each node.

    `leaves`, `count`: how many leaves and nodes.  `words` of the leaves, `labels` in the order of
    numbers.  `levels` (start, end) among the inner nodes.  `children`: number of the left and of the
    right child of each inner node, in turn, then of the roots, so that each node is in it once.
    """

    def __init__(self, batch):
        words, labels, levels = [], [], []

        def visit(node):
            left = node.left
            if left is None:
                words.append(node.word)
                labels.append(node.label)
                return len(words) - 1
            left, right = visit(left), visit(node.right)
            height = (left if left > right else right) >> 32
            if height == len(levels):
                levels.append(([], []))
            children, own = levels[height]
            own.append(node.label)
            children.append(left)
            children.append(right)
            return height * HEIGHT + HEIGHT + len(own) - 1

        roots = [visit(root) for root in batch]
        places, ends = [], [0]
        for children, own in levels:
            places += children
            labels += own
            ends.append(ends[-1] + len(own))
        places += roots
        self.leaves, self.count = len(words), len(labels)
        self.words, self.labels = torch.tensor(words), torch.tensor(labels)
        self.levels = list(zip(ends, ends[1:]))
        self.children = numbers(places, [len(words)] + [len(own) for _, own in levels])


class AnyChildren:
    """Trees with any number of children and a label at the root.

    `words` in the order of numbers; `roots` and their `labels`.  `leaves`, `count`: how many leaves
    and nodes.  `levels` above the leaves: (start, end) of their nodes and (first, last) of their edges.
    `parents`, `children`: number of the node at each end of an edge, edges in the order of parents.
    """

    def __init__(self, batch):
        levels = [([], [], [])]

        def visit(node):
            places = [visit(child) for child in node.children]
            height = (max(places) >> 32) + 1 if places else 0
            if height == len(levels):
                levels.append(([], [], []))
            words, parents, children = levels[height]
            place = height * HEIGHT + len(words)
            words.append(node.token)
            if places:
                parents += [place] * len(places)
                children += places
            return place

        roots = [visit(root) for root in batch]
        words, parents, children, self.levels = [], [], [], []
        for own, above, below in levels:
            if words:
                self.levels.append((len(words), len(words) + len(own), len(children), len(children) + len(below)))
            words += own
            parents += above
            children += below
        sizes = [len(own) for own, _, _ in levels]
        self.leaves, self.count = sizes[0], len(words)
        self.words, self.labels = torch.tensor(words), torch.tensor([root.label for root in batch])
        ends = numbers(parents + children + roots, sizes)
        self.parents, self.children, self.roots = ends.split([len(parents), len(children), len(roots)])
