# SPDX-License-Identifier: Apache-2.0
"""Recommendation from clicks: matrix factorisation beside an MLP, negatives drawn anew each epoch, hit rate and NDCG among the first k."""
import math
import random
from collections import defaultdict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    def __init__(self, pairs, items, negatives=2):
        self.pairs, self.items, self.negatives = pairs, items, negatives
        self.seen = defaultdict(set)
        for u, i in pairs:
            self.seen[u].add(i)
        self.resample()

    def resample(self):
        self.rows = []
        for u, i in self.pairs:
            self.rows.append((u, i, 1.0))
            for _ in range(self.negatives):
                j = random.randrange(self.items)
                while j in self.seen[u]:
                    j = random.randrange(self.items)
                self.rows.append((u, j, 0.0))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, k):
        u, i, y = self.rows[k]
        return torch.tensor(u), torch.tensor(i), torch.tensor(y)


class NeuMF(nn.Module):
    def __init__(self, users, items, dim=8, layers=(16, 8)):
        super().__init__()
        self.user_mf, self.item_mf = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_mlp, self.item_mlp = nn.Embedding(users, dim), nn.Embedding(items, dim)
        blocks, last = [], 2 * dim
        for width in layers:
            blocks += [nn.Linear(last, width), nn.ReLU(), nn.Dropout(0.1)]
            last = width
        self.mlp = nn.Sequential(*blocks)
        self.head = nn.Linear(dim + last, 1)
        for e in (self.user_mf, self.item_mf, self.user_mlp, self.item_mlp):
            nn.init.normal_(e.weight, std=0.1)

    def forward(self, users, items):
        mf = self.user_mf(users) * self.item_mf(items)
        deep = self.mlp(torch.cat([self.user_mlp(users), self.item_mlp(items)], dim=-1))
        return self.head(torch.cat([mf, deep], dim=-1)).squeeze(-1)


@torch.no_grad()
def evaluate(model, held_out, seen, items, k=5):
    model.eval()
    hits, ndcg = [], []
    for user, target in held_out.items():
        candidates = [i for i in range(items) if i == target or i not in seen[user]]
        scores = model(torch.full((len(candidates),), user, dtype=torch.long), torch.tensor(candidates))
        _, order = scores.topk(k)
        ranked = [candidates[j] for j in order.tolist()]
        if target in ranked:
            hits.append(1)
            ndcg.append(1 / math.log2(ranked.index(target) + 2))
        else:
            hits.append(0)
            ndcg.append(0.0)
    return sum(hits) / len(hits), sum(ndcg) / len(ndcg)


def train_batch(model, opt, users, items, labels):
    opt.zero_grad(set_to_none=True)
    logits = model(users, items)
    loss = F.binary_cross_entropy_with_logits(logits, labels)
    loss.backward()
    opt.step()
    return loss.item() * len(labels)


def run_epoch(epoch, model, opt, data, held_out, items):
    data.resample()
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model.train()
    total = 0.0
    for users, ids, labels in loader:
        total += train_batch(model, opt, users, ids, labels)
    hr, ndcg = evaluate(model, held_out, data.seen, items)
    print(f"[{epoch:02d}] loss {total / len(data):.4f}  HR@5 {hr:.3f}  NDCG@5 {ndcg:.3f}")
    return total


def main(epochs):
    torch.manual_seed(0)
    random.seed(0)
    users, items = 12, 30
    taste = [random.sample(range(items), 8) for _ in range(users)]
    held_out = {u: t[-1] for u, t in enumerate(taste)}
    data = Clicks([(u, i) for u, t in enumerate(taste) for i in t[:-1]], items)
    model = NeuMF(users, items)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-6)
    return [run_epoch(e, model, opt, data, held_out, items) for e in range(epochs)]


MODEL, STEP, EPOCH = "NeuMF.forward", "train_batch", "run_epoch"
