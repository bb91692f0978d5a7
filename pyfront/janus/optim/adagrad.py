# SPDX-License-Identifier: Apache-2.0
"""Adagrad: steps shrink with the root of the sum of all squared gradients."""
from .. import _C
from .optimizer import Optimizer, at_least_zero, run_closure


class Adagrad(Optimizer):
    """p -= lr * gradient / (root of the sum of squares + eps)."""

    def __init__(self, params, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10,
                 *, maximize=False):
        at_least_zero(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                      initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "eps": eps,
                                  "maximize": maximize})

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in group["params"]:
            self._states[param] = {"step": _C.zeros(()), "sum": _C.full_like(param, group["initial_accumulator_value"])}

    def step(self, closure=None):
        loss = run_closure(closure)
        with _C.no_grad():
            for group in self.param_groups:
                lr, lr_decay, eps, weight_decay = group["lr"], group["lr_decay"], group["eps"], group["weight_decay"]
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    state = self._states[param]
                    if group["maximize"]:
                        grad = -grad
                    if weight_decay != 0:
                        grad = grad + param * weight_decay
                    total = state["sum"]
                    total.addcmul_(grad, grad)
                    if lr_decay == 0:
                        param.addcdiv_sqrt_(grad, total, value=-lr, eps=eps)
                    else:
                        rate = lr / (1 + state["step"].double() * lr_decay)
                        param.sub_(grad / (total.sqrt() + eps) * rate)
                    state["step"].add_(1.0)
        return loss
