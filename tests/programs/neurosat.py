# SPDX-License-Identifier: Apache-2.0
"""Messages between literals and clauses of formulas of different sizes, to tell which can be satisfied; formulas are made in pairs by a small solver."""
import itertools
import random
import janus as torch
from janus import nn
import janus.nn.functional as F


class Formula:
    def __init__(self, n, clauses):
        self.n, self.clauses = n, clauses

    @property
    def satisfiable(self):
        return any(all(any(bits[abs(l) - 1] == (l > 0) for l in c) for c in self.clauses)
                   for bits in itertools.product((False, True), repeat=self.n))

    def adjacency(self):
        a = torch.zeros(2 * self.n, len(self.clauses))
        for j, clause in enumerate(self.clauses):
            for l in clause:
                a[l - 1 if l > 0 else self.n - l - 1, j] = 1.0
        return a


def generate(rng):
    n = rng.randint(3, 5)
    f = Formula(n, [])
    while f.satisfiable:
        k = rng.choice((2, 3))
        clause = [v if rng.random() < 0.5 else -v for v in rng.sample(range(1, n + 1), k)]
        f.clauses.append(clause)
    flipped = Formula(n, f.clauses[:-1] + [[-f.clauses[-1][0]] + f.clauses[-1][1:]])
    return [(g, g.satisfiable) for g in (f, flipped)]


class MLP(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class NeuroSAT(nn.Module):
    def __init__(self, d=8, rounds=4):
        super().__init__()
        self.d, self.rounds = d, rounds
        self.l_init, self.c_init = nn.Parameter(torch.randn(1, d)), nn.Parameter(torch.randn(1, d))
        self.l_msg, self.c_msg = MLP(d, d, d), MLP(d, d, d)
        self.l_update, self.c_update = nn.LSTMCell(2 * d, d), nn.LSTMCell(d, d)
        self.vote = MLP(d, d, 1)

    def forward(self, a):
        n = a.size(0) // 2
        lits = (self.l_init.repeat(2 * n, 1), torch.zeros(2 * n, self.d))
        clauses = (self.c_init.repeat(a.size(1), 1), torch.zeros(a.size(1), self.d))
        for _ in range(self.rounds):
            clauses = self.c_update(a.t() @ self.l_msg(lits[0]), clauses)
            flipped = torch.cat([lits[0][n:], lits[0][:n]])
            lits = self.l_update(torch.cat([a @ self.c_msg(clauses[0]), flipped], 1), lits)
        return self.vote(lits[0]).mean()


def train_step(model, opt, problems):
    opt.zero_grad()
    total, right = 0.0, 0
    for formula, label in problems:
        logit = model(formula.adjacency())
        loss = F.binary_cross_entropy_with_logits(logit, torch.tensor(float(label)))
        (loss / len(problems)).backward()
        total += loss.item()
        right += (logit.item() > 0) is label
    grads = [p.grad.norm() for p in model.parameters() if p.grad is not None]
    norm = torch.stack(grads).norm()
    if norm > 0.65:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(0.65 / norm)
    opt.step()
    return total / len(problems), right


def run_epoch(model, opt, data, epoch, rng):
    rng.shuffle(data)
    losses, right = [], 0
    for i in range(0, len(data), 4):
        loss, r = train_step(model, opt, data[i:i + 4])
        losses.append(loss)
        right += r
    print("epoch", epoch, "loss", round(sum(losses) / len(losses), 4), "accuracy", right / len(data))
    return losses


def main(epochs):
    torch.manual_seed(9)
    rng = random.Random(9)
    data = [p for _ in range(6) for p in generate(rng)]
    model = NeuroSAT()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-10)
    return [run_epoch(model, opt, data, e, rng) for e in range(epochs)], [p.detach() for p in model.parameters()]


MODEL, STEP, EPOCH = "NeuroSAT.forward", "train_step", "run_epoch"
