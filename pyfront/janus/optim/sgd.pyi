# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Iterable
from janus.optim.optimizer import OneByOne as OneByOne
from janus.optim.optimizer import Optimizer as Optimizer
from janus.optim.optimizer import at_least_zero as at_least_zero
from janus.optim.optimizer import run_closure as run_closure

class ASGD(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.01, lambd: float = 0.0001, alpha: float = 0.75, t0: float = 1000000.0, weight_decay: float = 0.0, *, maximize: bool = False) -> None: ...
class SGD(Optimizer):
    def __init__(self, params: Iterable[Any], lr: float = 0.001, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False) -> None: ...
    def step(self, closure: Callable[..., Any] | None = None) -> Any: ...
