# SPDX-License-Identifier: Apache-2.0
"""Gradient accumulation over micro-batches, a step every fourth, a schedule by a lambda."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 5)
        self.y = (self.x[:, 0] * self.x[:, 1] > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, x):
        return self.body(x)


def micro_step(model, x, y, accumulate):
    loss = F.cross_entropy(model(x), y) / accumulate
    loss.backward()
    return loss.item() * accumulate


def train_epoch(model, optimizer, scheduler, loader, accumulate, epoch):
    model.train()
    optimizer.zero_grad()
    running, updates = 0.0, 0
    for i, (x, y) in enumerate(loader):
        running += micro_step(model, x, y, accumulate)
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            updates += 1
            print(f"epoch {epoch} update {updates}: loss {running / (i + 1):.4f} lr {scheduler.get_last_lr()[0]:.5f}")
    return running


def main(epochs):
    loader = DataLoader(Points(26), batch_size=3, shuffle=True, drop_last=True)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 5) * 0.9 ** n)
    return [train_epoch(model, optimizer, scheduler, loader, 4, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Net.forward", "micro_step", "train_epoch"
