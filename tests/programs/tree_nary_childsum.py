# SPDX-License-Identifier: Apache-2.0
"""A Child-Sum Tree-LSTM over dependency trees with any number of children."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Tree:
    def __init__(self, word):
        self.word = word
        self.children = []

    def add_child(self, child):
        self.children.append(child)

    def size(self):
        return 1 + sum(c.size() for c in self.children)


def random_tree(rng, depth):
    node = Tree(rng.randrange(30))
    if depth > 0:
        for _ in range(rng.choice([0, 1, 2, 2, 3])):
            node.add_child(random_tree(rng, depth - 1))
    return node


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, vocab, in_dim, mem_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.emb = nn.Embedding(vocab, in_dim)
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim)
        self.fx = nn.Linear(in_dim, mem_dim)
        self.fh = nn.Linear(mem_dim, mem_dim)

    def node_forward(self, inputs, child_c, child_h):
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        iou = self.ioux(inputs) + self.iouh(child_h_sum)
        i, o, u = torch.split(iou, iou.size(1) // 3, dim=1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        c = torch.mul(i, u) + torch.sum(torch.mul(f, child_c), dim=0, keepdim=True)
        return c, torch.mul(o, torch.tanh(c))

    def forward(self, tree):
        states = [self.forward(child) for child in tree.children]
        if len(states) == 0:
            child_c = torch.zeros(1, self.mem_dim)
            child_h = torch.zeros(1, self.mem_dim)
        else:
            child_c, child_h = zip(*states)
            child_c, child_h = torch.cat(child_c, dim=0), torch.cat(child_h, dim=0)
        return self.node_forward(self.emb(torch.tensor([tree.word])), child_c, child_h)


class Classifier(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.encoder = ChildSumTreeLSTM(vocab, dim, dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, tree):
        c, h = self.encoder(tree)
        return self.out(h)


def train_step(model, optimizer, criterion, tree, label):
    optimizer.zero_grad()
    loss = criterion(model(tree), torch.tensor([label]))
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, criterion, data):
    start = time.time()
    total = 0.0
    for tree, label in data:
        total += train_step(model, optimizer, criterion, tree, label)
    print("loss %.4f, %.2f s" % (total / len(data), time.time() - start))
    return total


def main(epochs):
    rng = random.Random(5)
    trees = [random_tree(rng, 3) for _ in range(10)]
    data = [(t, t.size() % 3) for t in trees]
    model = Classifier(30, 8, 3)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    totals = [train(model, optimizer, nn.CrossEntropyLoss(), data) for _ in range(epochs)]
    return totals, model


MODEL, STEP, EPOCH = "Classifier.forward", "train_step", "train"
