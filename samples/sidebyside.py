# SPDX-License-Identifier: Apache-2.0
"""Trains one program twice, as it is and through janus.function, and compares the two.

Used by the samples whose batches are tensors.  A sample gives a `make(decorate)` that returns the
training step and a measure of the trained model; both runs start from the same seed and see the
same batches.
"""
import time

import janus
from progress import Progress

WARM_UP = 5  # calls that are not timed: the first ones convert


def train(name, make, seed, epochs, batches_of, decorate, report):
    """One run: `(mean loss of each epoch, steps per second, measure, stats)`."""
    janus.manual_seed(seed)
    step, measure = make(decorate)
    losses, clock, n_timed, n_calls = [], 0.0, 0, 0
    for epoch in range(1, epochs + 1):
        batches = batches_of(epoch)
        total = 0.0
        with Progress(f"{name}, epoch {epoch}", len(batches)) as bar:
            for batch in batches:
                start = time.perf_counter()
                total += step(*batch).item()
                n_calls += 1
                if n_calls > WARM_UP:
                    clock += time.perf_counter() - start
                    n_timed += 1
                bar.step(note=f"loss {total / (bar.done + 1):.4f}")
        losses.append(total / len(batches))
        measured = measure()
        report(name, epoch, losses[-1], measured)
    stats = step.stats() if hasattr(step, "stats") else None
    return losses, n_timed / clock if clock else None, measured, stats


def compare(make, seed, epochs, batches_of, report):
    """Both runs, as the dict that the samples print and write."""
    plain = train("imperative", make, seed, epochs, batches_of, lambda function: function, report)
    graph = train("graph", make, seed, epochs, batches_of, janus.function, report)
    return {
        "measure": graph[2],
        "imperative_steps_per_s": plain[1],
        "graph_steps_per_s": graph[1],
        "ratio": graph[1] / plain[1] if plain[1] and graph[1] else None,
        "max_rel_loss_diff": max(abs(a - b) / abs(a) for a, b in zip(plain[0], graph[0])),
        "graph_calls": graph[3]["graph"],
        "calls": graph[3]["calls"],
    }
