# SPDX-License-Identifier: Apache-2.0
"""A hidden Markov model in log space, trained by gradients, decoded by Viterbi with lists."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class HMM(nn.Module):
    def __init__(self, states, symbols):
        super().__init__()
        self.states = states
        self.prior = nn.Parameter(torch.randn(states))
        self.transition = nn.Parameter(torch.randn(states, states))
        self.emission = nn.Parameter(torch.randn(states, symbols))

    def log_matmul(self, a, log_b):
        return torch.logsumexp(a.unsqueeze(2) + log_b.unsqueeze(0), dim=1)

    def forward(self, x, lengths):
        batch, longest = x.shape
        prior = F.log_softmax(self.prior, dim=0)
        transition, emission = F.log_softmax(self.transition, dim=1), F.log_softmax(self.emission, dim=1)
        log_alpha = torch.zeros(batch, longest, self.states)
        log_alpha[:, 0, :] = emission[:, x[:, 0]].t() + prior
        for t in range(1, longest):
            log_alpha[:, t, :] = emission[:, x[:, t]].t() + self.log_matmul(log_alpha[:, t - 1, :].clone(), transition)
        sums = log_alpha.logsumexp(dim=2)
        return torch.gather(sums, 1, lengths.view(-1, 1) - 1).squeeze(1)

    @torch.no_grad()
    def viterbi(self, x):
        transition, emission = F.log_softmax(self.transition, dim=1), F.log_softmax(self.emission, dim=1)
        delta, psi = F.log_softmax(self.prior, dim=0) + emission[:, x[0]], []
        for symbol in x[1:]:
            best, arg = (delta.unsqueeze(1) + transition).max(0)
            delta = best + emission[:, symbol]
            psi.append(arg)
        path = [int(delta.argmax())]
        for arg in psi[::-1]:
            path.insert(0, int(arg[path[0]]))
        return path


def train_step(model, optimizer, x, lengths):
    loss = -model(x, lengths).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    losses = [train_step(model, optimizer, x, n) for x, n in data]
    path = model.viterbi(data[0][0][0])
    print("epoch", epoch, "%.4f" % (sum(losses) / len(losses)), path, "%.2fs" % (time.time() - start))
    return losses


def main(epochs):
    data = []
    for longest in (5, 4, 6):
        lengths = torch.randint(2, longest + 1, (3,))
        data.append((torch.randint(0, 5, (3, longest)), lengths))
    model = HMM(3, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "HMM.forward", "train_step", "train_epoch"
