# SPDX-License-Identifier: Apache-2.0
"""Ratings of players: Bradley-Terry with draws and a home side, fitted to matches as they come; seasons with promotion, Elo beside it, brackets played out."""
import itertools
import random
from collections import Counter, defaultdict
from enum import IntEnum

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Result(IntEnum):
    LOSS, DRAW, WIN = range(3)


class Player:
    __slots__ = ("name", "index", "skill", "elo", "league")

    def __init__(self, name, index, league):
        self.name, self.index, self.league = name, index, league
        self.skill, self.elo = random.gauss(0.0, 1.0), 1500.0

    def __repr__(self):
        return f"{self.name}({self.elo:.0f})"


class Match:
    def __init__(self, home, away, result=None):
        self.home, self.away, self.result = home, away, result

    def play(self):
        edge = self.home.skill + 0.3 - self.away.skill + random.gauss(0.0, 0.7)
        self.result = Result.DRAW if abs(edge) < 0.35 else Result.WIN if edge > 0 else Result.LOSS
        return self

    @property
    def points(self):
        return self.result / 2


class BradleyTerry(nn.Module):
    """Probabilities of loss, draw and win, by strength, home side and how often two draw."""

    def __init__(self, n):
        super().__init__()
        self.strength = nn.Embedding(n, 1)
        nn.init.zeros_(self.strength.weight)
        self.home = nn.Parameter(torch.zeros(()))
        self.log_draw = nn.Parameter(torch.tensor(-1.0))

    def forward(self, home, away):
        a, b = self.strength(home).squeeze(1) + self.home, self.strength(away).squeeze(1)
        draw = self.log_draw + (a + b) / 2
        return torch.stack([b, draw, a], dim=1)


def elo_update(match, k=24.0):
    expected = 1 / (1 + 10 ** ((match.away.elo - match.home.elo - 50) / 400))
    change = k * (match.points - expected)
    match.home.elo += change
    match.away.elo -= change
    return change


def as_tensors(matches):
    rows = [(m.home.index, m.away.index, int(m.result)) for m in matches]
    home, away, result = zip(*rows)
    return torch.tensor(home), torch.tensor(away), torch.tensor(result)


def fit_step(model, optimizer, matches, decay=0.01):
    home, away, result = as_tensors(matches)
    logits = model(home, away)
    loss = F.cross_entropy(logits, result)
    anchor = model.strength.weight.mean() ** 2 + decay * model.strength.weight.pow(2).mean()
    optimizer.zero_grad()
    (loss + anchor).backward()
    optimizer.step()
    hits = Counter(Result(k).name for k, r in zip(logits.argmax(1).tolist(), result.tolist()) if k == r)
    return loss.item(), hits


def round_robin(players):
    return [Match(a, b) for a, b in itertools.permutations(players, 2)]


def table(matches):
    points = defaultdict(float)
    for m in matches:
        points[m.home.name] += m.points
        points[m.away.name] += 1 - m.points
    return sorted(points.items(), key=lambda item: (-item[1], item[0]))


@torch.no_grad()
def knockout(model, players):
    """Who wins a bracket, by chances that go from round to round: reach[i] of each player."""
    reach = {p.name: torch.tensor(1.0) for p in players}
    groups = [[p] for p in players]
    while len(groups) > 1:
        merged, new = [], {}
        for left, right in zip(groups[::2], groups[1::2]):
            for ours, theirs in ((left, right), (right, left)):
                for p in ours:
                    total = torch.tensor(0.0)
                    for q in theirs:
                        odds = model(torch.tensor([p.index]), torch.tensor([q.index])).softmax(1)[0]
                        total = total + reach[q.name] * (odds[2] + odds[1] / 2)
                    new[p.name] = reach[p.name] * total
            merged.append(left + right)
        groups, reach = merged, new
    return {name: round(chance.item(), 4) for name, chance in reach.items()}


def season(number, leagues, model, optimizer, batch=8):
    losses, hits, played = [], Counter(), {}
    for name, players in leagues.items():
        matches = [m.play() for m in round_robin(players)]
        random.shuffle(matches)
        for m in matches:
            elo_update(m)
        played[name] = table(matches)
        for i in range(0, len(matches), batch):
            loss, found = fit_step(model, optimizer, matches[i:i + batch])
            losses.append(loss)
            hits.update(found)
    last, first = played["first"][-1][0], played["second"][0][0]
    down = next(p for p in leagues["first"] if p.name == last)
    up = next(p for p in leagues["second"] if p.name == first)
    leagues["first"] = [p for p in leagues["first"] if p is not down] + [up]
    leagues["second"] = [p for p in leagues["second"] if p is not up] + [down]
    down.league, up.league = "second", "first"
    chances = knockout(model, leagues["first"])
    best = max(chances, key=chances.get)
    print(f"season {number}: loss {sum(losses) / len(losses):.4f}, {dict(sorted(hits.items()))}, {up!r} up, {down!r} down, cup to {best} ({chances[best]:.1%})")
    return losses, chances


def main(epochs):
    torch.manual_seed(6)
    random.seed(6)
    names = ["ada", "ben", "cai", "dov", "eve", "fay", "gus", "hal"]
    leagues = {"first": [], "second": []}
    for i, name in enumerate(names):
        league = "first" if i < 4 else "second"
        leagues[league].append(Player(name, i, league))
    model = BradleyTerry(len(names))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
    out = [season(i, leagues, model, optimizer) for i in range(epochs)]
    return out, {p.name: (p.elo, p.league) for ps in leagues.values() for p in ps}, model


MODEL, STEP, EPOCH = "BradleyTerry.forward", "fit_step", "season"
