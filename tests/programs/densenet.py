# SPDX-License-Identifier: Apache-2.0
"""DenseNet: layers that read the concatenation of all before them, in an OrderedDict of blocks."""
import time
from collections import OrderedDict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class DenseLayer(nn.Module):
    def __init__(self, features, growth, bn_size, drop_rate):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(features), nn.Conv2d(features, bn_size * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth)
        self.conv2 = nn.Conv2d(bn_size * growth, growth, 3, padding=1, bias=False)
        self.drop_rate = drop_rate

    def forward(self, inputs):
        x = torch.cat(inputs, 1)
        x = self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))
        if self.drop_rate > 0:
            x = F.dropout(x, p=self.drop_rate, training=self.training)
        return x


class DenseBlock(nn.ModuleDict):
    def __init__(self, layers, features, bn_size, growth, drop_rate):
        super().__init__()
        for i in range(layers):
            self.add_module("denselayer%d" % (i + 1), DenseLayer(features + i * growth, growth, bn_size, drop_rate))

    def forward(self, x):
        features = [x]
        for name, layer in self.items():
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self, growth=3, config=(2, 3, 2), init=4, bn_size=2, drop_rate=0.1, classes=4):
        super().__init__()
        self.features = nn.Sequential(OrderedDict([
            ("conv0", nn.Conv2d(1, init, 3, padding=1, bias=False)), ("norm0", nn.BatchNorm2d(init)),
            ("relu0", nn.ReLU(inplace=True))]))
        n = init
        for i, layers in enumerate(config):
            self.features.add_module("denseblock%d" % (i + 1), DenseBlock(layers, n, bn_size, growth, drop_rate))
            n += layers * growth
            if i != len(config) - 1:
                self.features.add_module("transition%d" % (i + 1), nn.Sequential(
                    nn.BatchNorm2d(n), nn.ReLU(inplace=True), nn.Conv2d(n, n // 2, 1, bias=False), nn.AvgPool2d(2, 2)))
                n = n // 2
        self.features.add_module("norm5", nn.BatchNorm2d(n))
        self.classifier = nn.Linear(n, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)

    def forward(self, x):
        out = F.relu(self.features(x), inplace=True)
        out = F.adaptive_avg_pool2d(out, (1, 1))
        return self.classifier(torch.flatten(out, 1))


def train_step(model, criterion, optimizer, images, target):
    output = model(images)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return output, loss.item()


def train(model, criterion, optimizer, batches, epoch):
    model.train()
    end = time.time()
    for i, (images, target) in enumerate(batches):
        output, loss = train_step(model, criterion, optimizer, images, target)
        correct = output.topk(2, 1)[1].eq(target.view(-1, 1)).any(1).sum().item()
        print(f"Epoch: [{epoch}][{i}/{len(batches)}]  Time {time.time() - end:6.3f}s  Loss {loss:.4f}  Acc@2 {correct}")
        end = time.time()
    return loss


def main(epochs):
    batches = [(torch.randn(2, 1, 8, 8), torch.randint(0, 4, (2,))) for _ in range(2)]
    model = DenseNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    return [train(model, nn.CrossEntropyLoss(), optimizer, batches, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "DenseNet.forward", "train_step", "train"
