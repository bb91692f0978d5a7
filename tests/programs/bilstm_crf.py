# SPDX-License-Identifier: Apache-2.0
"""BiLSTM-CRF with the forward algorithm and Viterbi as loops over tags."""
import janus as torch
import janus.nn as nn

START, STOP = "<START>", "<STOP>"


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


def log_sum_exp(vec):
    m = vec[0, argmax(vec)]
    b = m.view(1, -1).expand(1, vec.size()[1])
    return m + torch.log(torch.sum(torch.exp(vec - b)))


class CRF(nn.Module):
    def __init__(self, n, tags, d, h):
        super().__init__()
        self.h, self.tags, self.k = h, tags, len(tags)
        self.embed, self.lstm = nn.Embedding(n, d), nn.LSTM(d, h // 2, num_layers=1, bidirectional=True)
        self.out = nn.Linear(h, self.k)
        self.transitions = nn.Parameter(torch.randn(self.k, self.k))
        self.transitions.data[tags[START], :] = -10000
        self.transitions.data[:, tags[STOP]] = -10000

    def features(self, sentence):
        out, _ = self.lstm(self.embed(sentence).view(len(sentence), 1, -1))
        return self.out(out.view(len(sentence), self.h))

    def forward_alg(self, feats):
        init = torch.full((1, self.k), -10000.)
        init[0][self.tags[START]] = 0.
        var = init
        for feat in feats:
            alphas = []
            for tag in range(self.k):
                emit = feat[tag].view(1, -1).expand(1, self.k)
                trans = self.transitions[tag].view(1, -1)
                alphas.append(log_sum_exp(var + trans + emit).view(1))
            var = torch.cat(alphas).view(1, -1)
        return log_sum_exp(var + self.transitions[self.tags[STOP]])

    def score(self, feats, tags):
        score = torch.zeros(1)
        tags = torch.cat([torch.tensor([self.tags[START]], dtype=torch.long), tags])
        for i, feat in enumerate(feats):
            score = score + self.transitions[tags[i + 1], tags[i]] + feat[tags[i + 1]]
        return score + self.transitions[self.tags[STOP], tags[-1]]

    def viterbi(self, feats):
        back = []
        var = torch.full((1, self.k), -10000.)
        var[0][self.tags[START]] = 0
        for feat in feats:
            ptrs, vs = [], []
            for tag in range(self.k):
                nxt = var + self.transitions[tag]
                best = argmax(nxt)
                ptrs.append(best)
                vs.append(nxt[0][best].view(1))
            var = (torch.cat(vs) + feat).view(1, -1)
            back.append(ptrs)
        last = var + self.transitions[self.tags[STOP]]
        best = argmax(last)
        path_score, path = last[0][best], [best]
        for ptrs in reversed(back):
            best = ptrs[best]
            path.append(best)
        path.pop()
        path.reverse()
        return path_score, path

    def loss(self, sentence, tags):
        feats = self.features(sentence)
        return self.forward_alg(feats) - self.score(feats, tags)

    def forward(self, sentence):
        return self.viterbi(self.features(sentence))

DATA = [("the wall street journal reported today that apple".split(), "B I I I O O O B".split()),
        ("georgia tech is a university".split(), "B I O O O".split())]
WORDS = {}
for s, _ in DATA:
    for w in s:
        WORDS.setdefault(w, len(WORDS))
TAGS = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}


def step(model, opt, sentence, tags):
    model.zero_grad()
    ids = torch.tensor([WORDS[w] for w in sentence])
    targets = torch.tensor([TAGS[t] for t in tags], dtype=torch.long)
    loss = model.loss(ids, targets)
    loss.backward()
    opt.step()
    return loss.item()


def epoch(model, opt, number):
    total = sum(step(model, opt, s, t) for s, t in DATA)
    with torch.no_grad():
        score, path = model(torch.tensor([WORDS[w] for w in DATA[0][0]]))
    print(number, round(total, 3), path)
    return total, path


def main(epochs):
    torch.manual_seed(1)
    model = CRF(len(WORDS), TAGS, 5, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-4)
    return [epoch(model, opt, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "CRF.forward", "step", "epoch"
