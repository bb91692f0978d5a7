# SPDX-License-Identifier: Apache-2.0
"""Images sampled at points and put together of windows, bags of embeddings, CTC, dropout that keeps mean and variance."""
import math

from .. import _C
from .._between import _only_reached
from .._places import scatter_reduce
from .._statistics import searchsorted
from ._spatial import _ints, pad

# A logarithm of what is impossible: finite, so that differences of two are numbers.
_NEVER = -1e30


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns [N, C kh kw, number of windows] added up to images [N, C, H, W]: unfold() turned round."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    size, kernel, dilation, padding, stride = (_ints(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    n, columns, windows = input.shape
    whole = [size[i] + 2 * padding[i] for i in range(2)]
    counts = [(whole[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if columns % (kernel[0] * kernel[1]):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={columns} and kernel_size={kernel}.")
    if min(counts) < 1 or windows != counts[0] * counts[1]:
        raise RuntimeError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                           f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding "
                           f"blocks {counts[0]} * {counts[1]}, but got input.size(2)={windows}.")
    rows, across = [(_C.arange(kernel[i]) * dilation[i]).unsqueeze(1) + _C.arange(counts[i]) * stride[i] for i in range(2)]
    places = rows.reshape(kernel[0], 1, counts[0], 1) * whole[1] + across.reshape(1, kernel[1], 1, counts[1])
    channels = columns // (kernel[0] * kernel[1])
    image = input.new_zeros((n, channels, whole[0] * whole[1]))
    image = image.index_add(2, places.reshape(-1), input.reshape(n, channels, -1)).reshape(n, channels, whole[0], whole[1])
    return image[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]


def affine_grid(theta, size, align_corners=False):
    """Points [N, H, W, 2] of an image of a size (N, C, H, W), moved by matrices theta [N, 2, 3]; for grid_sample()."""
    if len(size) != 4 or tuple(theta.shape[1:]) != (2, 3):
        raise NotImplementedError("affine_grid() is for images: theta of [N, 2, 3], and a size of four numbers")
    n, _, high, wide = size

    def steps(count):
        if count <= 1:
            return _C.zeros(count, dtype=theta.dtype)
        return _C.linspace(-1, 1, count, dtype=theta.dtype) * (1.0 if align_corners else (count - 1) / count)
    x, y = steps(wide).reshape(1, wide).expand(high, wide), steps(high).reshape(high, 1).expand(high, wide)
    points = _C.stack([x, y, _C.ones(high, wide, dtype=theta.dtype)], -1).reshape(1, high * wide, 3)
    return (points.expand(n, high * wide, 3) @ theta.transpose(1, 2)).reshape(n, high, wide, 2)


def _on_image(at, n, padding_mode, align_corners):
    """Places in elements of numbers in [-1, 1], brought back to the image unless what is outside is 0."""
    at = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
    if padding_mode == "reflection":
        low, span = (0.0, n - 1) if align_corners else (-0.5, n)
        if span:
            away = (at - low).abs()
            turns = (away / span).floor()
            rest = away - turns.detach() * span
            at = _C.where(turns % 2 == 0, rest, span - rest) + low
        else:
            at = at * 0.0
    return at if padding_mode == "zeros" else at.clamp(0, n - 1)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """Images [N, C, H, W] at points grid [N, h, w, 2], x and y in [-1, 1] from edge to edge (from the middle of the first
    element to that of the last with `align_corners`): [N, C, h, w].

    mode "bilinear" or "nearest"; outside of an image padding_mode "zeros", "border" or "reflection".
    """
    if mode not in ("bilinear", "nearest"):
        raise NotImplementedError(f"grid_sample(): mode {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but "
                         f"got: '{padding_mode}'")
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[3] != 2:
        raise NotImplementedError("grid_sample() is for images [N, C, H, W] and points [N, h, w, 2]")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    (n, c, high, wide), (h, w) = input.shape, grid.shape[1:3]
    x = _on_image(grid[..., 0].reshape(n, 1, h * w), wide, padding_mode, align_corners)
    y = _on_image(grid[..., 1].reshape(n, 1, h * w), high, padding_mode, align_corners)
    flat = input.reshape(n, c, high * wide)

    def at(column, row):
        inside = (column >= 0) & (column < wide) & (row >= 0) & (row < high)
        place = row.clamp(0, high - 1).long() * wide + column.clamp(0, wide - 1).long()
        return flat.gather(2, place.expand(n, c, h * w)).masked_fill(inside.logical_not(), 0.0)
    if mode == "nearest":
        return _only_reached(at(x.round(), y.round()), x + y).reshape(n, c, h, w)
    left, top = x.detach().floor(), y.detach().floor()
    right, down = x - left, y - top
    found = (at(left, top) * (1 - right) + at(left + 1, top) * right) * (1 - down) + \
        (at(left, top + 1) * (1 - right) + at(left + 1, top + 1) * right) * down
    return found.reshape(n, c, h, w)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divided by (k + alpha * mean of squares of `size` neighbouring channels) to the power beta."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    around = pad(input * input, (0, 0) * (input.ndim - 2) + (size // 2, (size - 1) // 2))
    channels = input.shape[1]
    total = around.narrow(1, 0, channels)
    for i in range(1, size):
        total = total + around.narrow(1, i, channels)
    return input / (total * (alpha / size) + k) ** beta


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Sets elements to where SELU ends below, with probability p, then scales and shifts: mean and variance stay."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    low = -1.7580993408473766
    scale = ((1 - p) * (1 + p * low * low)) ** -0.5 if p < 1 else 0.0
    kept = _C.rand(input.shape, dtype=input.dtype, device=input.device) >= p
    made = _C.where(kept, input, low) * scale - scale * low * p
    return input.copy_(made) if inplace else made


def _bags(rows, offsets, mode, include_last_offset, counted):
    """Rows in stretches that begin at offsets, each made one."""
    n = rows.shape[0]
    count = offsets.shape[0] - (1 if include_last_offset else 0)
    bag = searchsorted(offsets[:count].long(), _C.arange(n), right=True) - 1
    if mode == "max":
        bag = bag.masked_fill(counted.logical_not(), count)
        made = rows.new_zeros((count + 1, rows.shape[1]))
        return scatter_reduce(made, 0, bag.unsqueeze(1).expand(rows.shape), rows, "amax", include_self=False)[:count]
    total = rows.new_zeros((count, rows.shape[1])).index_add(0, bag, rows)
    if mode == "sum":
        return total
    return total / rows.new_zeros((count,)).index_add(0, bag, counted.to(rows.dtype)).clamp(min=1).unsqueeze(1)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Rows of `weight` of each bag of indices made one: mode "sum", "mean" or "max". Bags are rows of `input`, or stretches
    of a vector that begin at offsets; `padding_idx` counts for none."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding_bag(): max_norm and scale_grad_by_freq are not supported")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}').")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             "sequences.")
        offsets = _C.arange(input.shape[0]) * input.shape[1]
        include_last_offset = False
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    flat = input.reshape(-1)
    counted = _C.ones_like(flat) > 0
    if padding_idx is not None:
        counted = flat != padding_idx % weight.shape[0]
    rows = _C.embedding(weight, flat)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if mode != "max" and padding_idx is not None:
        rows = rows.masked_fill(counted.logical_not().unsqueeze(1), 0.0)
    return _bags(rows, offsets, mode, include_last_offset, counted)


