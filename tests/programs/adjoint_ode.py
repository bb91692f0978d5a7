# SPDX-License-Identifier: Apache-2.0
"""A neural ODE whose gradients come from the adjoint equation, solved backwards in an autograd.Function; spirals fitted in windows."""
import random
import time

import janus as torch
import janus.nn as nn


def rk4(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, tuple(a + dt / 2 * b for a, b in zip(y, k1)))
    k3 = func(t + dt / 2, tuple(a + dt / 2 * b for a, b in zip(y, k2)))
    k4 = func(t + dt, tuple(a + dt * b for a, b in zip(y, k3)))
    return tuple(a + dt / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4))


def integrate(func, y, t0, t1, steps=2):
    t, dt = t0, (t1 - t0) / steps
    for _ in range(steps):
        y = rk4(func, t, dt, y)
        t = t + dt
    return y


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, field, y0, times, *params):
        ctx.field, ctx.params = field, params
        with torch.no_grad():
            ys = [y0]
            for t0, t1 in zip(times[:-1], times[1:]):
                (y,) = integrate(lambda t, s: (field(t, s[0]),), (ys[-1],), t0, t1)
                ys.append(y)
        out = torch.stack(ys)
        ctx.save_for_backward(times, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        times, ys = ctx.saved_tensors
        field, params = ctx.field, ctx.params

        def augmented(t, state):
            y, a = state[0], state[1]
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = field(t, y)
                grads = torch.autograd.grad(f, (y,) + params, -a, allow_unused=True)
            grads = [torch.zeros_like(p) if g is None else g for p, g in zip((y,) + params, grads)]
            return (f.detach(), *grads)

        with torch.no_grad():
            a = grad[-1]
            sums = tuple(torch.zeros_like(p) for p in params)
            for i in range(len(times) - 1, 0, -1):
                state = (ys[i], a, *sums)
                _, a, *sums = integrate(augmented, state, times[i], times[i - 1])
                a = a + grad[i - 1]
        return (None, a, None, *sums)


class Field(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))
        self.evaluations = 0
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        self.evaluations += 1
        return self.net(y ** 3)


class ODENet(nn.Module):
    def __init__(self, field):
        super().__init__()
        self.field = field

    def forward(self, y0, times):
        return Adjoint.apply(self.field, y0, times, *self.field.parameters())


class RunningAverage:
    def __init__(self, momentum=0.9):
        self.momentum, self.val, self.avg = momentum, None, 0.0

    def update(self, val):
        self.avg = val if self.val is None else self.avg * self.momentum + val * (1 - self.momentum)
        self.val = val


def spiral(n=60):
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    times, y, ys = torch.linspace(0.0, 3.0, n), torch.tensor([[2.0, 0.0]]), []
    for _ in range(n):
        ys.append(y)
        (y,) = integrate(lambda t, s: (s[0] ** 3 @ matrix,), (y,), 0.0, 3.0 / (n - 1), 4)
    return times, torch.cat(ys)


def batch_of(times, truth, size=6, length=5):
    starts = [random.randrange(len(times) - length) for _ in range(size)]
    y0 = truth[starts]
    y = torch.stack([truth[s:s + length] for s in starts], dim=1)
    return y0, times[:length], y


def train_step(model, optimizer, y0, times, y):
    optimizer.zero_grad()
    loss = torch.mean(torch.abs(model(y0, times) - y))
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(epoch, model, optimizer, times, truth, meter, rounds=4):
    end = time.time()
    before = model.field.evaluations
    for _ in range(rounds):
        meter.update(train_step(model, optimizer, *batch_of(times, truth)))
    with torch.no_grad():
        loss = (model(truth[:1], times).squeeze(1) - truth).abs().mean()
    used = model.field.evaluations - before
    print(f"Iter {epoch:04d} | Total Loss {loss.item():.5f} | running {meter.avg:.5f} | {used} evaluations | {time.time() - end:.3f} s")
    return loss.item()


def main(epochs):
    torch.manual_seed(0)
    times, truth = spiral()
    model = ODENet(Field())
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    meter = RunningAverage()
    return [train_epoch(e, model, optimizer, times, truth, meter) for e in range(epochs)], model


MODEL, STEP, EPOCH = "ODENet.forward", "train_step", "train_epoch"
