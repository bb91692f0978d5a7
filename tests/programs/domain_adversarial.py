# SPDX-License-Identifier: Apache-2.0
"""Domain adaptation with a gradient reversal function, two heads, and a batch from each domain by zip and cycle."""
import itertools
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.autograd import Function


class ReverseLayer(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(4, 10), nn.ReLU(True))
        self.label = nn.Sequential(nn.Linear(10, 3), nn.LogSoftmax(dim=1))
        self.domain = nn.Sequential(nn.Linear(10, 6), nn.ReLU(True), nn.Linear(6, 2), nn.LogSoftmax(dim=1))

    def forward(self, x, alpha):
        feature = self.feature(x)
        return self.label(feature), self.domain(ReverseLayer.apply(feature, alpha))


def train_step(net, optimizer, source, labels, target, alpha):
    net.zero_grad()
    out, domain = net(source, alpha)
    err_label = F.nll_loss(out, labels)
    err_source = F.nll_loss(domain, torch.zeros(len(source)).long())
    _, domain = net(target, alpha)
    err_target = F.nll_loss(domain, torch.ones(len(target)).long())
    err = err_label + err_source + err_target
    err.backward()
    optimizer.step()
    return err_label.item(), err_source.item(), err_target.item()


def train_epoch(net, optimizer, sources, targets, epoch, epochs):
    start = time.time()
    for i, ((x, y), t) in enumerate(zip(sources, itertools.cycle(targets))):
        p = float(i + epoch * len(sources)) / epochs / len(sources)
        alpha = 2. / (1. + math.exp(-10 * p)) - 1
        errors = train_step(net, optimizer, x, y, t, alpha)
    print("epoch: %d, alpha %.3f, err_s_label: %.4f, err_s_domain: %.4f, err_t_domain: %.4f, %.3f s"
          % ((epoch, alpha) + errors + (time.time() - start,)))
    return errors


def main(epochs):
    sources = [(torch.randn(4, 4), torch.randint(0, 3, (4,))) for _ in range(3)]
    targets = [torch.randn(4, 4) + 0.5 for _ in range(2)]
    net = DANN()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    return [train_epoch(net, optimizer, sources, targets, e, epochs) for e in range(epochs)], net


MODEL, STEP, EPOCH = "DANN.forward", "train_step", "train_epoch"
