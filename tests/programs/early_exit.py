# SPDX-License-Identifier: Apache-2.0
"""Layers with exits: inference stops where a classifier is sure enough, training weighs all of them."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Exit(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        return self.fc(self.norm(x))


class EarlyExitNet(nn.Module):
    def __init__(self, dim, depth, classes, threshold):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(dim, dim), nn.ReLU()) for _ in range(depth)])
        self.exits = nn.ModuleList([Exit(dim, classes) for _ in range(depth)])
        self.threshold = threshold
        self.used = [0] * depth

    def forward(self, x):
        if self.training:
            logits = []
            for layer, leave in zip(self.layers, self.exits):
                x = x + layer(x)
                logits.append(leave(x))
            return logits
        for i, (layer, leave) in enumerate(zip(self.layers, self.exits)):
            x = x + layer(x)
            out = leave(x)
            confidence = F.softmax(out, dim=-1).max(dim=-1).values
            if confidence.min() > self.threshold:
                self.used[i] += 1
                return out
        self.used[-1] += 1
        return out


def train_step(model, optimizer, x, y):
    model.train()
    loss = sum((i + 1) * F.cross_entropy(out, y) for i, out in enumerate(model(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    total = sum(train_step(model, optimizer, x, y) for x, y in data)
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in data:
            for k in range(x.size(0)):
                right += int(model(x[k:k + 1]).argmax(-1) == y[k])
    print(f"epoch {epoch} loss {total:.4f} right {right} exits {model.used} in {time.time() - start:.2f}s")
    return total, right, list(model.used)


def main(epochs):
    data = [(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(3)]
    model = EarlyExitNet(6, 3, 3, 0.45)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "EarlyExitNet.forward", "train_step", "train_epoch"
