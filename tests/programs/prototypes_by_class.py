# SPDX-License-Identifier: Apache-2.0
"""Few-shot classes: embeddings of a support set grouped by label in a defaultdict(list), queries told by the nearest mean."""
import random
from collections import defaultdict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, features=6, hidden=24, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.log_scale = nn.Parameter(torch.zeros(()))

    def prototypes(self, support):
        groups = defaultdict(list)
        for x, label in support:
            groups[label].append(self.net(x))
        return {label: torch.stack(rows).mean(0) for label, rows in groups.items()}

    def forward(self, support, queries):
        means = self.prototypes(support)
        labels = sorted(means)
        centres = torch.stack([means[label] for label in labels])
        distances = ((self.net(queries).unsqueeze(1) - centres.unsqueeze(0)) ** 2).sum(-1)
        return -distances * self.log_scale.exp()


def episode(centres, ways=3, shots=2, queries=4):
    chosen = random.sample(range(len(centres)), ways)
    support, xs, ys = [], [], []
    for label, which in enumerate(chosen):
        for _ in range(shots):
            support.append((centres[which] + 0.4 * torch.randn(centres.shape[1]), label))
        for _ in range(queries):
            xs.append(centres[which] + 0.4 * torch.randn(centres.shape[1]))
            ys.append(label)
    random.shuffle(support)
    return support, torch.stack(xs), torch.tensor(ys)


def train_step(model, opt, task, history):
    support, queries, labels = task
    logits = model(support, queries)
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history["loss"].append(loss.item())
    history["right"].append((logits.argmax(1) == labels).sum().item())
    return loss


def run_epoch(epoch, model, opt, tasks):
    history = defaultdict(list)
    for task in tasks:
        train_step(model, opt, task, history)
    summary = {name: sum(values) / len(values) for name, values in history.items()}
    print(f"epoch {epoch:02d}: " + ", ".join(f"{name} {value:.3f}" for name, value in summary.items()))
    return summary


def main(epochs):
    torch.manual_seed(5)
    random.seed(5)
    centres = torch.randn(6, 6)
    tasks = [episode(centres) for _ in range(8)]
    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return [run_epoch(e, model, opt, tasks) for e in range(epochs)]


MODEL, STEP, EPOCH = "Encoder.forward", "train_step", "run_epoch"
