# SPDX-License-Identifier: Apache-2.0
"""A neural programmer-interpreter that adds numbers: programs call programs, execution traces teach it, it runs with a step limit."""
import random
import time
from enum import IntEnum

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class P(IntEnum):
    ADD = 0
    ADD1 = 1
    CARRY = 2
    LSHIFT = 3
    ACT = 4


WRITE, MOVE = 0, 1
IN1, IN2, CARRY_ROW, OUT = range(4)
NO_ARGS = (0, 0, 0)


class TooManySteps(Exception):
    pass


class Scratchpad:
    """Four rows of digits and a pointer for each."""

    def __init__(self, a, b, width):
        digits = lambda n: [int(d) for d in str(n).zfill(width)]
        self.rows = [digits(a), digits(b), [0] * width, [0] * width]
        self.pointers = [width - 1] * 4
        self.width = width

    def __getitem__(self, row):
        p = self.pointers[row]
        return self.rows[row][p] if 0 <= p < self.width else -1

    def observe(self):
        return [self[r] + 1 for r in range(4)]

    def act(self, kind, row, value):
        if kind == WRITE:
            if not 0 <= self.pointers[row] < self.width:
                raise IndexError(f"row {row} written outside")
            self.rows[row][self.pointers[row]] = value
        else:
            self.pointers[row] -= 1 if value == 0 else -1

    @property
    def result(self):
        return int("".join(str(d) for d in self.rows[OUT]))

    @property
    def done(self):
        return self.pointers[IN1] < 0


class Teacher:
    """The right thing to do in every program, as a list of calls."""

    def calls(self, program, pad):
        if program == P.ADD:
            while not pad.done:
                yield P.ADD1, NO_ARGS
                yield P.LSHIFT, NO_ARGS
        elif program == P.ADD1:
            total = pad[IN1] + pad[IN2] + pad[CARRY_ROW]
            yield P.ACT, (WRITE, OUT, total % 10)
            if total >= 10:
                yield P.CARRY, NO_ARGS
        elif program == P.CARRY:
            yield P.ACT, (MOVE, CARRY_ROW, 0)
            yield P.ACT, (WRITE, CARRY_ROW, 1)
            yield P.ACT, (MOVE, CARRY_ROW, 1)
        elif program == P.LSHIFT:
            for row in range(4):
                yield P.ACT, (MOVE, row, 0)

    def trace(self, program, pad, args=NO_ARGS):
        steps = []
        if program == P.ACT:
            pad.act(*args)
            return (program, args, steps)
        before = pad.observe()
        for callee, a in self.calls(program, pad):
            seen = pad.observe()
            steps.append((seen, self.trace(callee, pad, a)))
        steps.append((pad.observe() if steps else before, None))
        return (program, args, steps)


class NPI(nn.Module):
    def __init__(self, n_programs=len(P), key=6, emb=8, hidden=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(44, 24), nn.ReLU(), nn.Linear(24, 16))
        self.arg_in = nn.Linear(3, 4)
        self.programs = nn.Embedding(n_programs, emb)
        self.keys = nn.Parameter(torch.randn(n_programs, key) * 0.5)
        self.core = nn.LSTMCell(16 + 4 + emb, hidden)
        self.to_key = nn.Linear(hidden, key)
        self.to_end = nn.Linear(hidden, 1)
        self.to_args = nn.ModuleList([nn.Linear(hidden, n) for n in (2, 4, 10)])
        self.hidden = hidden

    def start(self):
        return torch.zeros(1, self.hidden), torch.zeros(1, self.hidden)

    def forward(self, seen, program, args, state):
        onehot = F.one_hot(torch.tensor(seen), 11).float().view(1, -1)
        x = torch.cat([self.encoder(onehot), self.arg_in(torch.tensor([args], dtype=torch.float32)),
                       self.programs(torch.tensor([int(program)]))], dim=1)
        h, c = self.core(x, state)
        scores = self.to_key(h) @ self.keys.t()
        return self.to_end(h).squeeze(), scores, [head(h) for head in self.to_args], (h, c)


def trace_loss(model, trace, counts):
    """Recursively: each program has a core state of its own."""
    program, args, steps = trace
    state, loss = model.start(), 0.0
    for seen, call in steps:
        end, scores, arg_logits, state = model(seen, program, args, state)
        loss = loss + F.binary_cross_entropy_with_logits(end, torch.tensor(float(call is None)))
        if call is None:
            counts["end"] += int((end > 0).item())
            break
        callee, a, _ = call
        loss = loss + F.cross_entropy(scores, torch.tensor([int(callee)]))
        counts["steps"] += 1
        counts["right"] += scores.argmax(1).item() == callee
        if callee == P.ACT:
            loss = loss + sum(F.cross_entropy(l, torch.tensor([v])) for l, v in zip(arg_logits, a))
        else:
            loss = loss + trace_loss(model, call, counts)
    return loss


@torch.no_grad()
def execute(model, program, pad, budget, depth=0, args=NO_ARGS):
    if depth > 4:
        raise TooManySteps(f"depth {depth}")
    state = model.start()
    while True:
        budget[0] -= 1
        if budget[0] < 0:
            raise TooManySteps("budget")
        end, scores, arg_logits, state = model(pad.observe(), program, args, state)
        if torch.sigmoid(end).item() > 0.5:
            return
        callee = P(scores.argmax(1).item())
        if callee == P.ACT:
            pad.act(*[l.argmax(1).item() for l in arg_logits])
        else:
            execute(model, callee, pad, budget, depth + 1)


def train_step(model, optimizer, trace):
    counts = {"steps": 0, "right": 0, "end": 0}
    optimizer.zero_grad()
    loss = trace_loss(model, trace, counts)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item(), counts


def train_epoch(epoch, model, optimizer, problems, tests):
    start, total, sums = time.time(), 0.0, {}
    for a, b in problems:
        trace = Teacher().trace(P.ADD, Scratchpad(a, b, 3))
        loss, counts = train_step(model, optimizer, trace)
        total += loss
        sums = {k: sums.get(k, 0) + v for k, v in counts.items()}
    outcomes = {}
    for a, b in tests:
        pad = Scratchpad(a, b, 3)
        try:
            execute(model, P.ADD, pad, [25])
            verdict = "right" if pad.result == a + b else "wrong"
        except (TooManySteps, IndexError) as e:
            verdict = f"{type(e).__name__}({e})"
        outcomes[verdict] = outcomes.get(verdict, 0) + 1
    print(f"epoch {epoch} loss {total / len(problems):.3f} calls {sums['right']}/{sums['steps']} "
          f"{sorted(outcomes.items())} in {time.time() - start:.2f}s")
    return total, outcomes


def main(epochs):
    torch.manual_seed(5)
    rng = random.Random(5)
    pairs = [(rng.randrange(400), rng.randrange(400)) for _ in range(5)]
    model = NPI()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    out = [train_epoch(e, model, optimizer, pairs[:3], pairs[3:]) for e in range(epochs)]
    return out, model.state_dict()


MODEL, STEP, EPOCH = "NPI.forward", "train_step", "train_epoch"
