# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2: inverted residuals, depthwise convolutions, a cosine schedule stepped every batch."""
import janus as torch
import janus.nn as nn


def _make_divisible(v, divisor, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super().__init__(nn.Conv2d(in_planes, out_planes, kernel_size, stride, padding, groups=groups, bias=False),
                         nn.BatchNorm2d(out_planes), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio):
        super().__init__()
        assert stride in [1, 2]
        hidden_dim = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        layers = []
        if expand_ratio != 1:
            layers.append(ConvBNReLU(inp, hidden_dim, kernel_size=1))
        layers.extend([ConvBNReLU(hidden_dim, hidden_dim, stride=stride, groups=hidden_dim),
                       nn.Conv2d(hidden_dim, oup, 1, 1, 0, bias=False), nn.BatchNorm2d(oup)])
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        if self.use_res_connect:
            return x + self.conv(x)
        return self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, num_classes=4, width_mult=1.0):
        super().__init__()
        settings = [[1, 4, 1, 1], [3, 4, 2, 2], [3, 8, 1, 1]]
        input_channel = _make_divisible(4 * width_mult, 4)
        features = [ConvBNReLU(3, input_channel, stride=2)]
        for t, c, n, s in settings:
            output_channel = _make_divisible(c * width_mult, 4)
            for i in range(n):
                features.append(InvertedResidual(input_channel, output_channel, s if i == 0 else 1, expand_ratio=t))
                input_channel = output_channel
        features.append(ConvBNReLU(input_channel, 12, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, num_classes))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)

    def forward(self, x):
        x = self.features(x)
        x = x.mean([2, 3])
        return self.classifier(x)


def train_step(model, criterion, optimizer, scheduler, images, labels):
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    scheduler.step()
    return loss.item()


def train_epoch(model, criterion, optimizer, scheduler, batches):
    losses = [train_step(model, criterion, optimizer, scheduler, x, y) for x, y in batches]
    print("lr %.6f loss %s" % (scheduler.get_last_lr()[0], ["%.3f" % loss for loss in losses]))
    return losses


def main(epochs):
    batches = [(torch.randn(3, 3, 12, 12), torch.randint(0, 4, (3,))) for _ in range(2)]
    model = MobileNetV2()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=4e-5)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2 * epochs)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    return [train_epoch(model, criterion, optimizer, scheduler, batches) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "MobileNetV2.forward", "train_step", "train_epoch"
