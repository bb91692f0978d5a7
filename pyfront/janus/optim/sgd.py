# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent, with momentum (Nesterov's too) and weight decay; and averaged."""
from .. import _C
from .optimizer import OneByOne, Optimizer, at_least_zero, run_closure


class SGD(Optimizer):
    """p -= lr * v with v = momentum * v + (1 - dampening) * gradient."""

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
                 *, maximize=False):
        at_least_zero(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize})

    def step(self, closure=None):
        loss = run_closure(closure)
        with _C.no_grad():
            for group in self.param_groups:
                lr, momentum, weight_decay = group["lr"], group["momentum"], group["weight_decay"]
                maximize, params = group["maximize"], group["params"]
                if momentum == 0:
                    alpha = -lr
                    for param in params:
                        grad = param.grad
                        if grad is not None:
                            if maximize:
                                grad = -grad
                            if weight_decay != 0:
                                grad = grad + param * weight_decay
                            param.add_(grad, alpha=alpha)
                    continue
                fresh, rows = [], []
                for param in params:
                    grad = param.grad
                    state = self._states.get(param)
                    if state:
                        rows.append([param, grad, state["momentum_buffer"]])
                    elif grad is not None:
                        velocity = _C.zeros_like(param)
                        self._states[param] = {"momentum_buffer": velocity}
                        fresh.append([param, grad, velocity])
                # The first velocity is the gradient itself, not dampened.
                for tensors, dampening in ((fresh, 0.0), (rows, group["dampening"])):
                    if tensors:
                        _C.optimizer_step_("momentum_step", tensors, lr, momentum=momentum, dampening=dampening,
                                           weight_decay=weight_decay, nesterov=group["nesterov"],
                                           maximize=maximize)
        return loss


class ASGD(OneByOne):
    """Polyak and Juditsky (1992): steps that shrink, and in `state[p]["ax"]` the mean of the parameters from step `t0` on."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, *, maximize=False):
        at_least_zero(lr=lr, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize})

    def _start(self, group, param):
        return {"step": _C.zeros(()), "eta": _C.full((), group["lr"]), "mu": _C.ones(()), "ax": _C.zeros_like(param)}

    def _update(self, group, param, grad, state):
        lr, lambd = group["lr"], group["lambd"]
        step, eta, mu, mean = state["step"].double(), state["eta"], state["mu"], state["ax"]
        param.mul_(1 - lambd * eta.double())
        param.sub_(grad * eta.double())
        mean.copy_(_C.where(mu == 1, param, mean + (param - mean) * mu))
        eta.copy_(lr / (1 + lambd * lr * step) ** group["alpha"])
        mu.copy_(1 / (step - group["t0"]).clamp(min=1.0))
