# SPDX-License-Identifier: Apache-2.0
"""MultiheadAttention and the Transformer's layers."""
import copy

from .. import _C
from . import functional as F
from . import init
from .container import ModuleList
from .linear import Linear
from .module import Module
from .norm import Dropout, LayerNorm
from .parameter import Parameter


def _refused(mask, dtype):
    """A mask as what is added to scores: bool ones are true where attention is refused."""
    if mask is None or mask.dtype is not _C.bool:
        return mask
    return _C.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -float("inf"))


class MultiheadAttention(Module):
    """Attention of several heads: `output, weights = attention(query, key, value)`.

    Operands are [T, N, E], [N, T, E] with batch_first, [T, E] without a batch.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, kdim=None, vdim=None, batch_first=False,
                 device=None, dtype=None):
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        kind = {"device": device, "dtype": dtype}
        if self.kdim == embed_dim and self.vdim == embed_dim:
            self.in_proj_weight = Parameter(_C.empty(3 * embed_dim, embed_dim, **kind))
        else:
            self.register_parameter("in_proj_weight", None)
            self.q_proj_weight = Parameter(_C.empty(embed_dim, embed_dim, **kind))
            self.k_proj_weight = Parameter(_C.empty(embed_dim, self.kdim, **kind))
            self.v_proj_weight = Parameter(_C.empty(embed_dim, self.vdim, **kind))
        self.register_parameter("in_proj_bias", Parameter(_C.empty(3 * embed_dim, **kind)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, **kind)
        self._reset_parameters()

    def _reset_parameters(self):
        for name, weight in self.named_parameters(recurse=False):
            if name.endswith("weight"):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def _projected(self, query, key, value):
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        weights = self.in_proj_weight.chunk(3) if self.in_proj_weight is not None else \
            (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return [_C.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]

    def _heads(self, x):
        """[N, T, E] as [N, heads, T, E / heads]."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(self, attn_mask, key_padding_mask, dtype):
        """What is added to the scores; None: nothing."""
        mask = _refused(attn_mask, dtype)
        if mask is not None and mask.dim() == 3:  # one for each example and head
            mask = mask.reshape(-1, self.num_heads, mask.shape[1], mask.shape[2])
        if key_padding_mask is None:
            return mask
        padding = _refused(key_padding_mask, dtype).reshape(key_padding_mask.shape[0], 1, 1, -1)
        return padding if mask is None else mask + padding

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        batched = query.dim() == 3
        if not batched:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        q, k, v = [self._heads(x) for x in self._projected(query, key, value)]
        mask = self._mask(attn_mask, key_padding_mask, q.dtype)
        weights = None
        if need_weights:
            scores = q @ k.transpose(-2, -1) * self.head_dim ** -0.5
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            if self.dropout > 0:
                weights = F.dropout(weights, self.dropout, self.training)
            joined = weights @ v
        else:
            joined = F.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.0)
        output = self.out_proj(joined.transpose(1, 2).reshape(query.shape[0], query.shape[1], self.embed_dim))
        if not batched:
            output = output.squeeze(0)
        elif not self.batch_first:
            output = output.transpose(0, 1)
        if not need_weights:
            return output, None
        weights = weights.mean(1) if average_attn_weights else weights
        return output, weights if batched else weights.squeeze(0)


class _TransformerLayer(Module):
    """What encoder and decoder layers have in common: attention to itself, two linear layers, norms."""

    n_norms = 2

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        if self.n_norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        for i in range(1, self.n_norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **kind))
            setattr(self, f"dropout{i}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = F.relu if activation == "relu" else F.gelu
        self.activation = activation

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(self, attention, x, memory, mask, padding):
        return attention(x, memory, memory, padding, False, mask)[0]


class TransformerEncoderLayer(_TransformerLayer):
    """Attention to itself and a feed-forward part, each added to its input and normalised."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = src
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attend(self.self_attn, y, y, src_mask, src_key_padding_mask))
            return x + self.dropout2(self._feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout1(self._attend(self.self_attn, x, x, src_mask, src_key_padding_mask)))
        return self.norm2(x + self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_TransformerLayer):
    """Attention to itself, attention to an encoder's output, and a feed-forward part."""

    n_norms = 3

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        x = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attend(self.self_attn, y, y, tgt_mask, tgt_key_padding_mask))
            x = x + self.dropout2(self._attend(self.multihead_attn, self.norm2(x), memory, memory_mask,
                                               memory_key_padding_mask))
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(x + self.dropout1(self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask)))
        x = self.norm2(x + self.dropout2(self._attend(self.multihead_attn, x, memory, memory_mask,
                                                      memory_key_padding_mask)))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))


class _Stack(Module):
    """Copies of a layer one after the other, then a norm if there is one."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm


class TransformerEncoder(_Stack):
    """Encoder layers one after the other."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Decoder layers one after the other."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al. 2017)."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
                 dropout=0.1, activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options, **kind), num_encoder_layers, LayerNorm(d_model, layer_norm_eps, **kind))
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options, **kind), num_decoder_layers, LayerNorm(d_model, layer_norm_eps, **kind))
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """What is added to scores so that no position sees a later one."""
        return _C.full((sz, sz), -float("inf"), device=device, dtype=dtype or _C.float32).triu(1)
