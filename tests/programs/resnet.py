# SPDX-License-Identifier: Apache-2.0
"""A ResNet of bottlenecks: meters, top-k accuracy, a step schedule, a checkpoint of the best."""
import copy
import time

import janus as torch
import janus.nn as nn


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=5):
        super().__init__()
        self.inplanes = 4
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(self.inplanes), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 2, layers[0])
        self.layer2 = self._make_layer(block, 4, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(4 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, Bottleneck):
                nn.init.constant_(m.bn3.weight, 0.2)

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                                       nn.BatchNorm2d(planes * block.expansion))
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
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


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def train_step(model, criterion, optimizer, images, target):
    output = model(images)
    loss = criterion(output, target)
    acc1, acc3 = accuracy(output, target, topk=(1, 3))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss, acc1, acc3


def train(batches, model, criterion, optimizer, epoch):
    losses, top1, top3 = AverageMeter("Loss", ":.4f"), AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@3", ":6.2f")
    model.train()
    end = time.time()
    for i, (images, target) in enumerate(batches):
        loss, acc1, acc3 = train_step(model, criterion, optimizer, images, target)
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0].item(), images.size(0))
        top3.update(acc3[0].item(), images.size(0))
        print("\t".join(["[%d][%d/%d]" % (epoch, i, len(batches)), f"{time.time() - end:.3f}s"]
                        + [str(m) for m in (losses, top1, top3)]))
        end = time.time()
    return top1.avg, losses.avg


def main(epochs):
    batches = [(torch.randn(3, 3, 8, 8), torch.randint(0, 5, (3,))) for _ in range(2)]
    model = ResNet(Bottleneck, [2, 1])
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    best, state, seen = -1.0, None, []
    for epoch in range(epochs):
        acc, loss = train(batches, model, nn.CrossEntropyLoss(), optimizer, epoch)
        scheduler.step()
        seen.append((acc, loss))
        if acc > best:
            best, state = acc, copy.deepcopy(model.state_dict())
    return seen, best, dict(state)


MODEL, STEP, EPOCH = "ResNet.forward", "train_step", "train"
