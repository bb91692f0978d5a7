# SPDX-License-Identifier: Apache-2.0
"""A denoising diffusion model of points: noise by a schedule in a buffer, sampling step by step backwards."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class SinusoidalEmbedding(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, t):
        half = self.size // 2
        freq = torch.exp(-torch.arange(half).float() * 4.0 / half)
        args = t.float().unsqueeze(-1) * freq.unsqueeze(0)
        return torch.cat([torch.sin(args), torch.cos(args)], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.time = SinusoidalEmbedding(8)
        self.inp = nn.Linear(dim + 8, hidden)
        self.mid = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(2))
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = F.gelu(self.inp(torch.cat([x, self.time(t)], dim=1)))
        for layer in self.mid:
            h = h + F.gelu(layer(h))
        return self.out(h)


class Diffusion(nn.Module):
    def __init__(self, model, steps):
        super().__init__()
        self.model, self.steps = model, steps
        betas = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas", 1.0 - betas)
        self.register_buffer("alpha_bars", torch.cumsum(torch.log(1.0 - betas), dim=0).exp())

    def add_noise(self, x, noise, t):
        s1, s2 = self.alpha_bars[t] ** 0.5, (1 - self.alpha_bars[t]) ** 0.5
        return s1.reshape(-1, 1) * x + s2.reshape(-1, 1) * noise

    def loss(self, x):
        noise = torch.randn(x.shape)
        t = torch.randint(0, self.steps, (x.shape[0],)).long()
        return F.mse_loss(self.model(self.add_noise(x, noise, t), t), noise)

    @torch.no_grad()
    def sample(self, n, dim):
        x = torch.randn(n, dim)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i, dtype=torch.long)
            eps = self.model(x, t)
            x = (x - self.betas[i] / (1 - self.alpha_bars[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def train_step(diffusion, optimizer, x):
    loss = diffusion.loss(x)
    loss.backward()
    nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach().item()


def train_epoch(diffusion, optimizer, data, epoch):
    start = time.time()
    logs = {"loss": [], "step": []}
    for step, x in enumerate(data):
        logs["loss"].append(train_step(diffusion, optimizer, x))
        logs["step"].append(step)
    sample = diffusion.sample(3, 2)
    print(f"Epoch {epoch} loss={logs['loss'][-1]:.4f} spread={sample.std().item():.3f} {time.time() - start:.2f}s")
    return logs, sample


def main(epochs):
    data = [torch.randn(5, 2) for _ in range(3)]
    diffusion = Diffusion(Denoiser(2, 10), 6)
    optimizer = torch.optim.AdamW(diffusion.parameters(), lr=3e-3)
    return [train_epoch(diffusion, optimizer, data, e) for e in range(epochs)], diffusion


MODEL, STEP, EPOCH = "Denoiser.forward", "train_step", "train_epoch"
