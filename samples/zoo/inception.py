# SPDX-License-Identifier: Apache-2.0
"""Inception-v3 (Szegedy et al. 2015), with the second classifier that its training has."""
import janus
import janus.nn.functional as F
from janus import nn


class Conv(nn.Module):
    def __init__(self, n_in, n_out, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(n_out, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def mean3(x):
    return F.avg_pool2d(x, 3, stride=1, padding=1)


class A(nn.Module):
    def __init__(self, n, pooled):
        super().__init__()
        self.one = Conv(n, 64, 1)
        self.five = nn.Sequential(Conv(n, 48, 1), Conv(48, 64, 5, padding=2))
        self.three = nn.Sequential(Conv(n, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, padding=1))
        self.pooled = Conv(n, pooled, 1)

    def forward(self, x):
        return janus.cat([self.one(x), self.five(x), self.three(x), self.pooled(mean3(x))], 1)


class B(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.three = Conv(n, 384, 3, stride=2)
        self.twice = nn.Sequential(Conv(n, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, stride=2))

    def forward(self, x):
        return janus.cat([self.three(x), self.twice(x), F.max_pool2d(x, 3, stride=2)], 1)


class C(nn.Module):
    def __init__(self, n, c):
        super().__init__()
        row, col = {"kernel": (1, 7), "padding": (0, 3)}, {"kernel": (7, 1), "padding": (3, 0)}
        self.one = Conv(n, 192, 1)
        self.seven = nn.Sequential(Conv(n, c, 1), Conv(c, c, **row), Conv(c, 192, **col))
        self.twice = nn.Sequential(Conv(n, c, 1), Conv(c, c, **col), Conv(c, c, **row), Conv(c, c, **col),
                                    Conv(c, 192, **row))
        self.pooled = Conv(n, 192, 1)

    def forward(self, x):
        return janus.cat([self.one(x), self.seven(x), self.twice(x), self.pooled(mean3(x))], 1)


class D(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.three = nn.Sequential(Conv(n, 192, 1), Conv(192, 320, 3, stride=2))
        self.seven = nn.Sequential(Conv(n, 192, 1), Conv(192, 192, (1, 7), padding=(0, 3)),
                                   Conv(192, 192, (7, 1), padding=(3, 0)), Conv(192, 192, 3, stride=2))

    def forward(self, x):
        return janus.cat([self.three(x), self.seven(x), F.max_pool2d(x, 3, stride=2)], 1)


class E(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.one = Conv(n, 320, 1)
        self.three = Conv(n, 384, 1)
        self.row1, self.col1 = Conv(384, 384, (1, 3), padding=(0, 1)), Conv(384, 384, (3, 1), padding=(1, 0))
        self.twice = nn.Sequential(Conv(n, 448, 1), Conv(448, 384, 3, padding=1))
        self.row2, self.col2 = Conv(384, 384, (1, 3), padding=(0, 1)), Conv(384, 384, (3, 1), padding=(1, 0))
        self.pooled = Conv(n, 192, 1)

    def forward(self, x):
        y, z = self.three(x), self.twice(x)
        return janus.cat([self.one(x), self.row1(y), self.col1(y), self.row2(z), self.col2(z),
                          self.pooled(mean3(x))], 1)


class Second(nn.Module):
    def __init__(self, n, classes):
        super().__init__()
        self.conv0, self.conv1 = Conv(n, 128, 1), Conv(128, 768, 5)
        self.fc = nn.Linear(768, classes)

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, 5, stride=3)))
        return self.fc(janus.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class InceptionV3(nn.Module):
    """In training the scores of both classifiers, else those of the last."""

    def __init__(self, classes=1000):
        super().__init__()
        self.stem = nn.Sequential(Conv(3, 32, 3, stride=2), Conv(32, 32, 3), Conv(32, 64, 3, padding=1),
                                  nn.MaxPool2d(3, stride=2), Conv(64, 80, 1), Conv(80, 192, 3),
                                  nn.MaxPool2d(3, stride=2))
        self.middle = nn.Sequential(A(192, 32), A(256, 64), A(288, 64), B(288), C(768, 128), C(768, 160), C(768, 160),
                                    C(768, 192))
        self.second = Second(768, classes)
        self.last = nn.Sequential(D(768), E(1280), E(2048))
        self.dropout, self.fc = nn.Dropout(0.5), nn.Linear(2048, classes)

    def forward(self, x):
        x = self.middle(self.stem(x))
        y = self.fc(self.dropout(janus.flatten(F.adaptive_avg_pool2d(self.last(x), 1), 1)))
        return (y, self.second(x)) if self.training else y
