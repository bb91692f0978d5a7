# SPDX-License-Identifier: Apache-2.0
"""Prototypical networks: episodes sampled from a dict of classes, distances to class means, accuracy by class."""
import random
from collections import defaultdict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


def conv_block(in_channels, out_channels):
    return nn.Sequential(nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(),
                         nn.MaxPool2d(2))


def euclidean_dist(x, y):
    n, m, d = x.size(0), y.size(0), x.size(1)
    assert d == y.size(1)
    x = x.unsqueeze(1).expand(n, m, d)
    y = y.unsqueeze(0).expand(n, m, d)
    return torch.pow(x - y, 2).sum(2)


class Protonet(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def loss(self, sample):
        xs, xq = sample["xs"], sample["xq"]
        n_class, n_support, n_query = xs.size(0), xs.size(1), xq.size(1)
        target_inds = torch.arange(0, n_class).view(n_class, 1, 1).expand(n_class, n_query, 1).long()
        x = torch.cat([xs.view(n_class * n_support, *xs.size()[2:]), xq.view(n_class * n_query, *xq.size()[2:])], 0)
        z = self.encoder.forward(x)
        z_dim = z.size(-1)
        z_proto = z[:n_class * n_support].view(n_class, n_support, z_dim).mean(1)
        zq = z[n_class * n_support:]
        log_p_y = F.log_softmax(-euclidean_dist(zq, z_proto), dim=1).view(n_class, n_query, -1)
        loss_val = -log_p_y.gather(2, target_inds).squeeze().view(-1).mean()
        _, y_hat = log_p_y.max(2)
        acc_val = torch.eq(y_hat, target_inds.squeeze()).float().mean()
        return loss_val, {"loss": loss_val.item(), "acc": acc_val.item(), "hits": (y_hat == target_inds.squeeze(-1)).sum(1)}


def episode(by_class, n_way, n_support, n_query):
    chosen = random.sample(sorted(by_class), n_way)
    xs, xq = [], []
    for c in chosen:
        items = random.sample(by_class[c], n_support + n_query)
        xs.append(torch.stack(items[:n_support]))
        xq.append(torch.stack(items[n_support:]))
    return chosen, {"xs": torch.stack(xs), "xq": torch.stack(xq)}


def step(model, optimizer, sample):
    optimizer.zero_grad()
    loss, output = model.loss(sample)
    loss.backward()
    optimizer.step()
    return output


def epoch(model, optimizer, by_class, meters):
    per_class = defaultdict(int)
    for _ in range(4):
        chosen, sample = episode(by_class, 3, 2, 2)
        output = step(model, optimizer, sample)
        for field in ("loss", "acc"):
            meters[field].append(output[field])
        for name, hits in zip(chosen, output["hits"].tolist()):
            per_class[name] += hits
    print(", ".join("%s=%.3f" % (k, sum(v) / len(v)) for k, v in meters.items()), dict(sorted(per_class.items())))
    return per_class


def main(epochs):
    by_class = {}
    for name in "abcdef":
        centre = torch.randn(1, 8, 8)
        by_class[name] = [centre + 0.3 * torch.randn(1, 8, 8) for _ in range(6)]
    encoder = nn.Sequential(conv_block(1, 4), conv_block(4, 4), Flatten())
    model = Protonet(encoder)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    meters = defaultdict(list)
    return [epoch(model, optimizer, by_class, meters) for _ in range(epochs)], meters, model


MODEL, STEP, EPOCH = "Protonet.loss", "step", "epoch"
