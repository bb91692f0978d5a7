# SPDX-License-Identifier: Apache-2.0
"""BERT's encoder (Devlin et al. 2018): learned positions, norms after the sums; BERT-base by default."""
import janus
import janus.nn as nn
import janus.nn.functional as F


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.output = nn.Linear(size, size)

    def split(self, x):
        """[rows, words, size] -> [rows, heads, words, a head's part]"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, mask):
        y = F.scaled_dot_product_attention(self.split(self.query(x)), self.split(self.key(x)),
                                           self.split(self.value(x)), attn_mask=mask)
        return self.output(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, size, heads, dropout):
        super().__init__()
        self.attention, self.norm1 = Attention(size, heads), nn.LayerNorm(size, eps=1e-12)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.norm2, self.dropout = nn.LayerNorm(size, eps=1e-12), nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.dropout(self.narrow(F.gelu(self.wide(x)))))


class Bert(nn.Module):
    """From words [rows, words] the vectors of all words and, through a layer of its own, of the first one.

    segments: 0 or 1 for each word; mask: where there is a word and no padding, bool, [rows, words].
    """

    def __init__(self, words=30522, size=768, layers=12, heads=12, positions=512, dropout=0.1):
        super().__init__()
        self.words, self.segments = nn.Embedding(words, size), nn.Embedding(2, size)
        self.positions = nn.Parameter(nn.init.normal_(janus.empty(positions, size), std=0.02))
        self.norm, self.dropout = nn.LayerNorm(size, eps=1e-12), nn.Dropout(dropout)
        self.layers = nn.ModuleList([Layer(size, heads, dropout) for _ in range(layers)])
        self.pooler = nn.Linear(size, size)

    def forward(self, words, segments=None, mask=None):
        x = self.words(words) + self.positions[:words.shape[1]]
        x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        x = self.dropout(self.norm(x))
        allowed = None if mask is None else mask[:, None, None]
        for layer in self.layers:
            x = layer(x, allowed)
        return x, janus.tanh(self.pooler(x[:, 0]))


class Classifier(nn.Module):
    """Scores of classes for a text, as BERT is fine-tuned."""

    def __init__(self, classes=2, **sizes):
        super().__init__()
        self.bert = Bert(**sizes)
        self.output = nn.Linear(self.bert.pooler.out_features, classes)

    def forward(self, words, segments=None, mask=None):
        return self.output(self.bert(words, segments, mask)[1])
