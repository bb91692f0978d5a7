# SPDX-License-Identifier: Apache-2.0
"""Forward-forward learning: each layer has an optimizer and a goodness of its own, labels written into the input, layers frozen by a plateau callback."""
import functools
import operator
import time
from abc import ABC, abstractmethod

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

CLASSES = ("circle", "square", "cross")
GOODNESS = {"sum": lambda h: h.pow(2).sum(1), "mean": lambda h: h.pow(2).mean(1)}


class Callback(ABC):
    @abstractmethod
    def after_epoch(self, trainer, logs):
        ...

    def before_epoch(self, trainer):
        pass


class Plateau(Callback):
    def __init__(self, patience=2, delta=1e-3):
        self.patience, self.delta, self.best, self.bad = patience, delta, {}, {}

    def after_epoch(self, trainer, logs):
        for i, layer in enumerate(trainer.net.layers):
            loss = logs[f"layer{i}"]
            if loss < self.best.get(i, float("inf")) - self.delta:
                self.best[i], self.bad[i] = loss, 0
            else:
                self.bad[i] = self.bad.get(i, 0) + 1
                if self.bad[i] >= self.patience and not layer.frozen:
                    layer.frozen = True
                    print(f"  layer {i} frozen at {loss:.4f}")


class Warmup(Callback):
    def __init__(self, epochs):
        self.epochs, self.seen = epochs, 0

    def before_epoch(self, trainer):
        self.seen += 1
        factor = min(1.0, self.seen / self.epochs)
        for layer in trainer.net.layers:
            for group in layer.optimizer.param_groups:
                group["lr"] = group.setdefault("base", group["lr"]) * factor

    def after_epoch(self, trainer, logs):
        logs["lr"] = trainer.net.layers[0].optimizer.param_groups[0]["lr"]


class FFLayer(nn.Linear):
    def __init__(self, n_in, n_out, threshold=2.0, goodness="mean"):
        super().__init__(n_in, n_out)
        self.threshold, self.frozen = threshold, False
        self.goodness = GOODNESS[goodness]
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.03)

    def forward(self, x):
        direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return F.relu(super().forward(direction))

    def learn(self, positive, negative):
        if not self.frozen:
            g_pos, g_neg = self.goodness(self(positive)), self.goodness(self(negative))
            loss = F.softplus(torch.cat([self.threshold - g_pos, g_neg - self.threshold])).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            value = loss.item()
        else:
            value = None
        with torch.no_grad():
            return self(positive), self(negative), value


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(FFLayer(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        scores = []
        for label in range(len(CLASSES)):
            h, total = overlay(x, label), []
            for layer in self.layers:
                h = layer(h)
                total.append(layer.goodness(h))
            scores.append(functools.reduce(operator.add, total))
        return torch.stack(scores, dim=1)


def overlay(x, labels):
    x = x.clone()
    x[:, :len(CLASSES)] = 0.0
    if isinstance(labels, int):
        x[:, labels] = x.max()
    else:
        x[torch.arange(len(x)), labels] = x.max()
    return x


def train_step(net, x, y):
    wrong = (y + torch.randint(1, len(CLASSES), y.shape)) % len(CLASSES)
    positive, negative = overlay(x, y), overlay(x, wrong)
    losses = []
    for layer in net.layers:
        positive, negative, loss = layer.learn(positive, negative)
        losses.append(loss)
    return losses


class Trainer:
    def __init__(self, net, callbacks):
        self.net, self.callbacks, self.history = net, callbacks, []

    def epoch(self, number, batches, test):
        start, sums = time.time(), {}
        for c in self.callbacks:
            c.before_epoch(self)
        for x, y in batches:
            for i, loss in enumerate(train_step(self.net, x, y)):
                if loss is not None:
                    sums.setdefault(f"layer{i}", []).append(loss)
        logs = {f"layer{i}": sum(v) / len(v) if (v := sums.get(f"layer{i}")) else float("inf") for i in range(len(self.net.layers))}
        for c in self.callbacks:
            c.after_epoch(self, logs)
        with torch.no_grad():
            predicted = self.net(test[0]).argmax(1)
        confusion = {}
        for a, b in zip(test[1].tolist(), predicted.tolist()):
            confusion[CLASSES[a], CLASSES[b]] = confusion.get((CLASSES[a], CLASSES[b]), 0) + 1
        right = sum(n for (a, b), n in confusion.items() if a == b)
        print(f"epoch {number} {' '.join(f'{k}={v:.4f}' for k, v in logs.items())} right {right}/{len(predicted)} worst "
              f"{max(((n, k) for k, n in confusion.items() if k[0] != k[1]), default=None)} {time.time() - start:.2f}s")
        self.history.append(logs)
        return logs, confusion


def main(epochs):
    torch.manual_seed(30)
    centers = torch.randn(3, 20)
    make = lambda n: (lambda y: (centers[y] + 0.6 * torch.randn(n, 20), y))(torch.randint(0, 3, (n,)))
    batches, test = [make(16) for _ in range(6)], make(24)
    trainer = Trainer(Net([20, 24, 16]), [Warmup(2), Plateau()])
    return [trainer.epoch(e, batches, test) for e in range(epochs)], trainer.net.state_dict()


MODEL, STEP, EPOCH = "Net.forward", "train_step", "Trainer.epoch"
