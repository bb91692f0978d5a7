# SPDX-License-Identifier: Apache-2.0
"""A transducer for speech: an encoder, a prediction network and a joint, whose loss is a forward algorithm over a lattice of each utterance's own size."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

BLANK = 0


class Transducer(nn.Module):
    def __init__(self, feats=5, hidden=8, vocab=5):
        super().__init__()
        self.encoder = nn.LSTM(feats, hidden, batch_first=True)
        self.embed = nn.Embedding(vocab, hidden)
        self.predictor = nn.GRU(hidden, hidden, batch_first=True)
        self.joint = nn.Linear(2 * hidden, vocab)

    def join(self, f, g):
        f = f.unsqueeze(1).expand(-1, g.size(0), -1)
        g = g.unsqueeze(0).expand(f.size(0), -1, -1)
        return self.joint(torch.tanh(torch.cat([f, g], -1))).log_softmax(-1)

    def forward(self, audio, labels):
        f, _ = self.encoder(audio.unsqueeze(0))
        start = torch.cat([torch.tensor([BLANK]), labels])
        g, _ = self.predictor(self.embed(start).unsqueeze(0))
        return self.join(f[0], g[0])


def transducer_loss(logp, labels):
    T, U = logp.size(0), logp.size(1)
    blank, emit = logp[:, :, BLANK], logp[:, :-1].gather(2, labels.view(1, -1, 1).expand(T, -1, 1)).squeeze(2)
    alpha = [[None] * U for _ in range(T)]
    for t in range(T):
        for u in range(U):
            if t == 0 and u == 0:
                alpha[t][u] = torch.zeros(())
                continue
            terms = []
            if t > 0:
                terms.append(alpha[t - 1][u] + blank[t - 1, u])
            if u > 0:
                terms.append(alpha[t][u - 1] + emit[t, u - 1])
            alpha[t][u] = torch.logsumexp(torch.stack(terms), 0) if len(terms) > 1 else terms[0]
    return -(alpha[-1][-1] + blank[-1, -1])


@torch.no_grad()
def greedy(model, audio, most=3):
    f, _ = model.encoder(audio.unsqueeze(0))
    out, last, h = [], torch.tensor([[BLANK]]), None
    g, h = model.predictor(model.embed(last), h)
    for t in range(f.size(1)):
        for _ in range(most):
            p = model.join(f[0, t:t + 1], g[0])[0, 0]
            k = int(p.argmax())
            if k == BLANK:
                break
            out.append(k)
            g, h = model.predictor(model.embed(torch.tensor([[k]])), h)
    return out


def train_step(model, opt, batch):
    opt.zero_grad()
    losses = []
    for audio, labels in batch:
        losses.append(transducer_loss(model(audio, labels), labels) / len(labels))
    loss = torch.stack(losses).mean()
    loss.backward()
    opt.step()
    return loss.item()


def run_epoch(model, opt, data, epoch):
    total = sum(train_step(model, opt, data[i:i + 3]) for i in range(0, len(data), 3))
    hyps = [greedy(model, audio) for audio, _ in data[:2]]
    print(epoch, f"{total:.4f}", hyps)
    return total, hyps


def main(epochs):
    torch.manual_seed(4)
    model = Transducer()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    codes = torch.randn(5, 5)
    data = []
    for i in range(6):
        labels = torch.randint(1, 5, (2 + i % 3,))
        data.append((codes[labels].repeat_interleave(2, 0) + 0.1 * torch.randn(2 * len(labels), 5), labels))
    return [run_epoch(model, opt, data, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "Transducer.forward", "train_step", "run_epoch"
