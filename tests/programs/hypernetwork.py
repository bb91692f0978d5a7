# SPDX-License-Identifier: Apache-2.0
"""A hypernetwork makes the weights of small networks for tasks; inner loss by functional calls; tasks sampled, checkpoints of the best."""
import io
import random
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Task:
    def __init__(self, seed):
        r = random.Random(seed)
        self.amplitude, self.phase, self.kind = r.uniform(0.5, 2), r.uniform(0, 3), r.choice(["sin", "step", "line"])

    def sample(self, n=16):
        x = torch.rand(n, 1) * 4 - 2
        if self.kind == "sin":
            y = self.amplitude * torch.sin(x + self.phase)
        elif self.kind == "step":
            y = self.amplitude * (x > self.phase - 1.5).float()
        else:
            y = self.amplitude * x + self.phase
        return x, y


class Hyper(nn.Module):
    SHAPES = [("w1", (12, 1)), ("b1", (12,)), ("w2", (12, 12)), ("b2", (12,)), ("w3", (1, 12)), ("b3", (1,))]

    def __init__(self, n_tasks, dim=6):
        super().__init__()
        self.embedding = nn.Embedding(n_tasks, dim)
        self.trunk = nn.Sequential(nn.Linear(dim, 24), nn.Tanh())
        self.heads = nn.ModuleDict()
        for name, shape in self.SHAPES:
            n = 1
            for s in shape:
                n *= s
            self.heads[name] = nn.Linear(24, n)
            nn.init.normal_(self.heads[name].weight, std=0.1)

    def weights(self, task):
        h = self.trunk(self.embedding(torch.tensor(task)))
        return {name: self.heads[name](h).view(*shape) for name, shape in self.SHAPES}

    def forward(self, task, x):
        w = self.weights(task)
        h = F.relu(F.linear(x, w["w1"], w["b1"]))
        h = F.relu(F.linear(h, w["w2"], w["b2"])) + h
        return F.linear(h, w["w3"], w["b3"])


def train_step(model, opt, tasks, chosen):
    total, per_task = 0.0, {}
    opt.zero_grad()
    for k in chosen:
        x, y = tasks[k].sample()
        loss = F.mse_loss(model(k, x), y)
        (loss / len(chosen)).backward()
        per_task[k] = loss.item()
        total += per_task[k]
    opt.step()
    return total / len(chosen), per_task


class Checkpoint:
    def __init__(self):
        self.best, self.blob = float("inf"), None

    def __call__(self, model, value):
        if value < self.best:
            self.best = value
            self.blob = io.BytesIO()
            torch.save(model.state_dict(), self.blob)
            return True
        return False


def train_epoch(model, opt, tasks, checkpoint, epoch, steps=6):
    history, worst = [], {}
    order = list(range(len(tasks)))
    random.shuffle(order)
    for i in range(steps):
        value, per_task = train_step(model, opt, tasks, order[i % 2::3])
        history.append(value)
        worst.update(per_task)
    mean = sum(history) / len(history)
    saved = checkpoint(model, mean)
    hard = max(worst, key=worst.get)
    print("epoch %d loss %.4f%s hardest %d (%s)" % (epoch, mean, " *" if saved else "", hard, tasks[hard].kind))
    return history


def main(epochs):
    torch.manual_seed(4)
    random.seed(4)
    tasks = [Task(s) for s in range(9)]
    model = Hyper(len(tasks))
    opt = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    checkpoint = Checkpoint()
    out = [train_epoch(model, opt, tasks, checkpoint, e) for e in range(epochs)]
    checkpoint.blob.seek(0)
    model.load_state_dict(torch.load(checkpoint.blob))
    return out, checkpoint.best, model


MODEL, STEP, EPOCH = "Hyper.forward", "train_step", "train_epoch"
