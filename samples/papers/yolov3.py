# SPDX-License-Identifier: Apache-2.0
"""YOLOv3 (Redmon and Farhadi 2018): two scales joined, targets written into a grid object by object."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

ANCHORS = [[(10.0, 13.0), (16.0, 30.0)], [(4.0, 5.0), (8.0, 8.0)]]


class Conv(nn.Module):
    def __init__(self, n_in, n_out, size, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False)
        self.norm = nn.BatchNorm2d(n_out)

    def forward(self, x):
        return F.leaky_relu(self.norm(self.conv(x)), 0.1)


class Residual(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.narrow, self.wide = Conv(n, n // 2, 1), Conv(n // 2, n, 3)

    def forward(self, x):
        return x + self.wide(self.narrow(x))


class YOLO(nn.Module):
    def __init__(self, n, classes):
        super().__init__()
        self.classes = classes
        self.fine = nn.Sequential(Conv(3, n, 3, 2), Residual(n), Conv(n, 2 * n, 3, 2), Residual(2 * n))
        self.coarse = nn.Sequential(Conv(2 * n, 4 * n, 3, 2), Residual(4 * n))
        self.lateral = Conv(4 * n, 2 * n, 1)
        self.heads = nn.ModuleList([nn.Conv2d(4 * n, 2 * (5 + classes), 1), nn.Conv2d(4 * n, 2 * (5 + classes), 1)])

    def forward(self, x):
        fine = self.fine(x)
        coarse = self.coarse(fine)
        up = F.interpolate(self.lateral(coarse), scale_factor=2, mode="nearest")
        outputs = []
        for head, y in zip(self.heads, [coarse, torch.cat([fine, up], dim=1)]):
            y = head(y)
            rows, _, height, width = y.shape
            outputs.append(y.view(rows, 2, 5 + self.classes, height, width).permute(0, 1, 3, 4, 2))
        return outputs


def targets_of(objects, shape, anchors, image):
    """A grid like the output: for each object the anchor most like it, in the cell of its middle."""
    target = torch.zeros(*shape)
    for row, found in enumerate(objects):
        for x, y, w, h, kind in found:
            fits = [min(w, aw) * min(h, ah) / max(w * h, aw * ah) for aw, ah in anchors]
            best = fits.index(max(fits))
            i, j = int(y / image * shape[2]), int(x / image * shape[3])
            target[row, best, i, j, 0] = x / image * shape[3] - j
            target[row, best, i, j, 1] = y / image * shape[2] - i
            target[row, best, i, j, 2] = w / anchors[best][0]
            target[row, best, i, j, 3] = h / anchors[best][1]
            target[row, best, i, j, 4] = 1.0
            target[row, best, i, j, 5 + kind] = 1.0
    return target


def loss_of(output, target):
    there = target[..., 4] > 0
    loss = F.binary_cross_entropy_with_logits(output[..., 4], target[..., 4])
    if there.any():
        out, want = output[there], target[there]
        loss = loss + F.mse_loss(torch.sigmoid(out[:, :2]), want[:, :2])
        loss = loss + F.mse_loss(out[:, 2:4], torch.log(want[:, 2:4]))
        loss = loss + F.binary_cross_entropy_with_logits(out[:, 5:], want[:, 5:])
    return loss


def make(small, decorate):
    n, rows, size, classes = (4, 2, 32, 3) if small else (16, 4, 96, 20)
    model, rng = YOLO(n, classes), random.Random(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    @decorate
    def step(batch):
        images, objects = batch
        optimizer.zero_grad()
        loss = 0.0
        for output, anchors in zip(model(images), ANCHORS):
            loss = loss + loss_of(output, targets_of(objects, output.shape, anchors, images.size(-1)))
        loss.backward()
        optimizer.step()
        return loss.item()

    def some_objects():
        return [(rng.uniform(0, size - 1), rng.uniform(0, size - 1), rng.uniform(4, 16), rng.uniform(4, 30),
                 rng.randrange(classes)) for _ in range(rng.randint(0, 3))]

    return [model], step, [(torch.rand(rows, 3, size, size), [some_objects() for _ in range(rows)]) for _ in range(4)]
