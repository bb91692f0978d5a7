# SPDX-License-Identifier: Apache-2.0
"""Adversarial nets (Goodfellow et al. 2014): two perceptrons, the discriminator learns k times as often."""
import janus as torch
import janus.nn as nn


class Generator(nn.Module):
    def __init__(self, noise, size, pixels):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, size), nn.ReLU(), nn.Linear(size, pixels), nn.Sigmoid())

    def forward(self, rows):
        return self.net(torch.randn(rows, self.noise))


class Discriminator(nn.Module):
    def __init__(self, size, pixels):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(pixels, size), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(size, 1))

    def forward(self, x):
        return self.net(x)


def make(small, decorate, k=2):
    rows, noise, size, pixels = (4, 8, 16, 36) if small else (128, 100, 256, 784)
    generator, discriminator = Generator(noise, size, pixels), Discriminator(size, pixels)
    criterion = nn.BCEWithLogitsLoss()
    learn_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    learn_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    @decorate
    def step(real):
        for _ in range(k):
            learn_d.zero_grad()
            fake = generator(real.size(0)).detach()
            loss_d = criterion(discriminator(real), torch.ones(real.size(0), 1)) \
                + criterion(discriminator(fake), torch.zeros(real.size(0), 1))
            loss_d.backward()
            learn_d.step()
        learn_g.zero_grad()
        loss_g = criterion(discriminator(generator(real.size(0))), torch.ones(real.size(0), 1))
        loss_g.backward()
        learn_g.step()
        return loss_d.item() + loss_g.item()

    return [generator, discriminator], step, [torch.rand(rows, pixels) for _ in range(4)]
