# SPDX-License-Identifier: Apache-2.0
"""Hierarchical softmax: a Huffman tree over words, a decision at each inner node, the path of a word by recursion."""
import heapq
import itertools
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

TEXT = ("the cat sat on the mat and the dog sat on the rug while the bird sang to the cat and the dog ran to "
        "the mat where the bird had been and nobody sang on the rug").split()


class Inner:
    def __init__(self, left, right, index):
        self.left, self.right, self.index = left, right, index


class Word:
    def __init__(self, text, index):
        self.text, self.index = text, index


def huffman(words):
    counts = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    tie, inner = itertools.count(), itertools.count()
    heap = [(n, next(tie), Word(w, i)) for i, (w, n) in enumerate(sorted(counts.items()))]
    heapq.heapify(heap)
    while len(heap) > 1:
        n1, _, a = heapq.heappop(heap)
        n2, _, b = heapq.heappop(heap)
        heapq.heappush(heap, (n1 + n2, next(tie), Inner(a, b, next(inner))))
    return heap[0][2], len(counts)


def codes(node, path=()):
    if isinstance(node, Word):
        return {node.text: path}
    return {**codes(node.left, path + ((node.index, 0.0),)), **codes(node.right, path + ((node.index, 1.0),))}


class Model(nn.Module):
    def __init__(self, tree, vocabulary, dim=8):
        super().__init__()
        self.tree = tree
        self.embed = nn.Embedding(vocabulary, dim)
        self.decide = nn.Linear(dim, vocabulary - 1)
        self.mix = nn.Linear(2 * dim, dim)

    def log_probs(self, node, scores, so_far):
        """Of all words below a node, as they come from left to right."""
        if isinstance(node, Word):
            return [so_far]
        s = scores[node.index]
        return (self.log_probs(node.left, scores, so_far + F.logsigmoid(-s)) +
                self.log_probs(node.right, scores, so_far + F.logsigmoid(s)))

    def forward(self, context):
        h = torch.tanh(self.mix(self.embed(context).flatten()))
        scores = self.decide(h)
        return torch.stack(self.log_probs(self.tree, scores, torch.zeros(())))


def train_pair(model, optimizer, context, place):
    log_p = model(context)
    loss = -log_p[place]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def train_epoch(model, optimizer, pairs, rng):
    rng.shuffle(pairs)
    total = torch.zeros(())
    for context, place in pairs[:12]:
        total += train_pair(model, optimizer, context, place)
    with torch.no_grad():
        p = model(pairs[0][0]).exp()
    print(f"perplexity {(total / 12).exp().item():.2f}, sum of probabilities {p.sum().item():.4f}, best {int(p.argmax())}")
    return total.item()


def main(epochs):
    torch.manual_seed(2)
    rng = random.Random(2)
    tree, vocabulary = huffman(TEXT)
    order = list(codes(tree))
    index = {w: i for i, w in enumerate(sorted(set(TEXT)))}
    pairs = [(torch.tensor([index[a], index[b]]), order.index(w)) for a, b, w in zip(TEXT, TEXT[1:], TEXT[2:])]
    model = Model(tree, vocabulary)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    return [train_epoch(model, optimizer, pairs, rng) for _ in range(epochs)], model.embed.weight.detach().norm().item()


MODEL, STEP, EPOCH = "Model.forward", "train_pair", "train_epoch"
