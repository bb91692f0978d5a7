# SPDX-License-Identifier: Apache-2.0
"""Sequences of several lengths as one tensor with padding, and back."""
from ... import _C


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [T_i, ...] as [T, N, ...], T being the longest ([N, T, ...] with batch_first)."""
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
