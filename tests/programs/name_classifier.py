# SPDX-License-Identifier: Apache-2.0
"""Names classified letter by letter with an RNN written by hand."""
import random
import string
import time
import janus as torch
import janus.nn as nn

LETTERS = string.ascii_lowercase + " '"
NAMES = {"a": ["anna", "bob", "carla"], "b": ["xiu", "wei", "li"], "c": ["olga", "ivan", "pjotr"]}
CATEGORIES = list(NAMES)


def letter_index(letter):
    return LETTERS.find(letter)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, len(LETTERS))
    for li, letter in enumerate(line):
        tensor[li][0][letter_index(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden_size = hidden
        self.i2h, self.h2o = nn.Linear(inputs + hidden, hidden), nn.Linear(hidden, outputs)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((x, hidden), 1)))
        return self.softmax(self.h2o(hidden)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


def category_from_output(output):
    top_n, top_i = output.topk(1)
    i = top_i[0].item()
    return CATEGORIES[i], i


def random_example(rng):
    category = rng.choice(CATEGORIES)
    line = rng.choice(NAMES[category])
    return category, line, torch.tensor([CATEGORIES.index(category)], dtype=torch.long), line_to_tensor(line)

criterion = nn.NLLLoss()


def train(rnn, category_tensor, line_tensor, lr=0.05):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-lr)
    return output, loss.item()


def epoch(rnn, rng, number):
    start, total, right = time.time(), 0, 0
    for it in range(1, 13):
        category, line, ct, lt = random_example(rng)
        output, loss = train(rnn, ct, lt)
        total += loss
        guess, guess_i = category_from_output(output)
        if it % 6 == 0:
            correct = "+" if guess == category else "- (%s)" % category
            print("%d %.4f %s / %s %s" % (it, loss, line, guess, correct))
        right += guess == category
    print("%d right of 12, %.1f s" % (right, time.time() - start))
    return total / 12, right


def main(epochs):
    torch.manual_seed(1)
    rng = random.Random(1)
    rnn = RNN(len(LETTERS), 12, len(CATEGORIES))
    return [epoch(rnn, rng, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "RNN.forward", "train", "epoch"
