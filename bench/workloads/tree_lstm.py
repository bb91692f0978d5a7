# SPDX-License-Identifier: Apache-2.0
"""The samples' child-sum Tree-LSTM, one text for janus and PyTorch; raw trees come in the file BENCH_TREES.

The unit is a node.  `torch.compile` compiles each tree anew, as the recursion is unrolled, and takes
some 15 s for one of ten nodes: it gets the smallest tree only.
"""
import json
import os
import sys

WORDS, HIDDEN, CLASSES, BATCH = 1000, 32, 10, 25
COMPILED = 1  # tree that torch.compile gets


def size(raw):
    return 1 + sum(map(size, raw[1]))


class Node:
    def __init__(self, token, children):
        self.token = token
        self.children = children


def contenders(lib, modes):
    F = lib.nn.functional
    # The samples' text says janus; with PyTorch that names its modules.
    sys.modules.setdefault("janus", lib)
    sys.modules.setdefault("janus.nn", lib.nn)
    sys.modules.setdefault("janus.nn.functional", F)
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples"))
    from treemodels import TreeClassifier

    with open(os.environ["BENCH_TREES"], encoding="utf-8") as stream:
        raw_trees = json.load(stream)
    numbers = {}

    def tree(raw):
        word, children = raw
        number = numbers.setdefault(word, len(numbers)) % WORDS
        return Node(lib.tensor([number]), [tree(child) for child in children])

    examples = [(tree(raw), lib.tensor([place % CLASSES])) for place, raw in enumerate(raw_trees)]
    sizes = [size(raw) for raw in raw_trees]

    def contender(on_step, on_model, training, places):
        batches = [[examples[place] for place in places[start:start + BATCH]]
                   for start in range(0, len(places), BATCH)]
        nodes = sum(sizes[place] for place in places)

        def set_up():
            lib.manual_seed(0)
            own = TreeClassifier(WORDS, HIDDEN, CLASSES)
            model = on_model(own)
            optimizer = lib.optim.Adagrad(own.parameters(), lr=0.01)

            def train(batch):
                optimizer.zero_grad()
                loss = lib.zeros(())
                for root, target in batch:
                    loss = loss + F.cross_entropy(model(root), target)
                loss = loss / len(batch)
                loss.backward()
                optimizer.step()
                return loss.detach()

            def infer(batch):
                total = lib.zeros(())
                for root, _ in batch:
                    total = total + model(root).max()
                return total

            step = on_step(train if training else infer)

            def run():
                with lib.set_grad_enabled(training):
                    for batch in batches:
                        step(batch).item()
                return nodes
            for _ in range(3):
                run()
            return run
        return set_up

    made, smallest = {}, sorted(range(len(sizes)), key=sizes.__getitem__)
    for kind, training in (("train", True), ("infer", False)):
        for name, on_step, on_model in modes:
            places = smallest[:COMPILED] if name == "torch.compile" else range(len(sizes))
            made[f"{kind}: {name}"] = contender(on_step, on_model, training, places)
    return made
