# SPDX-License-Identifier: Apache-2.0
"""Gaussian processes: kernels composed with + and *, a Cholesky factor retried with more jitter, evidence, predictions, a search over kernels."""
import logging
import math
import time
from abc import ABC, abstractmethod

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

log = logging.getLogger(__name__)


class Kernel(nn.Module, ABC):
    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)

    @abstractmethod
    def forward(self, a, b):
        ...

    def complexity(self):
        return 1


class Scaled(Kernel):
    """One that has a variance and a length of its own, both positive."""

    def __init__(self, variance=1.0, length=1.0):
        super().__init__()
        self.raw = nn.ParameterDict({"variance": nn.Parameter(torch.tensor(math.log(math.expm1(variance)))),
                                     "length": nn.Parameter(torch.tensor(math.log(math.expm1(length))))})

    @property
    def variance(self):
        return F.softplus(self.raw["variance"])

    @property
    def length(self):
        return F.softplus(self.raw["length"])

    def extra_repr(self):
        return f"variance={self.variance.item():.3f}, length={self.length.item():.3f}"


class RBF(Scaled):
    def forward(self, a, b):
        d = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)
        return self.variance * torch.exp(-0.5 * d / self.length ** 2)


class Matern32(Scaled):
    def forward(self, a, b):
        d = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1).clamp(min=1e-12).sqrt()
        z = math.sqrt(3.0) * d / self.length
        return self.variance * (1 + z) * torch.exp(-z)


class Periodic(Scaled):
    def __init__(self, period=1.0, **kwargs):
        super().__init__(**kwargs)
        self.period = nn.Parameter(torch.tensor(period))

    def forward(self, a, b):
        d = (a.unsqueeze(1) - b.unsqueeze(0)).abs().sum(-1)
        return self.variance * torch.exp(-2 * torch.sin(math.pi * d / self.period) ** 2 / self.length ** 2)


class Linear(Scaled):
    def forward(self, a, b):
        return self.variance * (a @ b.t()) / self.length


class Combination(Kernel):
    symbol = "?"

    def __init__(self, *parts):
        super().__init__()
        flat = []
        for p in parts:
            flat.extend(p.parts if type(p) is type(self) else [p])
        self.parts = nn.ModuleList(flat)

    def complexity(self):
        return sum(p.complexity() for p in self.parts)

    def __str__(self):
        names = [str(p) if isinstance(p, Combination) else type(p).__name__ for p in self.parts]
        return "(" + self.symbol.join(names) + ")"


class Sum(Combination):
    symbol = " + "

    def forward(self, a, b):
        return sum(p(a, b) for p in self.parts)


class Product(Combination):
    symbol = " * "

    def forward(self, a, b):
        out = None
        for p in self.parts:
            k = p(a, b)
            out = k if out is None else out * k
        return out


def safe_cholesky(matrix, tries=5):
    jitter = 0.0
    for attempt in range(tries):
        try:
            return torch.linalg.cholesky(matrix + jitter * torch.eye(matrix.size(-1)))
        except RuntimeError as e:
            jitter = 1e-6 * 10 ** attempt
            log.debug("jitter %g after %s", jitter, e)
    raise ArithmeticError(f"not positive definite with jitter {jitter:g}")


class GP(nn.Module):
    def __init__(self, kernel, noise=0.1):
        super().__init__()
        self.kernel = kernel
        self.log_noise = nn.Parameter(torch.tensor(math.log(noise)))
        self.mean = nn.Parameter(torch.zeros(()))
        self.cache = {}

    def factor(self, x):
        k = self.kernel(x, x) + self.log_noise.exp() ** 2 * torch.eye(len(x))
        return safe_cholesky(k)

    def forward(self, x, y):
        """The negative logarithm of the evidence, a point."""
        chol = self.factor(x)
        r = (y - self.mean).unsqueeze(-1)
        alpha = torch.linalg.solve(chol.t(), torch.linalg.solve(chol, r))
        fit = 0.5 * (r * alpha).sum()
        logdet = torch.log(torch.diagonal(chol)).sum()
        return (fit + logdet + 0.5 * len(y) * math.log(2 * math.pi)) / len(y)

    @torch.no_grad()
    def predict(self, x, y, new):
        if "chol" not in self.cache:
            self.cache["chol"] = self.factor(x)
        chol = self.cache["chol"]
        cross = self.kernel(x, new)
        v = torch.linalg.solve(chol, cross)
        w = torch.linalg.solve(chol, (y - self.mean).unsqueeze(-1))
        mean = self.mean + (v.t() @ w).squeeze(-1)
        var = torch.diagonal(self.kernel(new, new)) - (v ** 2).sum(0)
        return mean, var.clamp(min=1e-9).sqrt()


def fit_step(gp, optimizer, x, y):
    optimizer.zero_grad()
    loss = gp(x, y)
    loss.backward()
    for p in gp.parameters():
        if p.grad is not None and not torch.isfinite(p.grad).all():
            p.grad.zero_()
    optimizer.step()
    gp.cache.clear()
    return loss.item()


def fit_epoch(epoch, candidates, x, y, new, truth, steps=3):
    rows = []
    for name, (gp, optimizer) in candidates.items():
        tic = time.perf_counter()
        try:
            losses = [fit_step(gp, optimizer, x, y) for _ in range(steps)]
            mean, std = gp.predict(x, y, new)
        except ArithmeticError as e:
            print(f"{name}: {e}")
            continue
        bic = 2 * losses[-1] * len(y) + gp.kernel.complexity() * math.log(len(y))
        inside = ((mean - truth).abs() < 2 * std).float().mean().item()
        rows.append((bic, name, losses[-1], inside))
        print(f"{epoch:>3} {name:<28} nll {losses[-1]:.4f} bic {bic:8.2f} covered {inside:.2f} in {time.perf_counter() - tic:.3f}s")
    best = min(rows)
    print(f"best: {best[1]} ({best[0]:.2f})")
    return rows


def main(epochs):
    torch.manual_seed(2)
    f = lambda t: torch.sin(2 * math.pi * t).squeeze(-1) + 0.5 * t.squeeze(-1)
    x = torch.sort(torch.rand(14, 1) * 3, dim=0).values
    x = torch.cat([x, x[:2]])  # measured twice
    y = f(x) + 0.1 * torch.randn(16)
    new = torch.linspace(0, 3, 9).unsqueeze(-1)
    kernels = [RBF(), Matern32(length=0.5), Periodic() + Linear(), RBF(length=2.0) * Periodic() + Linear(variance=0.5)]
    candidates = {}
    for k in kernels:
        gp = GP(k)
        candidates[str(k) if isinstance(k, Combination) else type(k).__name__] = gp, torch.optim.Adam(gp.parameters(), lr=0.05)
    out = [fit_epoch(e, candidates, x, y, new, f(new)) for e in range(epochs)]
    return out, [gp.state_dict() for gp, _ in candidates.values()], [p.extra_repr() for p in kernels[3].modules() if isinstance(p, Scaled)]


MODEL, STEP, EPOCH = "GP.forward", "fit_step", "fit_epoch"
