# SPDX-License-Identifier: Apache-2.0
"""Faster R-CNN (Ren et al. 2015): proposals go through a library in Python; how many come back differs."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

from . import boxes as library


class Detector(nn.Module):
    STRIDE, ANCHORS = 4, (6.0, 12.0)

    def __init__(self, n, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, n, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(n, n, 3, stride=2, padding=1), nn.ReLU())
        self.rpn = nn.Conv2d(n, n, 3, padding=1)
        self.objectness = nn.Conv2d(n, len(self.ANCHORS), 1)
        self.deltas = nn.Conv2d(n, 4 * len(self.ANCHORS), 1)
        self.head = nn.Linear(n * 4, 2 * n)
        self.classes, self.offsets = nn.Linear(2 * n, classes + 1), nn.Linear(2 * n, 4)

    def anchors(self, height, width):
        found = []
        for size in self.ANCHORS:
            for y in range(height):
                for x in range(width):
                    cx, cy = self.STRIDE * (x + 0.5), self.STRIDE * (y + 0.5)
                    found.append([cx - size / 2, cy - size / 2, cx + size / 2, cy + size / 2])
        return found

    def propose(self, features):
        """Scores and boxes of all anchors."""
        h = F.relu(self.rpn(features))
        scores = self.objectness(h).flatten()
        moves = self.deltas(h).view(len(self.ANCHORS), 4, -1).transpose(1, 2).reshape(-1, 4)
        anchors = torch.tensor(self.anchors(features.size(2), features.size(3)))
        return scores, anchors, anchors + moves

    def pool(self, features, box):
        """What is under a box, as 2 x 2 means."""
        height, width = features.size(2), features.size(3)
        x0, y0 = min(max(int(box[0] / self.STRIDE), 0), width - 2), min(max(int(box[1] / self.STRIDE), 0), height - 2)
        x1, y1 = max(min(int(box[2] / self.STRIDE), width), x0 + 2), max(min(int(box[3] / self.STRIDE), height), y0 + 2)
        return F.adaptive_avg_pool2d(features[:, :, y0:y1, x0:x1], 2).flatten(1)

    def forward(self, image, objects):
        features = self.body(image)
        scores, anchors, proposals = self.propose(features)
        found = library.assign(anchors.tolist(), objects)
        wanted = torch.tensor([1.0 if label else 0.0 for label, _ in found])
        loss = F.binary_cross_entropy_with_logits(scores, wanted)
        boxes = proposals.detach().tolist()
        kept = library.suppress(boxes, scores.detach().tolist(), 0.5, 8)
        kept = [boxes[i] for i in kept] + [box for box, _ in objects]
        pooled = torch.cat([self.pool(features, box) for box in kept])
        h = F.relu(self.head(pooled))
        targets = library.assign(kept, objects)
        labels = torch.tensor([label for label, _ in targets])
        loss = loss + F.cross_entropy(self.classes(h), labels)
        inside = [i for i, (label, _) in enumerate(targets) if label]
        if inside:
            moves = torch.tensor([[a - b for a, b in zip(targets[i][1], kept[i])] for i in inside])
            loss = loss + 0.1 * F.smooth_l1_loss(self.offsets(h)[inside], moves)
        return loss


def make(small, decorate):
    n, size = (4, 16) if small else (32, 64)
    model, rng = Detector(n, 3), random.Random(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)

    @decorate
    def step(batch):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    batches = []
    for count in (1, 2, 1, 3):
        corners = [(rng.uniform(0, size / 2), rng.uniform(0, size / 2)) for _ in range(count)]
        objects = [([x, y, x + size / 3, y + size / 3], rng.randint(1, 3)) for x, y in corners]
        batches.append((torch.rand(1, 3, size, size), objects))
    return [model], step, batches
