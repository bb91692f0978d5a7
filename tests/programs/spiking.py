# SPDX-License-Identifier: Apache-2.0
"""A spiking network: leaky neurons over time, a surrogate gradient, rates as logits."""
import time
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Spike(torch.autograd.Function):
    scale = 10.0

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (Spike.scale * v.abs() + 1.0) ** 2


class LIF(nn.Module):
    def __init__(self, n_in, n_out, beta=0.9, threshold=1.0):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.beta, self.threshold = beta, threshold
        self.mem = None

    def reset(self):
        self.mem = None

    def forward(self, x):
        cur = self.fc(x)
        if self.mem is None:
            self.mem = torch.zeros_like(cur)
        reset = (self.mem > self.threshold).float().detach()
        self.mem = self.beta * self.mem + cur - reset * self.threshold
        return Spike.apply(self.mem - self.threshold)


class Net(nn.Module):
    def __init__(self, steps=8):
        super().__init__()
        self.layers = nn.ModuleList([LIF(10, 24), LIF(24, 16), LIF(16, 4)])
        self.steps = steps

    def forward(self, x):
        for layer in self.layers:
            layer.reset()
        counts, trace = 0, []
        for t in range(self.steps):
            s = (torch.rand_like(x) < x).float()
            for layer in self.layers:
                s = layer(s)
            trace.append(s)
            counts = counts + s
        return counts / self.steps, torch.stack(trace)


def train_step(net, opt, x, y):
    opt.zero_grad()
    rates, spikes = net(x)
    loss = F.cross_entropy(rates * 5, y) + 0.01 * spikes.mean()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    return loss.item(), (rates.argmax(1) == y).float().mean().item()


def train_epoch(epoch, net, opt, batches):
    began, losses, accs = time.time(), [], []
    for x, y in batches:
        loss, acc = train_step(net, opt, x, y)
        losses.append(loss)
        accs.append(acc)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} acc {sum(accs) / len(accs):.3f}" if time.time() - began < 1e9 else "")
    return losses


def main(epochs):
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    batches = [(torch.rand(16, 10), torch.randint(0, 4, (16,))) for _ in range(5)]
    out = [train_epoch(e, net, opt, batches) for e in range(epochs)]
    return out, net


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
