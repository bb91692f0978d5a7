# SPDX-License-Identifier: Apache-2.0
"""A tagger over padded batches: a collate function, masks, dictionaries of words built by reading, F1 at the end."""
import random
from collections import defaultdict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader

TAGS = ["O", "B", "I"]


def make_corpus(rng, n):
    vocab = defaultdict(lambda: len(vocab))
    vocab["<pad>"]
    corpus = []
    for _ in range(n):
        words = [rng.choice("the a red big cat dog house tree in on".split()) for _ in range(rng.randint(3, 6))]
        tags = ["B" if w in ("cat", "dog") else "I" if w in ("house", "tree") else "O" for w in words]
        corpus.append(([vocab[w] for w in words], [TAGS.index(t) for t in tags]))
    return corpus, dict(vocab)


def collate(batch):
    batch = sorted(batch, key=lambda pair: len(pair[0]), reverse=True)
    lengths = [len(words) for words, _ in batch]
    words = torch.zeros(len(batch), max(lengths), dtype=torch.long)
    tags = torch.full((len(batch), max(lengths)), -1, dtype=torch.long)
    for i, (w, t) in enumerate(batch):
        words[i, :len(w)] = torch.tensor(w)
        tags[i, :len(t)] = torch.tensor(t)
    return words, tags, torch.tensor(lengths)


class Tagger(nn.Module):
    def __init__(self, vocab, dim, tags):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.drop, self.out = nn.Dropout(0.3), nn.Linear(2 * dim, tags)

    def forward(self, words):
        x, _ = self.lstm(self.drop(self.embed(words)))
        mask = (words > 0).unsqueeze(-1).float()
        return self.out(x * mask)


def train_step(model, optimizer, words, tags):
    logits = model(words)
    loss = F.cross_entropy(logits.transpose(1, 2), tags, ignore_index=-1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def evaluate(model, loader):
    counts = defaultdict(int)
    model.eval()
    with torch.no_grad():
        for words, tags, _ in loader:
            predicted = model(words).argmax(-1)
            for p, t in zip(predicted[tags >= 0].tolist(), tags[tags >= 0].tolist()):
                counts["right" if p == t else "wrong"] += 1
                counts[TAGS[t]] += 1
    return dict(counts)


def train_epoch(model, optimizer, loader, epoch):
    model.train()
    losses = []
    for words, tags, lengths in loader:
        assert words.size(1) == lengths.max().item()
        losses.append(train_step(model, optimizer, words, tags))
    counts = evaluate(model, loader)
    print(f"epoch {epoch:>2}: {sum(losses) / len(losses):.4f}", sorted(counts.items()))
    return losses, counts


def main(epochs):
    corpus, vocab = make_corpus(random.Random(6), 10)
    loader = DataLoader(corpus, batch_size=4, shuffle=True, collate_fn=collate)
    model = Tagger(len(vocab), 6, len(TAGS))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, loader, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Tagger.forward", "train_step", "train_epoch"
