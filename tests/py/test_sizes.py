# SPDX-License-Identifier: Apache-2.0
"""Every size that a public callable takes, given sizes that no memory has, and none at all: each call ends at once, with
a result or with what PyTorch's users expect.  A process of its own has the limit of memory, so that the sizes are as
impossible on any machine."""
import json
import os
import subprocess
import sys

import pytest

SIZES = [2 ** 33, 2 ** 40, 2 ** 62, 2 ** 63 - 1, 2 ** 64, -1, -2 ** 62, -2 ** 63, 0]

# n is the size; x [4], m [3, 4], p [1, 2, 6], q [1, 2, 6, 6], i [2] of int64.
CALLS = """
janus.zeros(n)  janus.zeros(2, n)  janus.ones(n)  janus.empty(n)  janus.full((n,), 1.0)  janus.rand(n)  janus.randn(n)
janus.randint(5, (n,))  janus.randperm(n)  janus.arange(n)  janus.arange(0, n)  janus.arange(0.0, n)  janus.eye(n)  janus.eye(2, n)
janus.linspace(0, 1, n)  janus.logspace(0, 1, n)  janus.normal(0.0, 1.0, (n,))  x.new_zeros(n)  x.new_ones(n)  x.new_empty(n)
x.new_full((n,), 1)  janus.empty_strided((n,), (1,))  janus.tril_indices(n, 3)  janus.triu_indices(3, n)
janus.bartlett_window(n)  janus.hann_window(n)  janus.hamming_window(n)
x.expand(n, 4).clone()  x.repeat(n)  x.repeat(n, 2)  x.tile(n)  x.tile((n, 2))  janus.tile(x, (n,))  x.repeat_interleave(n)
x.repeat_interleave(janus.tensor([n, 1, 1, 1]))  janus.repeat_interleave(x, n, dim=0)  m.repeat_interleave(n, 1)
x.reshape(n)  x.reshape(n, -1)  x.view(n)  x.view(n, 2)  x.flatten(n)  x.unflatten(0, (n, 2))  x.resize_(n)
x.chunk(n)  x.split(n)  x.split([n, 4])  m.split(n, 1)  x.tensor_split(n)  janus.chunk(x, n)  x.unsafe_chunk(n)
x.narrow(0, 0, n)  x.narrow(0, n, 1)  x[n:]  x[:n]  x[::n]  x[n]  x.select(0, n)  x.index_select(0, janus.tensor([n]))
x.topk(n)  x.kthvalue(n)  x.roll(n)  x.roll(n, 0)  m.rot90(n)  m.diagonal(n)  m.diag(n)  x.diag(n)  m.tril(n)  m.triu(n)  x.diagflat(n)
x.diag_embed(n)  m.transpose(0, n)  x.unsqueeze(n)  m.squeeze(n)  m.sum(n)  m.movedim(0, n)  x.unfold(0, n, 1)  x.unfold(0, 1, n)
x.as_strided((n,), (1,))  x.as_strided((2,), (n,))  x.bincount(minlength=n)  i.bincount(minlength=n)  janus.histc(x, n)
F.one_hot(i, n)  F.pad(x, (n, 0))  F.pad(x, (0, n))  F.pad(x, (n, n))  F.pad(p, (n, 0), mode="reflect")
F.pad(p, (n, 0), mode="replicate")  F.pad(p, (0, n), mode="replicate")  F.pad(p, (n, n), mode="circular")
F.adaptive_avg_pool1d(p, n)  F.adaptive_avg_pool2d(q, n)  F.adaptive_avg_pool2d(q, (2, n))  F.adaptive_max_pool1d(p, n)
F.adaptive_max_pool2d(q, n)  F.avg_pool1d(p, n)  F.avg_pool2d(q, n)  F.max_pool1d(p, n)  F.max_pool2d(q, n)
F.avg_pool2d(q, 2, stride=n)  F.avg_pool2d(q, 2, padding=n)  F.max_pool2d(q, 2, dilation=n)  F.max_pool2d(q, 2, stride=n)
F.max_pool1d(p, 2, padding=n)  F.lp_pool2d(q, 2, n)  F.unfold(q, n)  F.unfold(q, 2, stride=n)  F.fold(F.unfold(q, 2), n, 2)
F.interpolate(q, size=n)  F.interpolate(q, size=n, mode="bilinear")  F.interpolate(q, size=n, mode="bicubic")
F.interpolate(q, size=n, mode="area")  F.interpolate(p, size=n, mode="linear")  F.interpolate(q, scale_factor=n)
F.interpolate(q, size=(n, 2), mode="nearest-exact")  F.upsample(q, size=n)  F.pixel_shuffle(q, n)  F.pixel_unshuffle(q, n)
F.conv1d(p, janus.ones(1, 2, 1), stride=n)  F.conv1d(p, janus.ones(1, 2, 1), padding=n)  F.conv1d(p, janus.ones(1, 2, 2), dilation=n)
F.conv2d(q, janus.ones(1, 2, 1, 1), stride=n)  F.conv2d(q, janus.ones(1, 2, 1, 1), padding=n)  F.conv2d(q, janus.ones(2, 1, 1, 1), groups=n)
F.conv2d(q, janus.ones(1, 2, 2, 2), dilation=n)  F.conv_transpose2d(q, janus.ones(2, 1, 2, 2), stride=n)
F.conv_transpose2d(q, janus.ones(2, 1, 2, 2), padding=n)  F.conv_transpose2d(q, janus.ones(2, 1, 2, 2), dilation=n)
F.conv_transpose1d(p, janus.ones(2, 1, 2), stride=n)  F.conv_transpose1d(p, janus.ones(2, 1, 2), output_padding=n)
F.group_norm(q, n)  F.local_response_norm(q, n)  F.channel_shuffle(q, n)  F.glu(p, n)
nn.Linear(n, 2)  nn.Linear(2, n)  nn.Embedding(n, 2)  nn.Embedding(2, n)  nn.Conv1d(2, n, 1)  nn.Conv2d(2, 2, n)  nn.Conv2d(n, 2, 1)
nn.LSTM(n, 2)  nn.LSTM(2, n)  nn.GRU(2, n)  nn.RNN(n, 2)  nn.LSTMCell(2, n)  nn.GRUCell(n, 2)  nn.BatchNorm1d(n)  nn.LayerNorm(n)
nn.GroupNorm(n, 4)  nn.ConvTranspose2d(2, n, 2)  nn.MultiheadAttention(n, 2)  nn.Bilinear(n, 2, 2)  nn.AdaptiveAvgPool2d(n)(q)
nn.ReflectionPad1d(n)(p)  nn.ReplicationPad1d(n)(p)  nn.ConstantPad1d(n, 0)(p)  nn.ZeroPad2d(n)(q)  nn.Upsample(size=n)(q)
nn.Upsample(scale_factor=n)(q)  nn.PixelShuffle(n)(q)  nn.AvgPool2d(n)(q)  nn.MaxPool2d(n)(q)  nn.Unfold(n)(q)  nn.Flatten(n)(q)
nn.utils.rnn.pad_sequence([x, x], padding_value=n)  janus.multinomial(janus.ones(3), n, replacement=True)
janus.multinomial(janus.ones(3), n)  janus.combinations(x, n)  janus.cartesian_prod(x, x)  janus.vander(x, n)
janus.bernoulli(janus.ones(3).expand(n, 3))  janus.matrix_power(janus.eye(2), n)  x.nan_to_num(n)  janus.block_diag(m, m)
janus.cdist(m, m, p=n)  m.cumsum(n)  m.softmax(n)  m.sort(n)  m.norm(p=n)  m.var(correction=n)  janus.stack([x, x], n)  janus.cat([m, m], n)
janus.meshgrid(x, x)  i.bitwise_left_shift(n)  i << n  i >> n
"""

