# SPDX-License-Identifier: Apache-2.0
"""Plots of what bench/trees wrote: `python plots.py SWEEP.json SHAPES.json FOLDER`.

trees_batch.svg: trees a second against the batch, training and inference, for each hidden size.
trees_shape.svg: time of a tree against its shape.  Runs in the peers' environment, which has Matplotlib.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

STYLE = {  # color, marker
    "janus": ("#b2182b", "o"), "janus-exact": ("#ef8a62", "v"), "janus-imperative": ("#f4b183", "^"),
    "pytorch-derived": ("#2166ac", "s"), "pytorch-batched": ("#4393c3", "D"), "pytorch": ("#92c5de", "x"),
    "dynet": ("#5aae61", "P")}
SHAPES = ["balanced", "random", "linear"]
MODES = {"train": "training", "infer": "inference"}


def values(rows, name):
    """The different values of a column, in order."""
    return sorted({row[name] for row in rows})


def present(rows, name, order):
    found = {row[name] for row in rows}
    return [value for value in order if value in found]


def against_batch(rows, path):
    modes, sizes = present(rows, "mode", MODES), values(rows, "hidden")
    batches = values(rows, "batch")
    figure, axes = plt.subplots(len(modes), len(sizes), figsize=(3.6 * len(sizes), 3.2 * len(modes)),
                                sharex=True, sharey="row", squeeze=False)
    for i, mode in enumerate(modes):
        for j, size in enumerate(sizes):
            axis = axes[i][j]
            for system in present(rows, "system", STYLE):
                points = sorted((row["batch"], row["trees_per_s"]) for row in rows
                                if (row["mode"], row["hidden"], row["system"]) == (mode, size, system))
                color, marker = STYLE[system]
                axis.plot(*zip(*points) if points else ([], []), color=color, marker=marker, markersize=5,
                          linewidth=2 if system == "janus" else 1.2, label=system)
            axis.set(xscale="log", yscale="log", title=f"{MODES[mode]}, hidden {size}")
            axis.set_xticks(batches, [str(batch) for batch in batches])
            axis.minorticks_off()
            axis.grid(True, color="#dddddd", linewidth=0.6)
            if i == len(modes) - 1:
                axis.set_xlabel("trees in a batch")
        axes[i][0].set_ylabel("trees/s")
    finish(figure, axes[0][0], path)


def against_shape(rows, path):
    modes, shapes = present(rows, "mode", MODES), present(rows, "data", SHAPES)
    systems = present(rows, "system", STYLE)
    figure, axes = plt.subplots(1, len(modes), figsize=(5.0 * len(modes), 3.4), squeeze=False)
    width = 0.8 / len(systems)
    for axis, mode in zip(axes[0], modes):
        for k, system in enumerate(systems):
            times = {row["data"]: 1e3 / row["trees_per_s"] for row in rows
                     if (row["mode"], row["system"]) == (mode, system)}
            places = [i + (k - (len(systems) - 1) / 2) * width for i, shape in enumerate(shapes) if shape in times]
            axis.bar(places, [times[shape] for shape in shapes if shape in times], width, color=STYLE[system][0],
                     label=system)
        axis.set(yscale="log", ylabel="ms a tree", title=f"{MODES[mode]}, hidden {values(rows, 'hidden')[0]}, "
                                                         f"batch {values(rows, 'batch')[0]}")
        axis.set_xticks(range(len(shapes)), shapes)
        axis.grid(True, axis="y", color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
    finish(figure, axes[0][0], path)


def finish(figure, axis, path):
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def rows_of(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)["rows"]


def main():
    sweep, shapes, folder = sys.argv[1:]
    # The same numbers give the same file; letters stay letters.
    matplotlib.rcParams.update({"svg.hashsalt": "janus", "svg.fonttype": "none", "figure.constrained_layout.use": True,
                                "font.size": 10})
    against_batch(rows_of(sweep), os.path.join(folder, "trees_batch.svg"))
    against_shape(rows_of(shapes), os.path.join(folder, "trees_shape.svg"))


if __name__ == "__main__":
    main()
