# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change from epoch to epoch: `scheduler.step()` after each one.

A scheduler sets `lr` of its optimiser's groups from the epoch's number and the rates that the
groups had when it was made, so a resumed run only needs the number.
"""
import math


class LRScheduler:
    """Base class: a subclass gives the factor (or rate) of an epoch in `rates`."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rates(self):
        """The learning rate of each group in epoch `self.last_epoch`."""
        raise NotImplementedError

    def step(self):
        """Goes to the next epoch and sets its rates."""
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.rates()):
            group["lr"] = rate

    def get_last_lr(self):
        """The rates that are set now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Everything but the optimiser and functions."""
        return {key: value for key, value in self.__dict__.items()
                if key != "optimizer" and not callable(value)
                and not (isinstance(value, list) and any(map(callable, value)))}

    def load_state_dict(self, state_dict):
        """Takes back what state_dict gave, the current rates included."""
        self.__dict__.update(state_dict)
        for group, rate in zip(self.optimizer.param_groups, self.rates()):
            group["lr"] = rate


class StepLR(LRScheduler):
    """Multiplies by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies by `gamma` at each of the epochs in `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = list(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self):
        passed = sum(epoch <= self.last_epoch for epoch in self.milestones)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies by `gamma` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class LambdaLR(LRScheduler):
    """Multiplies by what a function (or one per group) gives for the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        n_groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * n_groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != n_groups:
            raise ValueError(f"Expected {n_groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def rates(self):
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to `eta_min` in `T_max` epochs."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rates(self):
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class ReduceLROnPlateau:
    """Multiplies by `factor` when what `step` is given has not become better for more than `patience` epochs."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0.0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"mode {mode} or threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * len(optimizer.param_groups)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, value):
        if self.threshold_mode == "rel":
            part = abs(self.best) * self.threshold if math.isfinite(self.best) else 0.0
        else:
            part = self.threshold
        return value < self.best - part if self.mode == "min" else value > self.best + part

    def step(self, metrics):
        """Takes the epoch's value: a loss, or what should grow with mode "max"."""
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                rate = max(group["lr"] * self.factor, least)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self):
        """The rates that are set now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Everything but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes back what state_dict gave."""
        self.__dict__.update(state_dict)
