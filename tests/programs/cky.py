# SPDX-License-Identifier: Apache-2.0
"""A span parser: scores of spans, CKY with back pointers in nested lists, a margin loss against the gold tree."""
import time

import janus as torch
import janus.nn as nn


class SpanScorer(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, bidirectional=True)
        self.score = nn.Sequential(nn.Linear(4 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, words):
        h, _ = self.rnn(self.embed(words).unsqueeze(1))
        h = h.squeeze(1)
        n = h.size(0)
        rows = []
        for i in range(n):
            spans = torch.cat([h[i].unsqueeze(0).expand(n, -1), h], dim=1)
            rows.append(self.score(spans).squeeze(1))
        return torch.stack(rows)


def cky(scores):
    """The best binary tree over the words, as a list of spans, and its score."""
    n = len(scores)
    best = [[0.0] * n for _ in range(n)]
    split = [[None] * n for _ in range(n)]
    for i in range(n):
        best[i][i] = scores[i][i]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            k = max(range(i, j), key=lambda k: best[i][k] + best[k + 1][j])
            split[i][j] = k
            best[i][j] = scores[i][j] + best[i][k] + best[k + 1][j]
    spans = []

    def collect(i, j):
        spans.append((i, j))
        if i < j:
            collect(i, split[i][j])
            collect(split[i][j] + 1, j)

    collect(0, n - 1)
    return spans, best[0][n - 1]


def tree_score(scores, spans):
    return sum(scores[i, j] for i, j in spans)


def train_step(model, optimizer, words, gold):
    scores = model(words)
    augmented = scores.detach().clone()
    for i in range(len(words)):
        for j in range(len(words)):
            if (i, j) not in gold:
                augmented[i, j] += 1.0
    predicted, _ = cky(augmented.tolist())
    wrong = [s for s in predicted if s not in gold]
    if not wrong:
        return 0.0, 0
    loss = tree_score(scores, predicted) - tree_score(scores, sorted(gold)) + len(wrong)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), len(wrong)


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    rows = [train_step(model, optimizer, words, gold) for words, gold in data]
    print("epoch %d loss %.3f wrong %d (%.2f s)" % (epoch, sum(r[0] for r in rows), sum(r[1] for r in rows),
                                                    time.time() - start))
    return rows


def main(epochs):
    data = []
    for n in (3, 4, 5):
        gold = {(i, n - 1) for i in range(n)} | {(i, i) for i in range(n)}
        data.append((torch.randint(0, 10, (n,)), gold))
    model = SpanScorer(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "SpanScorer.forward", "train_step", "train_epoch"
