# SPDX-License-Identifier: Apache-2.0
"""Sequences of all lengths: a Dataset of its own, a collate function that pads, a masked GRU, early stopping."""
import copy

import janus as torch
import janus.nn as nn
from janus.utils.data import DataLoader, Dataset


class Sequences(Dataset):
    def __init__(self, n):
        self.items = []
        for i in range(n):
            length = 2 + i % 4
            self.items.append((torch.randint(1, 9, (length,)), i % 3))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch = sorted(batch, key=lambda b: len(b[0]), reverse=True)
    lengths = [len(x) for x, _ in batch]
    padded = torch.zeros(len(batch), max(lengths), dtype=torch.long)
    for i, (x, _) in enumerate(batch):
        padded[i, :lengths[i]] = x
    return padded, torch.tensor(lengths), torch.tensor([y for _, y in batch])


class Classifier(nn.Module):
    def __init__(self, vocab=9, dim=5, hidden=6, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.attention = nn.Linear(2 * hidden, 1, bias=False)
        self.classifier = nn.Linear(2 * hidden, classes)

    def forward(self, x, lengths):
        out, _ = self.rnn(self.embedding(x))
        mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
        scores = self.attention(out).squeeze(-1).masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), out).squeeze(1)
        return self.classifier(context)


class EarlyStopping:
    def __init__(self, patience=2, delta=0.0):
        self.patience, self.delta = patience, delta
        self.best, self.counter, self.stop, self.state = None, 0, False, None

    def __call__(self, loss, model):
        if self.best is None or loss < self.best - self.delta:
            self.best, self.counter = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
            print(f"EarlyStopping counter: {self.counter} out of {self.patience}")
            self.stop = self.counter >= self.patience
        return self.stop


def train_step(model, criterion, optimizer, x, lengths, y):
    logits = model(x, lengths)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    return loss.item(), (logits.argmax(-1) == y).sum().item()


def evaluate(model, criterion, loader):
    model.eval()
    total, n, matrix = 0.0, 0, torch.zeros(3, 3, dtype=torch.long)
    with torch.no_grad():
        for x, lengths, y in loader:
            logits = model(x, lengths)
            total += criterion(logits, y).item() * len(y)
            n += len(y)
            for t, p in zip(y, logits.argmax(1)):
                matrix[t, p] += 1
    return total / n, matrix


def epoch(model, criterion, optimizer, train, valid, stopper):
    model.train()
    losses, correct = [], 0
    for batch in train:
        loss, right = train_step(model, criterion, optimizer, *batch)
        losses.append(loss)
        correct += right
    valid_loss, matrix = evaluate(model, criterion, valid)
    print(f"train {sum(losses) / len(losses):.4f} acc {correct / len(train.dataset):.3f} | valid {valid_loss:.4f}")
    stopper(valid_loss, model)
    return valid_loss, matrix


def main(epochs):
    train = DataLoader(Sequences(18), batch_size=6, shuffle=True, collate_fn=collate)
    valid = DataLoader(Sequences(8), batch_size=4, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    stopper = EarlyStopping()
    results = []
    for _ in range(epochs):
        results.append(epoch(model, nn.CrossEntropyLoss(label_smoothing=0.1), optimizer, train, valid, stopper))
        if stopper.stop:
            stopper.stop, stopper.counter = False, 0
    model.load_state_dict(stopper.state)
    return results, stopper.best, model


MODEL, STEP, EPOCH = "Classifier.forward", "train_step", "epoch"
