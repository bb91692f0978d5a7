# SPDX-License-Identifier: Apache-2.0
"""Contrastive learning: two random views of each image, NT-Xent, warm-up and cosine decay by hand, meters."""
import math
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class AverageMeter(object):
    """Computes and stores the average and current value"""
    def __init__(self, name, fmt=":f"):
        self.name = name
        self.fmt = fmt
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        fmtstr = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return fmtstr.format(**self.__dict__)


class ProgressMeter(object):
    def __init__(self, num_batches, meters, prefix=""):
        num_digits = len(str(num_batches // 1))
        fmt = "{:" + str(num_digits) + "d}"
        self.batch_fmtstr = "[" + fmt + "/" + fmt.format(num_batches) + "]"
        self.meters = meters
        self.prefix = prefix

    def display(self, batch):
        entries = [self.prefix + self.batch_fmtstr.format(batch)]
        entries += [str(meter) for meter in self.meters]
        print("\t".join(entries))


class Encoder(nn.Module):
    def __init__(self, feat=8, proj=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(6, feat, 3, padding=1, bias=False), nn.BatchNorm2d(feat), nn.ReLU(inplace=True))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.projector = nn.Sequential(nn.Linear(feat, feat), nn.ReLU(), nn.Linear(feat, proj))

    def forward(self, x):
        h = torch.flatten(self.avgpool(self.features(x)), 1)
        return h, F.normalize(self.projector(h), dim=1)


def augment(x):
    if random.random() < 0.5:
        x = torch.flip(x, [3])
    i, j = random.randint(0, 2), random.randint(0, 2)
    x = F.pad(x, (1, 1, 1, 1))[:, :, i:i + 8, j:j + 8]
    return x + 0.05 * torch.randn_like(x)


def info_nce(z1, z2, temperature=0.2):
    n = z1.size(0)
    z = torch.cat([z1, z2], dim=0)
    sim = torch.mm(z, z.t()) / temperature
    mask = torch.eye(2 * n, dtype=torch.bool)
    sim = sim.masked_fill(mask, float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(sim, target), sim, target


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


def adjust_learning_rate(optimizer, step, total, base, warmup=3):
    if step < warmup:
        lr = base * (step + 1) / warmup
    else:
        lr = base * 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr
    return lr


def step(model, optimizer, images):
    _, z1 = model(augment(images))
    _, z2 = model(augment(images))
    loss, logits, target = info_nce(z1, z2)
    acc1, acc5 = accuracy(logits, target, topk=(1, 5))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss, acc1, acc5


def train(loader, model, optimizer, epoch, epochs):
    batch_time = AverageMeter("Time", ":6.3f")
    losses = AverageMeter("Loss", ":.4e")
    top1 = AverageMeter("Acc@1", ":6.2f")
    top5 = AverageMeter("Acc@5", ":6.2f")
    progress = ProgressMeter(len(loader), [losses, top1, top5], prefix="Epoch: [{}]".format(epoch))
    model.train()
    end = time.time()
    for i, images in enumerate(loader):
        adjust_learning_rate(optimizer, epoch * len(loader) + i, epochs * len(loader), 0.1)
        loss, acc1, acc5 = step(model, optimizer, images)
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0], images.size(0))
        top5.update(acc5[0], images.size(0))
        batch_time.update(time.time() - end)
        end = time.time()
        if i % 2 == 0:
            progress.display(i)
    return losses.avg, top1.avg


def main(epochs):
    data = torch.randn(15, 3, 8, 8)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    loader = [data[i:i + 5] for i in range(0, 15, 5)]
    return [train(loader, model, optimizer, e, epochs) for e in range(epochs)], model.state_dict()


MODEL, STEP, EPOCH = "Encoder.forward", "step", "train"
