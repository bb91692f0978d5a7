# SPDX-License-Identifier: Apache-2.0
"""A mixture density network on an inverse sine: its loss by hand, samples drawn by component, a dict of history."""
import math

import janus as torch
import janus.nn as nn


class MDN(nn.Module):
    def __init__(self, hidden, n_gaussians):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, hidden), nn.Tanh())
        self.z_pi = nn.Linear(hidden, n_gaussians)
        self.z_sigma = nn.Linear(hidden, n_gaussians)
        self.z_mu = nn.Linear(hidden, n_gaussians)

    def forward(self, x):
        z = self.z_h(x)
        pi = nn.functional.softmax(self.z_pi(z), -1)
        return pi, torch.exp(self.z_sigma(z)), self.z_mu(z)


ONE_OVER_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


def gaussian(y, mu, sigma):
    result = (y.expand_as(mu) - mu) * torch.reciprocal(sigma)
    result = -0.5 * (result * result)
    return (torch.exp(result) * torch.reciprocal(sigma)) * ONE_OVER_SQRT_2PI


def mdn_loss(pi, sigma, mu, y):
    result = torch.sum(gaussian(y, mu, sigma) * pi, dim=1)
    return torch.mean(-torch.log(result + 1e-8))


@torch.no_grad()
def sample(model, x):
    pi, sigma, mu = model(x)
    k = torch.multinomial(pi, 1).view(-1)
    out = []
    for i, idx in enumerate(k):
        out.append(mu[i, idx] + torch.randn(1) * sigma[i, idx])
    return torch.cat(out)


def step(model, optimizer, x, y):
    pi, sigma, mu = model(x)
    loss = mdn_loss(pi, sigma, mu, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def epoch(model, optimizer, x, y, history, log):
    order = torch.randperm(len(x))
    for batch in order.split(10):
        loss = step(model, optimizer, x[batch], y[batch])
        history["loss"].append(loss.item())
    points = sample(model, x[:5])
    history.setdefault("mean", []).append(points.mean().item())
    if log:
        print(f"loss {history['loss'][-1]:.3f}; mean of the last 3 {sum(history['loss'][-3:]) / 3:.3f}")
    return points


def main(epochs):
    y = torch.rand(30, 1) * 20 - 10
    x = torch.sin(0.75 * y) * 7 + y * 0.5 + torch.randn(30, 1) * 0.5
    model = MDN(12, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    history = {"loss": []}
    last = [epoch(model, optimizer, x, y, history, e % 2 == 0) for e in range(epochs)]
    return history, last, model


MODEL, STEP, EPOCH = "MDN.forward", "step", "epoch"
