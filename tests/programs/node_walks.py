# SPDX-License-Identifier: Apache-2.0
"""Vectors of the nodes of a graph from biased random walks, skip-gram with negatives drawn by degree; then a classifier on them."""
import random
from collections import Counter, defaultdict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def planted_graph(groups=3, size=8, p_in=0.6, p_out=0.05):
    nodes = range(groups * size)
    adj = defaultdict(list)
    for a in nodes:
        for b in nodes:
            if a < b and random.random() < (p_in if a // size == b // size else p_out):
                adj[a].append(b)
                adj[b].append(a)
    return adj, [n // size for n in nodes]


def walk(adj, start, length, p=0.5, q=2.0):
    path = [start]
    while len(path) < length:
        here = path[-1]
        options = adj[here]
        if not options:
            break
        if len(path) == 1:
            path.append(random.choice(options))
            continue
        before = path[-2]
        weights = [1 / p if n == before else 1.0 if n in adj[before] else 1 / q for n in options]
        path.append(random.choices(options, weights)[0])
    return path


def pairs_of(path, window=2):
    for i, centre in enumerate(path):
        for j in range(max(0, i - window), min(len(path), i + window + 1)):
            if i != j:
                yield centre, path[j]


class SkipGram(nn.Module):
    def __init__(self, nodes, dim=8):
        super().__init__()
        self.inp = nn.Embedding(nodes, dim, sparse=False)
        self.out = nn.Embedding(nodes, dim)
        bound = 0.5 / dim
        nn.init.uniform_(self.inp.weight, -bound, bound)
        nn.init.zeros_(self.out.weight)

    def forward(self, centre, context, negatives):
        v = self.inp(centre)
        positive = F.logsigmoid((v * self.out(context)).sum(-1))
        negative = F.logsigmoid(-torch.bmm(self.out(negatives), v.unsqueeze(2)).squeeze(2)).sum(-1)
        return -(positive + negative).mean()


def train_step(model, opt, batch, noise, k=4):
    centre, context = map(torch.tensor, zip(*batch))
    negatives = torch.multinomial(noise, len(batch) * k, replacement=True).view(len(batch), k)
    opt.zero_grad()
    loss = model(centre, context, negatives)
    loss.backward()
    opt.step()
    return loss.item()


def purity(weight, labels):
    z = F.normalize(weight.detach(), dim=1)
    near = (z @ z.t() - 9 * torch.eye(len(labels))).argmax(dim=1).tolist()
    return sum(labels[a] == labels[b] for a, b in enumerate(near)) / len(near)


def run_epoch(epoch, model, opt, adj, labels, noise):
    order = list(adj)
    random.shuffle(order)
    batch, total, steps = [], 0.0, 0
    for node in order:
        for pair in pairs_of(walk(adj, node, 8)):
            batch.append(pair)
            if len(batch) == 64:
                total += train_step(model, opt, batch, noise)
                batch.clear()
                steps += 1
    counts = Counter(labels[n] for n in order)
    print(f"{epoch:>3} loss {total / max(steps, 1):.4f} purity {purity(model.inp.weight, labels):.2f} {dict(sorted(counts.items()))}")
    return total


def main(epochs):
    torch.manual_seed(5)
    random.seed(5)
    adj, labels = planted_graph()
    noise = torch.tensor([len(adj[n]) for n in range(len(labels))], dtype=torch.float32) ** 0.75
    model = SkipGram(len(labels))
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    return [run_epoch(e, model, opt, adj, labels, noise) for e in range(epochs)]


MODEL, STEP, EPOCH = "SkipGram.forward", "train_step", "run_epoch"
