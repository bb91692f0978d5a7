# SPDX-License-Identifier: Apache-2.0
"""Masked language modelling: tokens masked at random, padding masks, weight decay for some parameters only."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

PAD, MASK = 0, 1


class SelfAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.head = heads, size // heads
        self.query, self.value = nn.Linear(size, size), nn.Linear(size, size)
        self.key = nn.Linear(size, size, bias=False)
        self.dense = nn.Linear(size, size)

    def split(self, x):
        new_shape = x.size()[:-1] + (self.heads, self.head)
        return x.view(*new_shape).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.head ** 0.5 + mask
        context = torch.matmul(F.dropout(F.softmax(scores, dim=-1), 0.1, self.training), v)
        context = context.permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(*context.size()[:-2], -1))


class BertLayer(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.attention, self.norm1 = SelfAttention(size, heads), nn.LayerNorm(size, eps=1e-12)
        self.inter, self.output, self.norm2 = nn.Linear(size, 2 * size), nn.Linear(2 * size, size), nn.LayerNorm(size)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.output(F.gelu(self.inter(x))))


class Bert(nn.Module):
    def __init__(self, vocab, size=8, heads=2, layers=2, longest=12):
        super().__init__()
        self.word, self.position = nn.Embedding(vocab, size, padding_idx=PAD), nn.Embedding(longest, size)
        self.norm, self.drop = nn.LayerNorm(size), nn.Dropout(0.1)
        self.layers = nn.ModuleList([BertLayer(size, heads) for _ in range(layers)])
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, ids):
        mask = (1.0 - (ids != PAD).float()).unsqueeze(1).unsqueeze(2) * -10000.0
        positions = torch.arange(ids.size(1)).unsqueeze(0).expand_as(ids)
        x = self.drop(self.norm(self.word(ids) + self.position(positions)))
        for layer in self.layers:
            x = layer(x, mask)
        return F.linear(x, self.word.weight, self.bias)


def mask_tokens(ids, p):
    labels = ids.clone()
    chosen = torch.bernoulli(torch.full(labels.shape, p)).bool() & (ids != PAD)
    labels[~chosen] = -100
    inputs = ids.clone()
    inputs[chosen] = MASK
    return inputs, labels


def train_step(model, optimizer, ids):
    inputs, labels = mask_tokens(ids, 0.4)
    logits = model(inputs)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100, reduction="sum")
    loss = loss / max(1, (labels != -100).sum().item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    losses = [train_step(model, optimizer, ids) for ids in data]
    print("epoch {} mlm {:.4f} {:.1f} ms".format(epoch, sum(losses) / len(losses), 1e3 * (time.time() - start)))
    return losses


def main(epochs):
    data = [torch.randint(2, 16, (3, n)) for n in (5, 6)]
    for ids in data:
        ids[0, -2:] = PAD
    model = Bert(16)
    no_decay = ["bias", "norm"]
    groups = [{"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
               "weight_decay": 0.01},
              {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
               "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, lr=0.05)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Bert.forward", "train_step", "train_epoch"
