# SPDX-License-Identifier: Apache-2.0
"""DCGAN (Radford, Metz and Chintala 2015): weights drawn by kind of layer, labels filled in place."""
import janus as torch
import janus.nn as nn


def weights_init(layer):
    name = layer.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(layer.weight, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(layer.weight, 1.0, 0.02)
        nn.init.zeros_(layer.bias)


def generator(noise, n):
    return nn.Sequential(
        nn.ConvTranspose2d(noise, 4 * n, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * n), nn.ReLU(True),
        nn.ConvTranspose2d(4 * n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.ReLU(True),
        nn.ConvTranspose2d(2 * n, 1, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(n):
    return nn.Sequential(
        nn.Conv2d(1, n, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
        nn.Conv2d(n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.LeakyReLU(0.2, True),
        nn.Conv2d(2 * n, 1, 4, 1, 0, bias=False), nn.Sigmoid())


def make(small, decorate):
    rows, noise, n = (4, 8, 4) if small else (32, 64, 32)
    net_g, net_d, criterion = generator(noise, n), discriminator(n), nn.BCELoss()
    net_g.apply(weights_init)
    net_d.apply(weights_init)
    learn_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999))
    learn_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999))
    losses = {"G": [], "D": []}

    @decorate
    def step(real):
        net_d.zero_grad()
        label = torch.full((real.size(0),), 1.0)
        loss_real = criterion(net_d(real).view(-1), label)
        loss_real.backward()
        fake = net_g(torch.randn(real.size(0), noise, 1, 1))
        label.fill_(0.0)
        loss_fake = criterion(net_d(fake.detach()).view(-1), label)
        loss_fake.backward()
        learn_d.step()
        net_g.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(net_d(fake).view(-1), label)
        loss_g.backward()
        learn_g.step()
        losses["D"].append((loss_real + loss_fake).item())
        losses["G"].append(loss_g.item())
        return loss_g.item()

    return [net_g, net_d], step, [torch.rand(rows, 1, 16, 16) * 2 - 1 for _ in range(4)]
