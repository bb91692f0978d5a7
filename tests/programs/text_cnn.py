# SPDX-License-Identifier: Apache-2.0
"""Sentences classified by convolutions of several widths, padded to the longest of a batch."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class TextCNN(nn.Module):
    def __init__(self, vocab, dim, kernels, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, (k, dim)) for k in kernels])
        self.dropout = nn.Dropout(0.3)
        self.fc1 = nn.Linear(len(kernels) * 4, classes)

    def forward(self, x):
        x = self.embed(x)
        x = x.unsqueeze(1)
        x = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        x = [F.max_pool1d(i, i.size(2)).squeeze(2) for i in x]
        x = torch.cat(x, 1)
        return self.fc1(self.dropout(x))


def pad(batch, least):
    longest = max(least, *(len(s) for s in batch))
    return torch.tensor([s + [0] * (longest - len(s)) for s in batch])


def train_step(model, optimizer, feature, target):
    optimizer.zero_grad()
    logit = model(feature)
    loss = F.cross_entropy(logit, target)
    loss.backward()
    optimizer.step()
    corrects = (torch.max(logit, 1)[1].view(target.size()).data == target.data).sum()
    return loss.item(), corrects.item()


def train_epoch(model, optimizer, data, size, rng, epoch):
    start, order, total, right = time.time(), list(range(len(data))), 0.0, 0
    rng.shuffle(order)
    for i in range(0, len(order), size):
        chosen = [data[k] for k in order[i:i + size]]
        feature, target = pad([s for s, _ in chosen], 4), torch.tensor([y for _, y in chosen])
        loss, corrects = train_step(model, optimizer, feature, target)
        total, right = total + loss, right + corrects
        accuracy = 100.0 * right / min(i + size, len(order))
        print("\rBatch[%d] - loss: %.4f acc: %.2f%%(%d/%d)" % (i, loss, accuracy, right, len(order)), end="")
    print(" %.2fs" % (time.time() - start))
    return total, right


def main(epochs):
    rng = random.Random(23)
    data = [([rng.randrange(1, 15) for _ in range(rng.randint(2, 7))], rng.randrange(3)) for _ in range(9)]
    model = TextCNN(15, 5, [2, 3], 3)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    return [train_epoch(model, optimizer, data, 3, rng, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "TextCNN.forward", "train_step", "train_epoch"
