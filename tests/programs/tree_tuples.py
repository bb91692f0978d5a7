# SPDX-License-Identifier: Apache-2.0
"""Sentiment trees as nested tuples, (label, left, right) or (label, word); a loss at every node."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def random_tree(rng, n):
    if n == 1:
        return (rng.randrange(5), "w%d" % rng.randrange(12))
    k = rng.randint(1, n - 1)
    return (rng.randrange(5), random_tree(rng, k), random_tree(rng, n - k))


def leaves(tree):
    if len(tree) == 2:
        yield tree[1]
    else:
        for child in tree[1:]:
            yield from leaves(child)


class RNTN(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.vocab = vocab
        self.words = nn.Parameter(torch.randn(len(vocab), dim) * 0.1)
        self.V = nn.Parameter(torch.randn(dim, 2 * dim, 2 * dim) * 0.05)
        self.W = nn.Linear(2 * dim, dim)
        self.project = nn.Linear(dim, 5)

    def encode(self, tree):
        """The vector of a tree, and the sum of its nodes' losses."""
        label = torch.tensor([tree[0]])
        if len(tree) == 2:
            h = self.words[self.vocab[tree[1]]]
            return h, F.cross_entropy(self.project(h).unsqueeze(0), label)
        _, left, right = tree
        a, loss_a = self.encode(left)
        b, loss_b = self.encode(right)
        ab = torch.cat([a, b])
        h = torch.tanh(torch.matmul(torch.matmul(self.V, ab), ab) + self.W(ab))
        return h, loss_a + loss_b + F.cross_entropy(self.project(h).unsqueeze(0), label)

    def forward(self, tree):
        return self.encode(tree)[1]


def train_batch(model, optimizer, batch):
    optimizer.zero_grad()
    loss = sum(model(tree) for tree in batch) / len(batch)
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, trees, batch_size, epoch):
    t0 = time.time()
    losses = []
    for i in range(0, len(trees), batch_size):
        losses.append(train_batch(model, optimizer, trees[i:i + batch_size]))
    print("Epoch {}: {:.3f} [{:.1f} s]".format(epoch, sum(losses) / len(losses), time.time() - t0))
    return losses


def main(epochs):
    rng = random.Random(2)
    trees = [random_tree(rng, rng.randint(1, 6)) for _ in range(12)]
    words = sorted({w for tree in trees for w in leaves(tree)})
    model = RNTN({w: i for i, w in enumerate(words)}, 5)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    return [train(model, optimizer, trees, 4, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "RNTN.forward", "train_batch", "train"
