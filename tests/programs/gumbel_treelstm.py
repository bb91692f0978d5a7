# SPDX-License-Identifier: Apache-2.0
"""Gumbel tree-LSTM (Choi et al. 2018): which neighbours merge is sampled, straight through; padded batches with masks."""
import math
import random

import janus as torch
from janus import nn
from janus.nn import functional as F


def st_gumbel_softmax(logits, temperature=1.0, mask=None):
    eps = 1e-20
    u = torch.rand_like(logits)
    gumbel = -torch.log(-torch.log(u + eps) + eps)
    y = masked_softmax((logits + gumbel) / temperature, mask)
    hard = torch.zeros_like(y).scatter_(1, y.argmax(dim=1, keepdim=True), 1.0)
    return (hard - y).detach() + y


def greedy_select(logits, mask=None):
    probs = masked_softmax(logits, mask)
    return F.one_hot(probs.max(dim=1)[1], logits.size(1)).float()


def masked_softmax(logits, mask=None):
    probs = F.softmax(logits, dim=-1)
    if mask is not None:
        mask = mask.float()
        probs = probs * mask + 1e-20
        probs = probs / probs.sum(dim=1, keepdim=True)
    return probs


def sequence_mask(lengths, max_length=None):
    if max_length is None:
        max_length = lengths.max().item()
    positions = torch.arange(max_length).unsqueeze(0).expand(lengths.size(0), max_length)
    return positions < lengths.unsqueeze(1)


class BinaryTreeLSTMLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.comp = nn.Linear(2 * dim, 5 * dim)

    def forward(self, l=None, r=None):
        hl, cl = l
        hr, cr = r
        i, fl, fr, u, o = torch.chunk(self.comp(torch.cat([hl, hr], dim=2)), chunks=5, dim=2)
        c = cl * (fl + 1).sigmoid() + cr * (fr + 1).sigmoid() + u.tanh() * i.sigmoid()
        return o.sigmoid() * c.tanh(), c


class GumbelTree(nn.Module):
    def __init__(self, vocab, dim, classes, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.word = nn.Linear(dim, 2 * dim)
        self.layer = BinaryTreeLSTMLayer(dim)
        self.query = nn.Parameter(torch.empty(dim))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, classes))
        self.temperature = 1.0
        nn.init.normal_(self.query, mean=0.0, std=0.01)

    @staticmethod
    def update_state(old, new, done_mask):
        m = done_mask.float().unsqueeze(1).unsqueeze(2)
        return tuple(m * n + (1 - m) * o[:, :-1, :] for o, n in zip(old, new))

    def select(self, old, new, mask):
        (h, c), (old_h, old_c) = new, old
        logits = torch.matmul(h, self.query) / math.sqrt(h.size(-1))
        if self.training:
            choice = st_gumbel_softmax(logits, self.temperature, mask)
        else:
            choice = greedy_select(logits, mask)
        cum = torch.cumsum(choice, 1)
        left = (1 - cum).unsqueeze(2)
        right = (cum - choice).unsqueeze(2)
        this = choice.unsqueeze(2)
        new_h = this * h + left * old_h[:, :-1, :] + right * old_h[:, 1:, :]
        new_c = this * c + left * old_c[:, :-1, :] + right * old_c[:, 1:, :]
        return new_h, new_c, choice

    def forward(self, tokens, length):
        state = self.word(self.embedding(tokens)).chunk(2, dim=2)
        longest = tokens.size(1)
        mask = sequence_mask(length, longest)
        choices = []
        for i in range(longest - 1):
            h, c = state
            new = self.layer(l=(h[:, :-1, :], c[:, :-1, :]), r=(h[:, 1:, :], c[:, 1:, :]))
            if i < longest - 2:
                *new, choice = self.select(state, new, mask[:, i + 1:])
                choices.append(choice)
            state = self.update_state(state, new, mask[:, i + 1])
        h, c = state
        assert h.size(1) == 1 and c.size(1) == 1
        return self.classifier(h.squeeze(1)), choices


def brackets(choices, words, row):
    """The tree of one example, as nested lists."""
    nodes = list(words)
    for choice in choices:
        if len(nodes) < 2:
            break
        k = choice[row].argmax().item()
        if k + 1 < len(nodes):
            nodes[k:k + 2] = [nodes[k:k + 2]]
    while len(nodes) > 1:
        nodes[:2] = [nodes[:2]]
    return nodes[0]


def train_step(model, optimizer, tokens, lengths, labels):
    optimizer.zero_grad()
    logits, _ = model(tokens, lengths)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
    optimizer.step()
    return loss.item(), logits.argmax(1).eq(labels).float().mean().item()


def collate(items):
    lengths = torch.tensor([len(w) for w, _ in items])
    tokens = torch.zeros(len(items), int(lengths.max()), dtype=torch.long)
    for row, (words, _) in enumerate(items):
        tokens[row, :len(words)] = torch.tensor(words)
    return tokens, lengths, torch.tensor([y for _, y in items])


def train_epoch(model, optimizer, data, batch_size, epoch):
    model.train()
    model.temperature = max(0.5, 0.95 ** epoch)
    random.shuffle(data)
    stats = []
    for i in range(0, len(data), batch_size):
        stats.append(train_step(model, optimizer, *collate(data[i:i + batch_size])))
    model.eval()
    tokens, lengths, labels = collate(data[:batch_size])
    with torch.no_grad():
        logits, choices = model(tokens, lengths)
    tree = brackets(choices, data[0][0], 0)
    loss, accuracy = (sum(s) / len(s) for s in zip(*stats))
    print(f"[{epoch}] temperature {model.temperature:.3f} loss {loss:.4f} accuracy {accuracy:.3f} {tree}")
    return loss, accuracy, tree


def main(epochs):
    rng = random.Random(8)
    data = []
    for _ in range(24):
        words = [rng.randint(1, 9) for _ in range(rng.randint(2, 8))]
        data.append((words, sum(w > 5 for w in words) % 3))
    model = GumbelTree(10, 8, 3)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    return [train_epoch(model, optimizer, data, 8, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "GumbelTree.forward", "train_step", "train_epoch"
