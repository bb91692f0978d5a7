# SPDX-License-Identifier: Apache-2.0
"""A word-level LSTM language model: truncated backpropagation through time, clipping, a rate annealed by hand."""
import math
import time

import janus as torch
import janus.nn as nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid, self.nlayers = nhid, nlayers
        self.init_weights()

    def init_weights(self):
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, decoded.size(2)), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def train_batch(model, criterion, data, targets, hidden, lr, clip):
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    return loss.item(), hidden


def train(model, criterion, source, bptt, lr, epoch):
    model.train()
    total_loss, n, start_time = 0.0, 0, time.time()
    hidden = model.init_hidden(source.size(1))
    for batch, i in enumerate(range(0, source.size(0) - 1, bptt)):
        data, targets = get_batch(source, i, bptt)
        loss, hidden = train_batch(model, criterion, data, targets, hidden, lr, 0.25)
        total_loss += loss
        n += 1
        if batch % 2 == 0 and batch > 0:
            elapsed = time.time() - start_time
            print("| epoch {:3d} | {:5d} batches | lr {:02.2f} | {:5.2f} ms | loss {:5.2f} | ppl {:8.2f}".format(
                epoch, batch, lr, elapsed * 1000 / 2, total_loss / n, math.exp(total_loss / n)))
            start_time = time.time()
    return total_loss / n


def main(epochs):
    source = torch.randint(0, 25, (23, 3))
    model = RNNModel(25, 8, 8, 2)
    criterion, lr, best = nn.CrossEntropyLoss(), 2.0, None
    losses = []
    for epoch in range(1, epochs + 1):
        losses.append(train(model, criterion, source, 5, lr, epoch))
        if best is None or losses[-1] < best:
            best = losses[-1]
        else:
            lr /= 4.0
    return losses, lr, model


MODEL, STEP, EPOCH = "RNNModel.forward", "train_batch", "train"
