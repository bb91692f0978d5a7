# Written by tools/stubs/write.py; do not edit.
from typing import Any, Sequence
from janus import Tensor
from janus import dtype
from janus import device
from janus.nn import functional as F
from janus.nn import init as init
from janus.nn.module import Module as Module
from janus.nn.parameter import Parameter as Parameter

class AvgPool2d(Module):
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int] | None
    padding: int | Sequence[int]
    ceil_mode: bool
    count_include_pad: bool
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> str: ...
class Conv2d(Module):
    in_channels: int
    out_channels: int
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    groups: int
    padding: int | Sequence[int]
    weight: Any
    bias: Any
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def reset_parameters(self) -> Any: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> str: ...
class MaxPool2d(Module):
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int] | None
    padding: int | Sequence[int]
    dilation: int | Sequence[int]
    ceil_mode: bool
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> str: ...
