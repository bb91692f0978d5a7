# SPDX-License-Identifier: Apache-2.0
"""A Wasserstein GAN whose critic has a gradient penalty and takes several steps for one of the generator's."""
import time

import janus as torch
import janus.nn as nn
import janus.autograd as autograd


class Generator(nn.Module):
    def __init__(self, latent, dim):
        super().__init__()

        def block(i, o, normalize=True):
            layers = [nn.Linear(i, o)]
            if normalize:
                layers.append(nn.BatchNorm1d(o, 0.8))
            layers.append(nn.LeakyReLU(0.2))
            return layers

        self.model = nn.Sequential(*block(latent, 8, normalize=False), *block(8, 16), nn.Linear(16, dim), nn.Tanh())

    def forward(self, z):
        return self.model(z)


class Critic(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8), nn.LeakyReLU(0.2),
                                   nn.Linear(8, 1))

    def forward(self, x):
        return self.model(x)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = critic(interpolates)
    gradients = autograd.grad(outputs=d_interpolates, inputs=interpolates, grad_outputs=torch.ones_like(d_interpolates),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def critic_step(generator, critic, optimizer, real, latent):
    optimizer.zero_grad()
    fake = generator(torch.randn(real.size(0), latent)).detach()
    penalty = gradient_penalty(critic, real, fake)
    loss = -critic(real).mean() + critic(fake).mean() + 10 * penalty
    loss.backward()
    optimizer.step()
    return loss.item()


def generator_step(generator, critic, optimizer, n, latent):
    optimizer.zero_grad()
    loss = -critic(generator(torch.randn(n, latent))).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(generator, critic, opt_g, opt_d, batches, latent):
    t = time.time()
    for i, real in enumerate(batches):
        d_loss = critic_step(generator, critic, opt_d, real, latent)
        if i % 2 == 1:
            g_loss = generator_step(generator, critic, opt_g, real.size(0), latent)
            print(f"[D loss: {d_loss:.4f}] [G loss: {g_loss:.4f}] {time.time() - t:.2f} s")
    return d_loss, g_loss


def main(epochs):
    batches = [torch.randn(5, 6) for _ in range(4)]
    generator, critic = Generator(4, 6), Critic(6)
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.001, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=0.001, betas=(0.5, 0.9))
    out = [train_epoch(generator, critic, opt_g, opt_d, batches, 4) for _ in range(epochs)]
    return out, generator, critic


MODEL, STEP, EPOCH = "Critic.forward", "critic_step", "train_epoch"
