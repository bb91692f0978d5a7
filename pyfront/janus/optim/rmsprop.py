# SPDX-License-Identifier: Apache-2.0
"""RMSprop: steps over the root of the running mean of squared gradients."""
from .. import _C
from .optimizer import Optimizer, at_least_zero, run_closure


class RMSprop(Optimizer):
    """Plain, centered (variance instead of the mean square) or with momentum."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False,
                 *, maximize=False):
        at_least_zero(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
                                  "momentum": momentum, "centered": centered, "maximize": maximize})

    def step(self, closure=None):
        loss = run_closure(closure)
        with _C.no_grad():
            for group in self.param_groups:
                lr, alpha, momentum, weight_decay = (group["lr"], group["alpha"], group["momentum"],
                                                     group["weight_decay"])
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    state = self.state.get(param)
                    if state is None:
                        state = {"step": _C.zeros(()), "square_avg": _C.zeros_like(param)}
                        if momentum > 0:
                            state["momentum_buffer"] = _C.zeros_like(param)
                        if group["centered"]:
                            state["grad_avg"] = _C.zeros_like(param)
                        self.state[param] = state
                    state["step"].add_(1.0)
                    if group["maximize"]:
                        grad = -grad
                    if weight_decay != 0:
                        grad = grad + param * weight_decay
                    square = state["square_avg"]
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
        return loss
