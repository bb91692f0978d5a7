# SPDX-License-Identifier: Apache-2.0
"""Adam, and AdamW whose weight decay is apart from the gradient."""
from .. import _C
from .optimizer import Optimizer, at_least_zero, beta_pair, run_closure


class Adam(Optimizer):
    """Steps of the running mean of gradients over the root of that of their squares."""

    decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False,
                 *, maximize=False):
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        beta_pair(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad, "maximize": maximize})

    def step(self, closure=None):
        loss = run_closure(closure)
        with _C.no_grad():
            for group in self.param_groups:
                lr, eps, weight_decay = group["lr"], group["eps"], group["weight_decay"]
                beta1, beta2 = group["betas"]
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    state = self.state.get(param)
                    if state is None:
                        state = {"step": 0, "exp_avg": _C.zeros_like(param), "exp_avg_sq": _C.zeros_like(param)}
                        if group["amsgrad"]:
                            state["max_exp_avg_sq"] = _C.zeros_like(param)
                        self.state[param] = state
                    step = state["step"] + 1
                    state["step"] = step
                    if group["maximize"]:
                        grad = -grad
                    if weight_decay != 0:
                        if self.decoupled:
                            param.mul_(1 - lr * weight_decay)
                        else:
                            grad = grad + param * weight_decay
                    mean, square = state["exp_avg"], state["exp_avg_sq"]
                    mean.mul_(beta1).add_(grad, alpha=1 - beta1)
                    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                    if group["amsgrad"]:
                        largest = state["max_exp_avg_sq"]
                        square = largest.copy_(_C.maximum(largest, square))
                    bias = (1 - beta2 ** step) ** 0.5  # of the root, kept out of a pass over all elements
                    param.addcdiv_sqrt_(mean, square, value=-lr * bias / (1 - beta1 ** step), eps=eps * bias)
        return loss


class AdamW(Adam):
    """Adam that shrinks the parameters themselves instead of adding to the gradient."""

    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False,
                 *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
