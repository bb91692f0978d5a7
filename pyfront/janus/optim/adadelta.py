# SPDX-License-Identifier: Apache-2.0
"""Adadelta: steps of the size that past steps had, over the root of the mean of squared gradients."""
from .. import _C
from .optimizer import OneByOne, at_least_zero


class Adadelta(OneByOne):
    """Zeiler (2012)."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, *, maximize=False):
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})

    def _start(self, group, param):
        return {"step": _C.zeros(()), "square_avg": _C.zeros_like(param), "acc_delta": _C.zeros_like(param)}

    def _update(self, group, param, grad, state):
        rho, eps, square, past = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (past + eps).sqrt() / (square + eps).sqrt() * grad
        past.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-group["lr"])
