# SPDX-License-Identifier: Apache-2.0
"""Energy-based model, sampled by Langevin steps (gradients by input), with a replay of samples and statistics."""
import random
import janus as torch
import janus.nn as nn


class Meter:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def add(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)

    @property
    def std(self):
        return (self.m2 / self.n) ** 0.5 if self.n else 0.0

    def __format__(self, spec):
        return f"{self.mean:{spec}}+-{self.std:{spec}}"


class Energy(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.f(x).squeeze(1) + 0.05 * x.pow(2).sum(1)


def langevin(model, x, steps, size, noise):
    for p in model.parameters():
        p.requires_grad = False
    x = x.clone().detach().requires_grad_(True)
    for _ in range(steps):
        e = model(x).sum()
        g, = torch.autograd.grad(e, x)
        x.data.add_(g.clamp(-1, 1), alpha=-size)
        x.data.add_(torch.randn_like(x), alpha=noise)
    for p in model.parameters():
        p.requires_grad = True
    return x.detach()


def train_step(model, opt, real, replay, rng, meter):
    start = torch.cat([replay[rng.randrange(len(replay))] if rng.random() < 0.9 else torch.randn(1, 2)
                       for _ in range(len(real))])
    fake = langevin(model, start, 5, 0.1, 0.05)
    up, down = model(real), model(fake)
    loss = up.mean() - down.mean() + 0.1 * (up ** 2 + down ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    replay.extend(fake.split(1))
    del replay[:-64]
    meter.add(loss.item())
    return loss.item()


def epoch(model, opt, data, replay, rng, number):
    meter = Meter()
    for real in data:
        train_step(model, opt, real, replay, rng, meter)
    print(f"epoch {number} {meter:.4f}")
    return meter.mean, meter.std


def main(epochs):
    torch.manual_seed(0)
    rng = random.Random(0)
    model = Energy(2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.999))
    data = [torch.randn(8, 2) * 0.3 + torch.tensor([1.0, -1.0]) for _ in range(4)]
    replay = [torch.randn(1, 2) for _ in range(16)]
    return [epoch(model, opt, data, replay, rng, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "Energy.forward", "train_step", "epoch"
