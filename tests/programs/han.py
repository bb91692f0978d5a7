# SPDX-License-Identifier: Apache-2.0
"""Documents of sentences of words: two GRUs with attention over packed sequences, a vocabulary, collation and a confusion matrix."""
import random
from collections import Counter

import janus as torch
import janus.nn as nn
from janus.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from janus.utils.data import DataLoader

TOPICS = [["goal", "match", "team", "score"], ["stock", "price", "bank", "trade"], ["cell", "gene", "virus", "study"]]
FILLER = ["the", "a", "of", "and", "was", "in"]


class Vocab:
    def __init__(self, documents, min_count=1):
        counts = Counter(w for doc, _ in documents for s in doc for w in s.split())
        self.itos = ["<pad>", "<unk>"] + sorted(w for w, c in counts.items() if c >= min_count)
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, sentence):
        return [self.stoi.get(w, 1) for w in sentence.split()]


def make_document():
    label = random.randrange(3)
    doc = []
    for _ in range(random.randint(2, 4)):
        words = [random.choice(TOPICS[label] if random.random() < 0.4 else FILLER) for _ in range(random.randint(3, 7))]
        doc.append(" ".join(words))
    return doc, label


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.project, self.context = nn.Linear(size, size), nn.Parameter(torch.randn(size) * 0.1)

    def forward(self, states, mask):
        scores = torch.tanh(self.project(states)) @ self.context
        weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=1)
        return (weights.unsqueeze(-1) * states).sum(dim=1), weights


class HAN(nn.Module):
    def __init__(self, vocab, classes, emb=8, hidden=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb, padding_idx=0)
        self.word_rnn = nn.GRU(emb, hidden, bidirectional=True, batch_first=True)
        self.sent_rnn = nn.GRU(2 * hidden, hidden, bidirectional=True, batch_first=True)
        self.word_att, self.sent_att = Attention(2 * hidden), Attention(2 * hidden)
        self.drop, self.out = nn.Dropout(0.1), nn.Linear(2 * hidden, classes)

    def forward(self, tokens, word_lengths, doc_lengths):
        packed = pack_padded_sequence(self.drop(self.embed(tokens)), word_lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.word_rnn(packed)[0], batch_first=True)
        mask = torch.arange(states.size(1))[None, :] < word_lengths[:, None]
        sentences, _ = self.word_att(states, mask)
        docs = pad_sequence(torch.split(sentences, doc_lengths.tolist()), batch_first=True)
        states, _ = self.sent_rnn(docs)
        mask = torch.arange(docs.size(1)).unsqueeze(0) < doc_lengths.unsqueeze(1)
        vectors, weights = self.sent_att(states, mask)
        return self.out(self.drop(vectors)), weights


class Collate:
    def __init__(self, vocab):
        self.vocab = vocab

    def __call__(self, samples):
        sentences = [torch.tensor(self.vocab.encode(s)) for doc, _ in samples for s in doc]
        return (pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences]),
                torch.tensor([len(doc) for doc, _ in samples]), torch.tensor([y for _, y in samples]))


def train_step(model, opt, criterion, batch):
    tokens, words, docs, labels = batch
    logits, _ = model(tokens, words, docs)
    loss = criterion(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), (logits.argmax(1) == labels).float().mean().item()


def confusion(model, loader, classes=3):
    matrix = torch.zeros(classes, classes, dtype=torch.long)
    with torch.no_grad():
        for tokens, words, docs, labels in loader:
            pred = model(tokens, words, docs)[0].argmax(dim=1)
            for t, p in zip(labels, pred):
                matrix[t, p] += 1
    return matrix


def run_epoch(epoch, model, opt, criterion, loader, test):
    model.train()
    stats = [train_step(model, opt, criterion, batch) for batch in loader]
    loss, acc = (sum(s) / len(stats) for s in zip(*stats))
    model.eval()
    matrix = confusion(model, test)
    recall = matrix.diag().float() / matrix.sum(1).clamp(min=1)
    print(f"Epoch {epoch}: loss {loss:.3f} acc {acc:.2%} test {matrix.diag().sum().item() / matrix.sum().item():.2f} recall {[round(r, 2) for r in recall.tolist()]}")
    return loss


def main(epochs):
    random.seed(4)
    torch.manual_seed(4)
    documents = [make_document() for _ in range(40)]
    vocab = Vocab(documents[:30])
    model = HAN(len(vocab), 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98))
    collate = Collate(vocab)
    loader = DataLoader(documents[:30], batch_size=6, shuffle=True, collate_fn=collate)
    test = DataLoader(documents[30:], batch_size=5, collate_fn=collate)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    return [run_epoch(e, model, opt, criterion, loader, test) for e in range(epochs)]


MODEL, STEP, EPOCH = "HAN.forward", "train_step", "run_epoch"
