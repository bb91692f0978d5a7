# SPDX-License-Identifier: Apache-2.0
"""Classes of point clouds of different sizes: farthest points, neighbours by distance, shared layers with batch norm, an alignment that is learnt."""
import time
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def farthest_points(xyz, n):
    B, N, _ = xyz.shape
    picked = torch.zeros(B, n, dtype=torch.long)
    distance = torch.full((B, N), 1e10)
    last = torch.zeros(B, dtype=torch.long)
    batch = torch.arange(B)
    for i in range(n):
        picked[:, i] = last
        centre = xyz[batch, last].unsqueeze(1)
        d = ((xyz - centre) ** 2).sum(-1)
        distance = torch.where(d < distance, d, distance)
        last = distance.argmax(-1)
    return picked


def gathered(x, index):
    B = x.shape[0]
    batch = torch.arange(B).view(B, *[1] * (index.dim() - 1)).expand_as(index)
    return x[batch, index]


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv, self.bn, self.fc = nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16), nn.Linear(16, k * k)
        nn.init.zeros_(self.fc.weight)
        self.fc.bias.data.copy_(torch.eye(k).view(-1))

    def forward(self, x):
        h = F.relu(self.bn(self.conv(x))).max(2)[0]
        return self.fc(h).view(-1, self.k, self.k)


class SetAbstraction(nn.Module):
    def __init__(self, n, k, cin, widths):
        super().__init__()
        self.n, self.k = n, k
        self.convs, self.bns = nn.ModuleList(), nn.ModuleList()
        last = cin + 3
        for w in widths:
            self.convs.append(nn.Conv2d(last, w, 1))
            self.bns.append(nn.BatchNorm2d(w))
            last = w

    def forward(self, xyz, feats):
        centres = gathered(xyz, farthest_points(xyz, self.n))
        near = torch.cdist(centres, xyz).topk(self.k, dim=-1, largest=False)[1]
        local = gathered(xyz, near) - centres.unsqueeze(2)
        if feats is not None:
            local = torch.cat([local, gathered(feats, near)], -1)
        h = local.permute(0, 3, 2, 1)
        for conv, bn in zip(self.convs, self.bns):
            h = F.relu(bn(conv(h)))
        return centres, h.max(2)[0].transpose(1, 2)


class PointNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.align = TNet(3)
        self.sa1 = SetAbstraction(8, 4, 0, [8, 12])
        self.sa2 = SetAbstraction(4, 3, 12, [16])
        self.head = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, classes))

    def forward(self, xyz):
        rot = self.align(xyz.transpose(1, 2))
        xyz = torch.bmm(xyz, rot)
        xyz, f = self.sa1(xyz, None)
        _, f = self.sa2(xyz, f)
        return self.head(f.max(1)[0]), rot


def orthogonal(rot):
    eye = torch.eye(rot.size(1)).unsqueeze(0)
    return torch.norm(eye - torch.bmm(rot, rot.transpose(2, 1)), dim=(1, 2)).mean()


def train_step(model, opt, x, y):
    model.train()
    opt.zero_grad()
    logits, rot = model(x)
    loss = F.nll_loss(F.log_softmax(logits, dim=1), y) + 1e-3 * orthogonal(rot)
    loss.backward()
    opt.step()
    return loss.item(), logits.max(1)[1].eq(y).sum().item()


def augment(x):
    angle = torch.rand(x.size(0)) * 6.283
    c, s, z = angle.cos(), angle.sin(), torch.zeros(x.size(0))
    rot = torch.stack([c, -s, z, s, c, z, z, z, z + 1], 1).view(-1, 3, 3)
    return x @ rot + torch.randn_like(x).mul(0.02).clamp(-0.05, 0.05)


def run_epoch(model, opt, data, epoch):
    t0, correct, seen, loss_sum = time.time(), 0, 0, 0.0
    for x, y in data:
        loss, hits = train_step(model, opt, augment(x), y)
        correct, seen, loss_sum = correct + hits, seen + y.shape[0], loss_sum + loss
    print("epoch %d: loss %.4f, accuracy %.3f (%.2fs)" % (epoch, loss_sum / len(data), correct / seen, time.time() - t0))
    return correct


def clouds(n, points):
    y = torch.arange(n) % 3
    x = torch.randn(n, points, 3)
    x = torch.where((y == 0).view(-1, 1, 1), F.normalize(x, dim=-1), x)
    x = torch.where((y == 1).view(-1, 1, 1), x * torch.tensor([1.0, 0.1, 1.0]), x)
    return x, y


def main(epochs):
    torch.manual_seed(8)
    model = PointNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = [clouds(6, n) for n in (16, 20, 24, 18)]
    return [run_epoch(model, opt, data, e) for e in range(epochs)], model.state_dict()


MODEL, STEP, EPOCH = "PointNet.forward", "train_step", "run_epoch"
