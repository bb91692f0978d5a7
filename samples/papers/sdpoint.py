# SPDX-License-Identifier: Apache-2.0
"""Stochastic downsampling (Kuen et al. 2018): at each step a point of the network and a factor are drawn, and what goes
on from there is smaller."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Block(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out)
        self.conv2, self.norm2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out)
        same = n_in == n_out and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(n_in, n_out, 1, stride, bias=False)
        self.downsampling = False
        self.ratio = 1.0

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))
        if self.downsampling:
            y = F.interpolate(y, scale_factor=self.ratio, mode="bilinear", align_corners=False)
        return y


class SDPointNet(nn.Module):
    def __init__(self, n, classes, blocks):
        super().__init__()
        self.stem = nn.Conv2d(3, n, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList([Block(n, n, 2 if i == blocks // 2 else 1) for i in range(blocks)])
        self.output = nn.Linear(n, classes)

    def draw(self, rng):
        """Where and how much; mutates the blocks."""
        for block in self.blocks:
            block.downsampling, block.ratio = False, 1.0
        at = rng.randrange(-1, len(self.blocks))
        if at >= 0:
            self.blocks[at].downsampling = True
            self.blocks[at].ratio = rng.choice([0.5, 0.75])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.output(F.adaptive_avg_pool2d(x, 1).flatten(1))


def make(small, decorate):
    rows, n, size, blocks = (4, 4, 16, 3) if small else (32, 32, 32, 6)
    net, rng = SDPointNet(n, 10, blocks), random.Random(8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    @decorate
    def step(batch):
        images, labels = batch
        net.draw(rng)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return [net], step, [(torch.randn(rows, 3, size, size), torch.randint(0, 10, (rows,))) for _ in range(4)]
