# SPDX-License-Identifier: Apache-2.0
"""Value iteration and a policy over a grid, with walls in a set and rewards in a dictionary."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

WALLS = {(1, 1), (2, 1)}
REWARDS = {(3, 2): 1.0, (3, 1): -1.0}
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


class Grid:
    def __init__(self, width, height):
        self.cells = [(x, y) for x in range(width) for y in range(height) if (x, y) not in WALLS]
        self.index = {c: i for i, c in enumerate(self.cells)}
        n = len(self.cells)
        self.P = torch.zeros(len(MOVES), n, n)
        for a, (dx, dy) in enumerate(MOVES):
            for i, (x, y) in enumerate(self.cells):
                j = self.index.get((x + dx, y + dy), i)
                self.P[a, i, j] += 0.8
                self.P[a, i, i] += 0.2
        self.R = torch.tensor([REWARDS.get(c, -0.04) for c in self.cells])

    def show(self, policy):
        return " ".join(">^<v"[[1, 0, 3, 2].index(a)] for a in policy)


def value_iteration(grid, values, gamma, tolerance, most):
    for sweep in range(most):
        q = grid.R + gamma * torch.matmul(grid.P, values)
        new, policy = q.max(dim=0)
        delta = (new - values).abs().max().item()
        values = new
        if delta < tolerance:
            return values, policy, sweep + 1
    return values, policy, most


def imitate(net, optimizer, grid, policy):
    n = len(grid.cells)
    logits = net(torch.eye(n))
    loss = F.cross_entropy(logits, policy)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def run(grid, net, optimizer, values, gamma):
    start = time.time()
    values, policy, sweeps = value_iteration(grid, values, gamma, 1e-4, 8)
    losses = [imitate(net, optimizer, grid, policy) for _ in range(2)]
    print("sweeps %d %s loss %.4f %.3fs" % (sweeps, grid.show(policy.tolist()), losses[-1], time.time() - start))
    return values, losses


def main(epochs):
    grid = Grid(4, 3)
    net = nn.Sequential(nn.Linear(len(grid.cells), 8), nn.Tanh(), nn.Linear(8, len(MOVES)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    values, out = torch.zeros(len(grid.cells)), []
    for _ in range(epochs):
        values, losses = run(grid, net, optimizer, values, 0.9)
        out.append(losses)
    return values, out, net


MODEL, STEP, EPOCH = "value_iteration", "imitate", "run"
