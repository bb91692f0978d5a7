# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change from epoch to epoch: `scheduler.step()` after each one.

A scheduler sets `lr` of its optimiser's groups, from the rate that is set (so that several may work on one optimiser, as
`ChainedScheduler` does) and the epoch's number. `_closed` gives the rates of an epoch from those that the groups had when
the scheduler was made: for schedules that are entered anew at a milestone.
"""
import math
from collections import Counter

from .optimizer import Optimizer


def _of_groups(name, optimizer, value):
    """A list with one value for each group: the one given for all, or a list of theirs."""
    groups = optimizer.param_groups
    if isinstance(value, (list, tuple)):
        if len(value) != len(groups):
            raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
                             f"values, param_groups has {len(groups)}.")
        return list(value)
    return [value] * len(groups)


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _state_of(scheduler, left_out=()):
    """What a scheduler's state dict has: all but the optimiser; of functions nothing, of callable objects what they hold."""
    return {key: value for key, value in scheduler.__dict__.items() if key != "optimizer" and key not in left_out}


def _state_of_functions(functions):
    return [dict(function.__dict__) if not _is_function(function) else None for function in functions]


def _load_functions(functions, states):
    for function, state in zip(functions, states):
        if state is not None:
            function.__dict__.update(state)


def _is_function(value):
    return type(value).__name__ == "function"


class LRScheduler:
    """Base class: a subclass gives the rates of epoch `self.last_epoch` in `get_lr`."""

    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                               "with last_epoch >= 0: load the optimizer's state first, or set it")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        """The step that a scheduler begins with."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self):
        """The learning rate of each group in epoch `self.last_epoch`, from those that are set."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Goes to the next epoch (or the one given) and sets its rates."""
        self._step_count += 1
        self._go_to(epoch)

    def _go_to(self, epoch):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None or not hasattr(self, "_closed") else self._closed()
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates()

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        """The rates that the last step set."""
        return self._last_lr

    def state_dict(self):
        """Everything but the optimiser and functions."""
        return _state_of(self)

    def load_state_dict(self, state_dict):
        """Takes back what state_dict gave; the current rates are the optimiser's state."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """Multiplies the first rate by what a function (or one per group) gives for the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        n_groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n_groups
        if len(self.lr_lambdas) != n_groups:
            raise ValueError(f"Expected {n_groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self):
        return {**_state_of(self, ("lr_lambdas",)), "lr_lambdas": _state_of_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict):
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        _load_functions(self.lr_lambdas, state_dict["lr_lambdas"])


class MultiplicativeLR(LambdaLR):
    """Multiplies the rate that is set by what a function (or one per group) gives for the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else ():
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._rates()
        return [rate * scale(self.last_epoch) for rate, scale in zip(self._rates(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """Multiplies by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        passed = (self.last_epoch % self.step_size == 0) * (self.last_epoch != 0)
        return [rate * self.gamma ** passed for rate in self._rates()]  # no branch: a graph serves all epochs

    def _closed(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies by `gamma` at each of the epochs in `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = dict(Counter(milestones))
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        passed = sum(times * (epoch == self.last_epoch) for epoch, times in self.milestones.items())
        return [rate * self.gamma ** passed for rate in self._rates()]

    def _closed(self):
        passed = sum(times * (epoch <= self.last_epoch) for epoch, times in self.milestones.items())
        return [base * self.gamma ** passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies by `gamma` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _closed(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to `eta_min` in `T_max` epochs."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, least = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._rates()
        # Behind a minimum the cosine before is 0, which nothing can be divided by: one of the two counts, without a branch.
        low = (epoch - 1 - self.T_max) % (2 * self.T_max) == 0
        up = (1 - math.cos(math.pi / self.T_max)) / 2
        here = 1 + math.cos(math.pi * epoch / self.T_max)
        before = 1 + math.cos(math.pi * (epoch - 1) / self.T_max) + low
        return [low * (rate + (base - least) * up) + (1 - low) * (here / before * (rate - least) + least)
                for base, rate in zip(self.base_lrs, self._rates())]

    def _closed(self):
        part = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * part / 2 for base in self.base_lrs]


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


# What is built on the classes above, under the names that programs use.
from .lr_cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR  # noqa: E402
from .lr_joined import ChainedScheduler, SequentialLR  # noqa: E402
from .lr_ramps import ConstantLR, LinearLR, PolynomialLR  # noqa: E402
