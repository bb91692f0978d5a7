# SPDX-License-Identifier: Apache-2.0
"""Adversarial training: examples made by steps of projected gradient on the input."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 12), nn.ELU(), nn.Linear(12, 3))

    def forward(self, x):
        return self.net(x)


def pgd(model, x, y, eps, alpha, steps):
    delta = torch.zeros_like(x).uniform_(-eps, eps)
    delta.requires_grad = True
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        grad = delta.grad.detach()
        delta.data = torch.clamp(delta + alpha * torch.sign(grad), -eps, eps)
        delta.grad.zero_()
    return delta.detach()


def train_step(model, optimizer, x, y):
    delta = pgd(model, x, y, 0.1, 0.04, 3)
    output = model(torch.clamp(x + delta, 0, 1))
    loss = F.cross_entropy(output, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item() * y.size(0), (output.max(1)[1] == y).sum().item()


def train_epoch(model, optimizer, data, epoch):
    start_time, train_loss, train_acc, n = time.time(), 0, 0, 0
    for x, y in data:
        loss, right = train_step(model, optimizer, x, y)
        train_loss += loss
        train_acc += right
        n += y.size(0)
    print("%d \t %.1f s \t %.4f \t %.4f" % (epoch, time.time() - start_time, train_loss / n, train_acc / n))
    return train_loss / n


def main(epochs):
    data = [(torch.rand(4, 8), torch.randint(0, 3, (4,))) for _ in range(2)]
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Classifier.forward", "train_step", "train_epoch"
