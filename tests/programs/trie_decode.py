# SPDX-License-Identifier: Apache-2.0
"""Entities retrieved by generating their names: a trie of allowed tokens, beams ordered by a dataclass, dead ends raised, a hinge against the best rival."""
import heapq
import itertools
import random
import time
from dataclasses import dataclass, field

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

BOS, EOS = 0, 1


class DeadEnd(Exception):
    def __init__(self, prefix):
        super().__init__(f"nothing follows {prefix}")
        self.prefix = prefix


class Trie:
    def __init__(self, names=()):
        self.root, self.size = {}, 0
        for n in names:
            self.add(n)

    def add(self, tokens):
        node = self.root
        for t in tokens:
            node = node.setdefault(t, {})
        if EOS not in node:
            node[EOS] = None
            self.size += 1

    def __contains__(self, tokens):
        try:
            return EOS in self.follow(tokens)
        except DeadEnd:
            return False

    def follow(self, tokens):
        node = self.root
        for i, t in enumerate(tokens):
            if node is None or t not in node:
                raise DeadEnd(tuple(tokens[:i + 1]))
            node = node[t]
        return node

    def __len__(self):
        return self.size


@dataclass(order=True)
class Beam:
    cost: float
    tick: int
    tokens: tuple = field(compare=False)
    state: torch.Tensor = field(compare=False, repr=False)
    done: bool = field(default=False, compare=False)


class Speller(nn.Module):
    def __init__(self, vocab, context, width=20):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.start = nn.Linear(context, width)
        self.cell = nn.GRUCell(width, width)
        self.out = nn.Linear(width, vocab)
        self.vocab = vocab

    def begin(self, context):
        return torch.tanh(self.start(context))

    def next(self, state, token, allowed=None):
        state = self.cell(self.emb(torch.tensor([token])), state)
        logits = self.out(state)
        if allowed is not None:
            mask = torch.full((1, self.vocab), float("-inf"))
            for a in allowed:
                mask[0, a] = 0.0
            logits = logits + mask
        return state, F.log_softmax(logits, dim=-1)

    def forward(self, context, tokens, trie=None):
        """The logarithm of the probability of a name."""
        state, total, node = self.begin(context), torch.zeros(()), trie.root if trie else None
        for last, t in zip((BOS, *tokens), (*tokens, EOS)):
            state, logp = self.next(state, last, sorted(node) if trie else None)
            total = total + logp[0, t]
            node = node[t] if trie else None
        return total


@torch.no_grad()
def search(model, context, trie, width=3, limit=6):
    ticks = itertools.count()
    beams = [Beam(0.0, next(ticks), (), model.begin(context))]
    finished = []
    for _ in range(limit):
        candidates = []
        for b in beams:
            node = trie.follow(b.tokens)
            state, logp = model.next(b.state, b.tokens[-1] if b.tokens else BOS, sorted(node))
            for t in sorted(node):
                cost = b.cost - logp[0, t].item()
                beam = Beam(cost, next(ticks), b.tokens + (t,) if t != EOS else b.tokens, state, t == EOS)
                heapq.heappush(finished if beam.done else candidates, beam)
        beams = heapq.nsmallest(width, candidates)
        if not beams or (len(finished) >= width and finished[0].cost < beams[0].cost):
            break
    return heapq.nsmallest(width, finished)


def train_step(model, optimizer, context, name, trie, margin=0.5):
    optimizer.zero_grad()
    gold = model(context, name, trie)
    loss = -gold
    rivals = [b for b in search(model, context, trie) if b.tokens != name]
    if rivals:
        rival = model(context, rivals[0].tokens, trie)
        loss = loss + F.relu(margin - gold + rival)
    loss.backward()
    optimizer.step()
    return loss.item(), len(rivals)


def train_epoch(epoch, model, optimizer, data, trie, unknown):
    start, loss_sum, ranks = time.time(), 0.0, {}
    for context, name in data:
        loss, n = train_step(model, optimizer, context, name, trie)
        loss_sum += loss
    for context, name in data[::2]:
        names = [b.tokens for b in search(model, context, trie)]
        rank = names.index(name) + 1 if name in names else None
        ranks[rank] = ranks.get(rank, 0) + 1
    refused = []
    for u in unknown:
        try:
            trie.follow(u)
        except DeadEnd as e:
            refused.append(str(e))
    mrr = sum(n / r for r, n in ranks.items() if r) / max(sum(ranks.values()), 1)
    best = search(model, data[0][0], trie)[0]
    print(f"epoch {epoch} loss {loss_sum / len(data):.4f} mrr {mrr:.3f} missed {ranks.get(None, 0)} best {best.tokens} {best.cost:.3f} "
          f"refused {refused[:1]} in {time.time() - start:.3f}s")
    return loss_sum, ranks


def main(epochs):
    torch.manual_seed(12)
    rng = random.Random(12)
    names = list({tuple(rng.randrange(2, 9) for _ in range(rng.randint(1, 4))): None for _ in range(9)})
    trie = Trie(names)
    assert len(trie) == len(names) and names[0] in trie and (2, 2, 2, 2, 2) not in trie
    data = [(F.one_hot(torch.tensor([i]), len(names)).float() + 0.1 * torch.randn(1, len(names)), n) for i, n in enumerate(names)]
    model = Speller(9, len(names))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(e, model, optimizer, data, trie, [(2, 2, 2, 2, 2)]) for e in range(epochs)], model.state_dict()


MODEL, STEP, EPOCH = "Speller.forward", "train_step", "train_epoch"
