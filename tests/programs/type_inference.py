# SPDX-License-Identifier: Apache-2.0
"""Expressions of a small language as dataclasses; a network walks them with `match`, keeps names in scopes and tells the type of each."""
import random
from collections import ChainMap
from dataclasses import dataclass
from typing import Union

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Num:
    value: int


@dataclass
class Str:
    text: str


@dataclass
class Var:
    name: str


@dataclass
class BinOp:
    op: str
    left: "Expr"
    right: "Expr"


@dataclass
class Let:
    name: str
    bound: "Expr"
    body: "Expr"


@dataclass
class If:
    test: "Expr"
    then: "Expr"
    other: "Expr"


Expr = Union[Num, Str, Var, BinOp, Let, If]
OPS = {"+": 0, "<": 1, "&": 2}
TYPES = {"int": 0, "str": 1, "bool": 2}


def make(depth, wanted, scope):
    names = [n for n, t in scope.items() if t == wanted]
    if names and random.random() < 0.3:
        return Var(random.choice(names))
    if depth == 0:
        if wanted == "bool":
            return BinOp("<", Num(random.randrange(10)), Num(random.randrange(10)))
        return Num(random.randrange(100)) if wanted == "int" else Str(random.choice(["a", "xy", "hello"]))
    kind = random.random()
    if kind < 0.25:
        t, name = random.choice(list(TYPES)), random.choice("pqr")
        return Let(name, make(depth - 1, t, scope), make(depth - 1, wanted, {**scope, name: t}))
    if kind < 0.45:
        return If(make(depth - 1, "bool", scope), make(depth - 1, wanted, scope), make(depth - 1, wanted, scope))
    if wanted == "bool":
        if random.random() < 0.5:
            return BinOp("&", make(depth - 1, "bool", scope), make(depth - 1, "bool", scope))
        t = random.choice(["int", "str"])
        return BinOp("<", make(depth - 1, t, scope), make(depth - 1, t, scope))
    return BinOp("+", make(depth - 1, wanted, scope), make(depth - 1, wanted, scope))


class Inference(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.number, self.text = nn.Parameter(torch.randn(dim) * 0.3), nn.Linear(1, dim)
        self.op = nn.Embedding(len(OPS), dim)
        self.binary, self.branch, self.bind = nn.Linear(3 * dim, dim), nn.Linear(3 * dim, dim), nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, len(TYPES))

    def encode(self, e, scope):
        match e:
            case Num(value=v):
                return self.number * (1.0 + v / 100)
            case Str(text):
                return torch.tanh(self.text(torch.tensor([float(len(text))])))
            case Var(name):
                return scope[name]
            case BinOp(op, left, right):
                both = torch.cat([self.encode(left, scope), self.encode(right, scope), self.op.weight[OPS[op]]])
                return torch.tanh(self.binary(both))
            case Let(name, bound, body):
                value = self.encode(bound, scope)
                inner = self.encode(body, scope.new_child({name: value}))
                return self.bind(inner.unsqueeze(0), value.unsqueeze(0)).squeeze(0)
            case If(test, then, other):
                parts = [self.encode(x, scope) for x in (test, then, other)]
                return torch.tanh(self.branch(torch.cat(parts)))
        raise TypeError(type(e).__name__)

    def forward(self, e):
        return self.out(self.encode(e, ChainMap()))


def train_step(model, opt, batch):
    logits = torch.stack([model(e) for e, _ in batch])
    labels = torch.tensor([TYPES[t] for _, t in batch])
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), (logits.argmax(1) == labels).sum().item()


def run_epoch(epoch, model, opt, data):
    random.shuffle(data)
    loss = right = 0
    for i in range(0, len(data), 8):
        l, r = train_step(model, opt, data[i:i + 8])
        loss, right = loss + l, right + r
    print(f"epoch {epoch:02d}: loss {loss / (len(data) / 8):.4f}, {right}/{len(data)} right")
    return loss


def main(epochs):
    torch.manual_seed(17)
    random.seed(17)
    data = []
    for _ in range(32):
        wanted = random.choice(list(TYPES))
        data.append((make(random.randint(1, 3), wanted, {}), wanted))
    model = Inference()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    return [run_epoch(e, model, opt, data) for e in range(epochs)]


MODEL, STEP, EPOCH = "Inference.forward", "train_step", "run_epoch"
