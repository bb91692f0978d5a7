# SPDX-License-Identifier: Apache-2.0
"""Model-agnostic meta-learning of sine waves: inner steps by hand, gradients of gradients outside."""
import math
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Task:
    def __init__(self, rng):
        self.amplitude, self.phase = rng.uniform(0.5, 2.0), rng.uniform(0, math.pi)

    def sample(self, n):
        x = torch.rand(n, 1) * 6 - 3
        return x, self.amplitude * torch.sin(x + self.phase)


class MetaNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(hidden, 1) * 0.5), nn.Parameter(torch.zeros(hidden))
        self.w2, self.b2 = nn.Parameter(torch.randn(1, hidden) * 0.5), nn.Parameter(torch.zeros(1))

    def forward(self, x, params=None):
        w1, b1, w2, b2 = params if params is not None else list(self.parameters())
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def adapt(model, x, y, steps, lr):
    params = list(model.parameters())
    for _ in range(steps):
        loss = F.mse_loss(model(x, params), y)
        grads = torch.autograd.grad(loss, params, create_graph=True)
        params = [p - lr * g for p, g in zip(params, grads)]
    return params


def meta_step(model, optimizer, batch, inner_steps=2, inner_lr=0.05):
    meta_loss = 0.0
    for (xs, ys), (xq, yq) in batch:
        fast = adapt(model, xs, ys, inner_steps, inner_lr)
        meta_loss = meta_loss + F.mse_loss(model(xq, fast), yq)
    meta_loss = meta_loss / len(batch)
    optimizer.zero_grad()
    meta_loss.backward()
    optimizer.step()
    return meta_loss.item()


def meta_epoch(model, optimizer, rng, number):
    losses = []
    for _ in range(3):
        tasks = [Task(rng) for _ in range(2)]
        losses.append(meta_step(model, optimizer, [(t.sample(5), t.sample(5)) for t in tasks]))
    print(f"Iteration {number}: " + ", ".join(f"{x:.3f}" for x in losses))
    return losses


def main(epochs):
    rng, model = random.Random(8), MetaNet(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return [meta_epoch(model, optimizer, rng, n) for n in range(epochs)], model


MODEL, STEP, EPOCH = "MetaNet.forward", "meta_step", "meta_epoch"
