# SPDX-License-Identifier: Apache-2.0
"""Facts about a family as a graph: TransE and RotatE behind one interface, corrupted triples, filtered ranks of the missing end."""
import random
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Triple(NamedTuple):
    head: int
    relation: int
    tail: int


@dataclass(frozen=True)
class Config:
    dim: int = 8
    margin: float = 2.0
    negatives: int = 4
    temperature: float = 1.0
    kinds: ClassVar[tuple] = ("transe", "rotate")


class Scorer(nn.Module):
    registry = {}

    def __init_subclass__(cls, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if kind:
            Scorer.registry[kind] = cls

    def __init__(self, entities, relations, cfg):
        super().__init__()
        self.cfg = cfg
        self.entity = nn.Embedding(entities, cfg.dim)
        self.relation = nn.Embedding(relations, self.relation_dim(cfg))
        nn.init.uniform_(self.entity.weight, -0.5, 0.5)
        nn.init.uniform_(self.relation.weight, -0.5, 0.5)

    def relation_dim(self, cfg):
        return cfg.dim

    def forward(self, head, relation, tail):
        return self.score(self.entity(head), self.relation(relation), self.entity(tail))

    def score(self, h, r, t):
        raise NotImplementedError


class TransE(Scorer, kind="transe"):
    def score(self, h, r, t):
        return self.cfg.margin - torch.norm(h + r - t, p=1, dim=-1)


class RotatE(Scorer, kind="rotate"):
    def relation_dim(self, cfg):
        return cfg.dim // 2

    def score(self, h, r, t):
        re_h, im_h = torch.chunk(h, 2, dim=-1)
        re_t, im_t = torch.chunk(t, 2, dim=-1)
        phase = r * 3.14159
        cos, sin = torch.cos(phase), torch.sin(phase)
        re, im = re_h * cos - im_h * sin - re_t, re_h * sin + im_h * cos - im_t
        return self.cfg.margin - torch.stack([re, im]).norm(dim=0).sum(-1)


def family(size=14):
    parents = {i: (i - 1) // 2 for i in range(1, size)}
    facts = [Triple(c, 0, p) for c, p in parents.items()] + [Triple(p, 1, c) for c, p in parents.items()]
    facts += [Triple(a, 2, b) for a in parents for b in parents if a != b and parents[a] == parents[b]]
    return facts


def corrupt(batch, entities, n):
    rows = []
    for t in batch:
        for _ in range(n):
            e = random.randrange(entities)
            rows.append(t._replace(head=e) if random.random() < 0.5 else t._replace(tail=e))
    return rows


def to_tensors(triples):
    return tuple(torch.tensor(column) for column in zip(*triples))


def train_step(model, opt, batch, entities):
    n = model.cfg.negatives
    positive = model(*to_tensors(batch))
    negative = model(*to_tensors(corrupt(batch, entities, n))).view(len(batch), n)
    weight = F.softmax(negative * model.cfg.temperature, dim=-1).detach()
    loss = -(F.logsigmoid(positive).mean() + (weight * F.logsigmoid(-negative)).sum(-1).mean()) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        w = model.entity.weight
        w.div_(w.norm(dim=1, keepdim=True).clamp(min=1.0))
    return float(loss)


@torch.no_grad()
def ranks(model, facts, known, entities):
    out = []
    everyone = torch.arange(entities)
    for h, r, t in facts:
        scores = model(torch.full_like(everyone, h), torch.full_like(everyone, r), everyone)
        others = [x for x in range(entities) if x != t and (h, r, x) in known]
        if others:
            scores[torch.tensor(others)] = float("-inf")
        out.append(1 + (scores > scores[t]).sum().item())
    return out


def run_epoch(epoch, models, opts, facts, entities):
    known, losses = set(facts), {}
    order = random.sample(facts, len(facts))
    for kind in Config.kinds:
        losses[kind] = sum(train_step(models[kind], opts[kind], order[i:i + 16], entities) for i in range(0, len(order), 16))
    found = {k: ranks(models[k], facts[:6], known, entities) for k in Config.kinds}
    mrr = {k: sum(1 / r for r in v) / len(v) for k, v in found.items()}
    print(f"epoch {epoch}", *(f"{k}: loss {losses[k]:.3f} mrr {mrr[k]:.3f}" for k in sorted(losses)), sep=" | ")
    return losses


def main(epochs):
    torch.manual_seed(9)
    random.seed(9)
    facts, entities = family(), 14
    models = {k: Scorer.registry[k](entities, 3, Config()) for k in Config.kinds}
    opts = {k: torch.optim.Adagrad(m.parameters(), lr=0.1) for k, m in models.items()}
    return [run_epoch(e, models, opts, facts, entities) for e in range(epochs)]


MODEL, STEP, EPOCH = "Scorer.forward", "train_step", "run_epoch"
