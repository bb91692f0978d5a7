# SPDX-License-Identifier: Apache-2.0
"""An automatic differentiation of one's own over tensors: closures kept on nodes, a topological order, two-layer networks, momentum by hand."""
import random
import time
from collections import defaultdict

import janus as torch


class Value:
    made = 0

    def __init__(self, data, parents=(), op=""):
        Value.made += 1
        self.data, self.grad = data, None
        self.parents, self.op = parents, op
        self.push = lambda g: None

    def add_grad(self, g):
        while g.dim() > self.data.dim():
            g = g.sum(0)
        for d in range(g.dim()):
            if self.data.shape[d] == 1 and g.shape[d] != 1:
                g = g.sum(d, keepdim=True)
        self.grad = g if self.grad is None else self.grad + g

    @staticmethod
    def of(x):
        return x if isinstance(x, Value) else Value(torch.as_tensor(x, dtype=torch.float32))

    def __add__(self, other):
        other = Value.of(other)
        out = Value(self.data + other.data, (self, other), "+")

        def push(g):
            self.add_grad(g)
            other.add_grad(g)
        out.push = push
        return out

    __radd__ = __add__

    def __mul__(self, other):
        other = Value.of(other)
        out = Value(self.data * other.data, (self, other), "*")

        def push(g):
            self.add_grad(g * other.data)
            other.add_grad(g * self.data)
        out.push = push
        return out

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -Value.of(other)

    def __matmul__(self, other):
        out = Value(self.data @ other.data, (self, other), "@")

        def push(g):
            self.add_grad(g @ other.data.t())
            other.add_grad(self.data.t() @ g)
        out.push = push
        return out

    def tanh(self):
        t = torch.tanh(self.data)
        out = Value(t, (self,), "tanh")
        out.push = lambda g: self.add_grad(g * (1 - t * t))
        return out

    def relu(self):
        out = Value(self.data.clamp(min=0), (self,), "relu")
        out.push = lambda g: self.add_grad(g * (self.data > 0).float())
        return out

    def mean(self):
        n = self.data.numel()
        out = Value(self.data.mean(), (self,), "mean")
        out.push = lambda g: self.add_grad(torch.ones_like(self.data) * g / n)
        return out

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node in seen:
                return
            seen.add(node)
            for p in node.parents:
                visit(p)
            order.append(node)
        visit(self)
        self.grad = torch.ones_like(self.data)
        for node in reversed(order):
            node.push(node.grad)
        return order


class Layer:
    def __init__(self, n_in, n_out, act):
        self.w, self.b = Value(torch.randn(n_in, n_out) / n_in ** 0.5), Value(torch.zeros(n_out))
        self.act = act

    def __call__(self, x):
        y = x @ self.w + self.b
        return getattr(y, self.act)() if self.act else y

    def parameters(self):
        return [self.w, self.b]


class MLP:
    def __init__(self, *sizes, act="tanh"):
        self.layers = [Layer(a, b, act if i < len(sizes) - 2 else None) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


class Momentum:
    def __init__(self, params, lr, mu=0.9):
        self.params, self.lr, self.mu = params, lr, mu
        self.velocity = defaultdict(float)

    def zero(self):
        for p in self.params:
            p.grad = None

    def step(self):
        for i, p in enumerate(self.params):
            if p.grad is None:
                continue
            self.velocity[i] = self.mu * self.velocity[i] - self.lr * p.grad
            p.data = p.data + self.velocity[i]


def step(model, optimizer, x, y):
    out = model(Value(x))
    diff = out - y
    loss = (diff * diff).mean()
    weight = sum((p * p).mean() for p in model.parameters()[::2])
    total = loss + 1e-3 * weight
    optimizer.zero()
    order = total.backward()
    optimizer.step()
    ops = defaultdict(int)
    for node in order:
        ops[node.op or "leaf"] += 1
    return loss.data.item(), dict(ops)


def epoch(number, model, optimizer, batches):
    start, made, losses = time.time(), Value.made, []
    for x, y in batches:
        loss, ops = step(model, optimizer, x, y)
        losses.append(loss)
    largest = max(p.grad.abs().max().item() for p in model.parameters())
    print(f"{number} {sum(losses) / len(losses):.5f} {largest:.4f} {sorted(ops.items())} made {Value.made - made} {time.time() - start:.3f}s")
    return losses


def main(epochs):
    torch.manual_seed(0)
    rng = random.Random(0)
    models = {act: MLP(2, 12, 12, 1, act=act) for act in ("tanh", "relu")}
    optimizers = {k: Momentum(m.parameters(), 0.02) for k, m in models.items()}
    batches = []
    for _ in range(6):
        x = torch.rand(rng.choice([8, 8, 6]), 2) * 2 - 1
        batches.append((x, (x[:, :1] * x[:, 1:]).sin()))
    out = []
    for e in range(epochs):
        for k in models:
            out.append((k, epoch(e, models[k], optimizers[k], batches)))
    return out, [[p.data for p in m.parameters()] for m in models.values()]


MODEL, STEP, EPOCH = "MLP.__call__", "step", "epoch"
