# SPDX-License-Identifier: Apache-2.0
"""Message passing over edge lists of graphs of all sizes: index_add, readout by graph, graphs batched by offsets."""
import random
import time

import janus as torch
import janus.nn.functional as F
from janus import nn


class Graph:
    def __init__(self, x, edge_index, y):
        self.x, self.edge_index, self.y = x, edge_index, y

    @property
    def num_nodes(self):
        return self.x.size(0)

    def __repr__(self):
        return f"Graph(nodes={self.num_nodes}, edges={self.edge_index.size(1)})"


def make_graph(n):
    src, dst = [], []
    for i in range(n):
        for j in range(n):
            if i != j and (j - i) % n in (1, n - 1):
                src.append(i)
                dst.append(j)
    return Graph(torch.randn(n, 3), torch.tensor([src, dst]), n % 2)


def batch_graphs(graphs):
    xs, edges, batch, offset = [], [], [], 0
    for k, g in enumerate(graphs):
        xs.append(g.x)
        edges.append(g.edge_index + offset)
        batch += [k] * g.num_nodes
        offset += g.num_nodes
    return torch.cat(xs), torch.cat(edges, dim=1), torch.tensor(batch), torch.tensor([g.y for g in graphs])


class GINConv(nn.Module):
    def __init__(self, nn_, eps=0.0):
        super().__init__()
        self.nn = nn_
        self.eps = nn.Parameter(torch.tensor([eps]))

    def propagate(self, edge_index, x):
        src, dst = edge_index
        out = torch.zeros_like(x)
        return out.index_add(0, dst, self.message(x[src]))

    def message(self, x_j):
        return F.relu(x_j)

    def forward(self, x, edge_index):
        return self.nn((1 + self.eps) * x + self.propagate(edge_index, x))


class GIN(nn.Module):
    def __init__(self, features, hidden, classes, layers=2):
        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for i in range(layers):
            d = features if i == 0 else hidden
            self.convs.append(GINConv(nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden))))
            self.norms.append(nn.LayerNorm(hidden))
        self.lin = nn.Linear(hidden * layers, classes)

    def forward(self, x, edge_index, batch, num_graphs):
        pooled = []
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x, edge_index))
            out = torch.zeros(num_graphs, x.size(1))
            pooled.append(out.index_add(0, batch, x))
        return self.lin(F.dropout(torch.cat(pooled, dim=1), p=0.2, training=self.training))


def step(model, optimizer, x, edge_index, batch, y):
    optimizer.zero_grad()
    out = model(x, edge_index, batch, len(y))
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    return float(loss) * len(y), int((out.argmax(-1) == y).sum())


def epoch(model, optimizer, graphs, batch_size=3):
    start = time.time()
    random.shuffle(graphs)
    total, hits = 0.0, 0
    for i in range(0, len(graphs), batch_size):
        loss, right = step(model, optimizer, *batch_graphs(graphs[i:i + batch_size]))
        total, hits = total + loss, hits + right
    print(f"{total / len(graphs):.4f} {hits}/{len(graphs)} {graphs[0]} {(time.time() - start) * 1e3:.0f} ms")
    return total


def main(epochs):
    graphs = [make_graph(n) for n in (3, 4, 5, 6, 7, 4, 5, 3, 6)]
    model = GIN(3, 8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    return [epoch(model, optimizer, graphs) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "GIN.forward", "step", "epoch"
