# SPDX-License-Identifier: Apache-2.0
"""A word-level LSTM language model as for the Penn Treebank (Zaremba et al. 2014): cells written out, the state of the
last batch kept in an attribute."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Cell(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gates = nn.Linear(2 * size, 4 * size)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class LanguageModel(nn.Module):
    def __init__(self, words, size, layers):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(words, size)
        self.dropout = nn.Dropout(0.2)
        self.cells = nn.ModuleList([Cell(size) for _ in range(layers)])
        self.output = nn.Linear(size, words)
        self.state = None

    def reset(self, rows):
        self.state = [(torch.zeros(rows, self.size), torch.zeros(rows, self.size)) for _ in self.cells]

    def forward(self, words):
        if self.state is None:
            self.reset(words.size(1))
        states = [(h.detach(), c.detach()) for h, c in self.state]
        outputs = []
        for t in range(words.size(0)):
            x = self.dropout(self.embedding(words[t]))
            for i, cell in enumerate(self.cells):
                h, c = cell(x, states[i])
                states[i] = (h, c)
                x = self.dropout(h)
            outputs.append(x)
        self.state = states
        return self.output(torch.stack(outputs))


def make(small, decorate):
    words, size, rows, steps = (50, 16, 4, 6) if small else (2000, 200, 20, 20)
    model = LanguageModel(words, size, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    @decorate
    def step(batch):
        inputs, targets = batch
        optimizer.zero_grad()
        scores = model(inputs)
        loss = F.cross_entropy(scores.view(-1, scores.size(-1)), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.item()

    text = torch.randint(0, words, (4 * steps + 1, rows))
    batches = [(text[i:i + steps], text[i + 1:i + steps + 1]) for i in range(0, 4 * steps, steps)]
    return [model], step, batches
