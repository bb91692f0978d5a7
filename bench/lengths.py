# SPDX-License-Identifier: Apache-2.0
"""A language model over texts of 50 lengths: processor time of its first epochs, from the first call on, undecorated, with its forward
pass, its step or its whole epoch decorated, and PyTorch, eager and (--compile) with torch.compile(dynamic=True) on the model.  Each is
a process of its own, in turns, medians; conversions and compilation are part of the epoch in which they are made, imports are not.

    JANUS_PEERS=DIR ./run python3 bench/lengths.py [--rounds 3] [--epochs 3] [--times 10] [--compile] [MODEL ...]

--times: how often each length comes in an epoch.  Losses of all must agree.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

from harness import peers_python

LENGTHS, BATCH, WORDS, DIM = range(6, 56), 16, 200, 64
WAYS = ("imperative", "model", "step", "epoch")


def models(T):
    """The three models, in the namespace of janus or torch."""
    nn, F = T.nn, T.nn.functional

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.cells, self.out = nn.Embedding(WORDS, DIM), nn.LSTM(DIM, DIM, batch_first=True), nn.Linear(DIM, WORDS)

        def forward(self, x):
            states, _ = self.cells(self.words(x))
            return self.out(states)

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.cell, self.out = nn.Embedding(WORDS, DIM), nn.LSTMCell(DIM, DIM), nn.Linear(DIM, WORDS)

        def forward(self, x):
            words = self.words(x)
            h = c = T.zeros(x.size(0), DIM)
            states = []
            for t in range(x.size(1)):
                h, c = self.cell(words[:, t], (h, c))
                states.append(h)
            return self.out(T.stack(states, 1))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, DIM), nn.Embedding(64, DIM)
            self.norm, self.qkv, self.project = nn.LayerNorm(DIM), nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
            self.norm2, self.up, self.down, self.out = nn.LayerNorm(DIM), nn.Linear(DIM, 256), nn.Linear(256, DIM), nn.Linear(DIM, WORDS)
            self.register_buffer("mask", T.ones(64, 64).tril())

        def forward(self, x):
            B, n = x.size()
            h = self.words(x) + self.places.weight[:n]
            q, k, v = self.qkv(self.norm(h)).split(DIM, dim=2)
            q, k, v = [t.view(B, n, 4, DIM // 4).transpose(1, 2) for t in (q, k, v)]
            weights = (q @ k.transpose(-2, -1) / math.sqrt(DIM // 4)).masked_fill(self.mask[:n, :n] == 0, float("-inf")).softmax(-1)
            h = h + self.project((weights @ v).transpose(1, 2).contiguous().view(B, n, DIM))
            h = h + self.down(F.gelu(self.up(self.norm2(h))))
            return self.out(h)

    return {"lstm": Lstm, "cell": Cell, "gpt": Gpt}


def here(name, way, epochs, times):
    """Milliseconds of each epoch, and the last one's mean loss."""
    if way.startswith("torch"):
        import torch as T
    else:
        import janus as T
    T.set_num_threads(1)
    F = T.nn.functional
    made = random.Random(1)
    model = models(T)[name]()
    with T.no_grad():
        for p in model.parameters():
            p.copy_(T.tensor([made.gauss(0, 0.1) for _ in range(p.numel())]).view(p.shape))
    optimizer = T.optim.Adam(model.parameters(), lr=1e-3)
    forward = T.compile(model, dynamic=True) if way == "torch-compile" else model

    def step(x):
        optimizer.zero_grad()
        y = forward(x[:, :-1])
        loss = F.cross_entropy(y.reshape(-1, WORDS), x[:, 1:].reshape(-1))
        loss.backward()
        T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    def epoch(batches):
        total = 0.0
        for x in batches:
            total += step(x)
        return total

    if way == "model":
        model.forward = T.function(model.forward)
    elif way == "step":
        step = T.function(step)
    elif way == "epoch":
        epoch = T.function(epoch)
    batches = [T.tensor([[made.randrange(WORDS) for _ in range(n)] for _ in range(BATCH)]) for n in LENGTHS for _ in range(times)]
    taken = []
    for _ in range(epochs):
        made.shuffle(batches)
        start = time.process_time()
        total = epoch(batches)
        taken.append((time.process_time() - start) * 1e3)
    return taken, total / len(batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["lstm", "cell", "gpt"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.here:
        print(json.dumps(here(a.models[0], a.here, a.epochs, a.times)))
        return
    ways = list(WAYS)
    env = {**os.environ, "JANUS_QUIET": "1"}
    theirs = {k: v for k, v in env.items() if k != "PYTHONPATH"}
    if peers_python("torch"):
        ways += ["torch"] + ["torch-compile"] * a.compile
    print(f"{len(LENGTHS)} lengths, {a.times} batches of {BATCH} texts each, ms of processor time an epoch (times imperative janus's)")
    print(f"{'model':6}{'decorated':15}" + "".join(f"{'epoch ' + str(i + 1):>18}" for i in range(a.epochs)))
    for name in a.models:
        got = {way: [] for way in ways}
        for _ in range(a.rounds):
            for way in ways:
                ours = not way.startswith("torch")
                command = [sys.executable if ours else peers_python("torch"), __file__, name, "--here", way, "--epochs", str(a.epochs), "--times", str(a.times)]
                done = subprocess.run(command, env=env if ours else theirs, capture_output=True, text=True, check=True)
                got[way].append(json.loads(done.stdout.splitlines()[-1]))
        losses = [loss for runs in got.values() for _, loss in runs]
        assert max(losses) - min(losses) < 1e-2 * max(losses), losses
        base = [statistics.median(run[0][i] for run in got["imperative"]) for i in range(a.epochs)]
        for way in ways:
            ms = [statistics.median(run[0][i] for run in got[way]) for i in range(a.epochs)]
            print(f"{name:6}{way:15}" + "".join(f"{t:10.0f} ({t / b:.2f})".rjust(18) for t, b in zip(ms, base)), flush=True)


if __name__ == "__main__":
    main()
