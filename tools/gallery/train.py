# SPDX-License-Identifier: Apache-2.0
"""The program of docs/gallery.md: a recursive network and its training step."""
import janus
from janus import nn


class TreeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.pair, self.out = nn.Embedding(100, 32), nn.Linear(64, 32), nn.Linear(32, 2)

    def state(self, tree):
        if isinstance(tree, int):
            return self.leaf(janus.tensor([tree]))
        left, right = tree
        return janus.tanh(self.pair(janus.cat([self.state(left), self.state(right)], 1)))

    def forward(self, tree):
        return self.out(self.state(tree))


net = janus.function(TreeNet())
optimizer = janus.optim.SGD(net.parameters(), lr=0.1)


@janus.function
def step(tree, label):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(tree), label)
    loss.backward()
    optimizer.step()
    return loss


def run():
    tree, label = (((1, 2), 3), (4, (5, 6))), janus.tensor([1])
    with janus.no_grad():
        for _ in range(4):
            net(tree)
    for _ in range(6):
        step(tree, label)
