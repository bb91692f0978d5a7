# SPDX-License-Identifier: Apache-2.0
"""Online learning with early stopping inside an epoch: globals counted up, a best state kept, while loops."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

STEPS = 0
BEST = {"loss": float("inf"), "weight": None}


class Perceptron(nn.Module):
    seen = 0

    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, 1)

    def forward(self, x):
        Perceptron.seen += x.shape[0]
        return self.fc(x).squeeze(-1)


def hinge(score, y):
    return F.relu(1.0 - y * score).mean()


def update(model, optimizer, x, y):
    global STEPS
    STEPS += 1
    loss = hinge(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = loss.item()
    if value < BEST["loss"]:
        BEST["loss"], BEST["weight"] = value, model.fc.weight.detach().clone()
    return value


def sweep(model, optimizer, data, number):
    start, i, patience, last = time.time(), 0, 2, None
    while i < len(data):
        value = update(model, optimizer, *data[i])
        if last is not None and value > last:
            patience -= 1
            if not patience:
                print("stopped at", i)
                break
        last = value
        i += 1
    else:
        print("to the end")
    took = time.time() - start
    print(f"sweep {number}: {STEPS} steps, {Perceptron.seen} points, best {BEST['loss']:.4f}, {took:.3f}s")
    return last


def main(epochs):
    w = torch.randn(4)
    data = []
    for _ in range(5):
        x = torch.randn(6, 4)
        data.append((x, torch.sign(x @ w)))
    model = Perceptron(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [sweep(model, optimizer, data, n) for n in range(epochs)], STEPS, Perceptron.seen, BEST, model


MODEL, STEP, EPOCH = "Perceptron.forward", "update", "sweep"
