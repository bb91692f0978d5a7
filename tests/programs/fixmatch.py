# SPDX-License-Identifier: Apache-2.0
"""Semi-supervised learning: pseudo labels above a threshold, weak and strong augmentation, an averaged teacher, a ramp-up."""
import copy
import math
import random
from dataclasses import dataclass, field
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Config:
    threshold: float = 0.6
    lambda_u: float = 1.0
    ramp: int = 10
    decay: float = 0.95
    classes: int = 3
    sizes: list = field(default_factory=lambda: [8, 32, 32])


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        layers = []
        for a, b in zip(cfg.sizes, cfg.sizes[1:]):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.LeakyReLU(0.1)]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(cfg.sizes[-1], cfg.classes)

    def forward(self, x):
        return self.head(self.body(x))


def weak(x):
    return x + 0.05 * torch.randn_like(x)


def strong(x):
    mask = (torch.rand(x.shape) > 0.2).float()
    return (x + 0.3 * torch.randn_like(x)) * mask


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = copy.deepcopy(model), decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for p, q in zip(self.model.parameters(), model.parameters()):
            p.mul_(self.decay).add_(q, alpha=1 - self.decay)
        for (_, a), (_, b) in zip(self.model.named_buffers(), model.named_buffers()):
            a.copy_(b)


class Meter:
    def __init__(self):
        self.sum, self.n = {}, 0

    def update(self, **values):
        for k, v in values.items():
            self.sum[k] = self.sum.get(k, 0.0) + float(v)
        self.n += 1

    def __str__(self):
        return ", ".join(f"{k}={v / self.n:.4f}" for k, v in sorted(self.sum.items()))


def train_step(cfg, model, ema, opt, step, labeled, unlabeled, meter):
    x, y = labeled
    u_weak, u_strong = weak(unlabeled), strong(unlabeled)
    logits = model(torch.cat([weak(x), u_weak, u_strong]))
    logits_x = logits[:len(x)]
    logits_w, logits_s = logits[len(x):].chunk(2)
    probs = torch.softmax(logits_w.detach(), dim=-1)
    conf, target = probs.max(dim=-1)
    mask = conf.ge(cfg.threshold).float()
    sup = F.cross_entropy(logits_x, y)
    uns = (F.cross_entropy(logits_s, target, reduction="none") * mask).mean()
    weight = cfg.lambda_u * math.exp(-5 * (1 - min(step / cfg.ramp, 1)) ** 2)
    loss = sup + weight * uns
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    meter.update(loss=loss, sup=sup, unsup=uns, mask=mask.mean())
    return loss.item()


def train_epoch(epoch, cfg, model, ema, opt, sched, data, pool):
    model.train()
    meter, losses = Meter(), []
    for i, batch in enumerate(data):
        u = pool[random.sample(range(len(pool)), 24)]
        losses.append(train_step(cfg, model, ema, opt, epoch * len(data) + i, batch, u, meter))
        sched.step()
    print(f"[{epoch:02d}] {meter} lr={sched.get_last_lr()[0]:.5f}")
    ema.model.eval()
    with torch.no_grad():
        acc = sum((ema.model(x).argmax(-1) == y).sum().item() for x, y in data) / sum(len(y) for _, y in data)
    print("teacher accuracy %.3f" % acc)
    return losses, acc


def main(epochs):
    torch.manual_seed(1)
    random.seed(1)
    cfg = Config()
    model = Net(cfg)
    ema = EMA(model, cfg.decay)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: math.cos(7 * math.pi * s / (16 * 60)))
    data = [(torch.randn(8, 8), torch.randint(0, 3, (8,))) for _ in range(5)]
    pool = torch.randn(100, 8)
    return [train_epoch(e, cfg, model, ema, opt, sched, data, pool) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
