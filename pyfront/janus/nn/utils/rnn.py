# SPDX-License-Identifier: Apache-2.0
"""Sequences of several lengths as one tensor, with padding or packed step by step, and back."""
import collections

from ... import _C
from ..._tensor import as_tensor


class PackedSequence(collections.namedtuple("PackedSequence", "data batch_sizes sorted_indices unsorted_indices")):
    """Sequences without padding: `data` [sum of lengths, ...] has the first step of each, longest first, then the second ones.

    `batch_sizes` (i64, on the CPU) counts the sequences that have each step; `sorted_indices` are the places that the longest,
    the next one and so on had before they were sorted, `unsorted_indices` the way back, both None where they came sorted.
    Made by `pack_padded_sequence` and `pack_sequence`, taken and returned by `nn.LSTM`, `nn.GRU` and `nn.RNN`.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def is_cuda(self):
        """Whether `data` is on a CUDA device."""
        return self.data.is_cuda

    def to(self, *args, **kwargs):
        """The same sequences with `data.to(*args, **kwargs)`, indices on its device; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if index is None else index.to(data.device) for index in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self):
        """The same sequences on the CPU."""
        return self.to("cpu")

    def cuda(self):
        """The same sequences on a CUDA device."""
        return self.to("cuda")

    def double(self):
        """`data` in double precision."""
        return self.to(_C.float64)

    def float(self):
        """`data` in single precision."""
        return self.to(_C.float32)

    def half(self):
        """`data` in half precision."""
        return self.to(_C.float16)

    def long(self):
        """`data` as int64."""
        return self.to(_C.int64)

    def int(self):
        """`data` as int32."""
        return self.to(_C.int32)


def invert_permutation(permutation):
    """The permutation [N] that leads back; None of None."""
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A PackedSequence of padded ones, [T, N, ...] ([N, T, ...] with batch_first), N `lengths` of 1 to T as a list or tensor.

    Without `enforce_sorted` they may come in any order; with it ones that are not sorted, longest first, raise RuntimeError.
    """
    lengths = as_tensor(lengths, dtype=_C.int64)
    if lengths.dim() != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D")
    padded = input.transpose(0, 1) if batch_first else input
    if len(lengths) != padded.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={padded.shape[1]})")
    if len(lengths) == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    order = None
    if enforce_sorted:
        if (lengths[1:] > lengths[:-1]).any():
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                               "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement")
    else:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        padded = padded.index_select(1, order)
    if lengths[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if lengths[0] > len(padded):
        raise RuntimeError(f"pack_padded_sequence: a length of {int(lengths[0])}, but the padded sequences have {len(padded)} steps")
    present = _C.arange(len(padded)).unsqueeze(1) < lengths
    return PackedSequence(padded[present.to(input.device)], present[:int(lengths[0])].sum(1), order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """`(padded, lengths)`: the sequences in the order they were packed from, padded to the longest or to `total_length`."""
    padded, present = _padded(sequence, padding_value)
    if total_length is not None:
        if total_length < len(padded):
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {len(padded)}")
        longer = padded.new_full((total_length - len(padded), *padded.shape[1:]), padding_value)
        padded = _C.cat([padded, longer])
    lengths = present.sum(0).cpu()
    if sequence.unsorted_indices is not None:
        padded, lengths = padded.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def _padded(sequence, padding_value=0.0):
    """`(padded [T, N, ...], which of its steps there are [T, N])`, longest first."""
    data, sizes = sequence.data, sequence.batch_sizes
    n = int(sizes[0]) if sequence.sorted_indices is None else len(sequence.sorted_indices)
    present = (_C.arange(n) < sizes.unsqueeze(1)).to(data.device)
    padded = data.new_full((len(sizes), n, *data.shape[1:]), padding_value)
    padded[present] = data
    return padded, present


def pack_sequence(sequences, enforce_sorted=True):
    """A PackedSequence of a list of sequences [T_i, ...]; see pack_padded_sequence."""
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence as a list, in the order they were packed from."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [T_i, ...] as [T, N, ...], T being the longest ([N, T, ...] with batch_first)."""
    if len(sequences) == 0:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(x) for x in sequences)
    rows = []
    for x in sequences:
        missing, rest = longest - len(x), [0] * (x.dim() - 1)
        before, after = (missing, 0) if padding_side == "left" else (0, missing)
        rows.append(_C.pad(x, [before] + rest, [after] + rest, float(padding_value)))
    return _C.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences back, a list."""
    rows = padded_sequences.unbind(0 if batch_first else 1)
    return [row[:int(n)] for row, n in zip(rows, lengths)]
