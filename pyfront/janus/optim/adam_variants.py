# SPDX-License-Identifier: Apache-2.0
"""Adam by the largest gradient (Adamax), with Nesterov's momentum (NAdam), with a rectified first phase (RAdam)."""
from .. import _C
from .optimizer import OneByOne, at_least_zero, beta_pair


class _Adaptive(OneByOne):
    """What the three share: the mean of gradients and that of their squares."""

    def _start(self, group, param):
        return {"step": _C.zeros((), device=param.device), "exp_avg": _C.zeros_like(param), "exp_avg_sq": _C.zeros_like(param)}


class Adamax(_Adaptive):
    """Kingma and Ba (2015), section 7.1: divides by the largest gradient there has been, which decays."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, maximize=False):
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        beta_pair(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})

    def _start(self, group, param):
        return {"step": _C.zeros((), device=param.device), "exp_avg": _C.zeros_like(param), "exp_inf": _C.zeros_like(param)}

    def _update(self, group, param, grad, state):
        (beta1, beta2), step = group["betas"], state["step"].double()
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        largest.copy_(_C.maximum(largest * beta2, grad.abs() + group["eps"]))
        param.sub_(mean / largest * (group["lr"] / (1 - beta1 ** step)))


class NAdam(_Adaptive):
    """Dozat (2016): the step looks ahead along a momentum that grows from step to step."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, maximize=False):
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        beta_pair(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})

    def _start(self, group, param):
        return {**super()._start(group, param), "mu_product": _C.ones((), device=param.device)}

    def _update(self, group, param, grad, state):
        (beta1, beta2), lr, decay, step = group["betas"], group["lr"], group["momentum_decay"], state["step"].double()
        mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        now, ahead = beta1 * (1 - 0.5 * 0.96 ** (step * decay)), beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        product.mul_(now.float())
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = (square / (1 - beta2 ** step)).sqrt() + group["eps"]
        so_far = product.double()
        param.sub_(grad / root * (lr * (1 - now) / (1 - so_far)))
        param.sub_(mean / root * (lr * ahead / (1 - so_far * ahead)))


class RAdam(_Adaptive):
    """Liu et al. (2020): while too few squares are in their mean (`rho` at most 5) the step is that of the mean gradient alone."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False, *, maximize=False):
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        beta_pair(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})

    def _update(self, group, param, grad, state):
        (beta1, beta2), step = group["betas"], state["step"].double()
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        left, most = 1 - beta2 ** step, 2 / (1 - beta2) - 1
        rho = most - 2 * step * beta2 ** step / left
        rectified = ((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)).clamp(min=0.0).sqrt()
        by_squares = left.sqrt() / (square.sqrt() + group["eps"]) * rectified
        param.sub_(_C.where(rho > 5.0, by_squares, 1.0) * mean * (group["lr"] / (1 - beta1 ** step)))
