# SPDX-License-Identifier: Apache-2.0
"""Momentum contrast: a queue of keys in a buffer, a key encoder that follows, keys shuffled for batch norm; nearest neighbours vote afterwards."""
import math
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader, Dataset


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x


class RandomCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        i, j = (random.randint(0, n - self.size) for n in x.shape[-2:])
        return x[..., i:i + self.size, j:j + self.size]


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, x):
        return x.flip(-1) if random.random() < self.p else x


class Jitter:
    def __init__(self, amount):
        self.amount = amount

    def __call__(self, x):
        return (x * (1 + random.uniform(-self.amount, self.amount)) + 0.02 * torch.randn_like(x)).clamp(0, 1)


class TwoCropsTransform:
    """Take two random crops of one image as the query and key."""

    def __init__(self, base):
        self.base = base

    def __call__(self, x):
        return [self.base(x), self.base(x)]


class Patterns(Dataset):
    def __init__(self, n, transform):
        self.transform, self.targets = transform, [k % 4 for k in range(n)]
        line = torch.arange(10.0)
        waves = [torch.sin(line * (k + 1) / 2) * 0.5 + 0.5 for k in range(4)]
        self.data = [torch.outer(waves[k], waves[(k + 1) % 4]).unsqueeze(0) for k in self.targets]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.transform(self.data[i]), self.targets[i]


def encoder(dim):
    return nn.Sequential(nn.Conv2d(1, 6, 3, stride=2, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, dim))


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=8, K=24, m=0.95, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base_encoder(dim), base_encoder(dim)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size, ptr = keys.shape[0], int(self.queue_ptr)
        assert self.K % batch_size == 0
        self.queue[:, ptr:ptr + batch_size] = keys.T
        self.queue_ptr[0] = (ptr + batch_size) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            shuffle = torch.randperm(im_k.shape[0])
            k = F.normalize(self.encoder_k(im_k[shuffle]), dim=1)
            k = k[torch.argsort(shuffle)]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def train_step(model, criterion, optimizer, images):
    output, target = model(im_q=images[0], im_k=images[1])
    loss = criterion(output, target)
    acc1 = (output.topk(1, dim=1)[1].squeeze(1) == target).float().mean() * 100.0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), acc1.item()


@torch.no_grad()
def knn(model, memory, labels, queries, answers, k=5, classes=4, temperature=0.1):
    model.eval()
    bank = F.normalize(model.encoder_q(memory), dim=1).t()
    sim_weight, sim_indices = (F.normalize(model.encoder_q(queries), dim=1) @ bank).topk(k, dim=-1)
    sim_labels = torch.gather(labels.expand(queries.size(0), -1), dim=-1, index=sim_indices)
    one_hot = torch.zeros(queries.size(0) * k, classes).scatter(dim=-1, index=sim_labels.view(-1, 1), value=1.0)
    scores = (one_hot.view(queries.size(0), -1, classes) * (sim_weight / temperature).exp().unsqueeze(-1)).sum(dim=1)
    return (scores.argsort(dim=-1, descending=True)[:, 0] == answers).float().mean().item()


def train_epoch(epoch, epochs, model, criterion, optimizer, loader, test):
    lr = 0.06 * 0.5 * (1.0 + math.cos(math.pi * epoch / epochs))
    for group in optimizer.param_groups:
        group["lr"] = lr
    model.train()
    end, total, seen, right = time.time(), 0.0, 0, 0.0
    for i, (images, _) in enumerate(loader):
        loss, acc1 = train_step(model, criterion, optimizer, images)
        total, right, seen = total + loss * images[0].size(0), right + acc1 * images[0].size(0), seen + images[0].size(0)
        if i % 2 == 0:
            print(f"Epoch: [{epoch}][{i}/{len(loader)}] lr {lr:.4f} Loss {loss:.4e} ({total / seen:.4e}) Acc@1 {acc1:6.2f}")
    score = knn(model, *test)
    print(f" * Acc@1 {right / seen:.3f} kNN {score:.3f} Time {time.time() - end:6.3f}s")
    return total / seen, score


def main(epochs):
    torch.manual_seed(4)
    random.seed(4)
    augment = Compose(RandomCrop(8), RandomFlip(), Jitter(0.3))
    loader = DataLoader(Patterns(28, TwoCropsTransform(augment)), batch_size=8, shuffle=True, drop_last=True)
    plain = Patterns(16, augment)
    x, y = torch.stack([plain[i][0] for i in range(16)]), torch.tensor(plain.targets)
    model = MoCo(encoder)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.06, momentum=0.9, weight_decay=5e-4)
    test = (x[:12], y[:12], x[12:], y[12:])
    results = [train_epoch(e, epochs, model, nn.CrossEntropyLoss(), optimizer, loader, test) for e in range(epochs)]
    return results, model


MODEL, STEP, EPOCH = "MoCo.forward", "train_step", "train_epoch"
