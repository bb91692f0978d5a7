# SPDX-License-Identifier: Apache-2.0
"""A recursive network over trees, trained imperatively and through janus.function, side by side.

    ./run python3 samples/tree_classifier.py
    ./run python3 samples/tree_classifier.py --data sst DIR

The model is the child-sum Tree-LSTM of Tai, Socher and Manning (2015), written for one tree as a
plain recursive method (treemodels.py).  Two copies of it start from the same weights and see the same batches: one
trains with `train_step` as it is, the other with the same function given to `janus.function`.
"""
import argparse
import random
import sys
import time

import janus
import janus.nn.functional as F
import janus.optim as optim
from progress import Progress, table, write_json
from treedata import baseline, ptb, stdlib
from treemodels import TreeClassifier

WARM_UP = 5  # calls that are not timed: the first ones convert


def make_functions(model, optimizer, dtype):
    """`(train_step, predict)` of one model."""

    def train_step(batch):
        optimizer.zero_grad()
        loss = janus.zeros((), dtype=dtype)
        for example in batch:
            loss = loss + F.cross_entropy(model(example.root), example.target)
        loss = loss / len(batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def predict(batch):
        return [model(example.root).argmax(1) for example in batch]

    return train_step, predict


class Run:
    """One way to train: its functions, its clock and its losses."""

    def __init__(self, name, model, dtype, lr, decorate):
        self.name = name
        self.model = model
        train_step, predict = make_functions(model, optim.Adagrad(model.parameters(), lr=lr), dtype)
        self.train_step, self.predict = decorate(train_step), decorate(predict)
        self.steps = []  # (trees, seconds) of every call
        self.losses = []
        self.epochs = []
        self.warm = None  # stats after the warm-up

    def stats(self):
        """What the decorated function counted, None for a plain one."""
        return self.train_step.stats() if hasattr(self.train_step, "stats") else None

    def graph_share(self):
        """The share of calls after the warm-up that ran as graphs."""
        if self.warm is None:
            return None
        return (self.stats()["graph"] - self.warm["graph"]) / max(len(self.steps) - WARM_UP, 1)

    def epoch(self, batches, title):
        """Trains on all batches and notes the mean loss."""
        total = count = 0
        with Progress(f"{title} {self.name}", len(batches)) as bar:
            for batch in batches:
                start = time.perf_counter()
                loss = self.train_step(batch).item()
                self.steps.append((len(batch), time.perf_counter() - start))
                self.losses.append(loss)
                if len(self.steps) == WARM_UP:
                    self.warm = self.stats()
                total += loss * len(batch)
                count += len(batch)
                bar.step(note=f"loss {total / count:.4f}")
        self.epochs.append(total / count)

    def accuracy(self, examples, size):
        """The share of examples whose class the model finds."""
        right = 0
        for start in range(0, len(examples), size):
            batch = examples[start:start + size]
            with janus.no_grad():
                classes = self.predict(batch)
            for found, example in zip(classes, batch):
                right += int(found) == example.label
        return right / len(examples)

    def trees_per_second(self):
        """Training speed of all calls after the first few."""
        timed = self.steps[WARM_UP:] or self.steps
        return sum(trees for trees, _ in timed) / sum(seconds for _, seconds in timed)


def small_op_us(hidden):
    """What one small op costs imperatively, in microseconds: the best of five rounds."""
    x = y = janus.ones(1, hidden)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(10000):
            x + y
        best = min(best, time.perf_counter() - start)
    return best / 10000 * 1e6


def load(options):
    if options.data is None:
        return stdlib.load(options.limit)
    task, *rest = options.data
    if task != "sst" or len(rest) != 1:
        raise SystemExit("--data takes: sst DIR")
    return ptb.load(rest[0], options.limit)


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", metavar=("sst", "DIR"), help="train on PTB-format trees of a folder")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--limit", type=int, help="number of functions (trees) used")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the final table there")
    options = parser.parse_args(argv)
    if min(options.epochs, options.hidden, options.batch) < 1 or (options.limit or 10) < 10:
        parser.error("--epochs, --hidden and --batch are at least 1, --limit at least 10")
    return options


def main(argv=None):
    options = arguments(argv)
    sys.setrecursionlimit(10000)  # trees of source code are deep
    dataset = load(options)
    print(f"{dataset.name}: {len(dataset.train)} trees to learn from, {len(dataset.test)} to test, "
          f"{sum(example.root.size() for example in dataset.train)} nodes, {len(dataset.vocabulary)} words")
    print("classes:", ", ".join(dataset.classes))
    majority, bag_of_types = baseline.majority(dataset.train, dataset.test), baseline.bag_of_types(dataset)

    dtype = {"f32": janus.float32, "f64": janus.float64}[options.dtype]
    runs = []
    for name, decorate in (("imperative", lambda function: function), ("graph", janus.function)):
        janus.manual_seed(options.seed)
        model = TreeClassifier(len(dataset.vocabulary), options.hidden, len(dataset.classes)).to(dtype)
        runs.append(Run(name, model, dtype, options.lr, decorate))
    imperative, graph = runs

    print("\nepoch   loss: imperative        graph   accuracy: imperative  graph   trees/s: imperative    graph")
    order, shuffle = list(dataset.train), random.Random(options.seed)
    for epoch in range(1, options.epochs + 1):
        shuffle.shuffle(order)
        batches = [order[start:start + options.batch] for start in range(0, len(order), options.batch)]
        found = []
        for run in runs:
            first = len(run.steps)
            run.epoch(batches, f"epoch {epoch}")
            trees, seconds = map(sum, zip(*run.steps[first:]))
            found.append((run.epochs[-1], run.accuracy(dataset.test, options.batch), trees / seconds))
        (loss, accuracy, speed), (graph_loss, graph_accuracy, graph_speed) = found
        print(f"{epoch:5}   {loss:16.6f} {graph_loss:12.6f}   {accuracy:20.4f} {graph_accuracy:6.4f}   "
              f"{speed:19.0f} {graph_speed:8.0f}")

    compared = list(zip(imperative.epochs, graph.epochs))
    if options.dtype == "f64":
        compared += zip(imperative.losses, graph.losses)
    speeds = [run.trees_per_second() for run in runs]
    results = {
        "accuracy": found[1][1],
        "majority": majority,
        "bag_of_types": bag_of_types,
        "imperative_trees_per_s": speeds[0],
        "graph_trees_per_s": speeds[1],
        "ratio": speeds[1] / speeds[0],
        "max_rel_loss_diff": max(abs(a - b) / abs(a) for a, b in compared),
        "graph_share": graph.graph_share(),
        "imperative_op_us": small_op_us(options.hidden),
    }
    print()
    table(list(results.items()))
    write_json(options.json, results)


if __name__ == "__main__":
    main()
