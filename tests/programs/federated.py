# SPDX-License-Identifier: Apache-2.0
"""Federated averaging: clients train copies of a model on their own data, a server averages the weights."""
import copy
import random
from collections import OrderedDict, namedtuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

Client = namedtuple("Client", "name xs ys")


class Net(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, hidden), nn.LayerNorm(hidden), nn.GELU())
        self.head = nn.Linear(hidden, 3)

    def forward(self, x):
        return self.head(self.body(x))


def batches(client, size):
    order = list(range(len(client.ys)))
    random.shuffle(order)
    for start in range(0, len(order), size):
        index = order[start:start + size]
        yield client.xs[index], client.ys[index]


def local_update(model, optimizer, x, y, anchor, mu=0.1):
    """One step of FedProx: the loss pulls the weights towards the server's."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    proximal = sum(((p - anchor[name]) ** 2).sum() for name, p in model.named_parameters())
    (loss + 0.5 * mu * proximal).backward()
    optimizer.step()
    return loss.item()


def average(states, weights):
    total = sum(weights)
    out = OrderedDict()
    for key in states[0]:
        out[key] = sum(w / total * s[key] for w, s in zip(weights, states))
    return out


@torch.no_grad()
def accuracy(model, clients):
    model.eval()
    right = sum((model(c.xs).argmax(1) == c.ys).sum().item() for c in clients)
    model.train()
    return right / sum(len(c.ys) for c in clients)


def round_of(server, clients, per_round=2):
    chosen = random.sample(clients, per_round)
    states, sizes, losses = [], [], []
    anchor = {k: v.detach().clone() for k, v in server.named_parameters()}
    for client in chosen:
        model = copy.deepcopy(server)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        for _ in range(2):
            for x, y in batches(client, 8):
                losses.append(local_update(model, optimizer, x, y, anchor))
        states.append(model.state_dict())
        sizes.append(len(client.ys))
    server.load_state_dict(average(states, sizes))
    print(f"{'+'.join(sorted(c.name for c in chosen)):>12}: loss {sum(losses) / len(losses):.4f}, accuracy {accuracy(server, clients):.1%}")
    return losses


def main(epochs):
    torch.manual_seed(4)
    random.seed(4)
    clients = []
    for k, (name, n) in enumerate([("ann", 16), ("bob", 24), ("cy", 20), ("di", 11)]):
        ys = torch.randint(0, 3, (n,))
        xs = torch.randn(n, 6) + F.one_hot(ys, 6).float() * 2 + 0.1 * k
        clients.append(Client(name, xs, ys))
    server = Net()
    history = [round_of(server, clients) for _ in range(epochs)]
    return history, {k: v.sum().item() for k, v in server.state_dict().items()}


MODEL, STEP, EPOCH = "Net.forward", "local_update", "round_of"
