# SPDX-License-Identifier: Apache-2.0
"""A language model as for the One Billion Words (Jozefowicz et al. 2016): LSTM with a projection, loss over a sample of
the vocabulary drawn in Python, texts cut at several lengths."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class ProjectedCell(nn.Module):
    """An LSTM cell whose output is projected to fewer numbers."""

    def __init__(self, size, projected):
        super().__init__()
        self.x, self.h = nn.Linear(projected, 4 * size), nn.Linear(projected, 4 * size, bias=False)
        self.projection = nn.Linear(size, projected, bias=False)

    def forward(self, x, h, c):
        i, f, g, o = torch.split(self.x(x) + self.h(h), c.size(1), dim=1)
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(g)
        return self.projection(torch.sigmoid(o) * torch.tanh(c)), c


class LM(nn.Module):
    def __init__(self, words, size, projected, rows):
        super().__init__()
        self.words = nn.Embedding(words, projected)
        self.cell = ProjectedCell(size, projected)
        self.output = nn.Embedding(words, projected)
        self.bias = nn.Parameter(torch.zeros(words))
        self.h, self.c = torch.zeros(rows, projected), torch.zeros(rows, size)

    def forward(self, inputs, targets, sampled):
        """The loss among the sampled words and the right ones."""
        h, c = self.h, self.c
        hidden = []
        for word in inputs:
            h, c = self.cell(self.words(word), h, c)
            hidden.append(h)
        self.h, self.c = h.detach(), c.detach()
        y, right = torch.cat(hidden), targets.reshape(-1)
        scores = y @ self.output(sampled).t() + self.bias[sampled]
        score = (y * self.output(right)).sum(1) + self.bias[right]
        scores = scores.masked_fill(sampled[None, :] == right[:, None], -1e9)  # the right word is no wrong one
        every = torch.cat([score[:, None], scores], dim=1)
        return F.cross_entropy(every, torch.zeros(y.size(0), dtype=torch.long))


def make(small, decorate):
    words, size, projected, rows, samples = (60, 16, 8, 3, 12) if small else (20000, 512, 128, 32, 512)
    model = LM(words, size, projected, rows)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1, initial_accumulator_value=0.1)
    draw = random.Random(1)

    @decorate
    def train(inputs, targets, sampled):
        optimizer.zero_grad()
        loss = model(inputs, targets, sampled)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        return loss.item()

    def step(batch):
        sampled = torch.tensor(draw.sample(range(words), samples))
        return train(*batch, sampled)

    lengths = (5, 7, 5, 6) if small else (20, 16, 20, 12)
    texts = [torch.randint(0, words, (n + 1, rows)) for n in lengths]
    return [model], step, [(text[:-1], text[1:]) for text in texts]
