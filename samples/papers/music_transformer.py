# SPDX-License-Identifier: Apache-2.0
"""Music Transformer (Huang et al. 2018): relative positions by skewing; masks and weights are kept on the modules."""
import math

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

PADDING = 0


class RelativeAttention(nn.Module):
    def __init__(self, size, heads, longest):
        super().__init__()
        self.heads, self.longest = heads, longest
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.output = nn.Linear(size, size)
        self.relative = nn.Parameter(0.1 * torch.randn(longest, size // heads))
        self.weights = None  # the last ones, to look at

    def skew(self, x):
        """[rows, heads, n, n], by query and distance -> by query and key."""
        x = F.pad(x, (1, 0))
        rows, heads, n, m = x.shape
        return x.reshape(rows, heads, m, n)[:, :, 1:]

    def forward(self, x, mask):
        rows, n, size = x.shape
        q, k, v = [f(x).view(rows, n, self.heads, -1).permute(0, 2, 1, 3) for f in (self.query, self.key, self.value)]
        near = self.relative[max(0, self.longest - n):]
        scores = (q @ k.transpose(-2, -1) + self.skew(q @ near.t())) / math.sqrt(size // self.heads)
        if mask is not None:
            scores = scores + mask * -1e9
        weights = F.softmax(scores, dim=-1)
        self.weights = weights.detach()
        return self.output((weights @ v).permute(0, 2, 1, 3).reshape(rows, n, size))


class Layer(nn.Module):
    def __init__(self, size, heads, longest):
        super().__init__()
        self.attention, self.norm1 = RelativeAttention(size, heads, longest), nn.LayerNorm(size)
        self.wide, self.narrow = nn.Linear(size, size * 2), nn.Linear(size * 2, size)
        self.norm2, self.dropout = nn.LayerNorm(size), nn.Dropout(0.1)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.dropout(self.narrow(F.relu(self.wide(x)))))


class MusicTransformer(nn.Module):
    def __init__(self, events, size, heads, layers, longest):
        super().__init__()
        self.size, self.events = size, nn.Embedding(events, size)
        self.layers = nn.ModuleList([Layer(size, heads, longest) for _ in range(layers)])
        self.output = nn.Linear(size, events)
        self.future = None  # the mask for the length that it was last called with
        self.weights = []

    def mask_of(self, x):
        n = x.size(1)
        if self.future is None or self.future.size(0) != n:
            self.future = torch.triu(torch.ones(n, n), diagonal=1)
        return torch.max((x == PADDING).float()[:, None, None, :], self.future)

    def forward(self, x):
        self.weights = []
        mask, h = self.mask_of(x), self.events(x) * math.sqrt(self.size)
        for layer in self.layers:
            h = layer(h, mask)
            self.weights.append(layer.attention.weights)
        return self.output(h)


def make(small, decorate):
    events, size, heads, layers, longest, rows = (40, 16, 2, 2, 16, 2) if small else (390, 128, 4, 3, 128, 4)
    model = MusicTransformer(events, size, heads, layers, longest)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)

    @decorate
    def step(text):
        optimizer.zero_grad()
        scores = model(text[:, :-1])
        loss = F.cross_entropy(scores.transpose(1, 2), text[:, 1:], ignore_index=PADDING)
        loss.backward()
        optimizer.step()
        return loss.item()

    batches = []
    for length in (10, 10, 14, 10) if small else (96, 96, 128, 96):
        text = torch.randint(1, events, (rows, length + 1))
        text[0, length - 2:] = PADDING
        batches.append(text)
    return [model], step, batches
