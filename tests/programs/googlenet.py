# SPDX-License-Identifier: Apache-2.0
"""GoogLeNet: inception branches, auxiliary classifiers that are there in training only, outputs as a named tuple."""
import time
from collections import namedtuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

Outputs = namedtuple("Outputs", ["logits", "aux"])


class BasicConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj):
        super().__init__()
        self.branch1 = BasicConv2d(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(BasicConv2d(in_channels, ch3x3red, kernel_size=1),
                                     BasicConv2d(ch3x3red, ch3x3, kernel_size=3, padding=1))
        self.branch3 = nn.Sequential(BasicConv2d(in_channels, ch5x5red, kernel_size=1),
                                     BasicConv2d(ch5x5red, ch5x5, kernel_size=5, padding=2))
        self.branch4 = nn.Sequential(nn.MaxPool2d(kernel_size=3, stride=1, padding=1),
                                     BasicConv2d(in_channels, pool_proj, kernel_size=1))

    def _forward(self, x):
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]

    def forward(self, x):
        return torch.cat(self._forward(x), 1)


class InceptionAux(nn.Module):
    def __init__(self, in_channels, num_classes):
        super().__init__()
        self.conv = BasicConv2d(in_channels, 4, kernel_size=1)
        self.fc1, self.fc2 = nn.Linear(16, 8), nn.Linear(8, num_classes)

    def forward(self, x):
        x = self.conv(F.adaptive_avg_pool2d(x, (2, 2)))
        x = F.relu(self.fc1(torch.flatten(x, 1)), inplace=True)
        return self.fc2(F.dropout(x, 0.5, training=self.training))


class GoogLeNet(nn.Module):
    def __init__(self, num_classes=5, aux_logits=True):
        super().__init__()
        self.aux_logits = aux_logits
        self.conv1 = BasicConv2d(3, 6, kernel_size=3, padding=1)
        self.inception3a = Inception(6, 2, 2, 4, 1, 2, 2)
        self.inception3b = Inception(10, 3, 2, 4, 2, 2, 3)
        self.maxpool = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.inception4a = Inception(12, 4, 2, 4, 2, 4, 4)
        self.aux = InceptionAux(12, num_classes) if aux_logits else None
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.inception3b(self.inception3a(self.conv1(x)))
        x = self.maxpool(x)
        aux_defined = self.training and self.aux_logits
        aux = self.aux(x) if aux_defined else None
        x = self.inception4a(x)
        x = self.dropout(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))
        x = self.fc(x)
        if aux_defined:
            return Outputs(x, aux)
        return x


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad()
    outputs = model(images)
    loss = F.cross_entropy(outputs.logits, labels) + 0.3 * F.cross_entropy(outputs.aux, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def run_epoch(model, optimizer, batches, epoch):
    since = time.time()
    for phase in ["train", "val"]:
        model.train(phase == "train")
        running_loss, running_corrects = 0.0, 0
        for images, labels in batches:
            if phase == "train":
                running_loss += train_step(model, optimizer, images, labels)
            else:
                with torch.no_grad():
                    outputs = model(images)
                    _, preds = torch.max(outputs, 1)
                    running_corrects += torch.sum(preds == labels.data)
        print(f"{epoch} {phase} Loss: {running_loss:.4f} Acc: {float(running_corrects) / 4:.4f}")
    print("{:.2f}s".format(time.time() - since))
    return int(running_corrects)


def main(epochs):
    batches = [(torch.randn(2, 3, 8, 8), torch.randint(0, 5, (2,))) for _ in range(2)]
    model = GoogLeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return [run_epoch(model, optimizer, batches, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "GoogLeNet.forward", "train_step", "run_epoch"
