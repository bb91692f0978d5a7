# SPDX-License-Identifier: Apache-2.0
"""A tree encoder whose recursion returns dataclasses, with depths and counts beside the vectors."""
import random
import time
from dataclasses import dataclass, field
from typing import List, Optional

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Node:
    token: int
    children: List["Node"] = field(default_factory=list)
    label: Optional[int] = None


@dataclass
class Encoded:
    vector: torch.Tensor
    loss: torch.Tensor
    depth: int
    labelled: int


def random_node(rng, depth):
    kids = [random_node(rng, depth - 1) for _ in range(rng.randint(1, 3))] if depth else []
    return Node(rng.randrange(10), kids, rng.randrange(3) if rng.random() < 0.5 else None)


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed, self.update = nn.Embedding(10, dim), nn.GRUCell(dim, dim)
        self.classify = nn.Linear(dim, 3)

    def encode(self, node):
        x = self.embed(torch.tensor([node.token]))
        loss, depth, labelled = torch.zeros(()), 0, 0
        h = torch.zeros_like(x)
        for child in node.children:
            e = self.encode(child)
            h = self.update(e.vector, h)
            loss = loss + e.loss
            depth = max(depth, e.depth)
            labelled += e.labelled
        vector = self.update(x, h)
        if node.label is not None:
            loss = loss + F.cross_entropy(self.classify(vector), torch.tensor([node.label]))
            labelled += 1
        return Encoded(vector, loss, depth + 1, labelled)

    def forward(self, node):
        return self.encode(node)


def train_step(model, optimizer, tree):
    out = model(tree)
    loss = out.loss / max(1, out.labelled) + 0.01 * out.vector.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), out.depth


def train_epoch(model, optimizer, trees, epoch):
    start = time.time()
    rows = [train_step(model, optimizer, t) for t in trees]
    print(f"[{epoch}] loss {sum(r[0] for r in rows):.4f} deepest {max(r[1] for r in rows)} {time.time() - start:.3f} s")
    return rows


def main(epochs):
    rng = random.Random(17)
    trees = [random_node(rng, rng.randint(0, 3)) for _ in range(8)]
    model = Encoder(6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    return [train_epoch(model, optimizer, trees, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Encoder.encode", "train_step", "train_epoch"
