# SPDX-License-Identifier: Apache-2.0
"""A binary Tree-LSTM (Tai, Socher and Manning 2015) with a forget gate for each child."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

from .trees import forests


class TreeLSTM(nn.Module):
    def __init__(self, words, size, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.leaf = nn.Linear(size, 3 * size)
        self.inner = nn.Linear(2 * size, 5 * size)
        self.dropout = nn.Dropout(0.2)
        self.output = nn.Linear(size, classes)

    def of_leaf(self, node):
        i, o, u = torch.chunk(self.leaf(self.embedding(node.word)), 3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def of_inner(self, left, right):
        (left_h, left_c), (right_h, right_c) = left, right
        i, fl, fr, o, u = torch.chunk(self.inner(torch.cat([left_h, right_h], dim=1)), 5, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(fl) * left_c + torch.sigmoid(fr) * right_c
        return torch.sigmoid(o) * torch.tanh(c), c

    def encode(self, node, losses):
        """The state of a node; the losses of its nodes are appended to a list."""
        if node.is_leaf():
            state = self.of_leaf(node)
        else:
            state = self.of_inner(self.encode(node.left, losses), self.encode(node.right, losses))
        losses.append(F.cross_entropy(self.output(self.dropout(state[0])), node.label))
        return state

    def forward(self, trees):
        losses = []
        for tree in trees:
            self.encode(tree, losses)
        return torch.stack(losses).sum() / len(trees)


def make(small, decorate):
    words, size = (30, 8) if small else (1000, 128)
    model = TreeLSTM(words, size, 5)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)

    @decorate
    def step(trees):
        optimizer.zero_grad()
        loss = model(trees)
        loss.backward()
        optimizer.step()
        return loss.item()

    return [model], step, forests(small, words)
