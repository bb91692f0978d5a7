# SPDX-License-Identifier: Apache-2.0
"""PixelCNN: masked convolutions, gated residual blocks, a mixture over four grey levels, sampling pixel by pixel."""
import math
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class MaskedConv2d(nn.Conv2d):
    def __init__(self, kind, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_buffer("mask", torch.ones_like(self.weight))
        _, _, h, w = self.weight.shape
        self.mask[:, :, h // 2, w // 2 + (kind == "B"):] = 0
        self.mask[:, :, h // 2 + 1:] = 0

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, self.stride, self.padding)


class Gated(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv, self.out = MaskedConv2d("B", c, 2 * c, 3, padding=1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 1)
        return x + self.out(torch.tanh(a) * torch.sigmoid(b))


class PixelCNN(nn.Module):
    def __init__(self, levels=4, c=12, depth=3):
        super().__init__()
        self.levels = levels
        self.stem = MaskedConv2d("A", 1, c, 5, padding=2)
        self.blocks = nn.ModuleList([Gated(c) for _ in range(depth)])
        self.head = nn.Sequential(nn.ReLU(), nn.Conv2d(c, levels, 1))

    def forward(self, x):
        h = self.stem(x)
        skips = []
        for block in self.blocks:
            h = block(h)
            skips.append(h)
        return self.head(sum(skips))

    @torch.no_grad()
    def sample(self, n, size):
        self.eval()
        x = torch.zeros(n, 1, size, size)
        for i in range(size):
            for j in range(size):
                probs = F.softmax(self(x)[:, :, i, j], dim=1)
                x[:, 0, i, j] = torch.multinomial(probs, 1).squeeze(1).float() / (self.levels - 1)
        self.train()
        return x


def bits(loss):
    return loss / math.log(2)


def train_step(model, opt, images):
    target = (images * (model.levels - 1)).round().long().squeeze(1)
    logits = model(images)
    loss = F.cross_entropy(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return bits(loss.item())


def train_epoch(epoch, model, opt, loader):
    total, seen = 0.0, 0
    for (images,) in loader:
        total += train_step(model, opt, images) * len(images)
        seen += images.size(0)
    line = f"epoch {epoch} bits {total / seen:.4f}"
    if epoch % 3 == 2:
        drawn = model.sample(2, 5)
        line += f" drawn mean {drawn.mean().item():.3f}"
    print(line)
    return total / seen


def main(epochs):
    torch.manual_seed(5)
    images = (torch.rand(40, 1, 6, 6) * 3).round() / 3
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images), batch_size=16, shuffle=True)
    model = PixelCNN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    return [train_epoch(e, model, opt, loader) for e in range(epochs)], model


MODEL, STEP, EPOCH = "PixelCNN.forward", "train_step", "train_epoch"
