# SPDX-License-Identifier: Apache-2.0
"""Tasks that come one after the other: Fisher information anchors the weights, a reservoir remembers examples, a matrix of accuracies tells what was forgotten."""
import copy
import random
import time
from abc import ABC, abstractmethod

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Strategy(ABC):
    def __init__(self, model):
        self.model = model

    @abstractmethod
    def penalty(self):
        ...

    def after_task(self, x, y):
        pass

    def observe(self, x, y):
        pass


class EWC(Strategy):
    def __init__(self, model, importance):
        super().__init__(model)
        self.importance, self.means, self.fisher = importance, {}, {}

    def after_task(self, x, y):
        self.model.eval()
        precision = {n: torch.zeros_like(p) for n, p in self.model.named_parameters() if p.requires_grad}
        for xi, yi in zip(x, y):
            self.model.zero_grad()
            loss = F.nll_loss(F.log_softmax(self.model(xi.unsqueeze(0)), dim=1), yi.view(1))
            loss.backward()
            for n, p in self.model.named_parameters():
                precision[n].data += p.grad.data ** 2 / len(x)
        for n, p in self.model.named_parameters():
            self.fisher[n] = precision[n] if n not in self.fisher else self.fisher[n] + precision[n]
            self.means[n] = p.data.clone()
        self.model.zero_grad()

    def penalty(self):
        loss = 0
        for n, p in self.model.named_parameters():
            if n in self.fisher:
                loss += (self.fisher[n] * (p - self.means[n]) ** 2).sum()
        return self.importance * loss


class Replay(Strategy):
    """Reservoir sampling: each example seen so far stays with the same probability."""

    def __init__(self, model, capacity, batch=6):
        super().__init__(model)
        self.capacity, self.batch, self.seen, self.buffer = capacity, batch, 0, []

    def observe(self, x, y):
        for xi, yi in zip(x.detach().clone(), y.tolist()):
            self.seen += 1
            if len(self.buffer) < self.capacity:
                self.buffer.append((xi, yi))
            else:
                j = random.randint(0, self.seen - 1)
                if j < self.capacity:
                    self.buffer[j] = (xi, yi)

    def penalty(self):
        if not self.buffer:
            return 0.0
        xs, ys = zip(*random.choices(self.buffer, k=self.batch))
        return F.cross_entropy(self.model(torch.stack(xs)), torch.tensor(ys))


class Distill(Strategy):
    """Learning without forgetting: the answers of the model before the task."""

    def __init__(self, model, temperature=2.0):
        super().__init__(model)
        self.previous, self.temperature, self.recent = None, temperature, None

    def after_task(self, x, y):
        self.previous = copy.deepcopy(self.model).eval().requires_grad_(False)

    def observe(self, x, y):
        self.recent = x

    def penalty(self):
        if self.previous is None or self.recent is None:
            return torch.tensor(0.0)
        t = self.temperature
        student = F.log_softmax(self.model(self.recent) / t, dim=-1)
        teacher = F.softmax(self.previous(self.recent) / t, dim=-1)
        return F.kl_div(student, teacher, reduction="batchmean") * t ** 2


class MLP(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        *inner, last = self.layers
        for layer in inner:
            x = layer(x).relu()
        return last(x)


class Task:
    def __init__(self, number, n, dim, classes, centers):
        self.number, self.order = number, torch.randperm(dim)
        labels = torch.arange(n) % classes
        self.y = labels
        self.x = (centers[labels] + 0.3 * torch.randn(n, dim))[:, self.order]

    def split(self, size):
        order = torch.randperm(len(self.x))
        for part in order.split(size):
            yield self.x[part], self.y[part]


def train_step(model, strategies, optimizer, x, y):
    for s in strategies:
        s.observe(x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    extra = sum(s.penalty() for s in strategies)
    (loss + extra).backward()
    optimizer.step()
    return loss.item(), extra.item()


def evaluate(model, tasks):
    model.eval()
    with torch.no_grad():
        return [(model(t.x).argmax(1) == t.y).float().mean().item() for t in tasks]


def train_task(task, tasks, model, strategies, optimizer, matrix, passes=2, size=8):
    start, history = time.time(), []
    for _ in range(passes):
        model.train()
        for x, y in task.split(size):
            history.append(train_step(model, strategies, optimizer, x, y))
    for s in strategies:
        s.after_task(task.x[:6], task.y[:6])
    matrix.append(evaluate(model, tasks))
    seen = len(matrix)
    forgetting = sum(max(row[k] for row in matrix) - matrix[-1][k] for k in range(seen)) / seen
    loss, extra = (sum(v) / len(v) for v in zip(*history))
    accuracies = ", ".join(f"{a:.2f}" for a in matrix[-1][:seen])
    print(f"Task {task.number}: loss {loss:.4f} penalty {extra:.4f} accuracy [{accuracies}] forgetting {forgetting:.3f} ({time.time() - start:.2f} s)")
    return history


def main(epochs):
    torch.manual_seed(8)
    random.seed(8)
    centers = torch.randn(3, 8)
    tasks = [Task(k, 24, 8, 3, centers) for k in range(epochs)]
    model = MLP(8, 16, 12, 3)
    strategies = [EWC(model, importance=20.0), Replay(model, capacity=12), Distill(model)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    matrix = []
    results = [train_task(t, tasks, model, strategies, optimizer, matrix) for t in tasks]
    return results, matrix, model, [y for _, y in strategies[1].buffer]


MODEL, STEP, EPOCH = "MLP.forward", "train_step", "train_task"
