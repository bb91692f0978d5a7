# SPDX-License-Identifier: Apache-2.0
"""Dilated causal convolutions with gates and skips, quantised samples, generation with a window."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1):
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation)
        self.left = (kernel_size - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class Block(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.filter, self.gate = (CausalConv1d(channels, channels, 2, dilation) for _ in range(2))
        self.residual, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        z = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return x + self.residual(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self, levels, channels, dilations):
        super().__init__()
        self.levels = levels
        self.start = nn.Conv1d(levels, channels, 1)
        self.blocks = nn.ModuleList([Block(channels, d) for d in dilations])
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, levels, 1))
        self.receptive = 1 + sum(dilations)

    def forward(self, samples):
        x = self.start(F.one_hot(samples, self.levels).float().transpose(1, 2))
        skips = 0
        for block in self.blocks:
            x, skip = block(x)
            skips = skips + skip
        return self.end(skips)

    def generate(self, seed, n):
        samples = seed
        with torch.no_grad():
            for _ in range(n):
                logits = self(samples[:, -self.receptive:])[:, :, -1]
                samples = torch.cat([samples, logits.argmax(1, keepdim=True)], dim=1)
        return samples


def quantize(wave, levels):
    return ((wave.clamp(-1, 1) + 1) / 2 * (levels - 1) + 0.5).floor().long()


def train_step(model, optimizer, wave):
    samples = quantize(wave, model.levels)
    loss = F.cross_entropy(model(samples[:, :-1]), samples[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, waves, epoch):
    began = time.time()
    losses = [train_step(model, optimizer, w) for w in waves]
    sound = model.generate(quantize(waves[0][:1, :2], model.levels), 6)
    print(epoch, "%.4f" % losses[-1], sound[0].tolist(), "%.3f s" % (time.time() - began))
    return losses, sound


def main(epochs):
    t = torch.arange(12).float()
    waves = [torch.sin(t.unsqueeze(0) * (0.3 + 0.2 * torch.rand(2, 1))) for _ in range(2)]
    model = WaveNet(6, 5, [1, 2, 4])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, waves, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "WaveNet.forward", "train_step", "train_epoch"
