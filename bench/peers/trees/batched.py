# SPDX-License-Identifier: Apache-2.0
"""PyTorch batched by hand: one step a level, autograd behind it.

The plan of a batch is made from the Python trees in every step, as each batch is another one.
Nodes are numbered level by level (leaves first); the rows of a level are computed together from
the rows of their children, which are taken from one table that grows by a level at a time.  The
classes of all nodes are one product at the end.
"""
import warnings

import serve
import torch
import torch.nn.functional as F


def prepare(_system, threads):
    warnings.filterwarnings("ignore", "Sparse invariant checks")
    torch.set_num_threads(threads)


def version():
    return f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, " \
           f"{'MKL' if torch.backends.mkl.is_available() else 'no MKL'}"


def stats(_step):
    return None


def builder(inputs):
    return serve.tree_builder(inputs, int, int)


def plan(batch):
    """`(words, labels, levels)`: a level is the numbers of its left and of its right children.

    Labels are in the order of the numbers.
    """
    words, leaf_labels, levels, level_labels = [], [], [], []
    places = []  # of the finished subtrees: (level, index in it)
    for root in batch:
        stack = [root]
        order = []
        while stack:  # parents before children, right before left
            node = stack.pop()
            order.append(node)
            if node.left is not None:
                stack.append(node.left)
                stack.append(node.right)
        for node in reversed(order):
            if node.left is None:
                places.append((-1, len(words)))
                words.append(node.word)
                leaf_labels.append(node.label)
            else:
                right, left = places.pop(), places.pop()
                height = max(left[0], right[0]) + 1
                if height == len(levels):
                    levels.append(([], []))
                    level_labels.append([])
                lefts, rights = levels[height]
                places.append((height, len(lefts)))
                lefts.append(left)
                rights.append(right)
                level_labels[height].append(node.label)
        places.clear()
    starts, at = [], len(words)
    for lefts, _ in levels:
        starts.append(at)
        at += len(lefts)
    starts.append(0)  # of level -1
    labels = leaf_labels
    for found in level_labels:
        labels.extend(found)
    numbered = [([starts[level] + i for level, i in lefts], [starts[level] + i for level, i in rights])
                for lefts, rights in levels]
    return torch.tensor(words), torch.tensor(labels), numbered


def parameters(inputs):
    return {name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape).clone().requires_grad_()
            for name, (shape, data) in inputs["weights"].items()}


class TreeRNN:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, words, levels):
        """The vectors of all nodes in the order of their numbers."""
        table = [F.embedding(words, self.embedding, sparse=True)]
        for lefts, rights in levels:
            known = torch.cat(table)
            pairs = known[torch.tensor([lefts, rights]).t().reshape(-1)].view(len(lefts), -1)
            table = [known, torch.tanh(F.linear(pairs, *self.inner))]
        return torch.cat(table)


class BinaryTreeLSTM:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.leaf = weights["leaf.weight"], weights["leaf.bias"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, words, levels):
        i, o, u = F.linear(F.embedding(words, self.embedding, sparse=True), *self.leaf).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h_table, c_table = [torch.sigmoid(o) * torch.tanh(c)], [c]
        for lefts, rights in levels:
            h_known, c_known = torch.cat(h_table), torch.cat(c_table)
            children = torch.tensor([lefts, rights]).t().reshape(-1)
            c_pairs = c_known[children].view(len(lefts), 2, -1)
            gates = F.linear(h_known[children].view(len(lefts), -1), *self.inner)
            size = c_known.shape[1]
            iof = torch.sigmoid(gates[:, :size * 4])
            i, o, fl, fr = iof.chunk(4, 1)
            c = i * torch.tanh(gates[:, size * 4:]) + fl * c_pairs[:, 0] + fr * c_pairs[:, 1]
            h_table, c_table = [h_known, o * torch.tanh(c)], [c_known, c]
        return torch.cat(h_table)


MODELS = {"treernn": TreeRNN, "treelstm": BinaryTreeLSTM}


def make_step(_system, inputs):
    weights = parameters(inputs)
    model = MODELS[inputs["model"]](weights)
    output = weights["output.weight"], weights["output.bias"]
    dense = [weight for name, weight in weights.items() if name != "embedding.weight"]
    optimizers = [torch.optim.Adagrad(dense, lr=inputs["lr"]),
                  torch.optim.Adagrad([weights["embedding.weight"]], lr=inputs["lr"])]

    def loss_of(batch):
        words, labels, levels = plan(batch)
        scores = F.linear(model.rows(words, levels), *output)
        return F.cross_entropy(scores, labels, reduction="sum") / len(batch)

    def train(batch):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()

    def infer(batch):
        with torch.no_grad():
            return loss_of(batch).item()

    return train if inputs["mode"] == "train" else infer
