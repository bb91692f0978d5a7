# SPDX-License-Identifier: Apache-2.0
"""RMSprop: steps over the root of the running mean of squared gradients. Rprop: steps by the signs of gradients, for full batches."""
from .. import _C
from .optimizer import OneByOne, at_least_zero


class RMSprop(OneByOne):
    """Plain, centered (variance instead of the mean square) or with momentum."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False,
                 *, maximize=False):
        at_least_zero(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
                                  "momentum": momentum, "centered": centered, "maximize": maximize})

    def _start(self, group, param):
        state = {"step": _C.zeros(()), "square_avg": _C.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = _C.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = _C.zeros_like(param)
        return state

    def _update(self, group, param, grad, state):
        lr, alpha, momentum, square = group["lr"], group["alpha"], group["momentum"], state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.mul_(alpha).add_(grad, alpha=1 - alpha)
            root = (square - mean * mean).sqrt_().add_(group["eps"])
        else:
            root = square.sqrt().add_(group["eps"])
        if momentum > 0:
            velocity = state["momentum_buffer"]
            velocity.mul_(momentum).addcdiv_(grad, root)
            param.add_(velocity, alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)


class Rprop(OneByOne):
    """Riedmiller and Braun (1993): each number has a step of its own, which grows while its gradient keeps its sign; where the sign
    changes it shrinks, and that number stays."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), *, maximize=False):
        at_least_zero(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def _start(self, group, param):
        return {"step": _C.zeros(()), "prev": _C.zeros_like(param), "step_size": _C.full_like(param, group["lr"])}

    def _update(self, group, param, grad, state):
        (shrinks, grows), (least, most) = group["etas"], group["step_sizes"]
        size, turn = state["step_size"], grad * state["prev"]
        size.mul_(_C.ones_like(size).masked_fill(turn > 0, grows).masked_fill(turn < 0, shrinks)).clamp_(least, most)
        grad = grad.masked_fill(turn < 0, 0.0)
        param.addcmul_(grad.sign(), size, value=-1)
        state["prev"].copy_(grad)
