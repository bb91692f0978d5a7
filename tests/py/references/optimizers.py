# SPDX-License-Identifier: Apache-2.0
"""Optimizers' steps."""
import numpy as np

from .common import ref


def slope(p, g, weight_decay, maximize):
    return (-g if maximize else g) + weight_decay * p


@ref
def momentum_step(p, g, v, lr, momentum, dampening, weight_decay, nesterov, maximize):
    d = slope(p, g, weight_decay, maximize)
    v = momentum * v + (1 - dampening) * d
    return p - lr * (d + momentum * v if nesterov else v), v


@ref
def adam_step(p, g, m, v, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    step = np.float64(step) + 1
    if decoupled:
        p = p * (1 - lr * weight_decay)
    d = slope(p, g, 0 if decoupled else weight_decay, maximize)
    m = beta1 * m + (1 - beta1) * d
    v = beta2 * v + (1 - beta2) * d * d
    return p - lr * (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + eps), m, v, step
