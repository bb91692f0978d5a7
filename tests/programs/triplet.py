# SPDX-License-Identifier: Apache-2.0
"""Embeddings learnt from triplets, the hardest in the batch chosen by distances and masks."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(n, 12), nn.Linear(12, dim)

    def forward(self, x):
        return F.normalize(self.fc2(F.leaky_relu(self.fc1(x), 0.1)), p=2, dim=1)


def pairwise(e):
    dot = e @ e.t()
    sq = torch.diagonal(dot)
    d = sq.unsqueeze(0) - 2.0 * dot + sq.unsqueeze(1)
    d = torch.clamp(d, min=0.0)
    zero = (d == 0).float()
    return torch.sqrt(d + zero * 1e-16) * (1.0 - zero)


def hard_triplets(d, labels, margin):
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    eye = torch.eye(labels.size(0)).bool()
    positive = (d * (same & ~eye).float()).max(1, keepdim=True)[0]
    masked = d + d.max(1, keepdim=True)[0] * same.float()
    negative = masked.min(1, keepdim=True)[0]
    losses = F.relu(positive - negative + margin)
    return losses.mean(), (losses > 1e-6).sum()


def train_step(model, optimizer, x, y):
    loss, active = hard_triplets(pairwise(model(x)), y, 0.3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), active.item()


def train_epoch(model, optimizer, data, epoch):
    began = time.time()
    total, active = 0.0, 0
    for x, y in data:
        loss, n = train_step(model, optimizer, x, y)
        total, active = total + loss, active + n
    if active == 0:
        print("nothing left to learn")
    print("epoch %d, loss %.4f, active %d, %.2f ms" % (epoch, total, active, (time.time() - began) * 1e3))
    return total, active


def main(epochs):
    centers = torch.randn(3, 5)
    data = []
    for _ in range(3):
        y = torch.randint(0, 3, (7,))
        data.append((centers[y] + 0.5 * torch.randn(7, 5), y))
    model = Embedder(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Embedder.forward", "train_step", "train_epoch"
