# SPDX-License-Identifier: Apache-2.0
"""A neural Turing machine that learns to copy: heads that read and write a memory by content and by shift."""
import random
import time

import janus as torch
import janus.nn.functional as F
from janus import nn


class Memory(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.n, self.m = n, m
        self.register_buffer("start", torch.full((n, m), 1e-2))
        self.memory = None

    def reset(self, batch_size):
        self.batch_size = batch_size
        self.memory = self.start.repeat(batch_size, 1, 1)

    def read(self, w):
        return torch.matmul(w.unsqueeze(1), self.memory).squeeze(1)

    def write(self, w, e, a):
        erase = torch.matmul(w.unsqueeze(-1), e.unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        self.memory = self.memory * (1 - erase) + add

    def address(self, k, beta, g, s, gamma, w_prev):
        k = k.view(self.batch_size, 1, -1)
        wc = F.softmax(beta * F.cosine_similarity(self.memory + 1e-16, k + 1e-16, dim=-1), dim=1)
        wg = g * wc + (1 - g) * w_prev
        shifted = []
        for b in range(self.batch_size):
            t = torch.cat([wg[b, -1:], wg[b], wg[b, :1]])
            shifted.append(F.conv1d(t.view(1, 1, -1), s[b].view(1, 1, -1)).view(-1))
        w = torch.stack(shifted) ** gamma
        return w / (w.sum(dim=1, keepdim=True) + 1e-16)


class Head(nn.Module):
    def __init__(self, memory, controller_size, lengths):
        super().__init__()
        self.memory, self.lengths = memory, lengths
        self.fc = nn.Linear(controller_size, sum(lengths))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.fc.weight, gain=1.4)
        nn.init.normal_(self.fc.bias, std=0.01)

    def split(self, x):
        at = [0]
        for n in self.lengths:
            at.append(at[-1] + n)
        return [x[:, i:j] for i, j in zip(at[:-1], at[1:])]

    def weights(self, k, beta, g, s, gamma, w_prev):
        return self.memory.address(k.clone(), F.softplus(beta), torch.sigmoid(g), F.softmax(s, dim=1),
                                   1 + F.softplus(gamma), w_prev)

    def is_read(self):
        raise NotImplementedError


class ReadHead(Head):
    def __init__(self, memory, controller_size):
        super().__init__(memory, controller_size, [memory.m, 1, 1, 3, 1])

    def is_read(self):
        return True

    def forward(self, x, w_prev):
        k, beta, g, s, gamma = self.split(self.fc(x))
        w = self.weights(k, beta, g, s, gamma, w_prev)
        return self.memory.read(w), w


class WriteHead(Head):
    def __init__(self, memory, controller_size):
        super().__init__(memory, controller_size, [memory.m, 1, 1, 3, 1, memory.m, memory.m])

    def is_read(self):
        return False

    def forward(self, x, w_prev):
        k, beta, g, s, gamma, e, a = self.split(self.fc(x))
        w = self.weights(k, beta, g, s, gamma, w_prev)
        self.memory.write(w, torch.sigmoid(e), a)
        return w


class NTM(nn.Module):
    def __init__(self, width, controller, memory):
        super().__init__()
        self.memory = memory
        self.controller = nn.LSTMCell(width + 1 + memory.m, controller)
        self.heads = nn.ModuleList([ReadHead(memory, controller), WriteHead(memory, controller)])
        self.out = nn.Linear(controller + memory.m, width)
        self.width, self.size = width, controller

    def init_state(self, batch):
        self.memory.reset(batch)
        zeros = torch.zeros(batch, self.size)
        return [torch.zeros(batch, self.memory.m)], (zeros, zeros), [torch.zeros(batch, self.memory.n) for _ in self.heads]

    def forward(self, x, state):
        reads, controller, weights = state
        h, c = self.controller(torch.cat([x] + reads, dim=1), controller)
        new_reads, new_weights = [], []
        for head, w in zip(self.heads, weights):
            if head.is_read():
                r, w = head(h, w)
                new_reads.append(r)
            else:
                w = head(h, w)
            new_weights.append(w)
        return torch.sigmoid(self.out(torch.cat([h] + new_reads, dim=1))), (new_reads, (h, c), new_weights)


def train_batch(net, criterion, optimizer, x, y):
    optimizer.zero_grad()
    state = net.init_state(x.size(1))
    for i in range(x.size(0)):
        _, state = net(x[i], state)
    outputs = []
    for _ in range(y.size(0)):
        o, state = net(torch.zeros(x.size(1), x.size(2)), state)
        outputs.append(o)
    out = torch.stack(outputs)
    loss = criterion(out, y)
    loss.backward()
    for p in net.parameters():
        if p.grad is not None:
            p.grad.data.clamp_(-10, 10)
    optimizer.step()
    wrong = torch.sum(torch.abs((out.detach() > 0.5).float() - y)) / x.size(1)
    return loss.item(), wrong.item()


def epoch(net, criterion, optimizer, batches, width):
    started = time.time()
    losses, costs = [], []
    for _ in range(batches):
        n = random.randint(1, 3)
        seq = torch.bernoulli(torch.full((n, 2, width), 0.5))
        inp = torch.zeros(n + 1, 2, width + 1)
        inp[:n, :, :width] = seq
        inp[n, :, width] = 1.0
        loss, cost = train_batch(net, criterion, optimizer, inp, seq)
        losses += [loss]
        costs += [cost]
    print("mean loss %.5f, cost %.2f bits, %d ms" % (
        sum(losses) / len(losses), sum(costs) / len(costs), (time.time() - started) * 1000))
    return losses[-1]


def main(epochs):
    net = NTM(3, 10, Memory(6, 4))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, momentum=0.9, alpha=0.95, eps=1e-3)
    return [epoch(net, nn.BCELoss(), optimizer, 5, 3) for _ in range(epochs)], net.state_dict()


MODEL, STEP, EPOCH = "NTM.forward", "train_batch", "epoch"
