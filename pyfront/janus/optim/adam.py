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
                amsgrad, states, rows = group["amsgrad"], self._states, []
                for param in group["params"]:
                    grad = param.grad
                    state = states.get(param)
                    if not state:
                        if grad is None:
                            continue
                        state = {"step": _C.zeros((), device=param.device), "exp_avg": _C.zeros_like(param),
                                 "exp_avg_sq": _C.zeros_like(param)}
                        if amsgrad:
                            state["max_exp_avg_sq"] = _C.zeros_like(param)
                        states[param] = state
                    if amsgrad:
                        if grad is not None:
                            self.amsgrad_step(group, param, grad, state)
                    else:
                        rows.append([param, grad, state["exp_avg"], state["exp_avg_sq"], state["step"]])
                if rows:
                    beta1, beta2 = group["betas"]
                    _C.optimizer_step_("adam_step", rows, group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
                                       weight_decay=group["weight_decay"], decoupled=self.decoupled,
                                       maximize=group["maximize"])
        return loss

    def amsgrad_step(self, group, param, grad, state):
        """The step that divides by the largest mean of squares there has been."""
        beta1, beta2 = group["betas"]
        lr, weight_decay = group["lr"], group["weight_decay"]
        if group["maximize"]:
            grad = -grad
        if weight_decay != 0:
            if self.decoupled:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad + param * weight_decay
        step = state["step"].add_(1.0).double()
        mean, square, largest = state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"]
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        largest.copy_(_C.maximum(largest, square))
        root = largest.sqrt() / (1 - beta2 ** step).sqrt() + group["eps"]
        param.sub_(mean / root * (lr / (1 - beta1 ** step)))


class AdamW(Adam):
    """Adam that shrinks the parameters themselves instead of adding to the gradient."""

    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False,
                 *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
