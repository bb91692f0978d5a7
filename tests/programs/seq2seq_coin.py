# SPDX-License-Identifier: Apache-2.0
"""A sequence-to-sequence network with attention, trained with teacher forcing by the toss of a coin."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

SOS, EOS, MAX_LENGTH = 0, 1, 8
teacher_forcing_ratio = 0.5


class EncoderRNN(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.hidden_size = hidden
        self.embedding = nn.Embedding(vocab, hidden)
        self.gru = nn.GRU(hidden, hidden)

    def forward(self, word, hidden):
        return self.gru(self.embedding(word).view(1, 1, -1), hidden)

    def init_hidden(self):
        return torch.zeros(1, 1, self.hidden_size)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden, vocab):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.attn = nn.Linear(2 * hidden, MAX_LENGTH)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, word, hidden, encoder_outputs):
        embedded = self.embedding(word).view(1, 1, -1)
        weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        applied = torch.bmm(weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = F.relu(self.combine(torch.cat((embedded[0], applied[0]), 1)).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden, weights


def train_pair(source, target, encoder, decoder, encoder_opt, decoder_opt, criterion):
    encoder_opt.zero_grad()
    decoder_opt.zero_grad()
    hidden = encoder.init_hidden()
    encoder_outputs = torch.zeros(MAX_LENGTH, encoder.hidden_size)
    for i in range(source.size(0)):
        output, hidden = encoder(source[i], hidden)
        encoder_outputs[i] = output[0, 0]
    word, loss = torch.tensor([[SOS]]), 0
    use_teacher_forcing = random.random() < teacher_forcing_ratio
    for i in range(target.size(0)):
        output, hidden, _ = decoder(word, hidden, encoder_outputs)
        loss += criterion(output, target[i])
        if use_teacher_forcing:
            word = target[i]
        else:
            topv, topi = output.topk(1)
            word = topi.squeeze().detach()
            if word.item() == EOS:
                break
    loss.backward()
    encoder_opt.step()
    decoder_opt.step()
    return loss.item() / target.size(0)


def train_iters(pairs, encoder, decoder, encoder_opt, decoder_opt, print_every=3):
    start, total = time.time(), 0
    for i, (source, target) in enumerate(pairs, 1):
        total += train_pair(source, target, encoder, decoder, encoder_opt, decoder_opt, nn.NLLLoss())
        if i % print_every == 0:
            print("%.2f s (%d %d%%) %.4f" % (time.time() - start, i, i / len(pairs) * 100, total / print_every))
            total = 0


def main(epochs):
    pairs = [(torch.randint(2, 12, (n, 1)), torch.tensor([[2 + (n + k) % 9] for k in range(m)] + [[EOS]]))
             for n, m in ((4, 3), (5, 4), (3, 3), (6, 2), (4, 4), (5, 3))]
    encoder, decoder = EncoderRNN(12, 8), AttnDecoderRNN(8, 12)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in (encoder, decoder)]
    for _ in range(epochs):
        train_iters(pairs, encoder, decoder, *optimizers)
    return encoder, decoder


MODEL, STEP, EPOCH = "AttnDecoderRNN.forward", "train_pair", "train_iters"
