# SPDX-License-Identifier: Apache-2.0
"""A neural Turing machine without writing heads: addressing by content and by shift, reset for each sequence."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Memory:
    def __init__(self, n, m):
        self.n, self.m = n, m
        self.initial = torch.linspace(-0.5, 0.5, n * m).view(n, m)
        self.prev = []

    def reset(self):
        self.memory = self.initial.clone()
        self.prev = []

    def write(self, w, erase, add):
        self.prev.append(self.memory)
        e, a = torch.outer(w, erase), torch.outer(w, add)
        self.memory = self.memory * (1 - e) + a

    def read(self, w):
        return torch.matmul(w.unsqueeze(0), self.memory).squeeze(0)

    def address(self, k, beta, g, s, gamma, w_prev):
        wc = F.softmax(beta * F.cosine_similarity(self.memory + 1e-8, (k + 1e-8).unsqueeze(0), dim=1), dim=0)
        wg = g * wc + (1 - g) * w_prev
        ws = s[0] * torch.roll(wg, 1) + s[1] * wg + s[2] * torch.roll(wg, -1)
        w = ws ** gamma
        return w / (w.sum() + 1e-16)


class NTM(nn.Module):
    def __init__(self, inputs, outputs, n, m, hidden):
        super().__init__()
        self.memory, self.n, self.m = Memory(n, m), n, m
        self.controller = nn.GRUCell(inputs + m, hidden)
        self.head = nn.Linear(hidden, m + 6 + 2 * m)
        self.out = nn.Linear(hidden + m, outputs)

    def start(self):
        self.memory.reset()
        return torch.zeros(1, self.controller.hidden_size), torch.zeros(self.m), torch.eye(self.n)[0]

    def forward(self, x, state):
        h, read, w = state
        h = self.controller(torch.cat([x, read]).unsqueeze(0), h)
        k, beta, g, s, gamma, e, a = torch.split(self.head(h)[0], [self.m, 1, 1, 3, 1, self.m, self.m])
        w = self.memory.address(torch.tanh(k), F.softplus(beta), torch.sigmoid(g), F.softmax(s, dim=0),
                                1 + F.softplus(gamma), w)
        self.memory.write(w, torch.sigmoid(e), torch.tanh(a))
        read = self.memory.read(w)
        return torch.sigmoid(self.out(torch.cat([h[0], read]))), (h, read, w)


def train_step(net, optimizer, xs):
    optimizer.zero_grad()
    state = net.start()
    for x in xs:
        _, state = net(x, state)
    outs = []
    for _ in range(xs.size(0)):
        out, state = net(torch.zeros(xs.size(1)), state)
        outs.append(out)
    y = torch.stack(outs)
    loss = F.binary_cross_entropy(y, xs)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    optimizer.step()
    return loss.item(), torch.sum(torch.abs((y.detach() > 0.5).float() - xs)).item()


def train_epoch(net, optimizer, data, epoch):
    start = time.time()
    for xs in data:
        loss, cost = train_step(net, optimizer, xs)
    print("Sequence %d Loss: %.4f Cost: %.1f bits, %d writes, %.2fs"
          % (epoch, loss, cost, len(net.memory.prev), time.time() - start))
    return loss, cost


def main(epochs):
    data = [(torch.rand(n, 3) > 0.5).float() for n in (2, 3, 2)]
    net = NTM(3, 3, 5, 4, 8)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, alpha=0.95, momentum=0.9)
    return [train_epoch(net, optimizer, data, e) for e in range(epochs)], net, net.memory.memory


MODEL, STEP, EPOCH = "NTM.forward", "train_step", "train_epoch"
