# SPDX-License-Identifier: Apache-2.0
"""Visual questions as programs: lists of dicts whose inputs are earlier steps, run by modules chosen by name."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

FUNCTIONS = {"scene": 0, "filter": 1, "relate": 1, "and": 2, "or": 2}


def random_program(rng):
    program = [{"function": "scene", "inputs": []}]
    for _ in range(rng.randint(1, 5)):
        name = rng.choice(["filter", "relate", "and", "or"])
        inputs = [rng.randrange(len(program)) for _ in range(FUNCTIONS[name])]
        program.append({"function": name, "inputs": inputs})
    return program


class Unary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(dim, dim, 3, padding=1)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


class Binary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.merge = nn.Conv2d(2 * dim, dim, 1)
        self.block = Unary(dim)

    def forward(self, x, y):
        return self.block(F.relu(self.merge(torch.cat([x, y], 1))))


class Execution(nn.Module):
    def __init__(self, dim, answers):
        super().__init__()
        self.function_modules = {}
        for name, arity in FUNCTIONS.items():
            module = Binary(dim) if arity == 2 else Unary(dim)
            self.add_module(name, module)
            self.function_modules[name] = module
        self.stem = nn.Conv2d(3, dim, 3, padding=1)
        self.head = nn.Linear(dim, answers)

    def run(self, features, program):
        results = []
        for node in program:
            module = self.function_modules[node["function"]]
            if node["function"] == "scene":
                out = module(features)
            else:
                out = module(*[results[j] for j in node["inputs"]])
            results.append(out)
        return results[-1]

    def forward(self, images, programs):
        features = F.relu(self.stem(images))
        outs = [self.run(features[i:i + 1], programs[i]) for i in range(len(programs))]
        return self.head(torch.cat(outs, 0).mean(3).mean(2))


def train_step(model, optimizer, images, programs, answers):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images, programs), answers)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, batches):
    start, total = time.time(), 0
    for images, programs, answers in batches:
        total += train_step(model, optimizer, images, programs, answers)
    print(f"loss {total / len(batches):.4f} after {time.time() - start:.2f} s")
    return total


def main(epochs):
    rng = random.Random(7)
    batches = [(torch.randn(3, 3, 4, 4), [random_program(rng) for _ in range(3)], torch.randint(0, 4, (3,)))
               for _ in range(3)]
    model = Execution(4, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [train_epoch(model, optimizer, batches) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "Execution.forward", "train_step", "train_epoch"
