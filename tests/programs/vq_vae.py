# SPDX-License-Identifier: Apache-2.0
"""A VQ-VAE: the nearest code by distance, straight-through gradients, codes moved by running averages."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, codes, dim, decay=0.9):
        super().__init__()
        self.codes, self.decay = codes, decay
        self.register_buffer("embedding", torch.randn(codes, dim))
        self.register_buffer("size", torch.zeros(codes))
        self.register_buffer("total", self.embedding.clone())

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        distance = (flat ** 2).sum(1, keepdim=True) - 2 * flat @ self.embedding.t() + (self.embedding ** 2).sum(1)
        index = distance.argmin(1)
        one_hot = F.one_hot(index, self.codes).type_as(flat)
        quantized = (one_hot @ self.embedding).view_as(z)
        if self.training:
            with torch.no_grad():
                self.size.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(one_hot.t() @ flat, alpha=1 - self.decay)
                n = self.size.sum()
                size = (self.size + 1e-5) / (n + self.codes * 1e-5) * n
                self.embedding.copy_(self.total / size.unsqueeze(1))
        loss = 0.25 * F.mse_loss(quantized.detach(), z)
        quantized = z + (quantized - z).detach()
        used = one_hot.mean(0)
        perplexity = torch.exp(-torch.sum(used * torch.log(used + 1e-10)))
        return quantized, loss, perplexity


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 1))
        self.quantizer = Quantizer(6, 3)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))

    def forward(self, x):
        z = self.encoder(x).permute(0, 2, 3, 1).contiguous()
        q, loss, perplexity = self.quantizer(z)
        return self.decoder(q.permute(0, 3, 1, 2)), loss, perplexity


def train_step(model, optimizer, x, variance):
    out, vq_loss, perplexity = model(x)
    loss = F.mse_loss(out, x) / variance + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), perplexity.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    variance = torch.var(torch.cat(data)).item()
    rows = [train_step(model, optimizer, x, variance) for x in data]
    print("%d loss %.4f perplexity %.2f %.3f s" % ((epoch,) + rows[-1] + (time.time() - start,)))
    return rows


def main(epochs):
    data = [torch.rand(2, 1, 6, 6) for _ in range(3)]
    model = VQVAE()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "VQVAE.forward", "train_step", "train_epoch"
