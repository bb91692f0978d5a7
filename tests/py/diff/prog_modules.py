# SPDX-License-Identifier: Apache-2.0
"""Programs with nn modules, optimizers and training steps."""

import copy

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


class MLP(nn.Module):
    def __init__(self, n=4, h=5, m=3):
        super().__init__()
        self.l1 = nn.Linear(n, h)
        self.l2 = nn.Linear(h, m)

    def forward(self, x):
        return self.l2(janus.tanh(self.l1(x)))


@case
def linear_forward(function, log):
    m = nn.Linear(3, 2)
    f = function(lambda x: m(x))
    for i in range(3):
        log(f(t(4, 3, seed=i)))


@case
def mlp_no_grad(function, log):
    m = MLP()

    @function
    def f(x):
        with janus.no_grad():
            return m(x)

    for i in range(3):
        log(f(t(2, 4, seed=i)))


@case
def backward_outside(function, log):
    m = MLP()
    f = function(lambda x, y: F.cross_entropy(m(x), y))
    for i in range(3):
        loss = f(t(2, 4, seed=i), janus.tensor([0, 2]))
        loss.backward()
        log(loss, m)


@case
def backward_inside(function, log):
    m = MLP()

    @function
    def step(x, y):
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        return loss

    for i in range(3):
        log(step(t(2, 4, seed=i), janus.tensor([1, 2])), m)


def train(function, log, make):
    m = MLP()
    opt = make(m.parameters())

    @function
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        opt.step()
        return loss

    for i in range(5):
        log(step(t(2, 4, seed=i), janus.tensor([i % 3, 2])), m)


@case
def train_sgd(function, log):
    train(function, log, lambda p: janus.optim.SGD(p, lr=0.1))


@case(graph=MUST)
def train_sgd_momentum(function, log):
    train(function, log, lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9))


@case(graph=MUST)
def train_adam(function, log):
    train(function, log, lambda p: janus.optim.Adam(p, lr=0.01))


@case
def train_adagrad(function, log):
    train(function, log, lambda p: janus.optim.Adagrad(p, lr=0.05))


@case
def optimizer_outside(function, log):
    m = MLP()
    opt = janus.optim.SGD(m.parameters(), lr=0.1)
    f = function(lambda x, y: F.cross_entropy(m(x), y))
    for i in range(4):
        opt.zero_grad()
        loss = f(t(2, 4, seed=i), janus.tensor([1, 0]))
        loss.backward()
        opt.step()
        log(loss, m)


@case
def learning_rate_changes(function, log):
    m = MLP()
    opt = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(x):
        opt.zero_grad()
        loss = m(x).sum()
        loss.backward()
        opt.step()
        return loss

    for i in range(5):
        log(step(t(2, 4, seed=i)), m)
        opt.param_groups[0]["lr"] *= 0.5


@case
def tied_weights(function, log):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 4)
            self.out = nn.Linear(4, 6, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, i):
            return self.out(self.embed(i))

    m = Tied()
    opt = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(i, y):
        opt.zero_grad()
        loss = F.cross_entropy(m(i), y)
        loss.backward()
        opt.step()
        return loss

    for k in range(4):
        log(step(janus.tensor([k % 6, 2]), janus.tensor([1, 3])), m)


@case
def train_and_eval_modes(function, log):
    m = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    f = function(lambda x: m(x))
    for i in range(3):
        log(f(t(2, 3, seed=i)))
    m.eval()
    for i in range(3):
        log(f(t(2, 3, seed=i)))
    m.train()
    log(f(t(2, 3)))


@case
def batch_norm_statistics(function, log):
    m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
    f = function(lambda x: m(x))
    for i in range(3):
        log(f(t(2, 1, 5, 5, seed=i)), m)
    m.eval()
    log(f(t(2, 1, 5, 5)), m)


@case
def parameter_replaced(function, log):
    m = nn.Linear(2, 2)
    f = function(lambda x: m(x))
    for _ in range(3):
        log(f(t(1, 2)))
    m.weight = nn.Parameter(t(2, 2, seed=8))
    log(f(t(1, 2)))
    m.bias = None
    log(f(t(1, 2)), f(t(1, 2)))


@case
def submodule_replaced(function, log):
    m = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    f = function(lambda x: m(x))
    for _ in range(3):
        log(f(t(1, 2)))
    m[1] = nn.ReLU()
    log(f(t(1, 2)), f(t(1, 2)))


@case
def deepcopy_hits_the_same_entry(function, log):
    @function
    def f(m, x):
        return m(x)

    m = MLP()
    n = copy.deepcopy(m)
    for i in range(3):
        log(f(m, t(2, 4, seed=i)), f(n, t(2, 4, seed=i)))
    with janus.no_grad():
        n.l1.weight.mul_(2)
    log(f(m, t(2, 4)), f(n, t(2, 4)))


@case
def module_list_and_loop(function, log):
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = F.relu(layer(x)) + x
            return x

    m = Stack()
    f = function(lambda x: m(x).sum())
    for i in range(3):
        log(f(t(2, 3, seed=i)))
    m.layers.append(nn.Linear(3, 3))
    log(f(t(2, 3)), f(t(2, 3)))


@case
def state_between_calls(function, log):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", janus.zeros(2))
            self.calls = 0

        def forward(self, x):
            self.total = self.total + x
            self.calls += 1
            return self.total * self.calls

    m = Counter()
    f = function(lambda x: m(x))
    for i in range(4):
        log(f(t(2, seed=i)), m, m.calls)


@case
def lstm_cell_over_time(function, log):
    cell = nn.LSTMCell(3, 4)

    @function
    def f(xs):
        h, c = janus.zeros(2, 4), janus.zeros(2, 4)
        for x in xs:
            h, c = cell(x, (h, c))
        return h, c

    for n in (3, 3, 5, 3):
        log(f([t(2, 3, seed=i) for i in range(n)]))


@case
def gradient_clipping(function, log):
    m = MLP()

    @function
    def step(x):
        m.zero_grad()
        loss = (m(x) ** 2).sum() * 100
        loss.backward()
        norm = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        return loss, norm

    for i in range(3):
        log(step(t(2, 4, seed=i)), m)


@case
def decorated_module(function, log):
    m = MLP()
    g = function(m)
    for i in range(3):
        log(g(t(2, 4, seed=i)))
    log(g is m)


@case
def frozen_parameters(function, log):
    m = MLP()
    m.l1.weight.requires_grad_(False)
    f = function(lambda x: m(x).sum())
    for i in range(3):
        f(t(2, 4, seed=i)).backward()
        log(m, m.l1.weight.grad is None)
