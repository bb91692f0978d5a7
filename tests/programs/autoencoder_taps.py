# SPDX-License-Identifier: Apache-2.0
"""A sparse autoencoder whose activations pass a module that records them; its gradients are seen by a tensor hook."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def forward(self, x):
        self.seen[len(self.seen)] = x
        return x

    def sparsity(self):
        return sum(o.abs().mean() for o in self.seen.values())


class AutoEncoder(nn.Module):
    def __init__(self, n, hidden, recorder):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, hidden), nn.ReLU(), recorder)
        self.decoder = nn.Sequential(nn.Linear(hidden, n), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


def train_step(model, optimizer, recorder, norms, x):
    recorder.seen.clear()
    noisy = x + 0.1 * torch.randn_like(x)
    out = model(noisy)
    out.register_hook(lambda g: norms.append(g.norm().item()))
    loss = F.mse_loss(out, x) + 1e-3 * recorder.sparsity()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, recorder, data, epoch):
    start, norms = time.time(), []
    losses = [train_step(model, optimizer, recorder, norms, x) for x in data]
    print("%d %.5f gradient %.6f %.3fs" % (epoch, sum(losses), max(norms), time.time() - start))
    return losses, norms


def main(epochs):
    data = [torch.rand(4, 6) for _ in range(3)]
    recorder = Recorder()
    model = AutoEncoder(6, 9, recorder)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    out = [train_epoch(model, optimizer, recorder, data, e) for e in range(epochs)]
    return out, sorted(recorder.seen), model


MODEL, STEP, EPOCH = "AutoEncoder.forward", "train_step", "train_epoch"
