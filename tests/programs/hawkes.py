# SPDX-License-Identifier: Apache-2.0
"""Events in continuous time: a neural Hawkes process fitted by the integral of its intensity, sampled by thinning, events merged in a heap."""
import heapq
import random
import time
from typing import NamedTuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Event(NamedTuple):
    t: float
    kind: int


class Decay:
    """The state of a cell between events: decays from one value to another."""
    __slots__ = ("start", "end", "rate", "gate", "t")

    def __init__(self, start, end, rate, gate, t):
        self.start, self.end, self.rate, self.gate, self.t = start, end, rate, gate, t

    def at(self, t):
        c = self.end + (self.start - self.end) * torch.exp(-self.rate * (t - self.t))
        return self.gate * torch.tanh(c), c


class NeuralHawkes(nn.Module):
    def __init__(self, kinds=3, width=10):
        super().__init__()
        self.kinds, self.width = kinds, width
        self.emb = nn.Embedding(kinds + 1, width)
        self.gates = nn.Linear(2 * width, 7 * width)
        self.rate = nn.Linear(width, kinds)
        self.log_scale = nn.Parameter(torch.zeros(kinds))

    def begin(self):
        zero = torch.zeros(1, self.width)
        return self.update(Decay(zero, zero, torch.ones(1, self.width), torch.ones(1, self.width), 0.0), Event(0.0, self.kinds))

    def update(self, decay, event):
        h, c = decay.at(event.t)
        x = torch.cat([self.emb(torch.tensor([event.kind])), h], dim=1)
        i, f, z, o, ie, fe, d = self.gates(x).chunk(7, dim=1)
        z = torch.tanh(z)
        start = torch.sigmoid(f) * c + torch.sigmoid(i) * z
        end = torch.sigmoid(fe) * decay.end + torch.sigmoid(ie) * z
        return Decay(start, end, F.softplus(d), torch.sigmoid(o), event.t)

    def intensity(self, decay, t):
        h, _ = decay.at(t)
        s = self.log_scale.exp()
        return s * F.softplus(self.rate(h).squeeze(0) / s)

    def forward(self, events, horizon, samples=3):
        decay, total, area, last = self.begin(), 0.0, 0.0, 0.0
        for e in [*events, Event(horizon, -1)]:
            gap = e.t - last
            for u in torch.rand(samples):
                area = area + self.intensity(decay, last + gap * u).sum() * gap / samples
            if e.kind < 0:
                break
            total = total + torch.log(self.intensity(decay, e.t)[e.kind])
            decay = self.update(decay, e)
            last = e.t
        return area - total


@torch.no_grad()
def thinning(model, rng, horizon, most=12):
    decay, t, out, rejected = model.begin(), 0.0, [], 0
    while len(out) < most:
        bound = 1.5 * max(model.intensity(decay, t + 0.2 * k).sum().item() for k in range(3))
        t += rng.expovariate(bound)
        if t > horizon:
            break
        rates = model.intensity(decay, t)
        total = rates.sum().item()
        if rng.random() * bound > total:
            rejected += 1
            continue
        kind = torch.multinomial(rates / total, 1).item()
        e = Event(t, kind)
        out.append(e)
        decay = model.update(decay, e)
    return out, rejected


def train_step(model, optimizer, events, horizon):
    optimizer.zero_grad()
    nll = model(events, horizon)
    (nll / max(len(events), 1)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    return nll.item()


def train_epoch(epoch, model, optimizer, data, rng, horizon):
    start, sums, count = time.perf_counter(), 0.0, 0
    for events in rng.sample(data, len(data)):
        sums += train_step(model, optimizer, events, horizon)
        count += len(events)
    drawn, rejected = thinning(model, rng, horizon)
    gaps = [b.t - a.t for a, b in zip(drawn, drawn[1:])] or [0.0]
    histogram = [sum(e.kind == k for e in drawn) for k in range(model.kinds)]
    print(f"{epoch:2d} nll/event {sums / count:.4f} drawn {len(drawn)} (-{rejected}) kinds {histogram} gap {sum(gaps) / len(gaps):.3f} {time.perf_counter() - start:.3f} s")
    return sums / count, drawn


def simulate(rng, horizon):
    """Each kind comes at its own rate; kind 0 calls for a kind 1 a little later."""
    queue, events = [Event(rng.expovariate(r), k) for k, r in enumerate((1.0, 0.2, 0.5))], []
    heapq.heapify(queue)
    while queue:
        e = heapq.heappop(queue)
        if e.t > horizon:
            continue
        events.append(e)
        if e.kind == 0 and rng.random() < 0.8:
            heapq.heappush(queue, Event(e.t + 0.1 + 0.1 * rng.random(), 1))
        if e.kind != 1:
            heapq.heappush(queue, Event(e.t + rng.expovariate((1.0, 0.2, 0.5)[e.kind]), e.kind))
    return events


def main(epochs):
    torch.manual_seed(8)
    rng = random.Random(8)
    horizon = 4.0
    data = [simulate(rng, horizon) for _ in range(5)]
    model = NeuralHawkes()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(e, model, optimizer, data, rng, horizon) for e in range(epochs)], model.state_dict()


MODEL, STEP, EPOCH = "NeuralHawkes.forward", "train_step", "train_epoch"
