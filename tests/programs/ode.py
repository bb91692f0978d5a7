# SPDX-License-Identifier: Apache-2.0
"""A neural ODE: an adaptive solver whose steps are accepted by the value of their error, and trained through."""
import time

import janus as torch
import janus.nn as nn


class Dynamics(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y ** 3) * (1.0 + 0.1 * t)


def heun_step(f, t, y, h):
    """One step of second order and an estimate of its error."""
    k1 = f(t, y)
    k2 = f(t + h, y + h * k1)
    return y + 0.5 * h * (k1 + k2), 0.5 * h * (k2 - k1)


def odeint(f, y0, t0, t1, h=0.25, rtol=1e-2, atol=1e-3):
    t, y, accepted, rejected = t0, y0, 0, 0
    while t < t1:
        h = min(h, t1 - t)
        y_new, err = heun_step(f, t, y, h)
        scale = atol + rtol * torch.max(y.abs(), y_new.abs())
        ratio = (err / scale).pow(2).mean().sqrt().item()
        if ratio <= 1.0:
            t, y, accepted = t + h, y_new, accepted + 1
        else:
            rejected += 1
        h = h * min(3.0, max(0.3, 0.9 / (ratio + 1e-9) ** 0.5))
        if accepted + rejected > 40:
            break
    return y, accepted, rejected


def train_step(func, optimizer, y0, target):
    optimizer.zero_grad()
    pred, accepted, rejected = odeint(func, y0, 0.0, 1.0)
    loss = torch.mean(torch.abs(pred - target))
    loss.backward()
    optimizer.step()
    return loss.item(), accepted, rejected


def train_epoch(func, optimizer, data, epoch):
    end = time.time()
    rows = [train_step(func, optimizer, y0, target) for y0, target in data]
    loss, accepted, rejected = (sum(c) for c in zip(*rows))
    print("Iter {:04d} | Loss {:.5f} | steps {} + {} | evaluations {} | {:.3f} s".format(
        epoch, loss, accepted, rejected, func.nfe, time.time() - end))
    return rows


def main(epochs):
    data = [(torch.rand(3, 2) * 2 - 1, torch.rand(3, 2) * 2 - 1) for _ in range(3)]
    func = Dynamics(2, 8)
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    return [train_epoch(func, optimizer, data, e) for e in range(epochs)], func, func.nfe


MODEL, STEP, EPOCH = "heun_step", "train_step", "train_epoch"
