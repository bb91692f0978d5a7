# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-B0 (Tan and Le 2019), without the stochastic depth of its training."""
import janus
from janus import nn


def conv(n_in, n_out, kernel=1, stride=1, groups=1):
    return [nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(n_out)]


class Squeeze(nn.Module):
    """Channels weighted by what all positions say together."""

    def __init__(self, n, squeezed):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(n, squeezed, 1), nn.Conv2d(squeezed, n, 1)
        self.act, self.gate = nn.SiLU(), nn.Sigmoid()

    def forward(self, x):
        return x * self.gate(self.up(self.act(self.down(self.pool(x)))))


class Block(nn.Module):
    def __init__(self, n_in, n_out, kernel, stride, widen):
        super().__init__()
        n = n_in * widen
        layers = conv(n_in, n) + [nn.SiLU()] if widen != 1 else []
        layers += conv(n, n, kernel, stride, n) + [nn.SiLU(), Squeeze(n, n_in // 4)] + conv(n, n_out)
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and n_in == n_out

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class EfficientNetB0(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers, n = conv(3, 32, 3, 2) + [nn.SiLU()], 32
        for widen, kernel, stride, n_out, blocks in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                                                     (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)):
            for i in range(blocks):
                layers.append(Block(n, n_out, kernel, stride if i == 0 else 1, widen))
                n = n_out
        self.features = nn.Sequential(*layers, *conv(n, 1280), nn.SiLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(janus.flatten(self.pool(self.features(x)), 1))