# What a call may end with; OverflowError: a number beyond 64 bits, where PyTorch's is RuntimeError or TypeError.
EXPECTED = ["RuntimeError", "OutOfMemoryError", "ValueError", "IndexError", "TypeError", "NotImplementedError", "OverflowError",
            "ZeroDivisionError", "AssertionError"]

CHILD = """
import json, signal, sys
import janus
from janus import nn
from janus.nn import functional as F

class TooLong(BaseException):
    pass

def stop(*_):
    raise TooLong

signal.signal(signal.SIGALRM, stop)
calls, sizes = json.load(sys.stdin)
for text in calls:
    for n in sizes:
        scope = dict(janus=janus, nn=nn, F=F, n=n, x=janus.ones(4), m=janus.ones(3, 4), p=janus.ones(1, 2, 6),
                     q=janus.ones(1, 2, 6, 6), i=janus.tensor([0, 1]))
        print(json.dumps([text, n, None]), flush=True)
        signal.alarm(20)
        try:
            eval(text, scope)
            end = "ok"
        except AttributeError as e:
            end = "absent" if "has no attribute" in str(e) else "AttributeError"
        except BaseException as e:
            end = type(e).__name__ + ": " + str(e)
        signal.alarm(0)
        print(json.dumps([text, n, end]), flush=True)
"""


def calls():
    return [call for line in CALLS.strip().splitlines() for call in line.split("  ")]


def run(texts):
    """[call, size, end] of all of them; one without an end took the process with it."""
    env = dict(os.environ, JANUS_MEMORY_LIMIT="1G", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1")
    child = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps([texts, SIZES]), capture_output=True, text=True,
                           env=env, timeout=280)
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    ends = {(text, n): end for text, n, end in lines}
    return ends, child.stderr[-2000:]


@pytest.mark.parametrize("part", range(4))
def test_sizes(part):
    texts = calls()[part::4]
    ends, said = run(texts)
    missing = [(t, n) for t in texts for n in SIZES if ends.get((t, n)) is None]
    assert not missing, f"{missing[0]} took the process with it: {said}"
    strange = [(t, n, end) for (t, n), end in ends.items() if end not in ("ok", "absent") and end.split(":")[0] not in EXPECTED]
    assert not strange, strange
    assert sum(end == "ok" for end in ends.values()) > len(texts)  # 0 is a size as well
