# SPDX-License-Identifier: Apache-2.0
"""pix2pix (Isola et al. 2017): a U-Net against a discriminator of patches, one image at a time."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Down(nn.Module):
    def __init__(self, n_in, n_out, norm=True):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, 4, stride=2, padding=1, bias=not norm)
        self.norm = nn.BatchNorm2d(n_out) if norm else None

    def forward(self, x):
        x = self.conv(F.leaky_relu(x, 0.2))
        return x if self.norm is None else self.norm(x)


class Up(nn.Module):
    def __init__(self, n_in, n_out, dropout):
        super().__init__()
        self.conv = nn.ConvTranspose2d(n_in, n_out, 4, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(n_out)
        self.dropout = dropout

    def forward(self, x):
        x = self.norm(self.conv(F.relu(x)))
        return F.dropout(x, 0.5) if self.dropout else x  # also when it is used: it is the noise


class UNet(nn.Module):
    def __init__(self, n, depth):
        super().__init__()
        sizes = [3] + [n * min(2 ** i, 8) for i in range(depth)]
        self.downs = nn.ModuleList([Down(sizes[i], sizes[i + 1], norm=0 < i < depth - 1) for i in range(depth)])
        self.ups = nn.ModuleList([
            Up(sizes[i + 1] * (1 if i == depth - 1 else 2), sizes[i] if i else n, dropout=i > depth - 3)
            for i in reversed(range(depth))])
        self.output = nn.Conv2d(n, 3, 3, padding=1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        x = skips.pop()
        for i, up in enumerate(self.ups):
            x = up(x if i == 0 else torch.cat([x, skips.pop()], dim=1))
        return torch.tanh(self.output(x))


def patches(n):
    return nn.Sequential(nn.Conv2d(6, n, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                         nn.Conv2d(n, 2 * n, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * n),
                         nn.LeakyReLU(0.2), nn.Conv2d(2 * n, 1, 3, padding=1))


def make(small, decorate):
    n, depth, size = (4, 3, 16) if small else (32, 5, 64)
    generator, discriminator = UNet(n, depth), patches(n)
    learn_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    learn_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def against(scores, real):
        target = torch.ones_like(scores) if real else torch.zeros_like(scores)
        return F.binary_cross_entropy_with_logits(scores, target)

    @decorate
    def step(batch):
        sketch, photo = batch
        fake = generator(sketch)
        for p in discriminator.parameters():
            p.requires_grad_(True)
        learn_d.zero_grad()
        loss_d = 0.5 * (against(discriminator(torch.cat([sketch, fake.detach()], 1)), False)
                        + against(discriminator(torch.cat([sketch, photo], 1)), True))
        loss_d.backward()
        learn_d.step()
        for p in discriminator.parameters():
            p.requires_grad_(False)
        learn_g.zero_grad()
        loss_g = against(discriminator(torch.cat([sketch, fake], 1)), True) + 100.0 * F.l1_loss(fake, photo)
        loss_g.backward()
        learn_g.step()
        return loss_g.item()

    batches = [(torch.rand(1, 3, size, size) * 2 - 1, torch.rand(1, 3, size, size) * 2 - 1) for _ in range(4)]
    return [generator, discriminator], step, batches
