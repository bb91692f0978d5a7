# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable
from janus import Tensor
from janus import dtype
from janus import device
from janus.nn import functional as F
from janus.nn import init as init
from janus.nn.container import ModuleList as ModuleList
from janus.nn.linear import Linear as Linear
from janus.nn.module import Module as Module
from janus.nn.norm import Dropout as Dropout
from janus.nn.norm import LayerNorm as LayerNorm
from janus.nn.parameter import Parameter as Parameter

class MultiheadAttention(Module):
    embed_dim: int
    num_heads: int
    head_dim: Any
    dropout: float
    batch_first: bool
    kdim: int | None
    vdim: int | None
    out_proj: Any
    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tensor: ...
class Transformer(Module):
    encoder: Any
    decoder: Any
    d_model: int
    nhead: int
    batch_first: bool
    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Callable[..., Any] = ..., custom_encoder: Module | None = None, custom_decoder: Module | None = None, layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...
    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: str | device | None = None, dtype: dtype | None = None) -> Any: ...
class TransformerDecoder(Module):
    layers: Any
    num_layers: int
    norm: Module | None
    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...
class TransformerDecoderLayer(Module):
    self_attn: Any
    linear1: Any
    dropout: float
    linear2: Any
    norm_first: bool
    activation: Callable[..., Any]
    multihead_attn: Any
    n_norms: Any
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Callable[..., Any] = ..., layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor: ...
class TransformerEncoder(Module):
    layers: Any
    num_layers: int
    norm: Module | None
    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True, mask_check: bool = True) -> None: ...
    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None) -> Tensor: ...
class TransformerEncoderLayer(Module):
    self_attn: Any
    linear1: Any
    dropout: float
    linear2: Any
    norm_first: bool
    activation: Callable[..., Any]
    multihead_attn: Any
    n_norms: Any
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Callable[..., Any] = ..., layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor: ...
