# SPDX-License-Identifier: Apache-2.0
"""PyTorch batched by hand: one step a level, autograd behind it.

The plan of a batch is made from the Python trees in every step, as each batch is another one
(`walk.py`).  The rows of a level are computed together from the rows of their children, which are
taken from one table that grows by a level at a time.  The classes of all nodes are one product at
the end.
"""
import warnings

import serve
import torch
import torch.nn.functional as F
import walk

LEVELS = 6  # of TopDownTreeLSTM


def load(_system):
    warnings.filterwarnings("ignore", "Sparse invariant checks")
    torch.optim.Adagrad([torch.zeros(1)])  # loads more of PyTorch


def prepare(threads):
    torch.set_num_threads(threads)
    torch.set_default_device(serve.DEVICE)


def device_bytes():
    return torch.cuda.max_memory_allocated()


def version():
    return f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, " \
           f"{'MKL' if torch.backends.mkl.is_available() else 'no MKL'}"


def stats(_step):
    return None


def builder(inputs):
    return serve.tree_builder(inputs, int, int)


def parameters(inputs):
    return {name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape).to(serve.DEVICE, copy=True)
            .requires_grad_() for name, (shape, data) in inputs["weights"].items()}


class TreeRNN:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, plan):
        """The vectors of all nodes in the order of their numbers."""
        table = [F.embedding(plan.words, self.embedding, sparse=True)]
        for start, end in plan.levels:
            known = torch.cat(table)
            pairs = known[plan.children[2 * start:2 * end]].view(end - start, -1)
            table = [known, self.act(pairs)]
        return torch.cat(table)

    def act(self, x):
        return torch.tanh(F.linear(x, *self.inner))


class BinaryTreeLSTM:
    def __init__(self, weights):
        self.embedding = weights["embedding.weight"]
        self.leaf = weights["leaf.weight"], weights["leaf.bias"]
        self.inner = weights["inner.weight"], weights["inner.bias"]

    def rows(self, plan):
        i, o, u = F.linear(F.embedding(plan.words, self.embedding, sparse=True), *self.leaf).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h_table, c_table = [torch.sigmoid(o) * torch.tanh(c)], [c]
        for start, end in plan.levels:
            h_known, c_known = torch.cat(h_table), torch.cat(c_table)
            children = plan.children[2 * start:2 * end]
            c_pairs = c_known[children].view(end - start, 2, -1)
            gates = F.linear(h_known[children].view(end - start, -1), *self.inner)
            size = c_known.shape[1]
            iof = torch.sigmoid(gates[:, :size * 4])
            i, o, fl, fr = iof.chunk(4, 1)
            c = i * torch.tanh(gates[:, size * 4:]) + fl * c_pairs[:, 0] + fr * c_pairs[:, 1]
            h_table, c_table = [h_known, o * torch.tanh(c)], [c_known, c]
        return torch.cat(h_table)


class RNTN(TreeRNN):
    def __init__(self, weights):
        super().__init__(weights)
        self.tensor = weights["tensor"]

    def act(self, x):
        forms = (x @ self.tensor).view(len(x), -1, x.shape[1])
        return torch.tanh(torch.bmm(forms, x.unsqueeze(2)).squeeze(2) + F.linear(x, *self.inner))


class ChildSum:
    """Any number of children: the edges of a level are rows too, and are added up by parent."""

    def __init__(self, weights):
        self.weights = {name[len("tree."):]: weight for name, weight in weights.items()}

    def rows(self, plan):
        w = self.weights
        x = F.embedding(plan.words, w["embedding.weight"], sparse=True)
        inputs = F.linear(x, w["gates_x.weight"], w["gates_x.bias"])
        forgets = F.linear(x, w["forget_x.weight"], w["forget_x.bias"])
        leaves, size = plan.leaves, x.shape[1]
        io, u = torch.sigmoid(inputs[:leaves, :2 * size]), torch.tanh(inputs[:leaves, 2 * size:])
        c = io[:, :size] * u
        h_table, c_table = io[:, size:] * torch.tanh(c), c
        for start, end, first, last in plan.levels:
            parents, children = plan.parents[first:last], plan.children[first:last]
            h_children, c_children = h_table[children], c_table[children]
            f = torch.sigmoid(F.linear(h_children, w["forget_h.weight"]) + forgets[parents])
            parents = parents - start
            h_sum = torch.zeros(end - start, size).index_add(0, parents, h_children)
            gates = inputs[start:end] + F.linear(h_sum, w["gates_h.weight"])
            io, u = torch.sigmoid(gates[:, :2 * size]), torch.tanh(gates[:, 2 * size:])
            c = torch.index_add(io[:, :size] * u, 0, parents, f * c_children)
            h_table = torch.cat([h_table, io[:, size:] * torch.tanh(c)])
            c_table = torch.cat([c_table, c])
        return h_table[plan.roots]


class TopDown:
    """The trees of a batch grow together, level by level."""

    def __init__(self, weights):
        self.weights = weights

    def grow(self, words, labels):
        """`(vectors, labels)` of all nodes."""
        w = self.weights
        c = F.embedding(words, w["embedding.weight"], sparse=True)
        h, vectors, all_labels = torch.tanh(c), [], []
        for level in range(LEVELS + 1):
            vectors.append(h)
            all_labels.append(labels)
            if level == LEVELS:
                break
            with torch.no_grad():
                growing = (F.linear(h, w["grow.weight"], w["grow.bias"]) >= 0).squeeze(1).nonzero().squeeze(1)
            if not len(growing):
                break
            h, c, size = h[growing], c[growing].repeat(2, 1), h.shape[1]
            gates = F.linear(h, w["below.weight"], w["below.bias"])
            iof = torch.sigmoid(gates[:, :6 * size])
            iof = torch.cat([iof[:, :3 * size], iof[:, 3 * size:]])
            i, o, f = iof.chunk(3, 1)
            c = i * torch.tanh(torch.cat([gates[:, 6 * size:7 * size], gates[:, 7 * size:]])) + f * c
            h, labels = o * torch.tanh(c), labels[growing].repeat(2)
        return torch.cat(vectors), torch.cat(all_labels)


MODELS = {"treernn": TreeRNN, "rntn": RNTN, "treelstm": BinaryTreeLSTM, "childsum": ChildSum,
          "topdown": TopDown}


def make_step(_system, inputs):
    weights = parameters(inputs)
    kind = inputs["model"]
    model = MODELS[kind](weights)
    output = weights["output.weight"], weights["output.bias"]
    dense = [weight for name, weight in weights.items() if "embedding" not in name]
    sparse = [weight for name, weight in weights.items() if "embedding" in name]
    optimizers = [torch.optim.Adagrad(dense, lr=inputs["lr"]), torch.optim.Adagrad(sparse, lr=inputs["lr"])]

    def vectors(batch):
        """The rows that are classified, and their classes."""
        if kind == "topdown":
            return model.grow(torch.tensor([root.word for root in batch]),
                              torch.tensor([root.label for root in batch]))
        plan = (walk.AnyChildren if kind == "childsum" else walk.Binary)(batch)
        return model.rows(plan), plan.labels

    def loss_of(batch):
        rows, labels = vectors(batch)
        loss = F.cross_entropy(F.linear(rows, *output), labels, reduction="sum") / len(batch)
        return loss, len(rows) if kind == "topdown" else 0

    def train(batch):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss, nodes = loss_of(batch)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item(), nodes

    def infer(batch):
        with torch.no_grad():
            loss, nodes = loss_of(batch)
            return loss.item(), nodes

    def predict(batch):
        with torch.no_grad():
            plan = walk.Binary(batch)
            return F.linear(model.rows(plan)[plan.children[-len(batch):]], *output).argmax(1).tolist()

    step = train if inputs["mode"] == "train" else infer
    step.predict = predict
    return step
