# SPDX-License-Identifier: Apache-2.0
"""Heads of words by biaffine scores and Eisner's spans; trees of what was found are walked for their depth and for crossing arcs."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

WORDS = ["<root>", "the", "a", "dog", "cat", "sees", "sleeps", "old", "in", "park"]


def phrase(rng, deep=True):
    """Words, and the heads of all but one, which is None."""
    words, heads = [rng.choice(["the", "a"])], []
    if rng.random() < 0.4:
        words.append("old")
    noun = len(words)
    heads = [noun] * noun
    words.append(rng.choice(["dog", "cat", "park"]))
    heads.append(None)
    if deep and rng.random() < 0.3:
        inner, at = phrase(rng, False)
        words.append("in")
        heads.append(noun)
        shift = len(words)
        heads += [shift - 1 if h is None else h + shift for h in at]
        words += inner
    return words, heads


def sentence(rng):
    words, heads = phrase(rng)
    verb = len(words)
    heads = [verb if h is None else h for h in heads]
    words.append(rng.choice(["sees", "sleeps"]))
    heads.append(-1)
    if words[-1] == "sees":
        inner, at = phrase(rng)
        heads += [verb if h is None else h + len(words) for h in at]
        words += inner
    return words, [h + 1 for h in heads]


class Parser(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), hidden)
        self.rnn = nn.LSTM(hidden, hidden, bidirectional=True, batch_first=True)
        self.head, self.child = nn.Linear(2 * hidden, hidden), nn.Linear(2 * hidden, hidden)
        self.between = nn.Parameter(torch.randn(hidden, hidden) * 0.1)
        self.alone = nn.Linear(hidden, 1)

    def forward(self, words):
        ids = torch.tensor([[0] + [WORDS.index(w) for w in words]])
        out, _ = self.rnn(self.embed(ids))
        heads, children = torch.relu(self.head(out[0])), torch.relu(self.child(out[0]))
        return children @ self.between @ heads.t() + self.alone(heads).t()


def eisner(score):
    n = len(score)
    complete = {(i, i, d): (0.0, None) for i in range(n) for d in (0, 1)}
    open_ = {}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            best = max((complete[i, k, 1][0] + complete[k + 1, j, 0][0], k) for k in range(i, j))
            open_[i, j, 0] = (best[0] + score[i][j], best[1])
            open_[i, j, 1] = (best[0] + score[j][i], best[1])
            complete[i, j, 0] = max((complete[i, k, 0][0] + open_[k, j, 0][0], k) for k in range(i, j))
            complete[i, j, 1] = max((open_[i, k, 1][0] + complete[k, j, 1][0], k) for k in range(i + 1, j + 1))
    heads = [0] * n

    def follow(i, j, d, is_open):
        if i == j:
            return
        k = (open_ if is_open else complete)[i, j, d][1]
        if is_open:
            heads[i if d == 0 else j] = j if d == 0 else i
            follow(i, k, 1, False)
            follow(k + 1, j, 0, False)
        elif d == 0:
            follow(i, k, 0, False)
            follow(k, j, 0, True)
        else:
            follow(i, k, 1, True)
            follow(k, j, 1, False)

    follow(0, n - 1, 1, False)
    return heads[1:]


def depth(heads, at=0):
    return 1 + max((depth(heads, i + 1) for i, h in enumerate(heads) if h == at), default=0)


def train_step(net, opt, batch):
    losses = []
    for words, heads in batch:
        scores = net(words)
        losses.append(F.cross_entropy(scores[1:], torch.tensor(heads)))
    loss = torch.stack(losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def run_epoch(epoch, net, opt, data):
    total = 0.0
    for i in range(0, len(data), 4):
        total += train_step(net, opt, data[i:i + 4])
    right = words = deep = 0
    for sent, heads in data[:6]:
        with torch.no_grad():
            found = eisner(net(sent).tolist())
        right += sum(a == b for a, b in zip(found, heads))
        words += len(heads)
        deep = max(deep, depth(found))
    print(f"epoch {epoch} loss {total:.4f} heads {right}/{words} deepest {deep}")
    return total, right


def main(epochs):
    torch.manual_seed(19)
    rng = random.Random(19)
    data = [sentence(rng) for _ in range(16)]
    net = Parser()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    return [run_epoch(e, net, opt, data) for e in range(epochs)]


MODEL, STEP, EPOCH = "Parser.forward", "train_step", "run_epoch"
