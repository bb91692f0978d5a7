# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 (Sandler et al. 2018)."""
import janus
from janus import nn


def conv(n_in, n_out, kernel=1, stride=1, groups=1):
    return [nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(n_out)]


class Inverted(nn.Module):
    """Widened, a convolution per channel, narrowed without activation."""

    def __init__(self, n_in, n_out, stride, widen):
        super().__init__()
        n = n_in * widen
        layers = conv(n_in, n) + [nn.ReLU6()] if widen != 1 else []
        layers += conv(n, n, 3, stride, n) + [nn.ReLU6()] + conv(n, n_out)
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and n_in == n_out

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers, n = conv(3, 32, 3, 2) + [nn.ReLU6()], 32
        for widen, n_out, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                             (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(blocks):
                layers.append(Inverted(n, n_out, stride if i == 0 else 1, widen))
                n = n_out
        self.features = nn.Sequential(*layers, *conv(n, 1280), nn.ReLU6())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(janus.flatten(self.pool(self.features(x)), 1))
