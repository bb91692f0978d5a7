# SPDX-License-Identifier: Apache-2.0
"""A recursive Tree-LSTM, one text for janus and PyTorch; raw trees come in the file BENCH_TREES."""
import json
import os

WORDS, HIDDEN, CLASSES, BATCH = 1000, 32, 10, 25


class Node:
    def __init__(self, token, children):
        self.token = token
        self.children = children


def contenders(lib, modes):
    nn, F = lib.nn, lib.nn.functional

    class TreeLSTM(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(WORDS, HIDDEN)
            self.gates_x = nn.Linear(HIDDEN, 3 * HIDDEN)
            self.gates_h = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
            self.forget_x = nn.Linear(HIDDEN, HIDDEN)
            self.forget_h = nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.output = nn.Linear(HIDDEN, CLASSES)

        def state(self, node):
            x = self.embedding(node.token)
            forget = self.forget_x(x)
            h_sum = lib.zeros_like(x)
            c_sum = lib.zeros_like(x)
            for child in node.children:
                h, c = self.state(child)
                h_sum = h_sum + h
                c_sum = c_sum + lib.sigmoid(forget + self.forget_h(h)) * c
            i, o, u = (self.gates_x(x) + self.gates_h(h_sum)).chunk(3, 1)
            c = lib.sigmoid(i) * lib.tanh(u) + c_sum
            return lib.sigmoid(o) * lib.tanh(c), c

        def forward(self, root):
            h, _ = self.state(root)
            return self.output(h)

    with open(os.environ["BENCH_TREES"], encoding="utf-8") as stream:
        raw_trees = json.load(stream)
    numbers = {}

    def tree(raw):
        word, children = raw
        number = numbers.setdefault(word, len(numbers)) % WORDS
        return Node(lib.tensor([number]), [tree(child) for child in children])

    examples = [(tree(raw), lib.tensor([place % CLASSES])) for place, raw in enumerate(raw_trees)]
    batches = [examples[start:start + BATCH] for start in range(0, len(examples), BATCH)]

    def contender(on_step, on_model, training):
        def set_up():
            lib.manual_seed(0)
            own = TreeLSTM()
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
                return len(examples)
            for _ in range(3):
                run()
            return run
        return set_up

    made = {}
    for kind, training in (("train", True), ("infer", False)):
        for name, on_step, on_model in modes:
            made[f"{kind}: {name}"] = contender(on_step, on_model, training)
    return made
