# SPDX-License-Identifier: Apache-2.0
"""Accuracy on the Stanford Sentiment Treebank: janus beside hand-batched PyTorch.

Both train the binary Tree-LSTM with a class at every node, from the same weights, on the same trees
in the same order, for the same epochs; for each seed the weights and the order are others.  The
classes of the whole sentences, five of them, are compared with the treebank's.
"""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

import harness
from treebench import inputs
from treebench.contest import Left, Servers, say
from treebench.models import MODELS

SYSTEMS = ["janus", "pytorch-batched"]
STEPS = 20  # between two signs of progress
LEARNING_RATE = 0.05


class Learner:
    """A system with a model that it trains."""

    def __init__(self, name, threads, servers, path):
        self.name, self.server = name, servers.get(name, threads)
        self.server.ask(open=path)
        self.losses, self.accuracies, self.seconds = [], [], 0.0

    def epoch(self, steps, title):
        losses = []
        while len(losses) < steps:
            say(f"{title} {self.name}: {len(losses)}/{steps} batches"
                + (f", loss {statistics.mean(losses):.4f}" if losses else ""))
            found = self.server.ask(run=0, least=min(STEPS, steps - len(losses)))
            losses += found["losses"]
            self.seconds += found["seconds"]
        self.losses.append(statistics.mean(losses))

    def accuracy(self, part, labels):
        classes = self.server.ask(predict=part)["classes"]
        return sum(a == b for a, b in zip(classes, labels)) / len(labels)


def write_inputs(path, options, parts, words, seed):
    model = MODELS["treelstm"]
    trees = list(parts["train"])
    random.Random(seed).shuffle(trees)
    shapes = model.shapes(words, options.hidden, inputs.SST_CLASSES)
    inputs.write(path, trees=trees, held={part: parts[part] for part in ("dev", "test")}, words=words,
                 classes=inputs.SST_CLASSES, hidden=options.hidden, batch=options.batch, mode="train",
                 model=model.name, data="sst", grows=False, lr=LEARNING_RATE,
                 weights=inputs.make_weights(shapes, model.scales, seed), **{"class": model.cls})
    return len(trees) // options.batch


def train(options, parts, words, seed, servers):
    """A row for each system."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "inputs")
        steps = write_inputs(path, options, parts, words, seed)
        learners = [Learner(name, options.threads, servers, path) for name in SYSTEMS]
    labels = {part: [tree[0] for tree in parts[part]] for part in ("dev", "test")}
    for epoch in range(1, options.epochs + 1):
        for learner in learners:
            learner.epoch(steps, f"seed {seed}, epoch {epoch}")
            learner.accuracies.append(learner.accuracy("dev", labels["dev"]))
        say("")
        print(f"{seed:4} {epoch:5}   " + "   ".join(
            f"{learner.losses[-1]:9.5f} {learner.accuracies[-1]:8.4f} {'':8}" for learner in learners), flush=True)
    rows = []
    for learner in learners:
        rows.append({"seed": seed, "system": learner.name, "losses": learner.losses, "dev": learner.accuracies,
                     "test": learner.accuracy("test", labels["test"]),
                     "trees_per_s": options.epochs * steps * options.batch / learner.seconds})
        learner.server.ask(close=True)
    print(f"{seed:4} {'':5}   " + "   ".join(f"{'':9} {'':8} {row['test']:8.4f}" for row in rows), flush=True)
    return rows


def summary(rows, count):
    """Mean accuracy of each system on the test part, their difference and what chance allows."""
    mean = {name: statistics.mean(row["test"] for row in rows if row["system"] == name) for name in SYSTEMS}
    seeds = len({row["seed"] for row in rows})
    error = (mean[SYSTEMS[0]] * (1 - mean[SYSTEMS[0]]) / count) ** 0.5
    losses = [[row["losses"] for row in rows if row["system"] == name] for name in SYSTEMS]
    pairs = [(a, b) for one, other in zip(*losses) for a, b in zip(one, other)]
    return {"test": mean, "difference": mean[SYSTEMS[0]] - mean[SYSTEMS[1]], "standard_error": error / seeds ** 0.5,
            "max_rel_loss_diff": max(abs(a - b) / abs(b) for a, b in pairs)}


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of the treebank's files")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--limit", type=int, help="training trees, the first ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=120, help="seconds until a silent system is given up")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    folder = inputs.find_sst(options.data)
    if not folder or not inputs.sst_file(folder, "dev") or not inputs.sst_file(folder, "test"):
        print("skipped: the Stanford Sentiment Treebank was not found: --data DIR")
        return 1 if options.data else 0
    parts, words = inputs.sst_parts(folder)
    parts["train"] = parts["train"][:options.limit]
    servers, rows, began = Servers(options.patience), [], time.monotonic()
    print(f"{len(parts['train'])} trees to learn from, {len(parts['dev'])} of dev, {len(parts['test'])} of test; "
          f"hidden {options.hidden}, batch {options.batch}")
    print(f"{'':13}" + "   ".join(f"{name:27}" for name in SYSTEMS))
    print("seed epoch   " + "   ".join(["     loss      dev     test"] * len(SYSTEMS)))
    try:
        for seed in range(1, options.seeds + 1):
            rows += train(options, parts, words, seed, servers)
    except Left as reason:
        print(f"left out: {reason}")
        return 0
    finally:
        servers.stop()
    found = summary(rows, len(parts["test"]))
    for name in SYSTEMS:
        print(f"{name:16} {found['test'][name]:.4f} of the sentences of test")
    print(f"difference {found['difference']:+.4f}, standard error of each {found['standard_error']:.4f}; "
          f"largest relative difference of an epoch's loss {found['max_rel_loss_diff']:.1e}; "
          f"{time.monotonic() - began:.0f} s in all")
    harness.finish(options.json, {"rows": rows, **found, "epochs": options.epochs, "hidden": options.hidden,
                                  "batch": options.batch, "trees": len(parts["train"])})
    return 0 if abs(found["difference"]) <= 2 * found["standard_error"] else 1


if __name__ == "__main__":
    sys.exit(main())
