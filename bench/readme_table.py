# SPDX-License-Identifier: Apache-2.0
"""Prints README.md's table of figures from bench/results/trees.json, which `./run bench/trees --json FILE` writes.

tests/lint/docs.sh compares what it prints with the README.
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEMS = (("janus", "janus, a graph"), ("janus-imperative", "janus, imperative"), ("pytorch", "PyTorch, recursive"),
           ("pytorch-batched", "PyTorch, batched by hand"), ("dynet-auto", "DyNet, autobatching"))
MODELS = (("treernn", "Tree-RNN"), ("treelstm", "Tree-LSTM"), ("rntn", "RNTN"))


def main():
    with open(os.path.join(HERE, "results", "trees.json"), encoding="utf-8") as f:
        record = json.load(f)
    rates = {(r["model"], r["mode"], r["system"]): r["trees_per_s"] for r in record["rows"]}
    systems = [(s, title) for s, title in SYSTEMS if any(key[2] == s for key in rates)]
    print("| trees a second, hidden size 128, batch 25 | " + " | ".join(title for _, title in systems) + " |")
    print("| --- |" + " ---: |" * len(systems))
    for mode, verb in (("train", "training"), ("infer", "inference")):
        for model, title in MODELS:
            cells = [rates.get((model, mode, s)) for s, _ in systems]
            print(f"| {title}, {verb} | " + " | ".join("-" if c is None else f"{c:,.0f}" for c in cells) + " |")


if __name__ == "__main__":
    main()
