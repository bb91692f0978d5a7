# SPDX-License-Identifier: Apache-2.0
"""RealNVP: coupling layers with alternating masks, log determinants added up, inverted for sampling."""
import math
import time

import janus as torch
import janus.nn as nn


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip, self.half = flip, dim // 2
        self.s = nn.Sequential(nn.Linear(self.half, hidden), nn.Tanh(), nn.Linear(hidden, self.half), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, self.half))

    def parts(self, x):
        a, b = x.chunk(2, dim=1)
        return (b, a) if self.flip else (a, b)

    def join(self, a, b):
        return torch.cat((b, a) if self.flip else (a, b), dim=1)

    def forward(self, x):
        a, b = self.parts(x)
        s = self.s(a)
        return self.join(a, b * torch.exp(s) + self.t(a)), s.sum(dim=1)

    def inverse(self, y):
        a, b = self.parts(y)
        return self.join(a, (b - self.t(a)) * torch.exp(-self.s(a)))


class Flow(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        self.dim = dim
        self.layers = nn.ModuleList([Coupling(dim, hidden, i % 2 == 1) for i in range(depth)])

    def forward(self, x):
        log_det = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, d = layer(x)
            log_det += d
        return x, log_det

    def log_prob(self, x):
        z, log_det = self(x)
        return -0.5 * (z ** 2).sum(1) - 0.5 * self.dim * math.log(2 * math.pi) + log_det

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, self.dim)
        for layer in reversed(self.layers):
            x = layer.inverse(x)
        return x


def train_step(flow, optimizer, x):
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(flow, optimizer, data, epoch):
    start = time.time()
    loss = [train_step(flow, optimizer, x) for x in data][-1]
    sample = flow.sample(5)
    mean, std = sample.mean(0), sample.std(0)
    print("epoch %d loss %.4f mean %s std %s %.3f s" % (
        epoch, loss, ["%.2f" % v for v in mean.tolist()], ["%.2f" % v for v in std.tolist()], time.time() - start))
    return loss, sample


def main(epochs):
    data = [torch.randn(6, 4) * 0.5 + torch.tensor([1.0, -1.0, 0.0, 2.0]) for _ in range(3)]
    flow = Flow(4, 8, 4)
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    return [train_epoch(flow, optimizer, data, e) for e in range(epochs)], flow


MODEL, STEP, EPOCH = "Flow.forward", "train_step", "train_epoch"
