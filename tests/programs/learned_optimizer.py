# SPDX-License-Identifier: Apache-2.0
"""An optimizer that is learnt: an LSTM proposes the steps of small problems, unrolled for some steps, its own weights trained through them."""
import copy
import time
import janus as torch
import janus.nn as nn


class Quadratic:
    def __init__(self, n=4):
        self.w, self.y = torch.randn(n, n), torch.randn(n)

    def loss(self, theta):
        return torch.sum((self.w.matmul(theta) - self.y) ** 2)


class Learned(nn.Module):
    def __init__(self, hidden=8, factor=10.0):
        super().__init__()
        self.hidden, self.factor = hidden, factor
        self.cells = nn.ModuleList([nn.LSTMCell(2, hidden), nn.LSTMCell(hidden, hidden)])
        self.out = nn.Linear(hidden, 1)

    def preprocess(self, g):
        g = g.data
        big = g.abs() >= torch.exp(torch.tensor(-self.factor))
        a = torch.where(big, torch.log(g.abs() + 1e-8) / self.factor, torch.full_like(g, -1.0))
        b = torch.where(big, torch.sign(g), g * torch.exp(torch.tensor(self.factor)))
        return torch.stack([a, b], dim=1)

    def forward(self, grad, states):
        x, new = self.preprocess(grad), []
        for cell, s in zip(self.cells, states):
            h, c = cell(x, s)
            new.append((h, c))
            x = h
        return self.out(x).squeeze(1) * 0.1, new

    def start(self, n):
        return [(torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)) for _ in self.cells]


def unrolled(learned, meta, problem, steps=12, every=4):
    theta = torch.randn(problem.y.size(0), requires_grad=True)
    states, total, seen = learned.start(theta.size(0)), None, []
    for t in range(1, steps + 1):
        loss = problem.loss(theta)
        total = loss if total is None else total + loss
        seen.append(loss.item())
        loss.backward(retain_graph=True)
        update, states = learned(theta.grad.detach(), states)
        theta.retain_grad()
        theta = theta + update
        theta.retain_grad()
        if t % every == 0:
            meta.zero_grad()
            total.backward()
            meta.step()
            total = None
            theta = theta.detach().requires_grad_()
            states = [tuple(s.detach() for s in pair) for pair in states]
    return seen


def run_epoch(epoch, learned, meta, best):
    t0, final = time.time(), []
    for _ in range(3):
        seen = unrolled(learned, meta, Quadratic())
        final.append(seen[-1] / seen[0])
    score = sum(final) / len(final)
    if best is None or score < best[0]:
        best = (score, copy.deepcopy(learned.state_dict()))
    print(f"epoch {epoch}: ratio {score:.4f}, best {best[0]:.4f}, {time.time() - t0:.1f}s")
    return best


def main(epochs):
    torch.manual_seed(21)
    learned, best = Learned(), None
    meta = torch.optim.Adam(learned.parameters(), lr=1e-3)
    for e in range(epochs):
        best = run_epoch(e, learned, meta, best)
    return best


MODEL, STEP, EPOCH = "Learned.forward", "unrolled", "run_epoch"
