# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable
__all__ = ["NanFound", "find_nan"]

class NanFound:
    op: Any
    operands: Any
    results: Any
    count: Any
    of: Any
    made: Any
    file: Any
    line: Any
    function: Callable[..., Any]
    def __init__(self, op: Any, operands: Any, results: Any, count: Any, of: Any, how: Any, where: Any) -> None: ...
def find_nan(f: Any, *args: Any, inf: bool = False, **kwargs: Any) -> Any: ...
