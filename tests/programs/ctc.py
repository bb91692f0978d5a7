# SPDX-License-Identifier: Apache-2.0
"""CTC by hand: alphas in log space over an extended label, greedy decoding, edit distance."""
import random
import time
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

BLANK = 0


def extend(label):
    out = [BLANK]
    for c in label:
        out += [c, BLANK]
    return out


def ctc_loss(logp, label):
    ext = extend(label)
    S, T = len(ext), logp.shape[0]
    neg = torch.full((1,), -1e9)
    skip = torch.tensor([0.0 if s >= 2 and ext[s] != BLANK and ext[s] != ext[s - 2] else -1e9 for s in range(S)])
    emit = logp[:, torch.tensor(ext)]
    alpha = torch.cat([emit[0, :2], torch.full((S - 2,), -1e9)])
    for t in range(1, T):
        one = torch.cat([neg, alpha[:-1]])
        two = torch.cat([neg, neg, alpha[:-2]]) + skip
        alpha = torch.logsumexp(torch.stack([alpha, one, two]), 0) + emit[t]
    return -torch.logsumexp(alpha[-2:], 0) / len(label)


def greedy(logp):
    best, out, last = logp.argmax(-1).tolist(), [], None
    for c in best:
        if c != last and c != BLANK:
            out.append(c)
        last = c
    return out


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


class Net(nn.Module):
    def __init__(self, inputs, hidden, symbols):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, symbols)

    def forward(self, x):
        y, _ = self.rnn(x.unsqueeze(0))
        return F.log_softmax(self.out(y.squeeze(0)), -1)


def train_step(net, opt, x, label):
    opt.zero_grad(set_to_none=True)
    logp = net(x)
    loss = ctc_loss(logp, label)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    return loss.item(), logp.detach()


def train_epoch(net, opt, data, number):
    start, total, wrong, n = time.time(), 0.0, 0, 0
    for x, label in data:
        loss, logp = train_step(net, opt, x, label)
        total += loss
        wrong += distance(greedy(logp), label)
        n += len(label)
    print(f"epoch {number}: loss {total / len(data):.4f} cer {wrong / n:.3f} {time.time() - start:.2f} s")
    return total


def main(epochs):
    torch.manual_seed(0)
    rng = random.Random(1)
    net = Net(6, 12, 5)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    code = torch.randn(5, 6)
    data = []
    for _ in range(5):
        label = [rng.randint(1, 4) for _ in range(rng.randint(2, 4))]
        frames = [c for c in label for _ in range(rng.randint(2, 3))]
        data.append((code[torch.tensor(frames)] + 0.1 * torch.randn(len(frames), 6), label))
    return [train_epoch(net, opt, data, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
