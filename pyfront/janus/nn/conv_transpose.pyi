# Written by tools/stubs/write.py; do not edit.
from typing import Any, Sequence
from janus import Tensor
from janus import dtype
from janus import device
from janus.nn import functional as F
from janus.nn import init as init
from janus.nn.module import Module as Module
from janus.nn.parameter import Parameter as Parameter

class Conv1d(Module):
    in_channels: int
    out_channels: int
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    padding: int | Sequence[int]
    groups: int
    weight: Any
    n: Any
    transposed: Any
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def reset_parameters(self) -> Any: ...
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor) -> Tensor: ...
class ConvTranspose1d(Module):
    output_padding: int | Sequence[int]
    in_channels: int
    out_channels: int
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    padding: int | Sequence[int]
    groups: int
    weight: Any
    n: Any
    transposed: Any
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True, dilation: int | Sequence[int] = 1, padding_mode: str = 'zeros', device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def reset_parameters(self) -> Any: ...
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor, output_size: int | Sequence[int | None] | None = None) -> Tensor: ...
class ConvTranspose2d(Module):
    output_padding: int | Sequence[int]
    in_channels: int
    out_channels: int
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    padding: int | Sequence[int]
    groups: int
    weight: Any
    n: Any
    transposed: Any
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True, dilation: int | Sequence[int] = 1, padding_mode: str = 'zeros', device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def reset_parameters(self) -> Any: ...
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor, output_size: int | Sequence[int | None] | None = None) -> Tensor: ...
