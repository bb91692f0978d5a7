# SPDX-License-Identifier: Apache-2.0
"""Hidden Markov models fitted by expectation maximisation: forward and backward passes, counts gathered over sequences of all lengths, restarts."""
import math
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field

import janus as torch

WEATHER = {"sunny": ("walk", "swim", "shop"), "rainy": ("clean", "read"), "windy": ("kite", "walk")}
ACTIONS = sorted({a for actions in WEATHER.values() for a in actions})


def diary(days):
    state, entries = random.choice(list(WEATHER)), []
    for _ in range(days):
        entries.append(random.choice(WEATHER[state]))
        if random.random() < 0.3:
            state = random.choice([s for s in WEATHER if s != state])
    return " ".join(entries)


@dataclass
class Counts:
    start: torch.Tensor
    moves: torch.Tensor
    emits: torch.Tensor
    likelihood: float = 0.0
    by_length: dict = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def zeros(cls, states, symbols):
        return cls(torch.zeros(states), torch.zeros(states, states), torch.zeros(states, symbols))


class HMM:
    def __init__(self, states, symbols):
        self.n, self.m = states, symbols
        self.start = torch.full((states,), 1.0 / states)
        self.moves = self.normalise(torch.rand(states, states) + 0.5)
        self.emits = self.normalise(torch.rand(states, symbols) + 0.5)
        self.history = []

    @staticmethod
    def normalise(x, eps=1e-8):
        return (x + eps) / (x + eps).sum(dim=-1, keepdim=True)

    def forward_pass(self, obs):
        alphas, scales = [], []
        alpha = self.start * self.emits[:, obs[0]]
        for t, o in enumerate(obs):
            if t > 0:
                alpha = (alpha @ self.moves) * self.emits[:, o]
            scale = alpha.sum()
            alpha = alpha / scale
            alphas.append(alpha)
            scales.append(scale)
        return torch.stack(alphas), torch.stack(scales)

    def backward_pass(self, obs, scales):
        beta = torch.ones(self.n)
        betas = [beta]
        for t in reversed(range(len(obs) - 1)):
            beta = self.moves @ (self.emits[:, obs[t + 1]] * beta) / scales[t + 1]
            betas.insert(0, beta)
        return torch.stack(betas)

    def expect(self, obs, counts):
        alphas, scales = self.forward_pass(obs)
        betas = self.backward_pass(obs, scales)
        gamma = alphas * betas
        gamma /= gamma.sum(dim=1, keepdim=True)
        emitted = self.emits.t()[obs[1:]] * betas[1:] / scales[1:, None]
        xi = alphas[:-1].unsqueeze(2) * self.moves * emitted.unsqueeze(1)
        counts.start += gamma[0]
        counts.moves += xi.sum(dim=0)
        for t, o in enumerate(obs):
            counts.emits[:, o] += gamma[t]
        loglik = scales.log().sum().item()
        counts.likelihood += loglik
        counts.by_length[len(obs)].append(loglik)
        return gamma.argmax(dim=1)

    def maximise(self, counts):
        self.start = self.normalise(counts.start)
        self.moves = self.normalise(counts.moves)
        self.emits = self.normalise(counts.emits)

    def viterbi(self, obs):
        score, back = (self.start * self.emits[:, obs[0]]).log(), []
        for o in obs[1:]:
            best, where = (score.unsqueeze(1) + self.moves.log()).max(dim=0)
            score = best + self.emits[:, o].log()
            back.append(where)
        path = [int(score.argmax())]
        for where in back[::-1]:
            path.append(int(where[path[-1]]))
        return path[::-1]


def em_step(model, corpus):
    counts = Counts.zeros(model.n, model.m)
    paths = [model.expect(obs, counts) for obs in corpus]
    model.maximise(counts)
    model.history.append(counts.likelihood)
    return counts, paths


def em_epoch(epoch, models, corpus, rounds=2):
    began = time.perf_counter()
    for k, model in enumerate(models):
        for _ in range(rounds):
            counts, _ = em_step(model, corpus)
        gain = model.history[-1] - model.history[-2]
        mean = {n: sum(v) / len(v) for n, v in sorted(counts.by_length.items())}
        per_day = sum(v / n for n, v in mean.items()) / len(mean)
        print(f"[{epoch}] restart {k}: log likelihood {counts.likelihood:.3f} (+{gain:.4f}), a day {math.exp(per_day):.4f}")
    best = max(models, key=lambda m: m.history[-1])
    path = best.viterbi(corpus[0])
    print(f"[{epoch}] best {models.index(best)}, path {''.join(map(str, path))}, {time.perf_counter() - began:.3f} s")
    return best.history[-1], path


def main(epochs):
    torch.manual_seed(5)
    random.seed(5)
    index = {a: i for i, a in enumerate(ACTIONS)}
    corpus = [[index[w] for w in diary(random.randint(4, 9)).split()] for _ in range(6)]
    models = [HMM(len(WEATHER), len(ACTIONS)) for _ in range(2)]
    results = [em_epoch(e, models, corpus) for e in range(epochs)]
    return results, [(m.start, m.moves, m.emits) for m in models]


MODEL, STEP, EPOCH = "HMM.expect", "em_step", "em_epoch"
