# SPDX-License-Identifier: Apache-2.0
"""GPT-2 (Radford et al. 2019): norms before the sums, each word sees those before it; GPT-2 small by default."""
import janus
import janus.nn as nn
import janus.nn.functional as F


class Block(nn.Module):
    """One block: [rows, words, size] -> the same."""

    def __init__(self, size=768, heads=12):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.output = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        q, k, v = [y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, 2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Scores of the next word at every place of words [rows, words]."""

    def __init__(self, words=50257, size=768, layers=12, heads=12, positions=1024):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.positions = nn.Parameter(nn.init.normal_(janus.empty(positions, size), std=0.01))
        self.blocks = nn.ModuleList([Block(size, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(size)

    def forward(self, words):
        x = self.words(words) + self.positions[:words.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.words.weight)
