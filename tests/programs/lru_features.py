# SPDX-License-Identifier: Apache-2.0
"""A ranker over items whose frozen features are dear: an OrderedDict keeps those used last and drops the oldest."""
import random
from collections import OrderedDict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Features(nn.Module):
    def __init__(self, dim=8, room=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, dim))
        for p in self.parameters():
            p.requires_grad_(False)
        self.cache, self.room, self.hits, self.misses = OrderedDict(), room, 0, 0

    def forward(self, key, raw):
        if key in self.cache:
            self.cache.move_to_end(key)
            self.hits += 1
            return self.cache[key]
        self.misses += 1
        value = self.net(raw)
        self.cache[key] = value
        if len(self.cache) > self.room:
            self.cache.popitem(last=False)
        return value


class Ranker(nn.Module):
    def __init__(self, users, dim=8):
        super().__init__()
        self.features, self.users = Features(dim), nn.Embedding(users, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, user, items, raw):
        rows = torch.stack([self.features(i, raw[i]) for i in items])
        return torch.tanh(self.mix(rows)) @ self.users.weight[user]


def train_step(model, opt, user, liked, other, raw):
    scores = model(user, [liked, other], raw)
    loss = F.softplus(scores[1] - scores[0])
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def run_epoch(epoch, model, opt, clicks, raw):
    loss = 0.0
    for user, liked, other in clicks:
        loss += train_step(model, opt, user, liked, other, raw)
    f = model.features
    print(f"epoch {epoch:02d}: loss {loss / len(clicks):.4f}, {f.hits} hits, {f.misses} misses, kept {list(f.cache)}")
    return loss


def main(epochs):
    torch.manual_seed(11)
    random.seed(11)
    raw = torch.randn(10, 4)
    taste = torch.randn(5, 4)
    clicks = []
    for _ in range(32):
        user = random.randrange(5)
        a, b = sorted(random.sample(range(10), 2), key=lambda i: -(raw[i] @ taste[user]).item())
        clicks.append((user, a, b))
    model = Ranker(5)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=2e-2)
    return [run_epoch(e, model, opt, clicks, raw) for e in range(epochs)], list(model.features.cache)


MODEL, STEP, EPOCH = "Ranker.forward", "train_step", "run_epoch"
