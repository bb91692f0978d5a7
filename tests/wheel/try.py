# SPDX-License-Identifier: Apache-2.0
"""Tries an installed package: a recursive network learns in a graph.

What is imported lies in the environment (argument 1), libraries, too, unless they are the system's (argument 2: `system`).
"""
import os
import subprocess
import sys

import janus
from janus import nn

environment = os.path.realpath(sys.argv[1])
assert os.path.realpath(janus.__file__).startswith(environment), janus.__file__
assert os.path.exists(os.path.join(os.path.dirname(janus.__file__), "py.typed"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.pair, self.out = nn.Embedding(10, 16), nn.Linear(32, 16), nn.Linear(16, 2)

    def state(self, tree):
        if isinstance(tree, int):
            return self.leaf(janus.tensor([tree]))
        left, right = tree
        return janus.tanh(self.pair(janus.cat([self.state(left), self.state(right)], 1)))

    def forward(self, tree):
        return self.out(self.state(tree))


janus.manual_seed(0)
net = Net()
optimizer = janus.optim.Adam(net.parameters(), lr=0.05)


@janus.function(measure=False)
def step(tree, label):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(tree), label)
    loss.backward()
    optimizer.step()
    return loss


examples = [((1, 2), janus.tensor([0])), (((3, 4), (5, (6, 7))), janus.tensor([1]))]
losses = [step(tree, label).item() for _ in range(40) for tree, label in examples]
assert max(losses[-2:]) < 0.1 < losses[0], losses
assert step.stats()["graph"] > 60, step.stats()
assert tuple(nn.Conv2d(3, 8, 3)(janus.ones(1, 3, 8, 8)).shape) == (1, 8, 6, 6)  # oneDNN's

tool = os.path.join(environment, "bin", "janus-graph")
dumped = subprocess.run([tool, "stats", "-"], input=step.graphs()[0], text=True, capture_output=True)
assert dumped.returncode == 0 and "SubGraphs" in dumped.stdout, dumped
inside = [line.split()[-1] for line in open("/proc/self/maps") if "dnnl" in line or "cjson" in line or "gomp" in line]
assert inside and (sys.argv[2:] == ["system"] or all(path.startswith(environment) for path in inside)), set(inside)
print(f"loss {losses[0]:.2f} to {losses[-1]:.4f}, {step.stats()['graph']} of {step.stats()['calls']} steps as graphs, "
      f"{len(set(inside))} libraries beside it")
