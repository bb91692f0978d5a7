# SPDX-License-Identifier: Apache-2.0
"""Capsules with routing by agreement: an inner loop without gradients and a last round with them."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def squash(s, dim=-1):
    norm = torch.norm(s, dim=dim, keepdim=True)
    return (norm ** 2 / (1 + norm ** 2)) * (s / (norm + 1e-8))


class DigitCaps(nn.Module):
    def __init__(self, in_caps, in_dim, caps, dim, routing=3):
        super().__init__()
        self.in_caps, self.caps, self.routing = in_caps, caps, routing
        self.W = nn.Parameter(0.1 * torch.randn(1, caps, in_caps, dim, in_dim))

    def forward(self, x):
        u_hat = torch.matmul(self.W, x.unsqueeze(1).unsqueeze(4)).squeeze(-1)
        temp = u_hat.detach()
        b = torch.zeros(x.size(0), self.caps, self.in_caps, 1)
        for _ in range(self.routing - 1):
            c = b.softmax(dim=1)
            v = squash((c * temp).sum(dim=2))
            b += torch.matmul(temp, v.unsqueeze(-1))
        c = b.softmax(dim=1)
        return squash((c * u_hat).sum(dim=2))


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2)
        self.digits = DigitCaps(18, 4, 3, 4)
        self.decoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU(inplace=True), nn.Linear(16, 49), nn.Sigmoid())

    def forward(self, x, y):
        out = F.relu(self.conv(x))
        primary = squash(out.view(out.size(0), 18, 4))
        out = self.digits(primary)
        logits = torch.norm(out, dim=-1)
        mask = F.one_hot(y if self.training else logits.argmax(1), 3).float()
        return logits, self.decoder((out * mask.unsqueeze(2)).view(x.size(0), -1))


def caps_loss(images, labels, logits, reconstruction):
    left = (0.9 - logits).clamp(min=0) ** 2
    right = (logits - 0.1).clamp(min=0) ** 2
    margin = (labels * left + 0.5 * (1 - labels) * right).sum()
    return (margin + 0.0005 * ((reconstruction - images.view(images.size(0), -1)) ** 2).sum()) / images.size(0)


def train_step(model, optimizer, images, y):
    logits, reconstruction = model(images, y)
    loss = caps_loss(images, torch.eye(3)[y], logits, reconstruction)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), int((logits.argmax(1) == y).sum())


def train_epoch(model, optimizer, data, epoch):
    t0, correct, total = time.time(), 0, 0.0
    for images, y in data:
        loss, right = train_step(model, optimizer, images, y)
        correct, total = correct + right, total + loss
    print("Epoch {}, loss {:.4f}, correct {} [{:.2f} s]".format(epoch, total, correct, time.time() - t0))
    return total, correct


def main(epochs):
    data = [(torch.rand(2, 1, 7, 7), torch.randint(0, 3, (2,))) for _ in range(2)]
    model = CapsNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "CapsNet.forward", "train_step", "train_epoch"
