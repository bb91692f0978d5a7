# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Iterable
from janus.optim.optimizer import Optimizer as Optimizer

class LBFGS(Optimizer):
    def step(self, closure: Callable[[], Any]) -> Any: ...  # type: ignore[override]
    def __init__(self, params: Iterable[Any], lr: float = 1, max_iter: int = 20, max_eval: Any = None, tolerance_grad: float = 1e-07, tolerance_change: float = 1e-09, history_size: int = 100, line_search_fn: Any = None) -> None: ...
