# SPDX-License-Identifier: Apache-2.0
"""Topics of short texts: a bag of words weighted by counts that a Counter keeps while training goes on, labels counted in another."""
import math
import random
from collections import Counter

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

TOPICS = {"sea": "ship wave salt sail harbour".split(), "sky": "cloud wing wind star bird".split(),
          "city": "street tram lamp noise crowd".split()}
COMMON = "the a of and in on".split()
VOCABULARY = {w: i for i, w in enumerate(COMMON + sum(TOPICS.values(), []))}


def text():
    topic = random.choice(list(TOPICS))
    words = [random.choice(TOPICS[topic]) for _ in range(3)] + [random.choice(COMMON) for _ in range(3)]
    random.shuffle(words)
    return words, list(TOPICS).index(topic)


class Topics(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.words, self.out = nn.Embedding(len(VOCABULARY), dim), nn.Linear(dim, len(TOPICS))
        self.counts, self.total = Counter(), 0

    def weight(self, word):
        return math.log((1 + self.total) / (1 + self.counts[word]))

    def forward(self, words):
        if self.training:
            for w in words:
                self.counts[w] += 1
            self.total += len(words)
        rows = self.words(torch.tensor([VOCABULARY[w] for w in words]))
        weights = torch.tensor([self.weight(w) for w in words])
        return self.out(torch.tanh((rows * weights.unsqueeze(1)).sum(0)))


def train_step(model, opt, batch, confusion):
    logits = torch.stack([model(words) for words, _ in batch])
    labels = torch.tensor([y for _, y in batch])
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for guess, label in zip(logits.argmax(1).tolist(), labels.tolist()):
        confusion[label, guess] += 1
    return loss.item()


def run_epoch(epoch, model, opt, data):
    model.train()
    confusion, loss = Counter(), 0.0
    for i in range(0, len(data), 8):
        loss += train_step(model, opt, data[i:i + 8], confusion)
    right = sum(n for (label, guess), n in confusion.items() if label == guess)
    print(f"epoch {epoch:02d}: loss {loss / (len(data) / 8):.4f}, {right}/{len(data)} right, {model.counts.most_common(2)}")
    return loss


def main(epochs):
    torch.manual_seed(3)
    random.seed(3)
    data = [text() for _ in range(48)]
    model = Topics()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    return [run_epoch(e, model, opt, data) for e in range(epochs)], model.counts


MODEL, STEP, EPOCH = "Topics.forward", "train_step", "run_epoch"
