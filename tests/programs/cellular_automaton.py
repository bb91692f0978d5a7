# SPDX-License-Identifier: Apache-2.0
"""Neural cellular automaton: stochastic updates, alive masks, a pool of samples."""
import random
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class CA(nn.Module):
    def __init__(self, ch, hidden):
        super().__init__()
        self.ch = ch
        ident = torch.zeros(3, 3); ident[1, 1] = 1
        dx = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
        self.register_buffer("kernel", torch.stack([ident, dx, dx.t()]).repeat(ch, 1, 1).unsqueeze(1))
        self.a, self.b = nn.Conv2d(3 * ch, hidden, 1), nn.Conv2d(hidden, ch, 1, bias=False)
        with torch.no_grad():
            self.b.weight.zero_()

    def alive(self, x):
        return F.max_pool2d(x[:, 3:4], 3, stride=1, padding=1) > 0.1

    def update(self, x, rate=0.5):
        before = self.alive(x)
        y = F.conv2d(x, self.kernel, padding=1, groups=self.ch)
        dx = self.b(F.relu(self.a(y)))
        mask = (torch.rand(x.size(0), 1, x.size(2), x.size(3)) <= rate).float()
        x = x + dx * mask
        return x * (before & self.alive(x)).float()

    def forward(self, x, steps):
        for _ in range(steps):
            x = self.update(x)
        return x


def seed(n, ch, size):
    x = torch.zeros(n, ch, size, size)
    x[:, 3:, size // 2, size // 2] = 1.0
    return x


def train_step(ca, opt, pool, target, rng):
    ids = rng.sample(range(len(pool)), 2)
    x = torch.stack([pool[i] for i in ids])
    loss_rank = ((x[:, :4] - target) ** 2).mean((1, 2, 3)).argsort(descending=True)
    x = x[loss_rank]
    x[:1] = seed(1, ca.ch, x.size(2))
    y = ca(x, rng.randint(3, 6))
    loss = F.mse_loss(y[:, :4], target.expand(2, -1, -1, -1))
    opt.zero_grad()
    loss.backward()
    for p in ca.parameters():
        if p.grad is not None:
            p.grad.div_(p.grad.norm() + 1e-8)
    opt.step()
    for i, z in zip(ids, y.detach()):
        pool[i] = z
    return loss.item()


def train_epoch(ca, opt, pool, target, rng, e):
    losses = [train_step(ca, opt, pool, target, rng) for _ in range(4)]
    print(f"{e}: {min(losses):.5f} {max(losses):.5f}")
    return losses


def main(epochs):
    torch.manual_seed(1)
    rng = random.Random(1)
    ca = CA(6, 16)
    opt = torch.optim.Adam(ca.parameters(), lr=2e-3)
    target = torch.rand(1, 4, 8, 8)
    pool = list(seed(6, 6, 8))
    return [train_epoch(ca, opt, pool, target, rng, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "CA.forward", "train_step", "train_epoch"
