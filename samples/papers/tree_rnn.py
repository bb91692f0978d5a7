# SPDX-License-Identifier: Apache-2.0
"""A recursive network over trees (Socher et al. 2011), one tree after the other, a loss at every node."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

from .trees import forests


class TreeRNN(nn.Module):
    def __init__(self, words, size, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.left, self.right = nn.Linear(size, size), nn.Linear(size, size, bias=False)
        self.output = nn.Linear(size, classes)

    def forward(self, node):
        """The vector of a node and the loss of all nodes under it."""
        if node.is_leaf():
            h, below = self.embedding(node.word), 0.0
        else:
            left, left_loss = self(node.left)
            right, right_loss = self(node.right)
            h = torch.relu(self.left(left) + self.right(right))
            below = left_loss + right_loss
        return h, below + F.cross_entropy(self.output(h), node.label)


def make(small, decorate):
    words, size = (30, 8) if small else (1000, 128)
    model = TreeRNN(words, size, 5)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)

    @decorate
    def step(trees):
        optimizer.zero_grad()
        total = 0.0
        for tree in trees:
            _, loss = model(tree)
            total = total + loss
        total = total / len(trees)
        total.backward()
        optimizer.step()
        return total.item()

    return [model], step, forests(small, words)
