# SPDX-License-Identifier: Apache-2.0
"""A sparse mixture of experts: tokens routed to their two best, a loss that balances the load."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class MoE(nn.Module):
    def __init__(self, dim, hidden, experts, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(experts)])

    def forward(self, x):
        probs = F.softmax(self.gate(x), dim=-1)
        weights, chosen = probs.topk(self.k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        load = []
        for e, expert in enumerate(self.experts):
            token, slot = (chosen == e).nonzero(as_tuple=True)
            load.append(token.numel())
            if token.numel() == 0:
                continue
            out = out.index_add(0, token, expert(x[token]) * weights[token, slot].unsqueeze(1))
        fraction = torch.tensor(load, dtype=torch.float32) / (x.size(0) * self.k)
        balance = len(self.experts) * (fraction * probs.mean(0)).sum()
        return out, balance, load


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.out = nn.Linear(4, 8), MoE(8, 12, 4), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        mixed, balance, load = self.moe(h)
        return self.out(h + mixed), balance, load


def train_step(model, optimizer, x, y):
    logits, balance, load = model(x)
    loss = F.cross_entropy(logits, y) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), load


def train_epoch(model, optimizer, data, epoch):
    began, totals = time.time(), [0] * 4
    for x, y in data:
        loss, load = train_step(model, optimizer, x, y)
        totals = [a + b for a, b in zip(totals, load)]
    print("epoch", epoch, "loss %.4f" % loss, "load", totals, "%.3f s" % (time.time() - began))
    return loss, totals


def main(epochs):
    data = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(3)]
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "MoE.forward", "train_step", "train_epoch"
