# SPDX-License-Identifier: Apache-2.0
"""A cycle GAN: two generators trained together, two discriminators fed from buffers of earlier fakes."""
import itertools
import random
import time

import janus as torch
import janus.nn as nn


class ReplayBuffer:
    def __init__(self, max_size=6):
        self.max_size = max_size
        self.data = []

    def push_and_pop(self, data):
        to_return = []
        for element in data.data:
            element = torch.unsqueeze(element, 0)
            if len(self.data) < self.max_size:
                self.data.append(element)
                to_return.append(element)
            elif random.uniform(0, 1) > 0.5:
                i = random.randint(0, self.max_size - 1)
                to_return.append(self.data[i].clone())
                self.data[i] = element
            else:
                to_return.append(element)
        return torch.cat(to_return)


class ResidualBlock(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.block = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(features, features, 3),
                                   nn.InstanceNorm2d(features), nn.ReLU(inplace=True))

    def forward(self, x):
        return x + self.block(x)


class Generator(nn.Module):
    def __init__(self, channels, features, blocks):
        super().__init__()
        model = [nn.Conv2d(channels, features, 3, padding=1), nn.InstanceNorm2d(features), nn.ReLU(inplace=True)]
        for _ in range(blocks):
            model += [ResidualBlock(features)]
        model += [nn.Conv2d(features, channels, 3, padding=1), nn.Tanh()]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x)


class Discriminator(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(channels, 4, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True),
                                   nn.Conv2d(4, 1, 3, padding=1))

    def forward(self, x):
        return self.model(x)


class CycleGAN:
    def __init__(self):
        self.g_ab, self.g_ba = Generator(2, 4, 1), Generator(2, 4, 1)
        self.d_a, self.d_b = Discriminator(2), Discriminator(2)
        self.opt_g = torch.optim.Adam(itertools.chain(self.g_ab.parameters(), self.g_ba.parameters()), lr=2e-3)
        self.opt_a = torch.optim.Adam(self.d_a.parameters(), lr=2e-3)
        self.opt_b = torch.optim.Adam(self.d_b.parameters(), lr=2e-3)
        self.buffer_a, self.buffer_b = ReplayBuffer(), ReplayBuffer()
        self.gan, self.cycle, self.identity = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()

    def step_generators(self, a, b):
        self.opt_g.zero_grad()
        identity = (self.identity(self.g_ba(a), a) + self.identity(self.g_ab(b), b)) / 2
        fake_b, fake_a = self.g_ab(a), self.g_ba(b)
        score_b, score_a = self.d_b(fake_b), self.d_a(fake_a)
        gan = (self.gan(score_b, torch.ones_like(score_b)) + self.gan(score_a, torch.ones_like(score_a))) / 2
        cycle = (self.cycle(self.g_ba(fake_b), a) + self.cycle(self.g_ab(fake_a), b)) / 2
        loss = gan + 10.0 * cycle + 5.0 * identity
        loss.backward()
        self.opt_g.step()
        return loss.item(), fake_a, fake_b

    def step_discriminator(self, d, optimizer, real, fake):
        optimizer.zero_grad()
        on_real, on_fake = d(real), d(fake.detach())
        loss = (self.gan(on_real, torch.ones_like(on_real)) + self.gan(on_fake, torch.zeros_like(on_fake))) / 2
        loss.backward()
        optimizer.step()
        return loss.item()

    def epoch(self, pairs, number):
        prev_time = time.time()
        for i, (a, b) in enumerate(pairs):
            loss_g, fake_a, fake_b = self.step_generators(a, b)
            loss_a = self.step_discriminator(self.d_a, self.opt_a, a, self.buffer_a.push_and_pop(fake_a))
            loss_b = self.step_discriminator(self.d_b, self.opt_b, b, self.buffer_b.push_and_pop(fake_b))
            print(f"[Epoch {number}] [Batch {i}] [D {loss_a + loss_b:.4f}] [G {loss_g:.4f}] "
                  f"ETA: {time.time() - prev_time:.3f} s")
            prev_time = time.time()
        return loss_g


def main(epochs):
    pairs = [(torch.rand(2, 2, 6, 6) * 2 - 1, torch.rand(2, 2, 6, 6) * 2 - 1) for _ in range(3)]
    gan = CycleGAN()
    losses = [gan.epoch(pairs, e) for e in range(epochs)]
    return losses, gan.g_ab, gan.d_a, gan.buffer_a.data[0]


MODEL, STEP, EPOCH = "Generator.forward", "CycleGAN.step_generators", "CycleGAN.epoch"
