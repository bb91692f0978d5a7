# SPDX-License-Identifier: Apache-2.0
"""Doubly recurrent tree decoder (Alvarez-Melis & Jaakkola 2017): ancestral and fraternal states, topology by sigmoids."""
from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Iterator, List, Optional

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

LABELS = ["prog", "if", "while", "assign", "call", "var", "num"]
ARITY = {"prog": (1, 3), "if": (2, 3), "while": (2, 2), "assign": (2, 2), "call": (0, 2), "var": (0, 0), "num": (0, 0)}
KINDS = {"prog": ["if", "while", "assign"], "if": ["var", "assign", "call"], "while": ["var", "assign"],
         "assign": ["var", "num", "call"], "call": ["num", "var"]}


@dataclass
class Tree:
    label: int
    children: List[Tree] = field(default_factory=list)

    def __len__(self):
        return 1 + sum(len(c) for c in self.children)

    def depth(self):
        return 1 + max((c.depth() for c in self.children), default=0)

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self):
        inside = " ".join(map(str, self.children))
        return f"({LABELS[self.label]} {inside})" if inside else LABELS[self.label]


def grow(rng, kind="prog", depth=0):
    low, high = ARITY[kind]
    node = Tree(LABELS.index(kind))
    if depth < 4:
        for _ in range(rng.randint(low, high)):
            node.children.append(grow(rng, rng.choice(KINDS[kind]), depth + 1))
    return node


class DRNN(nn.Module):
    def __init__(self, labels, dim, source):
        super().__init__()
        self.embed = nn.Embedding(labels, dim)
        self.encode = nn.Linear(source, dim)
        self.ancestral = nn.GRUCell(dim, dim)
        self.fraternal = nn.GRUCell(dim, dim)
        self.U_f = nn.Linear(dim, dim, bias=False)
        self.U_a = nn.Linear(dim, dim, bias=False)
        self.u_a = nn.Linear(dim, 1)
        self.u_f = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, labels)
        self.v_a = nn.Parameter(torch.zeros(labels))
        self.v_f = nn.Parameter(torch.zeros(labels))
        self.dim = dim

    def predict(self, h_a, h_f):
        return torch.tanh(self.U_f(h_f) + self.U_a(h_a))

    def node_loss(self, node, h_a, h_f, has_sibling):
        h = self.predict(h_a, h_f)
        p_a = self.u_a(h).view(1)
        p_f = self.u_f(h).view(1)
        grows = torch.tensor([float(bool(node.children))])
        more = torch.tensor([float(has_sibling)])
        topo = F.binary_cross_entropy_with_logits(p_a, grows) + F.binary_cross_entropy_with_logits(p_f, more)
        logits = self.out(h) + self.v_a * grows + self.v_f * more
        return F.cross_entropy(logits, torch.tensor([node.label])), topo

    def forward(self, source, tree):
        h_a = torch.tanh(self.encode(source)).unsqueeze(0)
        return self.tree_loss(tree, h_a, torch.zeros(1, self.dim), False)[:2]

    def tree_loss(self, node, h_a, h_f, has_sibling):
        label_loss, topo_loss = self.node_loss(node, h_a, h_f, has_sibling)
        x = self.embed(torch.tensor([node.label]))
        down = self.ancestral(x, h_a)
        sibling = torch.zeros(1, self.dim)
        for i, child in enumerate(node.children):
            last = i == len(node.children) - 1
            a, b, sibling = self.tree_loss(child, down, sibling, not last)
            label_loss, topo_loss = label_loss + a, topo_loss + b
        return label_loss, topo_loss, self.fraternal(x, h_f)

    @torch.no_grad()
    def sample(self, source, max_nodes=20) -> Optional[Tree]:
        h_a = torch.tanh(self.encode(source)).unsqueeze(0)
        root: Optional[Tree] = None
        queue = deque([(None, h_a, torch.zeros(1, self.dim))])
        made = 0
        while queue and made < max_nodes:
            parent, h_a, h_f = queue.popleft()
            h = self.predict(h_a, h_f)
            grows = bool(torch.rand(1) < torch.sigmoid(self.u_a(h)).view(-1))
            more = parent is not None and torch.rand(1).item() < torch.sigmoid(self.u_f(h)).item()
            logits = self.out(h) + self.v_a * float(grows) + self.v_f * float(more)
            label = int(torch.multinomial(F.softmax(logits, -1), 1))
            node = Tree(label)
            made += 1
            if parent is None:
                root = node
            else:
                parent.children.append(node)
            x = self.embed(torch.tensor([label]))
            if more:
                queue.append((parent, h_a, self.fraternal(x, h_f)))
            if grows:
                queue.append((node, self.ancestral(x, h_a), torch.zeros(1, self.dim)))
        return root


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    labels, topology = 0.0, 0.0
    for source, tree in batch:
        a, b = model(source, tree)
        labels = labels + a / len(tree)
        topology = topology + b / len(tree)
    loss = (labels + topology) / len(batch)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return {"label": labels.item() / len(batch), "topology": topology.item() / len(batch)}


def train_epoch(model, optimizer, data, epoch):
    model.train()
    order = list(range(len(data)))
    random.shuffle(order)
    sums = {"label": 0.0, "topology": 0.0}
    for i in range(0, len(order), 4):
        for k, v in train_step(model, optimizer, [data[j] for j in order[i:i + 4]]).items():
            sums[k] += v
    model.eval()
    sampled = model.sample(data[epoch % len(data)][0])
    print(f"epoch {epoch}: " + ", ".join(f"{k}={v:.4f}" for k, v in sums.items()))
    print(f"   sample ({len(sampled)} nodes, depth {sampled.depth()}): {sampled}")
    return sums, str(sampled)


def main(epochs):
    rng = random.Random(5)
    trees = [grow(rng) for _ in range(12)]
    data = []
    for tree in trees:
        counts = torch.zeros(len(LABELS))
        for node in tree.walk():
            counts[node.label] += 1
        data.append((counts, tree))
    model = DRNN(len(LABELS), 10, len(LABELS))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    history = [train_epoch(model, optimizer, data, e) for e in range(epochs)]
    return history, model


MODEL, STEP, EPOCH = "DRNN.forward", "train_step", "train_epoch"
