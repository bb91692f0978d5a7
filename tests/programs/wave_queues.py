# SPDX-License-Identifier: Apache-2.0
"""Causal dilated convolutions: trained in parallel, generated sample by sample with queues."""
import collections
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Layer(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.dilation = dilation
        self.f, self.g = nn.Conv1d(c, c, 2, dilation=dilation), nn.Conv1d(c, c, 2, dilation=dilation)
        self.skip = nn.Conv1d(c, c, 1)

    def forward(self, x):
        p = F.pad(x, (self.dilation, 0))
        h = torch.tanh(self.f(p)) * torch.sigmoid(self.g(p))
        return x + h, self.skip(h)

    def tick(self, x, old):
        both = torch.stack([old, x], -1)
        h = torch.tanh(torch.einsum("bit,oit->bo", both, self.f.weight) + self.f.bias)
        h = h * torch.sigmoid(torch.einsum("bit,oit->bo", both, self.g.weight) + self.g.bias)
        return x + h, F.linear(h, self.skip.weight.squeeze(-1), self.skip.bias)


class Net(nn.Module):
    def __init__(self, c, q, dilations):
        super().__init__()
        self.embed = nn.Embedding(q, c)
        self.layers = nn.ModuleList(Layer(c, d) for d in dilations)
        self.out = nn.Conv1d(c, q, 1)
        self.c = c

    def forward(self, ids):
        x, skips = self.embed(ids).transpose(1, 2), 0
        for layer in self.layers:
            x, s = layer(x)
            skips = skips + s
        return self.out(F.relu(skips))


@torch.no_grad()
def generate(net, first, n):
    queues = [collections.deque([torch.zeros(1, net.c)] * l.dilation, maxlen=l.dilation) for l in net.layers]
    ids = [first]
    for _ in range(n):
        x, skips = net.embed(torch.tensor([ids[-1]])), torch.zeros(1, net.c)
        for layer, queue in zip(net.layers, queues):
            old = queue[0]
            queue.append(x)
            x, s = layer.tick(x, old)
            skips += s
        logits = F.linear(F.relu(skips), net.out.weight.squeeze(-1), net.out.bias)
        ids.append(int(torch.multinomial(F.softmax(logits, -1), 1)))
    return ids


def train_step(net, opt, batch):
    logits = net(batch[:, :-1])
    loss = F.cross_entropy(logits, batch[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def epoch(net, opt, data, number):
    loss = 0.0
    for i in range(0, len(data), 2):
        loss += train_step(net, opt, data[i:i + 2])
    sample = generate(net, 1, 8)
    print(f"[{number}] {loss:.3f}", "".join(map(str, sample)))
    return loss, sample


def main(epochs):
    torch.manual_seed(2)
    net = Net(8, 6, [1, 2, 4])
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)
    data = torch.randint(0, 6, (6, 14))
    out = []
    for e in range(epochs):
        out.append(epoch(net, opt, data, e))
        sched.step()
    return out


MODEL, STEP, EPOCH = "Net.forward", "train_step", "epoch"
