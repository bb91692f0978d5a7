# SPDX-License-Identifier: Apache-2.0
"""DropBlock (Ghiasi, Lin and Le 2018): squares of activations are dropped; how many, a schedule on the module says."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class DropBlock(nn.Module):
    def __init__(self, block, most, steps):
        super().__init__()
        self.block, self.p, self.i = block, 0.0, 0
        self.values = [most * k / (steps - 1) for k in range(steps)]

    def advance(self):
        if self.i < len(self.values):
            self.p = self.values[self.i]
        self.i += 1

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        gamma = self.p / self.block ** 2
        mask = (torch.rand(x.shape[0], *x.shape[2:]) < gamma).float()
        dropped = F.max_pool2d(mask[:, None], self.block, stride=1, padding=self.block // 2)
        keep = 1 - dropped.squeeze(1)
        return x * keep[:, None] * (keep.numel() / keep.sum())


class Block(nn.Module):
    def __init__(self, n_in, n_out, drop):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out)
        self.conv2, self.norm2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out)
        self.skip, self.drop = nn.Conv2d(n_in, n_out, 1, bias=False), drop

    def forward(self, x):
        y = self.drop(F.relu(self.norm1(self.conv1(x))))
        y = self.drop(self.norm2(self.conv2(y)))
        return F.max_pool2d(F.relu(y + self.drop(self.skip(x))), 2)


class Net(nn.Module):
    def __init__(self, n, classes, steps):
        super().__init__()
        self.drop = DropBlock(3, 0.25, steps)
        self.blocks = nn.Sequential(Block(3, n, self.drop), Block(n, 2 * n, self.drop))
        self.output = nn.Linear(2 * n, classes)

    def forward(self, x):
        return self.output(self.blocks(x).mean(dim=(2, 3)))


def make(small, decorate):
    rows, n, size, steps = (4, 4, 12, 5) if small else (32, 32, 32, 50)
    net = Net(n, 10, steps)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    @decorate
    def step(batch):
        images, labels = batch
        net.drop.advance()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return [net], step, [(torch.randn(rows, 3, size, size), torch.randint(0, 10, (rows,))) for _ in range(4)]
