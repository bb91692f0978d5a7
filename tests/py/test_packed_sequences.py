# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: what a recurrence gives of many is what it gives of each alone, and programs that pack are graphs for all lengths."""
import itertools

import pytest

import janus
from janus import nn
from janus.nn.utils.rnn import (PackedSequence, invert_permutation, pack_padded_sequence, pack_sequence, pad_packed_sequence,
                                pad_sequence, unpack_sequence)

LENGTHS = {"sorted": [5, 3, 3, 1], "any order": [2, 5, 1, 4], "one": [3], "equal": [4, 4]}
KINDS = list(itertools.product(("LSTM", "GRU", "RNN"), ({}, {"bidirectional": True, "num_layers": 2}, {"bias": False}), LENGTHS, (False, True)))


def near(a, b):
    return a.shape == b.shape and janus.allclose(a, b, rtol=1e-5, atol=1e-6)


def first_states(kind, layer, n):
    janus.manual_seed(3)
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    h = janus.randn(rows, n, layer.hidden_size)
    return (h, janus.randn(rows, n, layer.hidden_size)) if kind == "LSTM" else h


def of_one(state, i):
    return tuple(s[:, i:i + 1] for s in state) if isinstance(state, tuple) else state[:, i:i + 1]


@pytest.mark.parametrize("kind,options,lengths,given", KINDS)
def test_each_alone(kind, options, lengths, given):
    lengths = LENGTHS[lengths]
    janus.manual_seed(1)
    layer = getattr(nn, kind)(3, 2, **options)
    sequences = [janus.randn(n, 3, requires_grad=True) for n in lengths]
    hx = first_states(kind, layer, len(lengths)) if given else None
    alone = [layer(x.unsqueeze(1), of_one(hx, i) if given else None) for i, x in enumerate(sequences)]
    for o, s in alone:
        (o.sin().sum() + (s[0] * s[1] if kind == "LSTM" else s).cos().sum()).backward()
    wanted = [p.grad for p in [*sequences, *layer.parameters()]]
    for p in [*sequences, *layer.parameters()]:
        p.grad = None
    packed = pack_sequence(sequences, enforce_sorted=False)
    output, state = layer(packed, hx)
    assert isinstance(output, PackedSequence) and output.batch_sizes.tolist() == packed.batch_sizes.tolist()
    got = unpack_sequence(output)
    assert all(near(a, o.squeeze(1)) for a, (o, _) in zip(got, alone)) and len(got) == len(alone)
    for i, (_, s) in enumerate(alone):
        for a, b in zip(state, s) if kind == "LSTM" else [(state, s)]:
            assert near(a[:, i:i + 1], b)
    last = state[0] * state[1] if kind == "LSTM" else state
    (sum(o.sin().sum() for o in got) + last.cos().sum()).backward()
    assert all(near(p.grad, w) for p, w in zip([*sequences, *layer.parameters()], wanted))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=str)
def test_there_and_back(lengths, batch_first):
    sequences = [janus.arange(n * 2, dtype=janus.float32).reshape(n, 2) + 100 * i for i, n in enumerate(lengths)]
    padded = pad_sequence(sequences, batch_first=batch_first)
    packed = pack_padded_sequence(padded, lengths, batch_first=batch_first, enforce_sorted=False)
    assert packed.data.shape == (sum(lengths), 2) and packed.batch_sizes.tolist() == [sum(n > t for n in lengths) for t in range(max(lengths))]
    order = packed.sorted_indices.tolist()
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True) and invert_permutation(packed.sorted_indices).tolist() == packed.unsorted_indices.tolist()
    assert packed.data[:len(lengths)].tolist() == [sequences[i][0].tolist() for i in order]
    back, n = pad_packed_sequence(packed, batch_first, padding_value=-1.0, total_length=7)
    wanted = pad_sequence(sequences + [janus.zeros(7, 2)], batch_first, padding_value=-1.0)
    wanted = wanted[:-1] if batch_first else wanted[:, :-1]
    assert n.tolist() == lengths and back.tolist() == wanted.tolist()
    assert [x.tolist() for x in unpack_sequence(packed)] == [x.tolist() for x in sequences]
    assert packed.double().data.dtype == janus.float64 and packed.to(janus.float32) is packed and not packed.is_cuda
    whole = PackedSequence(*packed)
    assert whole.data is packed.data and len(whole) == 4


def test_what_is_wrong_with_it():
    x = janus.zeros(3, 5, 2)
    for lengths, options, text in (([5, 3, 0], {}, "greater than 0"), ([3, 5, 1], {}, "sorted in decreasing order"), ([6, 3, 1], {}, "a length of 6, but the padded sequences have 5 steps"),
                                   ([5, 3], {}, "Expected `len\\(lengths\\)` to be equal to batch_size, but got 2 \\(batch_size=3\\)"), ([[5, 3, 1]], {}, "1D"),
                                   ([0, 4, 2], {"enforce_sorted": False}, "greater than 0")):
        with pytest.raises(RuntimeError, match=text):
            pack_padded_sequence(x, lengths, batch_first=True, **options)
    with pytest.raises(ValueError, match="total_length=3 and max sequence length being 4"):
        pad_packed_sequence(pack_padded_sequence(x, [4, 3, 1], batch_first=True), total_length=3)
    with pytest.raises(RuntimeError, match="empty list"):
        pack_sequence([])
    with pytest.raises(RuntimeError, match="must have 2 dimensions"):
        nn.GRU(2, 3)(pack_padded_sequence(x[:, :, 0], [3, 2, 1], batch_first=True))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_one_graph_for_all_lengths(kind):
    def make():
        janus.manual_seed(2)
        layer, out = getattr(nn, kind)(3, 4, batch_first=True), nn.Linear(4, 2)
        return layer, out, janus.optim.SGD([*layer.parameters(), *out.parameters()], lr=0.1)

    def step(layer, out, opt, x, lengths, y):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, state = layer(packed)
        padded, n = pad_packed_sequence(output, batch_first=True)
        mean = padded.sum(1) / n.unsqueeze(1)
        loss = ((out(mean) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, n, padded

    decorated, seen = janus.function(step, measure=False), []
    for f in (step, decorated):
        parts, outcome = make(), []
        for i in range(14):
            janus.manual_seed(i)
            lengths = janus.randint(1, 4 + i % 5, (4,))
            x = janus.randn(4, int(lengths.max()), 3)
            loss, n, padded = f(*parts, x, lengths, janus.randn(4, 2))
            outcome.append((round(loss.item(), 4), n.tolist(), padded.shape, padded.stride()))
        seen.append(outcome)
    assert seen[0] == seen[1]
    stats = decorated.stats()
    assert stats["graph"] >= 8 and stats["conversions"] <= 4, stats
