# SPDX-License-Identifier: Apache-2.0
"""Weights with distributions, sampled in every forward pass; the divergence is summed over the modules."""
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) * 0.2)
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.kl = 0.0

    def forward(self, x):
        sigma = torch.log1p(torch.exp(self.rho))
        if self.training:
            weight = self.mu + sigma * torch.randn_like(sigma)
        else:
            weight = self.mu
        self.kl = (-torch.log(sigma) + 0.5 * (sigma ** 2 + self.mu ** 2) - 0.5).sum()
        return F.linear(x, weight, self.bias)


class BayesNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesLinear(2, 8), BayesLinear(8, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))

    def divergence(self):
        return sum(m.kl for m in self.modules() if isinstance(m, BayesLinear))


def train_step(net, optimizer, x, y, beta):
    optimizer.zero_grad()
    nll = 0.5 * ((net(x) - y) ** 2).sum() / 0.1 + 0.5 * len(x) * math.log(0.1)
    loss = nll + beta * net.divergence()
    loss.backward()
    optimizer.step()
    return nll.item(), loss.item()


def train_epoch(net, optimizer, data, epoch):
    t = time.time()
    net.train()
    for i, (x, y) in enumerate(data):
        beta = 2.0 ** (len(data) - i) / (2.0 ** len(data) - 1)
        nll, loss = train_step(net, optimizer, x, y, 0.01 * beta)
    net.eval()
    with torch.no_grad():
        error = sum(F.mse_loss(net(x), y).item() for x, y in data)
    print(f"epoch {epoch} | nll {nll:.3f} | elbo {-loss:.3f} | error {error:.4f} | {time.time() - t:.3f} s")
    return error


def main(epochs):
    data = []
    for _ in range(3):
        x = torch.rand(5, 2)
        data.append((x, x.sum(1, keepdim=True).sin()))
    net = BayesNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    return [train_epoch(net, optimizer, data, e) for e in range(epochs)], net


MODEL, STEP, EPOCH = "BayesNet.forward", "train_step", "train_epoch"
