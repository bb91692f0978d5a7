# SPDX-License-Identifier: Apache-2.0
"""Learning to sort: scores become a doubly stochastic matrix by Sinkhorn's iteration, stopped by value, hardened by a greedy match."""
import logging
import sys

import janus as torch
import janus.nn as nn

logger = logging.getLogger("sinkhorn")


def sinkhorn(log_alpha, tolerance=1e-2, most=30):
    rounds = 0
    while rounds < most:
        log_alpha = log_alpha - torch.logsumexp(log_alpha, dim=-1, keepdim=True)
        log_alpha = log_alpha - torch.logsumexp(log_alpha, dim=-2, keepdim=True)
        rounds += 1
        error = (log_alpha.exp().sum(-1) - 1.0).abs().max()
        if error < tolerance:
            break
    return log_alpha.exp(), rounds


class SortNet(nn.Module):
    def __init__(self, n, hidden=16):
        super().__init__()
        self.embed = nn.Linear(1, hidden)
        self.place = nn.Linear(hidden, n)
        self.temperature = 1.0

    def forward(self, x, noise=0.0):
        h = torch.tanh(self.embed(x.unsqueeze(-1)))
        scores = self.place(h)
        if noise > 0:
            u = torch.rand_like(scores).clamp(1e-6, 1 - 1e-6)
            scores = scores - noise * torch.log(-torch.log(u))
        return sinkhorn(scores / self.temperature)


def train_step(net, opt, x):
    target, _ = torch.sort(x, dim=-1)
    p, rounds = net(x, noise=0.1)
    ordered = (p.transpose(-1, -2) @ x.unsqueeze(-1)).squeeze(-1)
    loss = (ordered - target).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    return loss.item(), rounds


def greedy(p):
    """A permutation: the largest entry, without its row and column, again and again."""
    p, n, places = p.clone(), p.size(0), {}
    for _ in range(n):
        k = int(p.argmax())
        i, j = divmod(k, n)
        places[i] = j
        p[i, :] = -1.0
        p[:, j] = -1.0
    return [places[i] for i in range(n)]


def epoch_of(net, opt, number, batches=4):
    losses, rounds = [], 0
    for b in range(batches):
        n = 5
        x = torch.rand(6, n) * 2 - 1
        loss, r = train_step(net, opt, x)
        losses.append(loss)
        rounds += r
        if b % 2 == 1:
            logger.info("batch %d loss %.4f", b, loss)
    net.temperature = max(0.5, net.temperature * 0.95)
    with torch.no_grad():
        x = torch.linspace(1, -1, 5).unsqueeze(0)
        p, _ = net(x)
        order = greedy(p[0])
    print("epoch {:d}: loss {:.4f}, {} rounds, order {}".format(number, sum(losses) / batches, rounds, order), file=sys.stdout)
    return losses, order


def main(epochs):
    torch.manual_seed(21)
    net = SortNet(5)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    out = []
    for number in range(epochs):
        out.append(epoch_of(net, opt, number))
    return out, [p.abs().sum().item() for p in net.parameters()]


MODEL, STEP, EPOCH = "SortNet.forward", "train_step", "epoch_of"
