# SPDX-License-Identifier: Apache-2.0
"""Summaries that may copy words nobody knows: attention with coverage, a mixture of generating and pointing, beams kept as hypotheses."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

PAD, UNK, START, STOP = "[PAD]", "[UNK]", "[START]", "[STOP]"
NAMES = "anna boris chloe dmitri elena farid".split()
VERBS = "won lost sold found".split()
THINGS = "race game house ring".split()


def story():
    name, verb, thing = random.choice(NAMES), random.choice(VERBS), random.choice(THINGS)
    filler = random.sample(["yesterday", "in town", "it was said", "again"], 2)
    return f"{filler[0]} {name} {verb} the {thing} {filler[1]}".split(), f"{name} {verb} {thing}".split()


class Vocab:
    def __init__(self, words):
        self.words = [PAD, UNK, START, STOP] + sorted(set(words))
        self.ids = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def word2id(self, w):
        return self.ids.get(w, self.ids[UNK])


class Example:
    def __init__(self, article, abstract, vocab):
        self.oovs, self.enc, self.enc_ext = [], [vocab.word2id(w) for w in article], []
        for w in article:
            i = vocab.word2id(w)
            if i == vocab.ids[UNK]:
                if w not in self.oovs:
                    self.oovs.append(w)
                i = len(vocab) + self.oovs.index(w)
            self.enc_ext.append(i)
        self.dec = [vocab.ids[START]] + [vocab.word2id(w) for w in abstract]
        self.target = []
        for w in abstract:
            i = vocab.word2id(w)
            self.target.append(len(vocab) + self.oovs.index(w) if i == vocab.ids[UNK] and w in self.oovs else i)
        self.target.append(vocab.ids[STOP])


def pad(rows):
    longest = max(map(len, rows))
    return torch.tensor([r + [0] * (longest - len(r)) for r in rows])


class Batch:
    def __init__(self, examples):
        examples = sorted(examples, key=lambda e: len(e.enc), reverse=True)
        self.enc, self.enc_ext = pad([e.enc for e in examples]), pad([e.enc_ext for e in examples])
        self.dec, self.target = pad([e.dec for e in examples]), pad([e.target for e in examples])
        self.enc_mask, self.dec_mask = (self.enc != 0).float(), (self.target != 0).float()
        self.extra = max(len(e.oovs) for e in examples)


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.w_h, self.w_s = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden)
        self.w_c, self.v = nn.Linear(1, hidden, bias=False), nn.Linear(hidden, 1, bias=False)

    def forward(self, s, outputs, features, mask, coverage):
        e = features + self.w_s(s).unsqueeze(1) + self.w_c(coverage.unsqueeze(2))
        weights = F.softmax(self.v(torch.tanh(e)).squeeze(2), dim=1) * mask
        weights = weights / weights.sum(1, keepdim=True)
        return torch.bmm(weights.unsqueeze(1), outputs).squeeze(1), weights, coverage + weights


class Summarizer(nn.Module):
    def __init__(self, words, dim=8, hidden=12):
        super().__init__()
        self.embedding = nn.Embedding(words, dim, padding_idx=0)
        self.encoder = nn.GRU(dim, hidden // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRUCell(dim + hidden, hidden)
        self.attention = Attention(hidden)
        self.gen, self.out = nn.Linear(2 * hidden + dim, 1), nn.Linear(2 * hidden, words)

    def encode(self, enc):
        outputs, h = self.encoder(self.embedding(enc))
        return outputs, self.attention.w_h(outputs), torch.cat([h[0], h[1]], dim=1)

    def forward(self, y, s, context, outputs, features, mask, ext, coverage, extra):
        x = self.embedding(y)
        s = self.decoder(torch.cat([x, context], dim=1), s)
        context, weights, after = self.attention(s, outputs, features, mask, coverage)
        p_gen = torch.sigmoid(self.gen(torch.cat([context, s, x], dim=1)))
        vocab_dist = p_gen * F.softmax(self.out(torch.cat([s, context], dim=1)), dim=1)
        if extra > 0:
            vocab_dist = torch.cat([vocab_dist, vocab_dist.new_zeros(vocab_dist.size(0), extra)], dim=1)
        return vocab_dist.scatter_add(1, ext, (1 - p_gen) * weights), s, context, weights, after


def train_step(model, optimizer, batch, cov_wt=1.0):
    optimizer.zero_grad()
    outputs, features, s = model.encode(batch.enc)
    context, coverage = torch.zeros_like(s), torch.zeros_like(batch.enc_mask)
    step_losses = []
    for di in range(batch.dec.size(1)):
        final, s, context, weights, after = model(batch.dec[:, di], s, context, outputs, features, batch.enc_mask,
                                                  batch.enc_ext, coverage, batch.extra)
        gold = torch.gather(final, 1, batch.target[:, di].unsqueeze(1)).squeeze()
        step_loss = -torch.log(gold + 1e-12) + cov_wt * torch.sum(torch.min(weights, coverage), 1)
        coverage = after
        step_losses.append(step_loss * batch.dec_mask[:, di])
    loss = torch.mean(torch.sum(torch.stack(step_losses, 1), 1) / batch.dec_mask.sum(1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    return loss.item()


class Hypothesis:
    def __init__(self, tokens, log_probs, state, context, coverage):
        self.tokens, self.log_probs, self.state, self.context, self.coverage = tokens, log_probs, state, context, coverage

    def extend(self, token, log_prob, state, context, coverage):
        return Hypothesis(self.tokens + [token], self.log_probs + [log_prob], state, context, coverage)

    @property
    def latest_token(self):
        return self.tokens[-1]

    @property
    def avg_log_prob(self):
        return sum(self.log_probs) / len(self.tokens)


@torch.no_grad()
def beam_search(model, example, vocab, beam=3, longest=5):
    batch, stop = Batch([example]), vocab.ids[STOP]
    outputs, features, s = model.encode(batch.enc)
    beams = [Hypothesis([vocab.ids[START]], [0.0], s[0], torch.zeros_like(s[0]), torch.zeros(batch.enc.size(1)))]
    results, steps = [], 0
    while steps < longest and len(results) < beam:
        latest = [h.latest_token if h.latest_token < len(vocab) else vocab.ids[UNK] for h in beams]
        n = len(beams)
        final, s, context, _, coverage = model(
            torch.tensor(latest), torch.stack([h.state for h in beams]), torch.stack([h.context for h in beams]),
            outputs.expand(n, -1, -1), features.expand(n, -1, -1), batch.enc_mask.expand(n, -1),
            batch.enc_ext.expand(n, -1), torch.stack([h.coverage for h in beams]), batch.extra)
        log_probs, ids = torch.topk(torch.log(final), beam * 2)
        every = [h.extend(ids[i, j].item(), log_probs[i, j].item(), s[i], context[i], coverage[i])
                 for i, h in enumerate(beams) for j in range(beam * 2)]
        beams = []
        for h in sorted(every, key=lambda h: h.avg_log_prob, reverse=True):
            if h.latest_token == stop:
                if steps >= 2:
                    results.append(h)
            else:
                beams.append(h)
            if len(beams) == beam or len(results) == beam:
                break
        steps += 1
    best = max(results or beams, key=lambda h: h.avg_log_prob)
    return [vocab.words[t] if t < len(vocab) else example.oovs[t - len(vocab)] for t in best.tokens[1:] if t != stop]


def train_epoch(epoch, model, optimizer, examples, vocab, size=4):
    start, running = time.time(), 0.0
    random.shuffle(examples)
    for i in range(0, len(examples), size):
        loss = train_step(model, optimizer, Batch(examples[i:i + size]))
        running = loss if running == 0 else running * 0.9 + loss * 0.1
    words = beam_search(model, examples[0], vocab)
    print("epoch %d, running loss %.4f, '%s' (%.2f s)" % (epoch, running, " ".join(words), time.time() - start))
    return running, words


def main(epochs):
    torch.manual_seed(9)
    random.seed(9)
    stories = [story() for _ in range(16)]
    vocab = Vocab([w for article, abstract in stories for w in article + abstract if w not in NAMES[:4]])
    examples = [Example(article, abstract, vocab) for article, abstract in stories]
    model = Summarizer(len(vocab))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.15, initial_accumulator_value=0.1)
    return [train_epoch(e, model, optimizer, examples, vocab) for e in range(epochs)], model


MODEL, STEP, EPOCH = "Summarizer.forward", "train_step", "train_epoch"
