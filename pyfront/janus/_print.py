# SPDX-License-Identifier: Apache-2.0
"""Text of tensors: PyTorch's format, numbers aligned, long tensors summarised."""
import math

from . import _C

_options = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed; what is left out stays."""
    if profile is not None:
        _options.update({"default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
                         "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
                         "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80}}[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({key: value for key, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


class _Format:
    """How the numbers of one tensor are written."""

    def __init__(self, values, floating):
        self.floating, self.int_mode, self.sci = floating, True, False
        self.width = 1
        if not floating:
            self.width = max([len(str(v)) for v in values], default=1)
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if finite:
            self.int_mode = all(v == math.ceil(v) for v in finite)
            low, high = min(finite), max(finite)
            if self.int_mode:
                self.sci = high / low > 1000.0 or high > 1e8
            else:
                self.sci = high / low > 1000.0 or high > 1e8 or low < 1e-4
        if _options["sci_mode"] is not None:
            self.sci = _options["sci_mode"]
        self.width = max([len(self.text(v)) for v in values if math.isfinite(v)], default=1)

    def text(self, value):
        if not self.floating or not math.isfinite(value):
            return str(value)
        if self.sci:
            return f"{value:.{_options['precision']}e}"
        if self.int_mode:
            return f"{value:.0f}."
        return f"{value:.{_options['precision']}f}"

    def cell(self, value):
        return self.text(value).rjust(self.width)


def _vector(cells, indent, fmt):
    per_line = max(1, (_options["linewidth"] - indent) // (fmt.width + 2))
    lines = [cells[i:i + per_line] for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _corner(tensor):
    """What a summary shows of a tensor, as one smaller tensor."""
    edge = _options["edgeitems"]
    for axis in range(tensor.ndim):
        n = tensor.shape[axis]
        if n > 2 * edge:
            tensor = _C.cat([tensor.narrow(axis, 0, edge), tensor.narrow(axis, n - edge, edge)], axis)
    return tensor


def _flat(data, rank):
    if rank == 0:
        return [data]
    for _ in range(rank - 1):
        data = [value for part in data for value in part]
    return list(data)


def _padded(corner, shape, rank, edge):
    """The corner's nested lists, filled to the length of the tensor where it was cut."""
    if rank == 0:
        return corner
    parts = [_padded(part, shape[1:], rank - 1, edge) for part in corner]
    if shape[0] > 2 * edge:
        parts = parts[:edge] + [None] + parts[edge:]
    return parts


def _text(nested, rank, indent, fmt):
    if rank == 0:
        return fmt.cell(nested)
    if rank == 1:
        return _vector([" ..." if v is None else fmt.cell(v) for v in nested], indent, fmt)
    texts = ["..." if part is None else _text(part, rank - 1, indent + 1, fmt) for part in nested]
    return "[" + ("," + "\n" * (rank - 1) + " " * (indent + 1)).join(texts) + "]"


def tensor_text(tensor):
    """repr(tensor)."""
    prefix = "tensor("
    with _C.no_grad():
        plain = tensor.detach()
        summarise = plain.numel() > _options["threshold"]
        corner = (_corner(plain) if summarise else plain).tolist()
    rank, shape = plain.ndim, tuple(plain.shape)
    suffixes = []
    if plain.numel() == 0:
        body = "[]"
        if rank != 1:
            suffixes.append(f"size={shape}")
        if plain.dtype is not _C.float32:
            suffixes.append(f"dtype={plain.dtype}")
    else:
        fmt = _Format(_flat(corner, rank), plain.dtype.is_floating_point)
        nested = _padded(corner, shape, rank, _options["edgeitems"]) if summarise else corner
        body = _text(nested, rank, len(prefix), fmt)
        if plain.dtype not in (_C.float32, _C.int64, _C.bool):
            suffixes.append(f"dtype={plain.dtype}")
    if tensor.is_cuda:
        suffixes.append(f"device='{tensor.device}'")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = prefix + body
    for suffix in suffixes:
        last = len(text) - text.rfind("\n") - 1
        if last + len(suffix) + 3 > _options["linewidth"]:
            text += ",\n" + " " * len(prefix) + suffix
        else:
            text += ", " + suffix
    return text + ")"
