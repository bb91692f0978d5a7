# SPDX-License-Identifier: Apache-2.0
"""A shift-reduce encoder: a buffer, a stack, and a list of transitions for each sentence."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

SHIFT, REDUCE = 0, 1


def random_transitions(rng, n):
    """n shifts and n - 1 reductions in a legal order."""
    out, depth, shifts = [], 0, 0
    while len(out) < 2 * n - 1:
        if shifts < n and (depth < 2 or rng.random() < 0.5):
            out.append(SHIFT)
            shifts, depth = shifts + 1, depth + 1
        else:
            out.append(REDUCE)
            depth -= 1
    return out


class Reduce(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.left = nn.Linear(size, 5 * size)
        self.right = nn.Linear(size, 5 * size, bias=False)

    def forward(self, left, right):
        (h1, c1), (h2, c2) = left, right
        a, i, f1, f2, o = (self.left(h1) + self.right(h2)).chunk(5, 1)
        c = a.tanh() * i.sigmoid() + f1.sigmoid() * c1 + f2.sigmoid() * c2
        return o.sigmoid() * c.tanh(), c


class SPINN(nn.Module):
    def __init__(self, vocab, size, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, 2 * size)
        self.reduce = Reduce(size)
        self.out = nn.Linear(size, classes)

    def forward(self, words, transitions):
        buffer = [tuple(e.chunk(2, 1)) for e in self.embed(words).split(1, 0)]
        buffer.reverse()
        stack = []
        for t in transitions:
            if t == SHIFT:
                stack.append(buffer.pop())
            else:
                right = stack.pop()
                left = stack.pop()
                stack.append(self.reduce(left, right))
        assert len(stack) == 1
        return self.out(stack.pop()[0])


def train_step(model, optimizer, words, transitions, label):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(words, transitions), label)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    began = time.time()
    total = 0.0
    for words, transitions, label in data:
        total += train_step(model, optimizer, words, transitions, label)
    print("%d\t%.4f\t%.2fs" % (epoch, total / len(data), time.time() - began))
    return total


def main(epochs):
    rng = random.Random(4)
    data = []
    for _ in range(10):
        n = rng.randint(2, 7)
        data.append((torch.randint(0, 20, (n,)), random_transitions(rng, n), torch.tensor([rng.randrange(3)])))
    model = SPINN(20, 6, 3)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "SPINN.forward", "train_step", "train_epoch"
