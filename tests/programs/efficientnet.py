# SPDX-License-Identifier: Apache-2.0
"""EfficientNet: squeeze and excitation, swish by an autograd function of its own, drop connect."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class SwishImplementation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_tensors[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishImplementation.apply(x)


def drop_connect(inputs, p, training):
    if not training:
        return inputs
    keep_prob = 1 - p
    random_tensor = keep_prob
    random_tensor += torch.rand([inputs.shape[0], 1, 1, 1], dtype=inputs.dtype, device=inputs.device)
    return inputs / keep_prob * torch.floor(random_tensor)


class MBConvBlock(nn.Module):
    def __init__(self, inp, out, expand, stride, se_ratio=0.25):
        super().__init__()
        self.skip = stride == 1 and inp == out
        mid = inp * expand
        self.expand_conv = nn.Conv2d(inp, mid, 1, bias=False) if expand != 1 else None
        self.bn0 = nn.BatchNorm2d(mid, momentum=0.01) if expand != 1 else None
        self.depthwise = nn.Conv2d(mid, mid, 3, stride=stride, padding=1, groups=mid, bias=False)
        self.bn1 = nn.BatchNorm2d(mid, momentum=0.01)
        squeezed = max(1, int(inp * se_ratio))
        self.se_reduce, self.se_expand = nn.Conv2d(mid, squeezed, 1), nn.Conv2d(squeezed, mid, 1)
        self.project, self.bn2 = nn.Conv2d(mid, out, 1, bias=False), nn.BatchNorm2d(out, momentum=0.01)
        self.swish = MemoryEfficientSwish()

    def forward(self, inputs, drop_connect_rate=None):
        x = inputs
        if self.expand_conv is not None:
            x = self.swish(self.bn0(self.expand_conv(x)))
        x = self.swish(self.bn1(self.depthwise(x)))
        squeezed = F.adaptive_avg_pool2d(x, 1)
        squeezed = self.se_expand(self.swish(self.se_reduce(squeezed)))
        x = torch.sigmoid(squeezed) * x
        x = self.bn2(self.project(x))
        if self.skip:
            if drop_connect_rate:
                x = drop_connect(x, p=drop_connect_rate, training=self.training)
            x = x + inputs
        return x


class EfficientNet(nn.Module):
    def __init__(self, classes=4, drop_connect_rate=0.2):
        super().__init__()
        self.rate = drop_connect_rate
        self.stem, self.bn = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(4)
        self.blocks = nn.ModuleList([MBConvBlock(4, 4, 1, 1), MBConvBlock(4, 6, 3, 2), MBConvBlock(6, 6, 3, 1)])
        self.dropout, self.fc = nn.Dropout(0.2), nn.Linear(6, classes)
        self.swish = MemoryEfficientSwish()

    def forward(self, inputs):
        x = self.swish(self.bn(self.stem(inputs)))
        for idx, block in enumerate(self.blocks):
            rate = self.rate
            if rate:
                rate *= float(idx) / len(self.blocks)
            x = block(x, drop_connect_rate=rate)
        x = F.adaptive_avg_pool2d(x, 1).flatten(start_dim=1)
        return self.fc(self.dropout(x))


def train_step(model, optimizer, images, target):
    loss = F.cross_entropy(model(images), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, batches, epoch):
    end, total = time.time(), 0.0
    for i, (images, target) in enumerate(batches):
        total += train_step(model, optimizer, images, target)
    print("Epoch %d Loss %.4e Time %.3fs" % (epoch, total, time.time() - end))
    return total


def main(epochs):
    batches = [(torch.randn(2, 3, 10, 10), torch.randint(0, 4, (2,))) for _ in range(2)]
    model = EfficientNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9, eps=1e-2, momentum=0.9)
    return [train(model, optimizer, batches, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "EfficientNet.forward", "train_step", "train"
