# SPDX-License-Identifier: Apache-2.0
"""A highway network over characters of words, cached by word, for a tiny bag-of-words classifier."""
import time
from collections import OrderedDict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Highway(nn.Module):
    def __init__(self, size, layers, f=torch.tanh):
        super().__init__()
        self.f = f
        self.parts = nn.ModuleList([nn.ModuleDict({k: nn.Linear(size, size) for k in ("gate", "linear", "nonlinear")})
                                    for _ in range(layers)])

    def forward(self, x):
        for part in self.parts:
            gate = torch.sigmoid(part["gate"](x))
            x = gate * self.f(part["nonlinear"](x)) + (1 - gate) * part["linear"](x)
        return x


class CharWords(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.chars = nn.Embedding(27, dim)
        self.highway, self.out = Highway(dim, 2), nn.Linear(dim, classes)

    def word(self, w):
        ids = torch.tensor([ord(c) - ord("a") + 1 if c.isalpha() else 0 for c in w.lower()])
        return self.highway(self.chars(ids).max(0).values)

    def forward(self, sentence):
        cache = OrderedDict()
        for w in sentence.split():
            if w not in cache:
                cache[w] = self.word(w)
        return self.out(torch.stack([cache[w] for w in sentence.split()]).mean(0))


def train_step(model, optimizer, sentence, label):
    logits = model(sentence)
    loss = F.cross_entropy(logits.unsqueeze(0), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, corpus, epoch):
    start, report = time.time(), []
    for sentence, label in corpus:
        loss = train_step(model, optimizer, sentence, label)
        report.append(f"{sentence.split()[0]!r}:{loss:.3f}")
    print(epoch, ", ".join(report), f"{time.time() - start:.3f}s")
    return report


def main(epochs):
    texts = ["The cat sat", "a dog ran off the mat", "cat and dog and cat", "no", "The end of the day"]
    corpus = [(t, torch.tensor([len(t) % 2])) for t in texts]
    model = CharWords(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for e in range(epochs):
        train_epoch(model, optimizer, corpus, e)
    return model


MODEL, STEP, EPOCH = "CharWords.forward", "train_step", "train_epoch"
