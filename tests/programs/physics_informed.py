# SPDX-License-Identifier: Apache-2.0
"""A network that solves y'' = -y: derivatives with respect to its input inside the loss."""
import math
import time

import janus as torch
import janus.nn as nn


class PINN(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(1, width), nn.Linear(width, width)])
        self.out = nn.Linear(width, 1)

    def forward(self, t):
        for layer in self.hidden:
            t = torch.tanh(layer(t))
        return self.out(t)


def derivative(y, t):
    return torch.autograd.grad(y.sum(), t, create_graph=True)[0]


def residual(model, t):
    t = t.requires_grad_(True)
    y = model(t)
    dy = derivative(y, t)
    return derivative(dy, t) + y


def train_step(model, optimizer, t):
    optimizer.zero_grad()
    physics = residual(model, t).pow(2).mean()
    zero = torch.zeros(1, 1, requires_grad=True)
    y0 = model(zero)
    boundary = (y0 - 1.0).pow(2).sum() + derivative(y0, zero).pow(2).sum()
    loss = physics + 5.0 * boundary
    loss.backward()
    optimizer.step()
    return loss.item(), physics.item()


def train_epoch(model, optimizer, epoch):
    start = time.time()
    for _ in range(3):
        loss, physics = train_step(model, optimizer, torch.rand(6, 1) * math.pi)
    with torch.no_grad():
        error = abs(model(torch.tensor([[1.0]])).item() - math.cos(1.0))
    print(f"{epoch:3d} loss {loss:.4f} physics {physics:.4f} error {error:.3f} ({time.time() - start:.3f} s)")
    return loss, physics


def main(epochs):
    model = PINN(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return [train_epoch(model, optimizer, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "PINN.forward", "train_step", "train_epoch"
