# SPDX-License-Identifier: Apache-2.0
"""An exponential moving average of the weights, swapped in for evaluation and back again."""
import copy
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow, self.backup = {}, {}
        for name, param in model.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data.clone()

    def update(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                assert name in self.shadow
                new_average = (1.0 - self.decay) * param.data + self.decay * self.shadow[name]
                self.shadow[name] = new_average.clone()

    def apply_shadow(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.backup[name] = param.data
                param.data = self.shadow[name]

    def restore(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                param.data = self.backup[name]
        self.backup = {}


class Regressor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


def train_step(model, ema, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.smooth_l1_loss(model(x), y)
    loss.backward()
    optimizer.step()
    ema.update()
    return loss.item()


def epoch(model, ema, optimizer, data, number):
    t0 = time.time()
    losses = [train_step(model, ema, optimizer, x, y) for x, y in data]
    ema.apply_shadow()
    with torch.no_grad():
        smooth = sum(F.smooth_l1_loss(model(x), y).item() for x, y in data)
    ema.restore()
    print(f"{number}: {sum(losses):.4f} averaged weights {smooth:.4f} {time.time() - t0:.3f} s")
    return losses, smooth


def main(epochs):
    data = []
    for _ in range(4):
        x = torch.randn(5, 2)
        data.append((x, x[:, 0] * x[:, 1]))
    model = Regressor(8)
    ema = EMA(model, 0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    out = [epoch(model, ema, optimizer, data, n) for n in range(epochs)]
    return out, copy.copy(ema.shadow), model


MODEL, STEP, EPOCH = "Regressor.forward", "train_step", "epoch"
