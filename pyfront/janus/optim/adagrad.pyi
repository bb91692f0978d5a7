# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Iterable, Mapping
from janus.optim.optimizer import Optimizer as Optimizer
from janus.optim.optimizer import at_least_zero as at_least_zero
from janus.optim.optimizer import run_closure as run_closure

class Adagrad(Optimizer):
    def __init__(self, params: Iterable[Any], lr: float = 0.01, lr_decay: float = 0.0, weight_decay: float = 0.0, initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False) -> None: ...
    def add_param_group(self, param_group: Mapping[str, Any]) -> None: ...
    def step(self, closure: Callable[..., Any] | None = None) -> Any: ...
