# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Iterable
from janus import Tensor
from janus.nn.parameter import Parameter
from janus.optim.optimizer import Optimizer as Optimizer
from janus.optim.optimizer import at_least_zero as at_least_zero
from janus.optim.optimizer import beta_pair as beta_pair
from janus.optim.optimizer import run_closure as run_closure

class Adam(Optimizer):
    decoupled: Any
    def __init__(self, params: Iterable[Any], lr: float = 0.001, betas: tuple[float, float] = ..., eps: float = 1e-08, weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False) -> None: ...
    def step(self, closure: Callable[..., Any] | None = None) -> Any: ...
    def amsgrad_step(self, group: Any, param: Parameter, grad: Any, state: Tensor) -> Any: ...
class AdamW(Adam):
    decoupled: Any
    def __init__(self, params: Iterable[Any], lr: float = 0.001, betas: tuple[float, float] = ..., eps: float = 1e-08, weight_decay: float = 0.01, amsgrad: bool = False, *, maximize: bool = False) -> None: ...
