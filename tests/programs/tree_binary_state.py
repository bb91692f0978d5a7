# SPDX-License-Identifier: Apache-2.0
"""A recursive network over binary trees that keeps each node's state on the node."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Node:
    def __init__(self, word=None, left=None, right=None, label=0):
        self.word, self.left, self.right, self.label = word, left, right, label
        self.state = None

    @property
    def is_leaf(self):
        return self.left is None


def random_tree(words, rng):
    if len(words) == 1:
        return Node(word=words[0], label=words[0] % 2)
    cut = rng.randint(1, len(words) - 1)
    left, right = random_tree(words[:cut], rng), random_tree(words[cut:], rng)
    return Node(left=left, right=right, label=left.label ^ right.label)


class RecursiveNet(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.compose = nn.Linear(2 * dim, dim)
        self.out = nn.Linear(dim, classes)

    def visit(self, node):
        if node.is_leaf:
            node.state = self.embed(torch.tensor([node.word]))
        else:
            self.visit(node.left)
            self.visit(node.right)
            node.state = torch.tanh(self.compose(torch.cat([node.left.state, node.right.state], dim=1)))

    def forward(self, tree):
        self.visit(tree)
        return self.out(tree.state)


def train_step(model, optimizer, tree):
    optimizer.zero_grad()
    logits = model(tree)
    loss = F.cross_entropy(logits, torch.tensor([tree.label]))
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, trees, epoch):
    start, total = time.time(), 0.0
    for tree in trees:
        total += train_step(model, optimizer, tree)
    print(f"epoch {epoch}: loss {total / len(trees):.4f} in {time.time() - start:.2f} s")
    return total


def main(epochs):
    rng = random.Random(3)
    trees = [random_tree([rng.randrange(20) for _ in range(rng.randint(2, 7))], rng) for _ in range(12)]
    model = RecursiveNet(20, 8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for epoch in range(epochs):
        rng.shuffle(trees)
        losses.append(train_epoch(model, optimizer, trees, epoch))
    return losses, model, trees[0].state


MODEL, STEP, EPOCH = "RecursiveNet.forward", "train_step", "train_epoch"
