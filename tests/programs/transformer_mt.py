# SPDX-License-Identifier: Apache-2.0
"""An encoder-decoder transformer from parts: masks of padding, sinusoids in a buffer, warm-up, greedy decoding."""
import copy
import math

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

PAD, BOS, EOS = 0, 1, 2


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p = F.softmax(scores, dim=-1)
    return torch.matmul(p, value), p


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = clones(nn.Linear(d_model, d_model, bias=False), 4)
        self.attn = None

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = [lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
                             for lin, x in zip(self.linears, (query, key, value))]
        x, self.attn = attention(query, key, value, mask=mask)
        x = x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Sublayer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))


class Layer(nn.Module):
    def __init__(self, size, heads, cross):
        super().__init__()
        self.self_attn = MultiHeadedAttention(heads, size)
        self.src_attn = MultiHeadedAttention(heads, size) if cross else None
        self.feed = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.sublayer = clones(Sublayer(size), 3 if cross else 2)

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        if self.src_attn is not None:
            x = self.sublayer[1](x, lambda x: self.src_attn(x, memory, memory, memory_mask))
        return self.sublayer[-1](x, self.feed)


class Transformer(nn.Module):
    def __init__(self, vocab, size, heads, layers, longest=20):
        super().__init__()
        self.size = size
        self.embed = nn.Embedding(vocab, size)
        position = torch.arange(0, longest).unsqueeze(1)
        div = torch.exp(torch.arange(0, size, 2) * -(math.log(10000.0) / size))
        pe = torch.zeros(longest, size)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.encoder, self.decoder = clones(Layer(size, heads, False), layers), clones(Layer(size, heads, True), layers)
        self.norm, self.out = nn.LayerNorm(size), nn.Linear(size, vocab)

    def embedded(self, x):
        return self.embed(x) * math.sqrt(self.size) + self.pe[:, :x.size(1)]

    def encode(self, src, src_mask):
        x = self.embedded(src)
        for layer in self.encoder:
            x = layer(x, src_mask)
        return x

    def decode(self, memory, src_mask, tgt):
        size = tgt.size(1)
        tgt_mask = (tgt != PAD).unsqueeze(-2) & torch.tril(torch.ones(1, size, size)).bool()
        x = self.embedded(tgt)
        for layer in self.decoder:
            x = layer(x, tgt_mask, memory, src_mask)
        return self.out(self.norm(x))

    def forward(self, src, tgt):
        src_mask = (src != PAD).unsqueeze(-2)
        return self.decode(self.encode(src, src_mask), src_mask, tgt)


def train_step(model, optimizer, src, tgt):
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def greedy(model, src, longest):
    src_mask = (src != PAD).unsqueeze(-2)
    memory = model.encode(src, src_mask)
    ys = torch.full((1, 1), BOS, dtype=torch.long)
    for _ in range(longest - 1):
        word = model.decode(memory, src_mask, ys)[:, -1].argmax(dim=1).item()
        ys = torch.cat([ys, torch.full((1, 1), word, dtype=torch.long)], dim=1)
        if word == EOS:
            break
    return ys[0].tolist()


def run_epoch(model, optimizer, data, step):
    for src, tgt in data:
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = 0.5 * model.size ** -0.5 * min(step ** -0.5, step * 10 ** -1.5)
        loss = train_step(model, optimizer, src, tgt)
    with torch.no_grad():
        print("step %d loss %.4f" % (step, loss), greedy(model, data[0][0][:1], 6))
    return step


def main(epochs):
    data = []
    for n in (4, 5):
        src = torch.randint(3, 10, (2, n))
        tgt = torch.cat([torch.full((2, 1), BOS), src, torch.full((2, 1), EOS)], 1)
        src[1, -1] = PAD
        data.append((src, tgt))
    model, step = Transformer(10, 8, 2, 1), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for _ in range(epochs):
        step = run_epoch(model, optimizer, data, step)
    return step, model


MODEL, STEP, EPOCH = "Transformer.forward", "train_step", "run_epoch"
