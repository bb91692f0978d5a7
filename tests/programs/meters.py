# SPDX-License-Identifier: Apache-2.0
"""Images trained as large ones are: meters, top-k accuracy, warm-up, mixup, a moving average of weights, checkpoints that are resumed."""
import argparse
import copy
import shutil
import tempfile
import time
from enum import Enum
from pathlib import Path

import numpy as np
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


class Summary(Enum):
    NONE = 0
    AVERAGE = 1
    COUNT = 2


class AverageMeter:
    def __init__(self, name, fmt=":f", summary_type=Summary.AVERAGE):
        self.name, self.fmt, self.summary_type = name, fmt, summary_type
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)

    def summary(self):
        if self.summary_type is Summary.NONE:
            return ""
        if self.summary_type is Summary.AVERAGE:
            return "{name} {avg:.3f}".format(**self.__dict__)
        return "{name} {count}".format(name=self.name, count=self.count)


class ProgressMeter:
    def __init__(self, num_batches, meters, prefix=""):
        digits = len(str(num_batches // 1))
        self.batch_fmtstr = "[{:" + str(digits) + "d}/" + ("{:" + str(digits) + "d}").format(num_batches) + "]"
        self.meters, self.prefix = meters, prefix

    def display(self, batch):
        print("\t".join([self.prefix + self.batch_fmtstr.format(batch)] + [str(m) for m in self.meters]))

    def display_summary(self):
        print(" ".join([" *"] + [m.summary() for m in self.meters]))


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk, batch_size = max(topk), target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / batch_size) for k in topk]


def conv3x3(i, o, stride=1):
    return nn.Conv2d(i, o, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inplanes, planes, stride), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv3x3(planes, planes), nn.BatchNorm2d(planes)
        self.relu, self.downsample = nn.ReLU(inplace=True), downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Net(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.inplanes = 4
        self.stem = nn.Sequential(conv3x3(3, 4), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.layer1, self.layer2 = self._make_layer(4, 1), self._make_layer(8, 2, stride=2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(8, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * BasicBlock.expansion:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * BasicBlock.expansion
        layers += [BasicBlock(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class ModelEMA:
    def __init__(self, model, decay=0.9):
        self.ema, self.decay = copy.deepcopy(model).eval(), decay
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        state = model.state_dict()
        for name, value in self.ema.state_dict().items():
            if value.dtype.is_floating_point:
                value *= self.decay
                value += (1.0 - self.decay) * state[name].detach()
            else:
                value.copy_(state[name])


def train_one(images, target, model, criterion, optimizer, args):
    if args.mixup > 0:
        lam = np.random.beta(args.mixup, args.mixup)
        index = torch.randperm(images.size(0))
        mixed = lam * images + (1 - lam) * images[index]
        output = model(mixed)
        loss = lam * criterion(output, target) + (1 - lam) * criterion(output, target[index])
    else:
        output = model(images)
        loss = criterion(output, target)
    acc1, acc3 = accuracy(output, target, topk=(1, 3))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), acc1[0].item(), acc3[0].item()


def validate(batches, model, criterion):
    losses = AverageMeter("Loss", ":.4e", Summary.NONE)
    top1, top3 = AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@3", ":6.2f")
    model.eval()
    with torch.no_grad():
        for images, target in batches:
            output = model(images)
            acc1, acc3 = accuracy(output, target, topk=(1, 3))
            losses.update(criterion(output, target).item(), images.size(0))
            top1.update(acc1[0].item(), images.size(0))
            top3.update(acc3[0].item(), images.size(0))
    ProgressMeter(len(batches), [losses, top1, top3]).display_summary()
    return top1.avg


def save_checkpoint(state, is_best, folder):
    path = Path(folder) / "checkpoint.pth"
    torch.save(state, path)
    if is_best:
        shutil.copyfile(path, path.with_name("best.pth"))


def run_epoch(epoch, run):
    args, model, optimizer = run.args, run.model, run.optimizer
    batch_time = AverageMeter("Time", ":.3f s", Summary.NONE)
    losses, top1 = AverageMeter("Loss", ":.3e"), AverageMeter("Acc@1", ":6.2f")
    progress = ProgressMeter(len(run.train), [losses, top1], prefix=f"Epoch: [{epoch}]")
    model.train()
    end = time.time()
    for i, (images, target) in enumerate(run.train):
        loss, acc1, _ = train_one(images, target, model, run.criterion, optimizer, args)
        run.ema.update(model)
        losses.update(loss, images.size(0))
        top1.update(acc1, images.size(0))
        batch_time.update(time.time() - end)
        end = time.time()
        if i % args.print_freq == 0:
            progress.display(i + 1)
    acc1 = validate(run.val, run.ema.ema, run.criterion)
    run.scheduler.step()
    is_best, run.best = acc1 > run.best, max(acc1, run.best)
    save_checkpoint({"epoch": epoch + 1, "state_dict": model.state_dict(), "best": run.best, "optimizer": optimizer.state_dict(),
                     "scheduler": run.scheduler.state_dict()}, is_best, args.folder)
    if epoch == 4:
        checkpoint = torch.load(Path(args.folder) / "best.pth", weights_only=False)
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        print("=> loaded checkpoint (epoch {})".format(checkpoint["epoch"]))
    return losses.avg


def main(epochs):
    torch.manual_seed(7)
    np.random.seed(7)
    with tempfile.TemporaryDirectory() as folder:
        args = argparse.Namespace(mixup=0.2, print_freq=2, folder=folder, lr=0.05, momentum=0.9, weight_decay=1e-4)
        centre = torch.randn(6, 3, 8, 8)
        make = lambda n: [(centre[y] + 0.7 * torch.randn(n, 3, 8, 8), y) for y in (torch.randint(6, (n,)) for _ in range(4))]
        model = Net()
        decay, plain = [], []
        for name, p in model.named_parameters():
            (plain if p.ndim <= 1 or name.endswith(".bias") else decay).append(p)
        optimizer = torch.optim.SGD([{"params": decay, "weight_decay": args.weight_decay}, {"params": plain, "weight_decay": 0.0}],
                                    args.lr, momentum=args.momentum, nesterov=True)
        scheduler = SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=3), CosineAnnealingLR(optimizer, 20)], milestones=[3])
        run = argparse.Namespace(args=args, model=model, optimizer=optimizer, scheduler=scheduler, ema=ModelEMA(model), best=0.0,
                                 criterion=nn.CrossEntropyLoss(label_smoothing=0.1), train=make(8), val=make(8)[:2])
        return [run_epoch(e, run) for e in range(epochs)], run.best


MODEL, STEP, EPOCH = "Net.forward", "train_one", "run_epoch"
