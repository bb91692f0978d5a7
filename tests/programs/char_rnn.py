# SPDX-License-Identifier: Apache-2.0
"""A character-level RNN that classifies names, one name at a time, with updates written by hand."""
import random
import time

import janus as torch
import janus.nn as nn

LETTERS = "abcdefghijklmnop"


def name_to_tensor(name):
    tensor = torch.zeros(len(name), 1, len(LETTERS))
    for i, letter in enumerate(name):
        tensor[i][0][LETTERS.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.i2o(combined)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


def train_name(rnn, criterion, category, line, learning_rate):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for i in range(line.size()[0]):
        output, hidden = rnn(line[i], hidden)
    loss = criterion(output, category)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


def category_of(output):
    top_n, top_i = output.data.topk(1)
    return top_i[0][0].item()


def train_all(rnn, criterion, data, rng):
    start, current, right = time.time(), 0, 0
    for _ in range(6):
        category, line = rng.choice(data)
        output, loss = train_name(rnn, criterion, category, line, 0.02)
        current += loss
        right += category_of(output) == category.item()
    print("%s %.4f %d right" % ("%.2fs" % (time.time() - start), current / 6, right))
    return current


def main(epochs):
    rng = random.Random(9)
    names = ["".join(rng.choice(LETTERS) for _ in range(n)) for n in (3, 5, 4, 6, 5, 3)]
    data = [(torch.LongTensor([i % 3]), name_to_tensor(n)) for i, n in enumerate(names)]
    rnn = RNN(len(LETTERS), 8, 3)
    return [train_all(rnn, nn.NLLLoss(), data, rng) for _ in range(epochs)], rnn


MODEL, STEP, EPOCH = "RNN.forward", "train_name", "train_all"
