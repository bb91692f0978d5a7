# SPDX-License-Identifier: Apache-2.0
"""A character language model: an LSTM over any text, trained imperatively and through janus.function.

    ./run python3 samples/char_lm.py              the standard library's own source
    ./run python3 samples/char_lm.py --data FILE  any text file, plain or .gz
"""
import argparse
import gzip
import math
import os
import sysconfig

import janus
import janus.nn as nn
import janus.nn.functional as F
import janus.optim as optim
import sidebyside
from progress import table, write_json

TEST_PART = 10  # one in ten characters, at the end


class CharLM(nn.Module):
    """Scores of the next character at every place of a text [steps, rows]."""

    def __init__(self, n_characters, hidden):
        super().__init__()
        self.embedding = nn.Embedding(n_characters, hidden)
        self.lstm = nn.LSTM(hidden, hidden)
        self.output = nn.Linear(hidden, n_characters)

    def forward(self, characters, h, c):
        out, (h, c) = self.lstm(self.embedding(characters), (h, c))
        return self.output(out), h, c


def read_text(path, limit):
    """The first `limit` characters of a file, or of the standard library's modules in order."""
    if path is not None:
        opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
        with opened as stream:
            return stream.read(limit)
    root, parts, left = sysconfig.get_path("stdlib"), [], limit
    for name in sorted(os.listdir(root)):
        if name.endswith(".py") and left > 0:
            with open(os.path.join(root, name), encoding="utf-8", errors="replace") as stream:
                parts.append(stream.read(left))
            left -= len(parts[-1])
    return "".join(parts)


def rows_of(numbers, n_rows):
    """A long list of numbers as an int64 tensor [steps, rows], each column a part of the text."""
    steps = len(numbers) // n_rows
    return janus.tensor(numbers[:steps * n_rows]).reshape(n_rows, steps).t().contiguous()


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="FILE", help="the text; default: the standard library's source")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=100000, help="characters used")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=20, help="rows of text side by side")
    parser.add_argument("--steps", type=int, default=25, help="characters of each row in one training step")
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the final table there")
    options = parser.parse_args(argv)
    if min(options.epochs, options.limit, options.hidden, options.batch, options.steps) < 1:
        parser.error("numbers are at least 1")
    return options


def main(argv=None):
    options = arguments(argv)
    text = read_text(options.data, options.limit)
    alphabet = sorted(set(text))
    numbers = {character: number for number, character in enumerate(alphabet)}
    encoded = [numbers[character] for character in text]
    cut = len(encoded) - len(encoded) // TEST_PART
    train, test = rows_of(encoded[:cut], options.batch), rows_of(encoded[cut:], options.batch)
    if train.shape[0] <= options.steps or test.shape[0] < 2:
        raise SystemExit("the text is too short for so many rows and steps")
    print(f"{options.data or 'standard library'}: {len(text)} characters, {len(alphabet)} distinct")

    def make(decorate):
        model = CharLM(len(alphabet), options.hidden)
        optimizer = optim.Adam(model.parameters(), lr=options.lr)

        def step(x, y):
            optimizer.zero_grad()
            zeros = janus.zeros(1, x.shape[1], options.hidden)
            scores, _, _ = model(x, zeros, zeros)
            loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        def perplexity():
            total, h = 0.0, janus.zeros(1, options.batch, options.hidden)
            c = h
            with janus.no_grad():
                for start in range(0, test.shape[0] - 1, options.steps):
                    stop = min(start + options.steps, test.shape[0] - 1)
                    scores, h, c = model(test[start:stop], h, c)
                    loss = F.cross_entropy(scores.flatten(0, 1), test[start + 1:stop + 1].flatten())
                    total += loss.item() * (stop - start)
            return math.exp(total / (test.shape[0] - 1))

        return decorate(step), perplexity

    def batches_of(epoch):
        starts = range(0, train.shape[0] - options.steps, options.steps)
        return [(train[start:start + options.steps], train[start + 1:start + options.steps + 1]) for start in starts]

    def report(name, epoch, loss, perplexity):
        print(f"{name:>10}  epoch {epoch}  loss {loss:.6f}  test perplexity {perplexity:.3f}")

    results = sidebyside.compare(make, options.seed, options.epochs, batches_of, report)
    results = {"perplexity": results.pop("measure"), **results}
    print()
    table(list(results.items()))
    write_json(options.json, results)


if __name__ == "__main__":
    main()
