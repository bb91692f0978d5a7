# SPDX-License-Identifier: Apache-2.0
"""Forecasting a chaotic series: a reservoir that is not trained, leaky units, a readout by gradient descent with teacher forcing and free runs."""
import math
from dataclasses import dataclass, field
from itertools import islice

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Config:
    units: int = 24
    leak: float = 0.6
    radius: float = 0.9
    density: float = 0.3
    washout: int = 5
    horizon: int = 6
    history: list = field(default_factory=list)


def mackey_glass(tau=5, x0=1.2):
    """A generator of the series, a point after the other."""
    past = [x0] * (tau + 1)
    while True:
        x, delayed = past[-1], past[0]
        past = past[1:] + [x + 0.2 * delayed / (1 + delayed ** 10) - 0.1 * x]
        yield past[-1]


class Reservoir(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        w = torch.rand(config.units, config.units) - 0.5
        w = torch.where(torch.rand(config.units, config.units) < config.density, w, torch.zeros(()))
        self.register_buffer("w", w * (config.radius / self.spectral_radius(w)))
        self.register_buffer("w_in", torch.rand(config.units, 1) - 0.5)

    @staticmethod
    def spectral_radius(w, rounds=20):
        v = torch.ones(w.shape[0])
        for _ in range(rounds):
            v = w @ v
            size = v.norm()
            v = v / size
        return max(size.item(), 1e-3)

    def forward(self, u, h):
        pre = F.linear(u, self.w_in) + F.linear(h, self.w)
        return (1 - self.config.leak) * h + self.config.leak * torch.tanh(pre)


class EchoState(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.reservoir = config, Reservoir(config)
        self.readout = nn.Linear(config.units + 1, 1)

    def start(self, batch):
        return torch.zeros(batch, self.config.units)

    def predict(self, u, h):
        return self.readout(torch.cat([u, h], dim=1))

    def forward(self, series, free=0):
        """Predictions behind the washout; `free`: so many steps on what it said itself."""
        h, outs, u = self.start(series.size(0)), [], None
        for t in range(series.size(1)):
            u = series[:, t:t + 1]
            h = self.reservoir(u, h)
            if t >= self.config.washout:
                outs.append(self.predict(u, h))
        for _ in range(free):
            u = outs[-1]
            h = self.reservoir(u, h)
            outs.append(self.predict(u, h))
        return torch.cat(outs, dim=1)


class Scaler:
    def __init__(self, values):
        self.mean = sum(values) / len(values)
        self.std = math.sqrt(sum((v - self.mean) ** 2 for v in values) / len(values))

    def __call__(self, values):
        return [(v - self.mean) / self.std for v in values]


def windows(values, length, stride):
    return torch.tensor([values[i:i + length] for i in range(0, len(values) - length, stride)])


def train_step(model, optimizer, batch, ridge=1e-4):
    optimizer.zero_grad()
    said = model(batch[:, :-1])
    wanted = batch[:, 1 + model.config.washout:]
    loss = F.mse_loss(said, wanted) + ridge * sum(p.pow(2).sum() for p in model.readout.parameters())
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def free_run(model, batch):
    """The normalised error of each step of a forecast, and how far it can be trusted."""
    horizon = model.config.horizon
    known, future = batch[:, :-horizon], batch[:, -horizon:]
    said = model(known, free=horizon - 1)[:, -horizon:]
    errors = ((said - future) ** 2).mean(0).sqrt()
    trusted = 0
    for e in errors:
        if e > 0.4:
            break
        trusted += 1
    return errors, trusted


def run_epoch(number, model, optimizer, scheduler, train, test):
    order = torch.randperm(train.size(0))
    losses = [train_step(model, optimizer, train[index]) for index in order.split(4)]
    scheduler.step()
    errors, trusted = free_run(model, test)
    record = {"epoch": number, "loss": sum(losses) / len(losses), "error": errors.mean().item(), "trusted": trusted}
    model.config.history.append(record)
    print("epoch {epoch:2d}: loss {loss:.4f}, error {error:.3f} over the forecast, {trusted} steps to be trusted".format(**record))
    return errors


def main(epochs):
    torch.manual_seed(2)
    values = list(islice(mackey_glass(), 20, 200))
    scaled = Scaler(values[:120])(values)
    train, test = windows(scaled[:130], 20, 7), windows(scaled[120:], 22, 9)
    model = EchoState(Config())
    optimizer = torch.optim.Adam(model.readout.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    errors = [run_epoch(i, model, optimizer, scheduler, train, test) for i in range(epochs)]
    return errors, model.config.history, model


MODEL, STEP, EPOCH = "EchoState.forward", "train_step", "run_epoch"
