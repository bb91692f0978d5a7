# SPDX-License-Identifier: Apache-2.0
"""Warm-up by hand, then milestones and exponential decay; the groups of an optimizer have rates of their own."""
import math

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.optim import lr_scheduler


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 6), nn.Linear(4, 6)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, a, b):
        return self.scale * F.cosine_similarity(self.left(a), self.right(b), dim=1)


def warmup(optimizer, base, step, steps):
    for group, lr in zip(optimizer.param_groups, base):
        group["lr"] = lr * min(1.0, (step + 1) / steps)


def train_step(model, optimizer, a, b, y):
    loss = F.binary_cross_entropy_with_logits(model(a, b), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, schedule, base, data, epoch):
    total = 0.0
    for i, (a, b, y) in enumerate(data):
        step = epoch * len(data) + i
        if step < 5:
            warmup(optimizer, base, step, 5)
        loss = train_step(model, optimizer, a, b, y)
        if not math.isfinite(loss):
            raise RuntimeError("loss is " + str(loss))
        total += loss
    schedule.step()
    rates = ", ".join("%.2e" % g["lr"] for g in optimizer.param_groups)
    print("epoch %d: loss %.4f rates [%s]" % (epoch, total / len(data), rates))
    return total


def main(epochs):
    data = [(torch.randn(4, 4), torch.randn(4, 4), (torch.rand(4) > 0.5).float()) for _ in range(3)]
    model = TwoTowers()
    base = [0.05, 0.01, 0.1]
    optimizer = torch.optim.SGD([{"params": model.left.parameters(), "lr": base[0]},
                                 {"params": model.right.parameters(), "lr": base[1]},
                                 {"params": [model.scale], "lr": base[2], "weight_decay": 0.0}],
                                lr=0.05, momentum=0.9, weight_decay=1e-3)
    schedule = lr_scheduler.MultiStepLR(optimizer, milestones=[2, 4], gamma=0.5)
    return [train_epoch(model, optimizer, schedule, base, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "TwoTowers.forward", "train_step", "train_epoch"
