# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, and LSTM, GRU and RNN: layers as plain loops over time.

Gates come in PyTorch's order and weights under its names, so state dicts go both ways.  A step is
ordinary ops on one time step: a graph takes the loop as it is written.
"""
import math

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, _padded


def _zeros(like, n, lead, hidden_size):
    """First states of n layers: tensors of their own, since views of one that rounds of a graph's loop carry are not told apart."""
    return [_C.zeros(*lead, hidden_size, dtype=like.dtype, device=like.device) for _ in range(n)]


def _lstm_step(gates, cell):
    """`(h, c)` from the four gates' inputs, in the order i, f, g, o, and the old cell."""
    i, f, g, o = gates.chunk(4, -1)
    cell = _C.sigmoid(f) * cell + _C.sigmoid(i) * _C.tanh(g)
    return _C.sigmoid(o) * _C.tanh(cell), cell


def _gru_step(x, past, h):
    """h from the gates' inputs of x and of the old h, in the order r, z, n."""
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = past.chunk(3, -1)
    z = _C.sigmoid(xz + hz)
    n = _C.tanh(xn + _C.sigmoid(xr + hr) * hn)
    return n + z * (h - n)


class _Cell(Module):
    """Weights of a one-step layer with a number of gates."""

    gates = 0

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        kind = {"device": device, "dtype": dtype}
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(_C.empty(rows, input_size, **kind))
        self.weight_hh = Parameter(_C.empty(rows, hidden_size, **kind))
        self.register_parameter("bias_ih", Parameter(_C.empty(rows, **kind)) if bias else None)
        self.register_parameter("bias_hh", Parameter(_C.empty(rows, **kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class LSTMCell(_Cell):
    """One step of an LSTM: `h, c = cell(x, (h, c))`, from zeros without a state."""

    gates = 4

    def forward(self, input, hx=None):
        if hx is None:
            h = c = _zero_state(input, self.hidden_size)
        else:
            h, c = hx
        return _lstm_step(_C.linear(input, self.weight_ih, self.bias_ih)
                          + _C.linear(h, self.weight_hh, self.bias_hh), c)


class GRUCell(_Cell):
    """One step of a GRU: `h = cell(x, h)`, from zeros without a state."""

    gates = 3

    def forward(self, input, hx=None):
        h = _zero_state(input, self.hidden_size) if hx is None else hx
        return _gru_step(_C.linear(input, self.weight_ih, self.bias_ih), _C.linear(h, self.weight_hh, self.bias_hh), h)


class RNNCell(_Cell):
    """One step of h = tanh(W x + U h), or relu, as `nonlinearity` says."""

    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        h = _zero_state(input, self.hidden_size) if hx is None else hx
        x = _C.linear(input, self.weight_ih, self.bias_ih) + _C.linear(h, self.weight_hh, self.bias_hh)
        return _C.tanh(x) if self.nonlinearity == "tanh" else _C.relu(x)


def _zero_state(input, hidden_size):
    """Zeros for one step's state, with the batch dimension that the input has."""
    return _C.zeros(*input.shape[:-1], hidden_size, dtype=input.dtype, device=input.device)


class _Layers(Module):
    """Layers of a recurrence over sequences [T, N, C] ([N, T, C] with batch_first, [T, C] without a batch, or a PackedSequence).

    A subclass has `_stacked(input, hx, lead, time, present)`, which runs the layers along dim `time` (`lead` is the list of
    batch dims, `present` [T, N, 1] which steps there are or None), and `_selected(state, places)` by sequence.
    """

    gates = 0

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        kind = {"device": device, "dtype": dtype}
        for suffix, width in self._directions():
            rows = self.gates * hidden_size
            setattr(self, "weight_ih" + suffix, Parameter(_C.empty(rows, width, **kind)))
            setattr(self, "weight_hh" + suffix, Parameter(_C.empty(rows, hidden_size, **kind)))
            if bias:
                setattr(self, "bias_ih" + suffix, Parameter(_C.empty(rows, **kind)))
                setattr(self, "bias_hh" + suffix, Parameter(_C.empty(rows, **kind)))
        self.reset_parameters()

    def _directions(self):
        """`(suffix of the parameters' names, input width)` of every layer and direction."""
        width = self.input_size
        for layer in range(self.num_layers):
            yield f"_l{layer}", width
            if self.bidirectional:
                yield f"_l{layer}_reverse", width
            width = self.hidden_size * (2 if self.bidirectional else 1)

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: weights are kept one by one."""

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        batched = input.dim() == 3
        if not batched and input.dim() != 2:
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        return self._stacked(input, hx, [input.shape[0 if self.batch_first else 1]] if batched else [],
                             1 if batched and self.batch_first else 0)

    def _packed(self, input, hx):
        """Of a PackedSequence, another one: steps that a sequence does not have leave its state as it was."""
        if input.data.dim() != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {input.data.dim()}")
        padded, present = _padded(input)
        if hx is not None and input.sorted_indices is not None:
            hx = self._selected(hx, input.sorted_indices)
        output, state = self._stacked(padded, hx, [present.shape[1]], 0, present.unsqueeze(2))
        if input.unsorted_indices is not None:
            state = self._selected(state, input.unsorted_indices)
        return PackedSequence(output[present], input.batch_sizes, input.sorted_indices, input.unsorted_indices), state

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.batch_first:
            text += ", batch_first=True"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + ", bidirectional=True" if self.bidirectional else text


class LSTM(_Layers):
    """Layers of LSTM: `output, (h, c) = lstm(x, (h0, c0))`; dropout acts between layers in training."""

    gates = 4

    def _selected(self, state, places):
        return state[0].index_select(1, places), state[1].index_select(1, places)

    def _stacked(self, input, hx, lead, time, present=None):
        n_states = self.num_layers * (2 if self.bidirectional else 1)
        if hx is None:
            h0, c0 = _zeros(input, n_states, lead, self.hidden_size), _zeros(input, n_states, lead, self.hidden_size)
        else:
            h0, c0 = hx
        h_n, c_n = [], []
        for layer in range(self.num_layers):
            outputs = []
            for reverse in (False, True) if self.bidirectional else (False,):
                suffix = f"_l{layer}_reverse" if reverse else f"_l{layer}"
                output, h, c = self._run(input, h0[len(h_n)], c0[len(h_n)], suffix, time, reverse, present)
                outputs.append(output)
                h_n.append(h)
                c_n.append(c)
            input = _C.cat(outputs, -1) if self.bidirectional else outputs[0]
            if self.dropout > 0 and layer + 1 < self.num_layers:
                input = F.dropout(input, self.dropout, self.training)
        return input, (_C.stack(h_n), _C.stack(c_n))

    def _run(self, input, h, c, suffix, time, reverse, present):
        """One layer in one direction."""
        bias_ih = getattr(self, "bias_ih" + suffix) if self.bias else None
        bias_hh = getattr(self, "bias_hh" + suffix) if self.bias else None
        weight_ih, weight_hh = getattr(self, "weight_ih" + suffix), getattr(self, "weight_hh" + suffix)
        steps = _C.linear(input.transpose(0, 1) if time else input, weight_ih, bias_ih)
        outputs = []
        for t in reversed(range(len(steps))) if reverse else range(len(steps)):
            h_new, c_new = _lstm_step(steps[t] + _C.linear(h, weight_hh, bias_hh), c)
            if present is None:
                h, c = h_new, c_new
            else:
                h, c = _C.where(present[t], h_new, h), _C.where(present[t], c_new, c)
            outputs.append(h)
        output = _C.stack(outputs, time)
        return output.flip(time) if reverse else output, h, c


class _OneState(_Layers):
    """Layers whose only state is their output: `output, h = layer(x, h0)`."""

    def _selected(self, state, places):
        return state.index_select(1, places)

    def _stacked(self, input, hx, lead, time, present=None):
        if hx is None:
            hx = _zeros(input, self.num_layers * (2 if self.bidirectional else 1), lead, self.hidden_size)
        h_n = []
        for layer in range(self.num_layers):
            outputs = []
            for reverse in (False, True) if self.bidirectional else (False,):
                suffix = f"_l{layer}_reverse" if reverse else f"_l{layer}"
                output, h = self._run(input, hx[len(h_n)], suffix, time, reverse, present)
                outputs.append(output)
                h_n.append(h)
            input = _C.cat(outputs, -1) if self.bidirectional else outputs[0]
            if self.dropout > 0 and layer + 1 < self.num_layers:
                input = F.dropout(input, self.dropout, self.training)
        return input, _C.stack(h_n)

    def _run(self, input, h, suffix, time, reverse, present):
        """One layer in one direction."""
        bias_ih = getattr(self, "bias_ih" + suffix) if self.bias else None
        bias_hh = getattr(self, "bias_hh" + suffix) if self.bias else None
        weight_ih, weight_hh = getattr(self, "weight_ih" + suffix), getattr(self, "weight_hh" + suffix)
        steps = _C.linear(input.transpose(0, 1) if time else input, weight_ih, bias_ih)
        outputs = []
        for t in reversed(range(len(steps))) if reverse else range(len(steps)):
            new = self._step(steps[t], _C.linear(h, weight_hh, bias_hh), h)
            h = new if present is None else _C.where(present[t], new, h)
            outputs.append(h)
        output = _C.stack(outputs, time)
        return output.flip(time) if reverse else output, h


class GRU(_OneState):
    """Layers of GRU; dropout acts between layers in training."""

    gates = 3

    def _step(self, x, past, h):
        return _gru_step(x, past, h)


class RNN(_OneState):
    """Layers of h = tanh(W x + U h), or relu, as `nonlinearity` says."""

    gates = 1

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, x, past, h):
        return _C.tanh(x + past) if self.nonlinearity == "tanh" else _C.relu(x + past)
