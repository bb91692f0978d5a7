# SPDX-License-Identifier: Apache-2.0
"""Alignment by soft dynamic time warping: a table of tensors in nested lists, filled cell by cell."""
import time

import janus as torch
from janus import nn


class Embed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, dim, bias=False))

    def forward(self, seq):
        return self.net(seq)


def softmin(a, b, c, gamma):
    z = torch.stack([-a / gamma, -b / gamma, -c / gamma])
    return -gamma * torch.logsumexp(z, dim=0)


def soft_dtw(x, y, gamma=0.5):
    n, m = len(x), len(y)
    inf = torch.tensor(1e6)
    d = [[(x[i] - y[j]).pow(2).sum() for j in range(m)] for i in range(n)]
    r = [[inf] * (m + 1) for _ in range(n + 1)]
    r[0][0] = torch.tensor(0.0)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            r[i][j] = d[i - 1][j - 1] + softmin(r[i - 1][j], r[i][j - 1], r[i - 1][j - 1], gamma)
    return r[n][m]


def path(x, y):
    """The hard path, by backtracking."""
    n, m = x.shape[0], y.shape[0]
    cost = ((x[:, None] - y[None]) ** 2).sum(-1).tolist()
    acc = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    acc[0][0] = 0.0
    for i in range(n):
        for j in range(m):
            acc[i + 1][j + 1] = cost[i][j] + min(acc[i][j], acc[i][j + 1], acc[i + 1][j])
    i, j, out = n, m, []
    while i > 0 and j > 0:
        out.append((i - 1, j - 1))
        _, i, j = min((acc[i - 1][j - 1], i - 1, j - 1), (acc[i - 1][j], i - 1, j), (acc[i][j - 1], i, j - 1))
    return out[::-1]


def step(model, optimizer, anchor, positive, negative, margin=1.0):
    optimizer.zero_grad()
    a, p, n = model(anchor), model(positive), model(negative)
    loss = torch.clamp(soft_dtw(a, p) - soft_dtw(a, n) + margin, min=0)
    loss.backward()
    optimizer.step()
    return loss.item()


def epoch(model, optimizer, triples):
    start = time.perf_counter()
    total = 0.0
    for anchor, positive, negative in triples:
        total += step(model, optimizer, anchor, positive, negative)
    with torch.no_grad():
        aligned = path(model(triples[0][0]), model(triples[0][1]))
    print(f"{total / len(triples):.4f} path {len(aligned)} {time.perf_counter() - start:.2f}s")
    return total, aligned


def main(epochs):
    triples = []
    for k in range(4):
        n, m = 4 + k % 2, 5 - k % 2
        triples.append((torch.randn(n, 2), torch.randn(m, 2), torch.randn(4, 2)))
    model = Embed(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [epoch(model, optimizer, triples) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "Embed.forward", "step", "epoch"
