# SPDX-License-Identifier: Apache-2.0
"""Attention between sets with induced points, options passed on by **kwargs, layers made by functools.partial."""
import functools
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class MAB(nn.Module):
    def __init__(self, dim, heads=1, *, norm=False):
        super().__init__()
        self.heads = heads
        self.q, self.v, self.o = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim, bias=False)
        self.norm = nn.LayerNorm(dim) if norm else None

    def forward(self, x, y):
        q, k, v = self.q(x), self.k(y), self.v(y)
        split = functools.partial(torch.chunk, chunks=self.heads, dim=-1)
        heads = [F.softmax(a @ b.transpose(-2, -1) / a.shape[-1] ** 0.5, dim=-1) @ c
                 for a, b, c in zip(split(q), split(k), split(v))]
        h = q + torch.cat(heads, dim=-1)
        h = h + F.relu(self.o(h))
        return h if self.norm is None else self.norm(h)


class ISAB(nn.Module):
    def __init__(self, dim, points, **kwargs):
        super().__init__()
        self.induced = nn.Parameter(torch.randn(1, points, dim) * 0.3)
        self.first, self.second = MAB(dim, **kwargs), MAB(dim, **kwargs)

    def forward(self, x):
        h = self.first(self.induced.repeat(x.size(0), 1, 1), x)
        return self.second(x, h)


class SetTransformer(nn.Module):
    def __init__(self, inputs, dim, **options):
        super().__init__()
        self.inp = nn.Linear(inputs, dim)
        block = functools.partial(ISAB, dim, 2, **options)
        self.encoder = nn.Sequential(block(), block())
        self.seed = nn.Parameter(torch.randn(1, 1, dim) * 0.3)
        self.pool, self.out = MAB(dim, **options), nn.Linear(dim, 1)

    def forward(self, x):
        h = self.encoder(self.inp(x))
        return self.out(self.pool(self.seed.expand(x.size(0), -1, -1), h)).reshape(-1)


def train_step(model, optimizer, x):
    target = x.max(dim=1).values.squeeze(-1)
    loss = (model(x) - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, sizes, epoch):
    start = time.time()
    losses = [train_step(model, optimizer, torch.rand(3, n, 1)) for n in sizes]
    took = time.time() - start
    print("epoch {epoch}: {loss:.4f} in {seconds:.3f} s".format(epoch=epoch, loss=sum(losses), seconds=took))
    return losses


def main(epochs):
    model = SetTransformer(1, 8, heads=2, norm=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
    return [train_epoch(model, optimizer, (3, 5, 4), e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "SetTransformer.forward", "train_step", "train_epoch"
