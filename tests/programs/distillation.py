# SPDX-License-Identifier: Apache-2.0
"""A student taught by a frozen teacher, with features compared through adapters and options in a dict."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

OPTIONS = {"temperature": 3.0, "alpha": 0.7, "features": 0.1}


class Net(nn.Module):
    def __init__(self, widths, classes):
        super().__init__()
        self.stages = nn.ModuleList()
        for a, b in zip(widths[:-1], widths[1:]):
            self.stages.append(nn.Sequential(nn.Linear(a, b), nn.ReLU()))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x, features=False):
        kept = []
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        logits = self.head(x)
        if features:
            return logits, kept
        return logits


def losses(student, teacher, adapters, x, y, temperature, alpha, features):
    logits, mine = student(x, features=True)
    with torch.no_grad():
        soft, theirs = teacher(x, features=True)
    out = {"hard": (1 - alpha) * F.cross_entropy(logits, y)}
    out["soft"] = alpha * temperature ** 2 * F.kl_div(F.log_softmax(logits / temperature, dim=1),
                                                      F.softmax(soft / temperature, dim=1), reduction="batchmean")
    if features:
        out["features"] = features * sum(F.mse_loss(a(m), t) for a, m, t in zip(adapters, mine, theirs))
    return out


def train_step(student, teacher, adapters, optimizer, x, y):
    parts = losses(student, teacher, adapters, x, y, **OPTIONS)
    total = sum(parts.values())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    return {k: v.item() for k, v in parts.items()}


def train_epoch(student, teacher, adapters, optimizer, data, epoch):
    start, sums = time.time(), {}
    for x, y in data:
        for k, v in train_step(student, teacher, adapters, optimizer, x, y).items():
            sums[k] = sums.get(k, 0.0) + v
    print(f"epoch {epoch} " + " ".join(f"{k}={v:.4f}" for k, v in sums.items()) + f" {time.time() - start:.3f}s")
    return sums


def main(epochs):
    data = [(torch.randn(4, 5), torch.randint(0, 3, (4,))) for _ in range(3)]
    teacher, student = Net([5, 16, 16], 3), Net([5, 4, 4], 3)
    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    adapters = nn.ModuleList([nn.Linear(4, 16, bias=False) for _ in range(2)])
    optimizer = torch.optim.SGD(list(student.parameters()) + list(adapters.parameters()), lr=0.02, momentum=0.9)
    return [train_epoch(student, teacher, adapters, optimizer, data, e) for e in range(epochs)], student


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
