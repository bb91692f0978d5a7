# SPDX-License-Identifier: Apache-2.0
"""A GAN on points of a ring: labels smoothed at random, a replay buffer, a discriminator trained on both at once."""
import collections
import math
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def mlp(sizes, activation=nn.ReLU):
    layers = []
    for j in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[j], sizes[j + 1]))
        if j < len(sizes) - 2:
            layers.append(activation())
    return nn.Sequential(*layers)


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


class RingGAN(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.generator = mlp([latent, 12, 2])
        self.discriminator = mlp([2, 12, 1], lambda: nn.LeakyReLU(0.2))

    def forward(self, z):
        fake = self.generator(z)
        return fake, self.discriminator(fake)


def discriminator_step(gan, optimizer, real, old):
    optimizer.zero_grad()
    with torch.no_grad():
        fake = gan.generator(torch.randn(len(real), gan.latent))
    points = torch.cat([real, fake, old])
    targets = torch.cat([torch.ones(len(real)) * 0.9, torch.zeros(len(fake) + len(old))])
    loss = F.binary_cross_entropy_with_logits(gan.discriminator(points).squeeze(1), targets)
    loss.backward()
    optimizer.step()
    return fake, loss.item()


def generator_step(gan, optimizer, n):
    optimizer.zero_grad()
    _, score = gan(torch.randn(n, gan.latent))
    loss = F.softplus(-score).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def epoch(gan, d_opt, g_opt, buffer, number):
    history = {"d": [], "g": []}
    for _ in range(4):
        old = torch.stack(random.sample(list(buffer), 4)) if len(buffer) >= 4 else torch.zeros(0, 2)
        fake, d_loss = discriminator_step(gan, d_opt, ring(6), old)
        buffer.extend(fake.unbind(0))
        history["d"].append(d_loss)
        history["g"].append(generator_step(gan, g_opt, 6))
    print("%3d " % number + " ".join("%s=%.4f" % (k, sum(v) / len(v)) for k, v in sorted(history.items())))
    return history


def main(epochs):
    gan = RingGAN(3)
    d_opt = torch.optim.RMSprop(gan.discriminator.parameters(), lr=5e-3)
    g_opt = torch.optim.RMSprop(gan.generator.parameters(), lr=5e-3)
    buffer = collections.deque(maxlen=12)
    return [epoch(gan, d_opt, g_opt, buffer, n) for n in range(epochs)], gan, list(buffer)


MODEL, STEP, EPOCH = "RingGAN.forward", "discriminator_step", "epoch"