def _lengths(lengths):
    return lengths.long().reshape(-1) if isinstance(lengths, _C.Tensor) else _C.tensor(list(lengths), dtype=_C.int64)


def _labels(targets, lengths):
    """Targets as rows, those given one behind the other too."""
    if targets.ndim == 2:
        return targets.long()
    most = int(lengths.max())
    begin = (lengths.cumsum(0) - lengths).unsqueeze(1)
    return targets.long()[(begin + _C.arange(most)).clamp(max=max(targets.shape[0] - 1, 0))] if targets.shape[0] else \
        _C.zeros(lengths.shape[0], most, dtype=_C.int64)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Minus the log-probability of targets [N, S] (or one vector of all) under every alignment with log_probs [T, N, C], of
    which `blank` is a pause. "mean" divides each by its length first. The gradient by log_probs is the derivative; that by
    what log_softmax() was given is PyTorch's."""
    if log_probs.ndim == 2:
        ends = [x if isinstance(x, _C.Tensor) else _C.tensor([x]) for x in (input_lengths, target_lengths)]
        loss = ctc_loss(log_probs.unsqueeze(1), targets.reshape(1, -1), ends[0], ends[1], blank,
                        reduction, zero_infinity)
        return loss.squeeze(0) if reduction == "none" else loss
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    steps, n, _ = log_probs.shape
    ends, lengths = _lengths(input_lengths), _lengths(target_lengths)
    labels = _labels(targets, lengths)
    s = labels.shape[1]
    # Labels with pauses around each: pause, label, pause, label, ..., pause.
    spread = _C.stack([_C.full_like(labels, blank), labels], 2).reshape(n, 2 * s)
    spread = _C.cat([spread, _C.full((n, 1), blank, dtype=_C.int64)], 1)
    never = log_probs.new_full((n, 2), _NEVER)
    place = _C.arange(2 * s + 1)
    skips = _C.cat([_C.zeros(n, min(2, 2 * s + 1), dtype=_C.bool), (spread[:, 2:] != spread[:, :-2]) & (spread[:, 2:] != blank)], 1)
    ways = log_probs[0].gather(1, spread).masked_fill(place > 1, _NEVER)
    for t in range(1, steps):
        before = _C.cat([never, ways], 1)
        one, two = before[:, 1:-1], before[:, :-2].masked_fill(skips.logical_not(), _NEVER)
        further = _C.stack([ways, one, two], 2).logsumexp(2) + log_probs[t].gather(1, spread)
        ways = _C.where((ends > t).unsqueeze(1), further, ways)
    last = ways.gather(1, (2 * lengths).unsqueeze(1))
    other = ways.gather(1, (2 * lengths - 1).clamp(min=0).unsqueeze(1)).masked_fill((lengths == 0).unsqueeze(1), _NEVER)
    loss = -_C.cat([last, other], 1).logsumexp(1)
    none = loss > -_NEVER / 2
    loss = loss.masked_fill(none, 0.0 if zero_infinity else math.inf)
    if reduction == "mean":
        return (loss / lengths.clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss
