# SPDX-License-Identifier: Apache-2.0
"""PyTorch batched by hand, with the backward derived by hand: no tape, buffers written in place.

Every node has a slot, which is where its parent reads it: slot 2p + s for child s of the inner node
with number p, roots behind them.  Inner nodes are numbered level by level, so the input of a level
is a slice of the slots, and what its backward gives for its input is added to that same slice.
Weight gradients are one product over all nodes; of the embedding only the rows met are updated.
"""
import batched
import torch
import walk
from batched import builder, device_bytes, load, stats, version  # noqa: F401

EPS = 1e-10
aten = torch.ops.aten


def prepare(threads):
    batched.prepare(threads)
    torch.set_grad_enabled(False)


class Plan(walk.Binary):
    """`leaf_slots` of the leaves, `slots` of the inner nodes; `slot_labels` in the order of slots."""

    def __init__(self, batch):
        super().__init__(batch)
        self.inner = self.count - self.leaves
        slot_of = torch.empty_like(self.children)
        slot_of[self.children] = torch.arange(self.count)
        self.leaf_slots, self.slots = slot_of[:self.leaves], slot_of[self.leaves:]
        self.slot_labels = self.labels[self.children]


class Model:
    """What the models have in common: the classes of all nodes, the embedding, Adagrad."""

    def __init__(self, inputs):
        self.weights = {name: weight.detach() for name, weight in batched.parameters(inputs).items()}
        self.sums = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}
        self.dense = [name for name in self.weights if name != "embedding.weight"]
        self.lr, self.size = inputs["lr"], inputs["hidden"]
        self.embedding = self.weights["embedding.weight"]

    def infer(self, batch):
        plan = Plan(batch)
        self.forward(plan)
        return self.score(plan, len(batch))[0].item(), 0

    def train(self, batch):
        plan = Plan(batch)
        self.forward(plan)
        loss, d = self.score(plan, len(batch))
        self.grads = {"output.weight": d.t() @ self.h, "output.bias": d.sum(0)}
        self.dh = d @ self.weights["output.weight"]
        de = self.backward(plan)
        self.update(plan, de)
        return loss.item(), 0

    def score(self, plan, n):
        """The loss and its derivative by the scores, which are made into it."""
        logs = torch.addmm(self.weights["output.bias"], self.h, self.weights["output.weight"].t())
        logs = torch.log_softmax(logs, 1)
        labels = plan.slot_labels.unsqueeze(1)
        loss = logs.gather(1, labels).sum().div_(-n)
        d = logs.exp_()
        d.scatter_add_(1, labels, torch.full(labels.shape, -1.0))
        return loss, d.div_(n)

    def update(self, plan, de):
        grads = [self.grads[name] for name in self.dense]
        sums = [self.sums[name] for name in self.dense]
        torch._foreach_addcmul_(sums, grads, grads)
        roots = torch._foreach_sqrt(sums)
        torch._foreach_add_(roots, EPS)
        torch._foreach_addcdiv_([self.weights[name] for name in self.dense], grads, roots, -self.lr)
        rows, inverse = torch.unique(plan.words, return_inverse=True)
        grad = torch.zeros(len(rows), self.size).index_add_(0, inverse, de)
        total = self.sums["embedding.weight"][rows].addcmul_(grad, grad)
        self.sums["embedding.weight"].index_copy_(0, rows, total)
        self.embedding.index_add_(0, rows, grad.div_(total.sqrt_().add_(EPS)), alpha=-self.lr)


class TreeRNN(Model):
    def act(self, x):
        return torch.addmm(self.weights["inner.bias"], x, self.weights["inner.weight"].t()).tanh_()

    def forward(self, plan):
        size = self.size
        self.h = torch.empty(plan.count, size)
        self.h.index_copy_(0, plan.leaf_slots, self.embedding[plan.words])
        self.x = self.h[:2 * plan.inner].view(plan.inner, 2 * size)
        for start, end in plan.levels:
            self.h.index_copy_(0, plan.slots[start:end], self.act(self.x[start:end]))

    def backward(self, plan):
        z = torch.empty(plan.inner, self.size)
        dx = self.dh[:2 * plan.inner].view(plan.inner, 2 * self.size)
        for start, end in reversed(plan.levels):
            slots = plan.slots[start:end]
            aten.tanh_backward(self.dh[slots], self.h[slots], grad_input=z[start:end])
            self.step_back(dx[start:end], z[start:end], self.x[start:end])
        self.finish(z)
        return self.dh[plan.leaf_slots]

    def step_back(self, dx, dz, _x):
        dx.addmm_(dz, self.weights["inner.weight"])

    def finish(self, dz):
        self.grads["inner.weight"] = dz.t() @ self.x
        self.grads["inner.bias"] = dz.sum(0)


class RNTN(TreeRNN):
    def act(self, x):
        forms = (x @ self.weights["tensor"]).view(len(x), self.size, -1)
        z = torch.bmm(forms, x.unsqueeze(2)).squeeze_(2)
        return z.add_(torch.addmm(self.weights["inner.bias"], x, self.weights["inner.weight"].t())).tanh_()

    def step_back(self, dx, dz, x):
        tensor = self.weights["tensor"]
        forms = (x @ tensor).view(len(x), self.size, -1)  # again: less memory, and it is one product
        dx.addmm_(dz, self.weights["inner.weight"])
        dx.add_(torch.bmm(dz.unsqueeze(1), forms).squeeze_(1))
        dx.addmm_((dz.unsqueeze(2) * x.unsqueeze(1)).view(len(x), -1), tensor.t())

    def finish(self, dz):
        super().finish(dz)
        self.grads["tensor"] = self.x.t() @ (dz.unsqueeze(2) * self.x.unsqueeze(1)).view(len(dz), -1)


class BinaryTreeLSTM(Model):
    def forward(self, plan):
        size = self.size
        self.h, self.c = torch.empty(plan.count, size), torch.empty(plan.count, size)
        self.rows = self.embedding[plan.words]
        self.leaf = torch.addmm(self.weights["leaf.bias"], self.rows, self.weights["leaf.weight"].t())
        self.leaf[:, :2 * size].sigmoid_()
        i, o, u = self.leaf.split(size, 1)
        c = i * u.tanh_()
        self.leaf_t = c.tanh()
        self.c.index_copy_(0, plan.leaf_slots, c)
        self.h.index_copy_(0, plan.leaf_slots, o * self.leaf_t)
        self.x = self.h[:2 * plan.inner].view(plan.inner, 2 * size)
        self.cx = self.c[:2 * plan.inner].view(plan.inner, 2 * size)
        self.gates, self.t = torch.empty(plan.inner, 5 * size), torch.empty(plan.inner, size)
        bias, weight = self.weights["inner.bias"], self.weights["inner.weight"].t()
        for start, end in plan.levels:
            gates, t = self.gates[start:end], self.t[start:end]
            torch.addmm(bias, self.x[start:end], weight, out=gates)
            gates[:, :4 * size].sigmoid_()
            i, o, fl, fr, u = gates.split(size, 1)
            cl, cr = self.cx[start:end].split(size, 1)
            c = (i * u.tanh_()).addcmul_(fl, cl).addcmul_(fr, cr)
            torch.tanh(c, out=t)
            self.c.index_copy_(0, plan.slots[start:end], c)
            self.h.index_copy_(0, plan.slots[start:end], o * t)

    def backward(self, plan):
        size, dc_slots = self.size, torch.zeros(plan.count, self.size)
        dz = torch.empty(plan.inner, 5 * size)
        dx = self.dh[:2 * plan.inner].view(plan.inner, 2 * size)
        dcx = dc_slots[:2 * plan.inner].view(plan.inner, 2 * size)
        weight = self.weights["inner.weight"]
        for start, end in reversed(plan.levels):
            d, gates, t = dz[start:end], self.gates[start:end], self.t[start:end]
            slots = plan.slots[start:end]
            i, o, fl, fr, u = gates.split(size, 1)
            di, do, dfl, dfr, du = d.split(size, 1)
            cl, cr = self.cx[start:end].split(size, 1)
            dh = self.dh[slots]
            torch.mul(dh, t, out=do)
            dc = dc_slots[slots].add_(aten.tanh_backward(dh.mul_(o), t))
            torch.mul(dc, u, out=di)
            torch.mul(dc, cl, out=dfl)
            torch.mul(dc, cr, out=dfr)
            aten.sigmoid_backward(d[:, :4 * size], gates[:, :4 * size], grad_input=d[:, :4 * size])
            aten.tanh_backward(dc * i, u, grad_input=du)
            dcl, dcr = dcx[start:end].split(size, 1)
            torch.mul(dc, fl, out=dcl)
            torch.mul(dc, fr, out=dcr)
            dx[start:end].addmm_(d, weight)
        self.grads["inner.weight"] = dz.t() @ self.x
        self.grads["inner.bias"] = dz.sum(0)
        i, o, u = self.leaf.split(size, 1)
        d = torch.empty_like(self.leaf)
        di, do, du = d.split(size, 1)
        dh, t = self.dh[plan.leaf_slots], self.leaf_t
        torch.mul(dh, t, out=do)
        dc = dc_slots[plan.leaf_slots].add_(aten.tanh_backward(dh.mul_(o), t))
        torch.mul(dc, u, out=di)
        aten.sigmoid_backward(d[:, :2 * size], self.leaf[:, :2 * size], grad_input=d[:, :2 * size])
        aten.tanh_backward(dc * i, u, grad_input=du)
        self.grads["leaf.weight"] = d.t() @ self.rows
        self.grads["leaf.bias"] = d.sum(0)
        return d @ self.weights["leaf.weight"]


MODELS = {"treernn": TreeRNN, "rntn": RNTN, "treelstm": BinaryTreeLSTM}


def make_step(_system, inputs):
    if inputs["model"] not in MODELS:
        raise NotImplementedError(f"no backward was derived by hand for {inputs['model']}")
    model = MODELS[inputs["model"]](inputs)
    return model.train if inputs["mode"] == "train" else model.infer
