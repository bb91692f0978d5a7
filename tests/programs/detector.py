# SPDX-License-Identifier: Apache-2.0
"""A one-stage detector: anchors on a grid, targets assigned by overlap, focal and box losses, boxes decoded and thinned out by overlap."""
import itertools
import time
from collections import OrderedDict
import numpy as np
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(OrderedDict([("conv", nn.Conv2d(cin, cout, 3, stride, 1, bias=False)), ("bn", nn.BatchNorm2d(cout)),
                                      ("act", nn.LeakyReLU(0.1, inplace=True))]))


class Detector(nn.Module):
    sizes = (4.0, 8.0)

    def __init__(self, classes=2, width=8):
        super().__init__()
        self.classes = classes
        self.stem = conv_bn(1, width)
        self.down = nn.ModuleList([conv_bn(width, width, 2), conv_bn(width, 2 * width, 2)])
        self.lateral = nn.ModuleList([nn.Conv2d(width, width, 1), nn.Conv2d(2 * width, width, 1)])
        self.cls_head = nn.Conv2d(width, len(self.sizes) * classes, 3, padding=1)
        self.box_head = nn.Conv2d(width, len(self.sizes) * 4, 3, padding=1)
        nn.init.constant_(self.cls_head.bias, -2.0)

    def forward(self, x):
        x, maps = self.stem(x), []
        for down in self.down:
            x = down(x)
            maps.append(x)
        top = self.lateral[1](maps[1])
        mid = self.lateral[0](maps[0]) + F.interpolate(top, scale_factor=2, mode="nearest")
        logits, boxes = [], []
        for level in (mid, top):
            n, _, h, w = level.shape
            logits.append(self.cls_head(level).permute(0, 2, 3, 1).reshape(n, -1, self.classes))
            boxes.append(self.box_head(level).permute(0, 2, 3, 1).reshape(n, -1, 4))
        return torch.cat(logits, 1), torch.cat(boxes, 1)


def make_anchors(image, strides=(2, 4)):
    rows = []
    for stride in strides:
        for y, x in itertools.product(range(image // stride), repeat=2):
            for s in Detector.sizes:
                rows.append([(x + 0.5) * stride, (y + 0.5) * stride, s, s])
    return torch.tensor(rows)


def corners(b):
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-9)


def assign(anchors, boxes, labels, hi=0.45, lo=0.3):
    overlap = iou(corners(anchors), corners(boxes))
    best, which = overlap.max(1)
    target = torch.full((anchors.size(0),), -1, dtype=torch.long)
    target[best < lo] = 0
    target[best >= hi] = labels[which[best >= hi]] + 1
    forced = overlap.argmax(0)
    target[forced] = labels + 1
    which[forced] = torch.arange(len(labels))
    matched = boxes[which]
    deltas = torch.cat([(matched[:, :2] - anchors[:, :2]) / anchors[:, 2:], (matched[:, 2:] / anchors[:, 2:]).log()], 1)
    return target, deltas


def focal(logits, target, classes, alpha=0.25, gamma=2.0):
    onehot = F.one_hot(target.clamp(min=0), classes + 1)[:, 1:].float()
    p = logits.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logits, onehot, reduction="none")
    pt = p * onehot + (1 - p) * (1 - onehot)
    w = alpha * onehot + (1 - alpha) * (1 - onehot)
    return (w * (1 - pt) ** gamma * ce)[target >= 0].sum()


def train_step(model, opt, anchors, images, objects):
    logits, deltas = model(images)
    cls_loss = box_loss = torch.tensor(0.0)
    positives = 0
    for i, (boxes, labels) in enumerate(objects):
        target, want = assign(anchors, boxes, labels)
        pos = target > 0
        cls_loss = cls_loss + focal(logits[i], target, model.classes)
        if pos.any():
            box_loss = box_loss + F.smooth_l1_loss(deltas[i][pos], want[pos], reduction="sum")
        positives += int(pos.sum())
    loss = (cls_loss + box_loss) / max(positives, 1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), positives


def nms(boxes, scores, threshold):
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        rest = order[1:]
        order = rest[iou(boxes[i:i + 1], boxes[rest])[0] <= threshold]
    return keep


@torch.no_grad()
def detect(model, anchors, image, threshold=0.3):
    model.eval()
    logits, deltas = model(image.unsqueeze(0))
    scores, labels = logits[0].sigmoid().max(-1)
    chosen = (scores > threshold).nonzero().squeeze(1)
    d, a = deltas[0][chosen], anchors[chosen]
    boxes = corners(torch.cat([d[:, :2] * a[:, 2:] + a[:, :2], d[:, 2:].clamp(max=2).exp() * a[:, 2:]], 1))
    out = []
    for c in labels[chosen].unique().tolist():
        mine = labels[chosen] == c
        for k in nms(boxes[mine], scores[chosen][mine], 0.4):
            out.append((c, round(scores[chosen][mine][k].item(), 3)))
    model.train()
    return out


def make_image(rng, size=16):
    image, boxes, labels = np.zeros((size, size), dtype=np.float32), [], []
    for _ in range(rng.integers(1, 3)):
        kind, side = int(rng.integers(0, 2)), int(rng.integers(4, 9))
        x, y = (int(v) for v in rng.integers(0, size - side, 2))
        if kind:
            image[y:y + side, x:x + side] = 1.0
        else:
            image[y:y + side:2, x:x + side] = 0.7
        boxes.append([x + side / 2, y + side / 2, side, side])
        labels.append(kind)
    return torch.from_numpy(image + 0.05 * rng.standard_normal((size, size)).astype(np.float32))[None], (torch.tensor(boxes, dtype=torch.float32), torch.tensor(labels))


def run_epoch(model, opt, anchors, rng, epoch):
    start, meter = time.perf_counter(), {"loss": [], "positives": 0}
    for _ in range(3):
        samples = [make_image(rng) for _ in range(4)]
        loss, n = train_step(model, opt, anchors, torch.stack([s[0] for s in samples]), [s[1] for s in samples])
        meter["loss"].append(loss)
        meter["positives"] += n
    found = detect(model, anchors, make_image(rng)[0])
    took = time.perf_counter() - start
    print(f"[{epoch}] loss={np.mean(meter['loss']):.4f} positives={meter['positives']} found={len(found)} ({took:.3f}s)")
    return meter["loss"], found


def main(epochs):
    torch.manual_seed(6)
    model, rng = Detector(), np.random.default_rng(4)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    anchors = make_anchors(16)
    return [run_epoch(model, opt, anchors, rng, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "Detector.forward", "train_step", "run_epoch"
