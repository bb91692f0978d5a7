# SPDX-License-Identifier: Apache-2.0
"""Nim by negamax with alpha and beta: a net judges positions below a depth, and learns what deeper search finds there."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

HEAPS, MOST = 3, 4


def moves(heaps):
    found = []
    for i, h in enumerate(heaps):
        for take in range(1, min(h, 2) + 1):
            found.append((i, take))
    return found


def play(heaps, move):
    i, take = move
    return heaps[:i] + (heaps[i] - take,) + heaps[i + 1:]


class Value(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(MOST + 1, 4)
        self.hidden = nn.Linear(HEAPS * 4, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, heaps):
        x = self.embed(torch.tensor(list(heaps))).reshape(-1)
        return torch.tanh(self.out(F.relu(self.hidden(x))))[0]


class Search:
    def __init__(self, net):
        self.net, self.nodes, self.cuts = net, 0, 0

    def negamax(self, heaps, depth, alpha=-1.0, beta=1.0):
        self.nodes += 1
        if not any(heaps):
            return -1.0, None
        if depth == 0:
            return self.net(heaps).item(), None
        best, choice = -2.0, None
        for move in moves(heaps):
            score = -self.negamax(play(heaps, move), depth - 1, -beta, -alpha)[0]
            if score > best:
                best, choice = score, move
            alpha = max(alpha, score)
            if alpha >= beta:
                self.cuts += 1
                break
        return best, choice


def improve(net, opt, positions, depth):
    search = Search(net)
    with torch.no_grad():
        targets = [search.negamax(p, depth)[0] for p in positions]
    guesses = torch.stack([net(p) for p in positions])
    loss = F.mse_loss(guesses, torch.tensor(targets))
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), search.nodes, search.cuts


def run_epoch(epoch, net, opt, rng):
    total, nodes, cuts = 0.0, 0, 0
    for _ in range(3):
        positions = [tuple(rng.randint(0, MOST) for _ in range(HEAPS)) for _ in range(6)]
        positions = [p for p in positions if any(p)] or [(1, 0, 0)]
        loss, n, k = improve(net, opt, positions, 2)
        total, nodes, cuts = total + loss, nodes + n, cuts + k
    print(f"{epoch:2d} loss {total / 3:.4f} nodes {nodes} cuts {cuts}")
    return total


def main(epochs):
    torch.manual_seed(8)
    net, rng = Value(), random.Random(8)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    return [run_epoch(e, net, opt, rng) for e in range(epochs)]


MODEL, STEP, EPOCH = "Value.forward", "improve", "run_epoch"
