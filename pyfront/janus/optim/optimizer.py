# SPDX-License-Identifier: Apache-2.0
"""Optimizer: parameter groups, per-parameter state, and both as a state dict.

A subclass is one method, `step`: a plain loop that collects the parameters and their state for one
call of `optimizer_step_`, which leaves those alone whose gradient is None, or in-place tensor ops
under `no_grad` (`OneByOne` has the loop of those), so that it runs eagerly and can become part of a graph.  State of a
parameter is a plain dict in `self._states`, keyed by the parameter itself; what changes from step to step is a tensor (the number
of steps too), so that a graph of a step is good for the next one.  Programs see it as `self.state`, which gives a parameter without
one an empty dict, as a defaultdict does: graphs follow its methods, and nothing is known in them of subclasses of dict.
"""
import collections.abc

from .. import _C


class _States(collections.abc.MutableMapping):
    """States of parameters by parameter: an empty dict is made where there is none yet."""

    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of

    def __getitem__(self, param):
        state = self._of.get(param)
        if state is None:
            state = {}
            self._of[param] = state
        return state

    def __setitem__(self, param, state):
        self._of[param] = state

    def __delitem__(self, param):
        del self._of[param]

    def __iter__(self):
        return iter(self._of)

    def __len__(self):
        return len(self._of)

    def __contains__(self, param):
        return param in self._of

    def get(self, param, default=None):
        """The state of a parameter, `default` where there is none; none is made."""
        return self._of.get(param, default)

    def __repr__(self):
        return repr(self._of)


class Optimizer:
    """Base class; `params` are parameters, or dicts that give a group of them own options."""

    def __init__(self, params, defaults):
        if isinstance(params, _C.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, "
                            f"but got {type(params).__name__}")
        self.defaults = defaults
        self._states = {}
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def state(self):
        """States by parameter, a dict each; an empty one is made for a parameter that has none."""
        return _States(self._states)

    @state.setter
    def state(self, states):
        self._states = dict(states)

    def add_param_group(self, param_group):
        """Adds parameters with their own options to what is optimised."""
        params = param_group["params"]
        params = [params] if isinstance(params, _C.Tensor) else list(params)
        known = {param for group in self.param_groups for param in group["params"]}
        for param in params:
            if isinstance(param, tuple):
                raise TypeError("optimizer can only optimize Tensors: give parameters(), not named_parameters()")
            if not isinstance(param, _C.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not param.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if param in known:
                raise ValueError("some parameters appear in more than one parameter group")
            known.add(param)
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none=True):
        """Forgets (or zeroes) the gradients of all parameters."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad = _C.zeros_like(param.grad)

    def step(self, closure=None):
        """Updates all parameters that have a gradient; `closure` computes the loss again."""
        raise NotImplementedError

    def state_dict(self):
        """`{"state": ..., "param_groups": ...}` with parameters as numbers in order."""
        numbers = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers[param] = len(numbers)
            groups.append({**group, "params": [numbers[param] for param in group["params"]]})
        state = {numbers[param]: dict(values) for param, values in self._states.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Takes state and options from another optimiser of the same groups; tensors are copied."""
        groups = state_dict["param_groups"]
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("loaded state dict has other parameter groups than the optimizer")
        params = {}
        for saved, group in zip(groups, self.param_groups):
            params.update(zip(saved["params"], group["params"]))
            group.update({key: value for key, value in saved.items() if key != "params"})
        self._states = {params[number]: {key: _copied(value) for key, value in values.items()}
                        for number, values in state_dict["state"].items()}

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return "\n".join(lines + [")"])


def _copied(value):
    """A value of a state, with the tensors and lists in it its own."""
    if isinstance(value, _C.Tensor):
        return value.detach().clone()
    return [_copied(item) for item in value] if isinstance(value, list) else value


class OneByOne(Optimizer):
    """An optimizer that changes its parameters one after the other, each by its gradient and its state."""

    def step(self, closure=None):
        loss = run_closure(closure)
        with _C.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    state = self._states.get(param)
                    if not state:
                        state = self._start(group, param)
                        self._states[param] = state
                    state["step"].add_(1.0)
                    if group["maximize"]:
                        grad = -grad
                    decay = group.get("weight_decay", 0)
                    if decay != 0:
                        if group.get("decoupled_weight_decay", False):
                            param.mul_(1 - group["lr"] * decay)
                        else:
                            grad = grad + param * decay
                    self._update(group, param, grad, state)
        return loss

    def _start(self, group, param):
        """The state of a parameter before its first step: a dict with the tensor "step", which counts them, and others."""
        raise NotImplementedError

    def _update(self, group, param, grad, state):
        """Changes a parameter and its state by its gradient, decay included."""
        raise NotImplementedError


def at_least_zero(**options):
    """ValueError for the first option below zero, in PyTorch's words."""
    for name, value in options.items():
        if not value >= 0.0:
            words = {"lr": "learning rate", "eps": "epsilon value"}.get(name, name + " value")
            raise ValueError(f"Invalid {words}: {value}")


def beta_pair(betas):
    """ValueError for a decay rate outside [0, 1)."""
    for number, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {number}: {beta}")


def run_closure(closure):
    """The loss of a closure run with gradients, None without one."""
    if closure is None:
        return None
    with _C.enable_grad():
        return closure()
