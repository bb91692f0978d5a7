# SPDX-License-Identifier: Apache-2.0
"""A recursive tree classifier trained in Python and exported, for samples/c/serve/serve.c to serve without Python.

    ./run python3 samples/serve_tree.py FOLDER [--steps N] [--size H] [--seed S] [--copies N]
    samples/c/serve/serve --port 8080 trees=FOLDER/0
    curl -d '{"tree": [[3, 1], 4]}' localhost:8080/models/trees

Words have a hidden sign, and the class of a tree is whether the sum over its leaves is positive.  `--copies` exports
models that differ in their last layer alone: a process that serves all of them holds the rest once.
"""
import argparse
import os
import random

import janus
import janus.nn.functional as F
from janus import nn, optim

WORDS = 20


class Node:
    """A leaf with a word, or two trees."""

    def __init__(self, word=0, left=None, right=None):
        self.word, self.left, self.right = word, left, right


class TreeLSTM(nn.Module):
    """Scores of two classes for a binary tree (Tai, Socher and Manning 2015)."""

    def __init__(self, size):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, size)
        self.leaf = nn.Linear(size, 3 * size)
        self.inner = nn.Linear(2 * size, 5 * size)
        self.output = nn.Linear(size, 2)

    def state(self, node):
        if node.left is None:
            i, o, u = self.leaf(self.embedding(janus.tensor([node.word]))).chunk(3, 1)
            c = janus.sigmoid(i) * janus.tanh(u)
            return janus.sigmoid(o) * janus.tanh(c), c
        left_h, left_c = self.state(node.left)
        right_h, right_c = self.state(node.right)
        i, o, fl, fr, u = self.inner(janus.cat([left_h, right_h], 1)).chunk(5, 1)
        c = janus.sigmoid(i) * janus.tanh(u) + janus.sigmoid(fl) * left_c + janus.sigmoid(fr) * right_c
        return janus.sigmoid(o) * janus.tanh(c), c

    def forward(self, tree):
        h, _ = self.state(tree)
        return self.output(h)


def tree_of(nested):
    """[[3, 1], 4], as requests have it, as a Node."""
    return Node(nested) if isinstance(nested, int) else Node(0, tree_of(nested[0]), tree_of(nested[1]))


def random_tree(rng, leaves):
    """(nested lists, sum of the signs of its words)."""
    if leaves == 1:
        word = rng.randrange(WORDS)
        return word, 1 if word % 2 else -1
    left = rng.randrange(1, leaves)
    (a, x), (b, y) = random_tree(rng, left), random_tree(rng, leaves - left)
    return [a, b], x + y


def train(model, steps, rng, batch=10):
    """Trains on random trees; the share of the last hundred that was right before their step."""
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    @janus.function
    def step(tree, label):
        optimizer.zero_grad()
        scores = model(tree)
        loss = F.cross_entropy(scores, label)
        loss.backward()
        optimizer.step()
        return scores.argmax(1)

    right = []
    for _ in range(steps * batch):
        nested, total = random_tree(rng, 3 + 2 * rng.randrange(6))
        right.append(step(tree_of(nested), janus.tensor([int(total > 0)])).item() == (total > 0))
    return sum(right[-100:]) / len(right[-100:])


def export(model, folder, copies=1):
    """`copies` models in FOLDER/0, FOLDER/1, ..., all but the first with another last layer."""
    model.eval()
    example = tree_of([[1, 2], 3])
    for i in range(copies):
        janus.export(model, os.path.join(folder, str(i)), example)
        with janus.no_grad():
            model.output.weight.mul_(1.5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--copies", type=int, default=1)
    args = parser.parse_args()
    janus.manual_seed(args.seed)
    model = TreeLSTM(args.size)
    print(f"right: {train(model, args.steps, random.Random(args.seed)):.2f}")
    export(model, args.folder, args.copies)
    print(f"exported to {args.folder}")


if __name__ == "__main__":
    main()
