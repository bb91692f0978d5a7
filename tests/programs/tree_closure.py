# SPDX-License-Identifier: Apache-2.0
"""A tree encoder written as a nested recursive function that closes over the model."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.left = nn.Linear(dim, dim, bias=False)
        self.right = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, tree):
        scores = []

        def encode(node):
            if isinstance(node, int):
                return self.embedding(torch.tensor(node))
            a, b = node
            h = F.relu(self.left(encode(a)) + self.right(encode(b)))
            scores.append(self.score(h))
            return h

        root = encode(tree)
        return root, torch.stack(scores).mean()


def random_tree(rng, n):
    if n == 1:
        return rng.randrange(15)
    k = rng.randint(1, n - 1)
    return (random_tree(rng, k), random_tree(rng, n - k))


def step(model, optimizer, tree, target):
    root, score = model(tree)
    loss = F.mse_loss(score, target) + 0.01 * root.pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss)


def run_epoch(model, optimizer, data, number):
    total = 0.0
    for i, (tree, target) in enumerate(data):
        loss = step(model, optimizer, tree, target)
        total += loss
        if (i + 1) % 4 == 0:
            print(f"  epoch {number} step {i + 1}: {loss:.4f}")
    return total / len(data)


def main(epochs):
    rng = random.Random(0)
    data = [(random_tree(rng, rng.randint(2, 8)), torch.tensor(rng.random())) for _ in range(10)]
    model = Encoder(15, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    means = [run_epoch(model, optimizer, data, n) for n in range(epochs)]
    return means, model


MODEL, STEP, EPOCH = "Encoder.forward", "step", "run_epoch"
