# SPDX-License-Identifier: Apache-2.0
"""The inside algorithm of a probabilistic grammar: a chart whose slices are written in place."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class PCFG(nn.Module):
    def __init__(self, nt, pt, vocab):
        super().__init__()
        self.nt, self.pt = nt, pt
        self.root = nn.Parameter(torch.randn(nt))
        self.rules = nn.Parameter(torch.randn(nt, (nt + pt) ** 2))
        self.words = nn.Parameter(torch.randn(pt, vocab))

    def inside(self, words):
        """Log probability of a sentence."""
        n, s = words.size(0), self.nt + self.pt
        unary = F.log_softmax(self.words, dim=1)[:, words].t()
        rules = F.log_softmax(self.rules, dim=1).view(self.nt, s, s)
        beta = torch.full((n, n, s), -1e9)
        for i in range(n):
            beta[i, i, self.nt:] = unary[i]
        for width in range(2, n + 1):
            rows = []
            for i in range(n - width + 1):
                j = i + width - 1
                splits = []
                for k in range(i, j):
                    left, right = beta[i, k].clone(), beta[k + 1, j].clone()
                    splits.append(rules + left.view(1, s, 1) + right.view(1, 1, s))
                rows.append(torch.logsumexp(torch.stack(splits).permute(1, 0, 2, 3).reshape(self.nt, -1), dim=1))
            for i, row in enumerate(rows):
                beta[i, i + width - 1, :self.nt] = row
        return torch.logsumexp(F.log_softmax(self.root, dim=0) + beta[0, n - 1, :self.nt], dim=0)

    def forward(self, words):
        return -self.inside(words)


def train_step(model, optimizer, words):
    loss = model(words)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, sentences, epoch):
    tick = time.time()
    total = 0.0
    for words in sentences:
        total += train_step(model, optimizer, words)
    print(f"Epoch {epoch}, nll {total:.3f}, {time.time() - tick:.2f} s")
    return total


def main(epochs):
    model = PCFG(2, 2, 6)
    sentences = [torch.randint(0, 6, (n,)) for n in (2, 4, 3)]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    return [train_epoch(model, optimizer, sentences, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "PCFG.forward", "train_step", "train_epoch"
