# SPDX-License-Identifier: Apache-2.0
"""Sentiment of every phrase: trees read from s-expressions, a loss at each node, accuracy at the root and over all."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Tree:
    def __init__(self, label, word=None):
        self.label, self.word = label, word
        self.left = self.right = self.parent = None
        self.h = None

    @property
    def is_leaf(self):
        return self.word is not None

    def __len__(self):
        return 1 if self.is_leaf else len(self.left) + len(self.right)


def parse(text):
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    pos = 0

    def node():
        nonlocal pos
        assert tokens[pos] == "("
        label = int(tokens[pos + 1])
        pos += 2
        if tokens[pos] != "(":
            t = Tree(label, tokens[pos].lower())
            pos += 1
        else:
            t = Tree(label)
            t.left, t.right = node(), node()
            t.left.parent = t.right.parent = t
        pos += 1
        return t

    return node()


def words_of(tree):
    if tree.is_leaf:
        yield tree.word
    else:
        yield from words_of(tree.left)
        yield from words_of(tree.right)


class RecursiveNet(nn.Module):
    def __init__(self, vocab, dim, classes=5):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(len(vocab) + 1, dim)
        self.compose = nn.Linear(2 * dim, dim)
        self.project = nn.Linear(dim, classes)
        self.drop = nn.Dropout(0.1)

    def lookup(self, word):
        return self.embed(torch.tensor([self.vocab.get(word, 0)]))

    def traverse(self, tree, losses, hits):
        if tree.is_leaf:
            h = F.relu(self.lookup(tree.word))
        else:
            l = self.traverse(tree.left, losses, hits)
            r = self.traverse(tree.right, losses, hits)
            h = F.relu(self.compose(torch.cat((l, r), 1)))
        scores = self.project(self.drop(h))
        losses.append(F.cross_entropy(scores, torch.tensor([tree.label])))
        hits.append(scores.argmax(1) == tree.label)
        return h

    def forward(self, tree):
        losses, hits = [], []
        self.traverse(tree, losses, hits)
        return torch.stack(losses).sum(), hits


def step(model, optimizer, trees, l2=1e-4):
    optimizer.zero_grad()
    loss, right, total, root = 0.0, 0, 0, 0
    for tree in trees:
        one, hits = model(tree)
        loss = loss + one
        right += sum(h.item() for h in hits)
        total += len(hits)
        root += int(hits[-1])
    loss = loss / len(trees) + l2 * sum((p ** 2).sum() for p in model.parameters())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item(), right, total, root


def epoch(model, optimizer, data, batch_size, number):
    model.train()
    random.shuffle(data)
    start, right, total, root = time.time(), 0, 0, 0
    for i in range(0, len(data), batch_size):
        loss, r, t, o = step(model, optimizer, data[i:i + batch_size])
        right, total, root = right + r, total + t, root + o
    print("epoch {}: loss {:.3f} all {:.1%} root {:.1%} ({:.1f}s)".format(
        number, loss, right / total, root / len(data), time.time() - start))
    return loss


SENTENCES = [
    "(3 (2 It) (4 (2 (2 's) (3 (2 a) (4 (3 lovely) (2 film)))) (3 (2 with) (4 (3 lovely) (2 performances)))))",
    "(1 (2 No) (1 (2 one) (1 (2 goes) (2 (2 unindicted) (2 here)))))",
    "(4 (4 (3 (2 a) (4 great)) (2 cast)) (3 (2 and) (4 (2 an) (3 (4 excellent) (2 concept)))))",
    "(0 (1 dull) (1 (2 and) (0 lifeless)))",
    "(2 (2 the) (2 plot))",
    "(3 fun)",
    "(1 (1 (0 bad) (2 script)) (2 (2 but) (3 good)))",
]


def main(epochs):
    data = [parse(s) for s in SENTENCES]
    vocab = {w: i + 1 for i, w in enumerate(sorted({w for t in data for w in words_of(t)}))}
    model = RecursiveNet(vocab, 6)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    return [epoch(model, optimizer, data, 3, e) for e in range(epochs)], [len(t) for t in data], model


MODEL, STEP, EPOCH = "RecursiveNet.forward", "step", "epoch"
