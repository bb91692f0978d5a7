# SPDX-License-Identifier: Apache-2.0
"""NASNet-A mobile (Zoph et al. 2017), without the drop path of its training."""
import janus
import janus.nn.functional as F
from janus import nn


def norm(n):
    return nn.BatchNorm2d(n, eps=0.001)


def point(n_in, n_out):
    return nn.Sequential(nn.ReLU(), nn.Conv2d(n_in, n_out, 1, bias=False), norm(n_out))


def separable(n_in, n_out, kernel, stride=1):
    """A convolution per channel, one per position."""
    return [nn.Conv2d(n_in, n_in, kernel, stride=stride, padding=kernel // 2, groups=n_in, bias=False),
            nn.Conv2d(n_in, n_out, 1, bias=False), norm(n_out)]


def twice(n, kernel, stride=1, n_in=None):
    return nn.Sequential(nn.ReLU(), *separable(n_in or n, n, kernel, stride), nn.ReLU(), *separable(n, n, kernel))


def mean3(x, stride=1):
    return F.avg_pool2d(x, 3, stride=stride, padding=1, count_include_pad=False)


def max3(x):
    return F.max_pool2d(x, 3, stride=2, padding=1)


class Halved(nn.Module):
    """Every second position, and every second one beside it."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.first, self.second = nn.Conv2d(n_in, n_out, 1, bias=False), nn.Conv2d(n_in, n_out, 1, bias=False)
        self.norm = norm(2 * n_out)

    def forward(self, x):
        x = F.relu(x)
        beside = F.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:]
        return self.norm(janus.cat([self.first(x[:, :, ::2, ::2]), self.second(beside[:, :, ::2, ::2])], 1))


class Reduction(nn.Module):
    """left, right: modules that give n channels each; raw: `right` stays as it is (the first stem)."""

    def __init__(self, left, right, n, raw=None):
        super().__init__()
        self.left, self.right = left, right
        self.a, self.d = twice(n, 5, 2), twice(n, 3)
        self.b1, self.b2, self.b3 = [twice(n, k, 2, raw) for k in (7, 7, 5)]

    def forward(self, x, before):
        x, y = self.left(x), self.right(before)
        first = self.a(x) + self.b1(y)
        second = max3(x) + self.b2(y)
        third = mean3(x, 2) + self.b3(y)
        return janus.cat([second, third, mean3(first) + second, self.d(first) + max3(x)], 1)


class Normal(nn.Module):
    def __init__(self, before, right, n):
        super().__init__()
        self.before, self.right = before, right
        self.a5, self.b3, self.b5, self.c3, self.d3 = [twice(n, k) for k in (5, 3, 5, 3, 3)]

    def forward(self, x, before):
        y, x = self.before(before), self.right(x)
        z = mean3(y)
        return janus.cat([y, self.a5(x) + self.b3(y), self.b5(y) + self.c3(y), mean3(x) + y, z + z,
                          self.d3(x) + x], 1)


class NASNetMobile(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        f, stem = 44, 32
        self.conv = nn.Sequential(nn.Conv2d(3, stem, 3, stride=2, bias=False), norm(stem))
        self.stem0 = Reduction(point(stem, f // 4), nn.Identity(), f // 4, stem)
        self.stem1 = Reduction(point(f, f // 2), Halved(stem, f // 4), f // 2)
        cells, n, before, halved = [], 2 * f, f, True
        for i, width in enumerate((f, 2 * f, 4 * f)):
            if i:
                cells.append(Reduction(point(n, width), point(before, width), width))
                n, before, halved = 4 * width, n, True
            for _ in range(4):
                left = Halved(before, width // 2) if halved else point(before, width)
                cells.append(Normal(left, point(n, width), width))
                n, before, halved = 6 * width, n, False
        self.cells = nn.ModuleList(cells)
        self.dropout, self.classifier = nn.Dropout(0.5), nn.Linear(n, classes)

    def forward(self, x):
        start = self.conv(x)
        before = self.stem0(start, start)
        x = self.stem1(before, start)
        for cell in self.cells:
            x, before = cell(x, before), x
        return self.classifier(self.dropout(janus.flatten(F.adaptive_avg_pool2d(F.relu(x), 1), 1)))
