# SPDX-License-Identifier: Apache-2.0
"""Graph isomorphism networks: graphs batched block by block, sum pooling at each layer, folds of cross validation with early stopping in each."""
import random
import time
from collections import namedtuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

Batch = namedtuple("Batch", "x edges graph labels")


class Graph:
    def __init__(self, n, edges, label):
        self.n, self.edges, self.label = n, edges, label
        self.neighbors = [[] for _ in range(n)]
        for a, b in edges:
            self.neighbors[a].append(b)
            self.neighbors[b].append(a)

    @property
    def max_degree(self):
        return max(map(len, self.neighbors))


def ring(n, chord):
    edges = [(i, (i + 1) % n) for i in range(n)]
    if chord:
        a = random.randrange(n)
        edges.append((a, (a + 2) % n))
    return Graph(n, edges, int(chord))


class KFold:
    def __init__(self, n_splits, shuffle=True):
        self.n_splits, self.shuffle = n_splits, shuffle

    def split(self, items):
        order = list(range(len(items)))
        if self.shuffle:
            random.shuffle(order)
        for k in range(self.n_splits):
            test = order[k::self.n_splits]
            held = set(test)
            yield [i for i in order if i not in held], test


class EarlyStopping:
    def __init__(self, patience=3, mode="min"):
        self.patience, self.mode = patience, mode
        self.best_score, self.counter, self.early_stop, self.weights = None, 0, False, {}

    def __call__(self, value, model):
        score = -value if self.mode == "min" else value
        if self.best_score is None or score > self.best_score:
            self.best_score, self.counter = score, 0
            self.weights = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.counter += 1
            if self.counter >= self.patience:
                self.early_stop = True


def collate(graphs, degrees=4):
    rows, edges, owner, offset = [], [], [], 0
    for k, g in enumerate(graphs):
        for near in g.neighbors:
            rows.append(F.one_hot(torch.tensor(len(near)), degrees).float())
        for a, b in g.edges:
            edges += [(a + offset, b + offset), (b + offset, a + offset)]
        owner.extend([k] * g.n)
        offset += g.n
    index = torch.tensor(edges).t()
    return Batch(torch.stack(rows), index, torch.tensor(owner), torch.tensor([g.label for g in graphs]))


class MLP(nn.Module):
    def __init__(self, num_layers, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.linears, self.norms = nn.ModuleList(), nn.ModuleList()
        for layer in range(num_layers - 1):
            self.linears.append(nn.Linear(input_dim if layer == 0 else hidden_dim, hidden_dim))
            self.norms.append(nn.BatchNorm1d(hidden_dim))
        self.last = nn.Linear(hidden_dim, output_dim)

    def forward(self, h):
        for linear, norm in zip(self.linears, self.norms):
            h = F.relu(norm(linear(h)))
        return self.last(h)


class GIN(nn.Module):
    def __init__(self, num_layers, input_dim, hidden_dim, classes, learn_eps=True, dropout=0.3):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(num_layers - 1)) if learn_eps else None
        self.mlps = nn.ModuleList(MLP(2, input_dim if k == 0 else hidden_dim, hidden_dim, hidden_dim) for k in range(num_layers - 1))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_dim) for _ in range(num_layers - 1))
        self.heads = nn.ModuleList(nn.Linear(input_dim if k == 0 else hidden_dim, classes) for k in range(num_layers))
        self.dropout = dropout

    def next_layer(self, h, k, batch):
        source, target = batch.edges
        pooled = torch.zeros_like(h).index_add_(0, target, h[source])
        pooled = pooled + (1 + self.eps[k]) * h if self.eps is not None else pooled + h
        return F.relu(self.norms[k](self.mlps[k](pooled)))

    def forward(self, batch):
        h, hidden = batch.x, [batch.x]
        for k in range(len(self.mlps)):
            h = self.next_layer(h, k, batch)
            hidden.append(h)
        score, graphs = 0, len(batch.labels)
        for head, h in zip(self.heads, hidden):
            pooled = h.new_zeros(graphs, h.size(1)).index_add(0, batch.graph, h)
            score += F.dropout(head(pooled), self.dropout, training=self.training)
        return score


def train_step(model, optimizer, batch):
    output = model(batch)
    loss = F.cross_entropy(output, batch.labels)
    if optimizer is not None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    loss = loss.detach().cpu().numpy()
    return float(loss)


@torch.no_grad()
def accuracy(model, graphs, size=4):
    model.eval()
    output = torch.cat([model(collate(graphs[i:i + size])) for i in range(0, len(graphs), size)])
    pred = output.max(1, keepdim=True)[1]
    labels = torch.LongTensor([g.label for g in graphs])
    return pred.eq(labels.view_as(pred)).sum().item() / len(graphs)


def train_epoch(epoch, fold, model, optimizer, scheduler, train, test, stopper, size=4):
    model.train()
    began, order, total = time.time(), random.sample(train, len(train)), 0.0
    for i in range(0, len(order), size):
        total += train_step(model, optimizer, collate(order[i:i + size]))
    scheduler.step()
    acc_train, acc_test = accuracy(model, train), accuracy(model, test)
    stopper(total, model)
    print("fold %d epoch %d loss %.5f accuracy train: %.3f test: %.3f (%.2f s)" % (fold, epoch, total, acc_train, acc_test, time.time() - began))
    return total, acc_test


def main(epochs):
    torch.manual_seed(0)
    random.seed(0)
    graphs = [ring(random.randint(4, 7), chord=k % 2 == 0) for k in range(16)]
    assert max(g.max_degree for g in graphs) < 4
    curves, best = {}, []
    for fold, (train, test) in enumerate(KFold(2).split(graphs)):
        model = GIN(3, 4, 8, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
        stopper = EarlyStopping(patience=3)
        for e in range(max(epochs // 2, 1)):
            curves[fold, e] = train_epoch(e, fold, model, optimizer, scheduler, [graphs[i] for i in train], [graphs[i] for i in test], stopper)
            if stopper.early_stop:
                break
        model.load_state_dict(stopper.weights)
        best.append(stopper.best_score)
    return curves, best, model


MODEL, STEP, EPOCH = "GIN.forward", "train_step", "train_epoch"
