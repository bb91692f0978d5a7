# SPDX-License-Identifier: Apache-2.0
"""A pointer network that learns to sort short sequences of numbers."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Pointer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1 = nn.Linear(dim, dim, bias=False)
        self.w2 = nn.Linear(dim, dim, bias=False)
        self.v = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, memory, query, mask):
        scores = torch.tanh(self.w1(memory) + self.w2(query).unsqueeze(1)) @ self.v
        return scores.masked_fill(mask, -1e9)


class PointerNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.encoder = nn.GRU(1, dim, batch_first=True)
        self.cell = nn.GRUCell(dim, dim)
        self.pointer = Pointer(dim)
        self.first = nn.Parameter(torch.zeros(dim))

    def forward(self, xs, targets=None):
        batch, n = xs.shape
        memory, last = self.encoder(xs.unsqueeze(2))
        h = last[0]
        inputs = self.first.expand(batch, -1)
        mask = torch.zeros(batch, n, dtype=torch.bool)
        logits, picks = [], []
        for i in range(n):
            h = self.cell(inputs, h)
            scores = self.pointer(memory, h, mask)
            pick = targets[:, i] if targets is not None else scores.argmax(1)
            logits.append(scores)
            picks.append(pick)
            mask = mask | F.one_hot(pick, n).bool()
            inputs = memory[torch.arange(batch), pick]
        return torch.stack(logits, 1), torch.stack(picks, 1)


def train_step(model, optimizer, xs):
    targets = xs.argsort(1)
    logits, _ = model(xs, targets)
    loss = F.cross_entropy(logits.view(-1, logits.size(2)), targets.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, batches, epoch):
    start = time.time()
    losses = [train_step(model, optimizer, xs) for xs in batches]
    with torch.no_grad():
        _, picks = model(batches[0])
        accuracy = (picks == batches[0].argsort(1)).float().mean().item()
    print(f"[{epoch}] {sum(losses) / len(losses):.4f} acc {accuracy:.3f} {time.time() - start:.2f} s")
    return losses, picks


def main(epochs):
    batches = [torch.rand(4, n) for n in (4, 5, 4, 6)]
    model = PointerNet(8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, batches, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "PointerNet.forward", "train_step", "train_epoch"
