# SPDX-License-Identifier: Apache-2.0
"""Optimizers of one's own: AdaBelief and Lookahead around it, with state and parameter groups, on logistic regression with polynomial features."""
import math
from collections import defaultdict
from itertools import combinations_with_replacement

import janus as torch
import janus.nn as nn
from janus.optim import Optimizer


class AdaBelief(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-12, weight_decay=0.0, rectify=True):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, rectify=rectify))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad, self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_var"] = torch.zeros_like(p)
                state["step"] += 1
                exp_avg, exp_avg_var = state["exp_avg"], state["exp_avg_var"]
                if group["weight_decay"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                residual = grad - exp_avg
                exp_avg_var.mul_(beta2).addcmul_(residual, residual, value=1 - beta2)
                bias1 = 1 - beta1 ** state["step"]
                bias2 = 1 - beta2 ** state["step"]
                denom = (exp_avg_var.add(group["eps"]).sqrt() / math.sqrt(bias2)).add_(group["eps"])
                if group["rectify"]:
                    rho_inf = 2 / (1 - beta2) - 1
                    rho = rho_inf - 2 * state["step"] * beta2 ** state["step"] / bias2
                    if rho > 4:
                        r = math.sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))
                        p.addcdiv_(exp_avg, denom, value=-group["lr"] * r / bias1)
                    else:
                        p.add_(exp_avg, alpha=-group["lr"] / bias1)
                else:
                    p.addcdiv_(exp_avg, denom, value=-group["lr"] / bias1)
        return loss


class Lookahead(Optimizer):
    def __init__(self, base, k=5, alpha=0.5):
        self.base, self.k, self.alpha = base, k, alpha
        self.param_groups, self.defaults = base.param_groups, base.defaults
        self.state = defaultdict(dict)
        self.counter = 0

    def zero_grad(self, set_to_none=True):
        self.base.zero_grad(set_to_none)

    def step(self, closure=None):
        loss = self.base.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            for group in self.param_groups:
                for fast in group["params"]:
                    slot = self.state[fast]
                    if "slow" not in slot:
                        slot["slow"] = fast.data.clone()
                    slow = slot["slow"]
                    slow += (fast.data - slow) * self.alpha
                    fast.data.copy_(slow)
        return loss


class PolyLogistic(nn.Module):
    def __init__(self, features, degree=2):
        super().__init__()
        self.terms = [t for d in range(1, degree + 1) for t in combinations_with_replacement(range(features), d)]
        self.linear = nn.Linear(len(self.terms), 1)
        self.scale = nn.Parameter(torch.ones(features))

    def expand(self, x):
        columns = []
        for term in self.terms:
            column = x[:, term[0]]
            for i in term[1:]:
                column = column * x[:, i]
            columns.append(column)
        return torch.stack(columns, dim=1)

    def forward(self, x):
        return self.linear(self.expand(x * self.scale)).squeeze(1)


def step(model, opt, x, y):
    def closure():
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        return loss
    return opt.step(closure).item()


def auc(scores, labels):
    order = torch.argsort(scores)
    ranks = torch.empty_like(scores)
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    positive = labels.sum()
    return ((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))).item()


def run_epoch(epoch, model, opt, x, y, size=20):
    perm = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), size):
        pick = perm[i:i + size]
        total += step(model, opt, x[pick], y[pick])
    with torch.no_grad():
        score = auc(model(x), y)
    lr = [g["lr"] for g in opt.param_groups]
    print(f"{epoch:4d} | loss {total * size / len(x):8.5f} | auc {score:.4f} | lr {lr}")
    for g in opt.param_groups:
        g["lr"] *= 0.97
    return total


def main(epochs):
    torch.manual_seed(8)
    x = torch.randn(100, 3)
    y = ((x[:, 0] * x[:, 1] + x[:, 2] ** 2 + 0.3 * torch.randn(100)) > 0.5).float()
    model = PolyLogistic(3)
    base = AdaBelief([{"params": [model.linear.weight]}, {"params": [model.linear.bias, model.scale], "weight_decay": 0.01}], lr=0.03)
    opt = Lookahead(base)
    return [run_epoch(e, model, opt, x, y) for e in range(epochs)]


MODEL, STEP, EPOCH = "PolyLogistic.forward", "step", "run_epoch"
