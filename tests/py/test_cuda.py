# SPDX-License-Identifier: Apache-2.0
"""Tensors, models and graphs on "cuda": on a GPU where there is one, and on the emulated device.

Device code runs in a process of its own, since a process opens one device.
"""
import os
import subprocess
import sys

import pytest

import janus

BUILD = os.environ.get("JANUS_BUILD", "")
EMULATED = os.path.join(BUILD, ".libs", "libjanus_cuda_emulated.so")

START = """
import copy, janus, janus.nn as nn, janus.nn.functional as F
def close(a, b, tol=1e-4):
    a, b = a.cpu(), b.cpu()
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
    assert ((a - b).abs() <= tol * (1 + b.abs())).all(), (a, b)
"""


def devices():
    """(name, environment) of the devices tests run on."""
    return [pytest.param({"JANUS_CUDA_MODULE": EMULATED}, id="emulated",
                         marks=pytest.mark.skipif(not os.path.exists(EMULATED), reason="no emulated module was built")),
            pytest.param({}, id="gpu", marks=pytest.mark.skipif(not janus.cuda.is_available(),
                                                                 reason=str(janus.cuda.why_unavailable())))]


@pytest.fixture(params=devices())
def on_device(request, tmp_path):
    """Runs code in a process that has the device; returns what it printed.  From a file: graphs need the source."""
    def run(code, **more):
        (tmp_path / "program.py").write_text(START + code)
        done = subprocess.run([sys.executable, tmp_path / "program.py"], env={**os.environ, **request.param, **more},
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return run


def unavailable():
    return pytest.mark.skipif(janus.cuda.is_available(), reason="there is a GPU")


DEVICES = """
def made(x): return janus.zeros(3), x * 2
def made_there(x): return janus.ones(2, device="cuda"), x + 1
def drawn(x): return janus.rand(3, device="cuda"), x + 1
def asked(x): return janus.zeros_like(x), janus.zeros(2, device=x.device), x.device, x.is_cuda
def data(x): return janus.tensor([1.0, 2.0]), x * janus.tensor(2.0)
def copied(x, y): return y.copy_(x) * 2
def written(x, y): return y.add_(x) * 2
def two(x, y): return x * 2, y + 1
def in_place(x): return x.add_(1)
def state(v):
    if isinstance(v, (list, tuple)):
        return [state(x) for x in v]
    return (str(v.device), v.cpu().tolist()) if isinstance(v, janus.Tensor) else v
def seen(f, args):
    args = [a.clone() for a in args]
    try:
        return state(f(*args)), state(args)
    except RuntimeError as e:
        return str(e)
there = janus.ones(3).cuda()
"""


@pytest.mark.parametrize("verify", ["never", "always"])
def test_graphs_have_one_device(on_device, verify):
    """Results, what is stored in a device's memory, and on which device it all is; one function on one device, then on the other."""
    on_device(DEVICES + f"""
import itertools, warnings
warnings.simplefilter("error", janus.SpeculationWarning)
graphs = 0
for f in (made, made_there, drawn, asked, data, copied, written, two, in_place):
    places = list(itertools.product((janus.ones(3), there), repeat=f.__code__.co_argcount))
    g = janus.function(f, verify={verify!r}, measure=False)
    for args in [p for p in places for _ in range(4)] + places[::-1] * 4:
        janus.manual_seed(1)
        want = seen(f, args)
        janus.manual_seed(1)
        assert seen(g, args) == want, (f.__name__, args, want)
    graphs += g.stats()["graph"]
    assert not g.stats()["disproved"], g.stats()
assert graphs > 40, graphs
""")


@unavailable()
def test_the_reason_is_given():
    assert not janus.cuda.is_available() and janus.cuda.device_count() == 0
    assert "no CUDA device" in janus.cuda.why_unavailable()
    for use in (lambda: janus.ones(2).to("cuda"), lambda: janus.zeros(2, device="cuda:0"), lambda: janus.ones(2).cuda(),
                lambda: janus.nn.Linear(2, 2).cuda(), lambda: janus.set_default_device("cuda")):
        with pytest.raises(RuntimeError, match="device cuda.* is not available: no CUDA device"):
            use()
    assert janus.cuda.memory_stats() == {} and janus.cuda.synchronize() is None
    assert janus.ones(2).to("cpu").device == janus.device("cpu") and not janus.ones(2).is_cuda


@unavailable()
def test_environment_names_a_device_there_is_not():
    done = subprocess.run([sys.executable, "-c", "import janus"], env={**os.environ, "JANUS_DEVICE": "cuda"},
                          capture_output=True, text=True)
    assert done.returncode != 0 and "is not available: no CUDA device" in done.stderr


def test_tensors(on_device):
    on_device("""
x = janus.arange(6).float().reshape(2, 3).cuda()
assert x.is_cuda and str(x.device) == "cuda:0" and x.tolist() == [[0, 1, 2], [3, 4, 5]]
assert "device='cuda:0'" in repr(x) and x.to("cuda") is x and x.cpu().cpu().device.type == "cpu"
close(x.t().contiguous() @ x, (x.cpu().t() @ x.cpu()).cuda())
x[0, 1] = 7
x[:, 2] += 1
assert x[x > 4].tolist() == [7, 6] and x[janus.tensor([1])].tolist() == [[3, 4, 6]] and 7.0 in x
assert (x + 1).to(janus.float64).dtype is janus.float64 and x.half().float().sum().item() == 23
for wrong in (lambda: x + janus.ones(3), lambda: x.numpy(), lambda: memoryview(x)):
    try:
        wrong()
    except (RuntimeError, TypeError) as e:
        assert "cuda" in str(e)
    else:
        raise AssertionError(wrong)
""")


def test_random_numbers_are_the_same(on_device):
    on_device("""
for dtype in (janus.float32, janus.float64):
    janus.manual_seed(3)
    a = janus.empty(1001, dtype=dtype).normal_(), janus.empty(77, dtype=dtype).uniform_()
    janus.manual_seed(3)
    b = janus.empty(1001, dtype=dtype).cuda().normal_(), janus.empty(77, dtype=dtype).cuda().uniform_()
    for x, y in zip(a, b):
        assert (x == y.cpu()).all()
""")


def test_training_is_that_of_the_cpu(on_device):
    on_device("""
janus.manual_seed(0)
net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Linear(64, 10), nn.LayerNorm(10), nn.GELU(), nn.Linear(10, 5))
there = copy.deepcopy(net).cuda()
x, t = janus.randn(6, 2, 8, 8), janus.tensor([0, 1, 2, 3, 4, 0])
for model, xs, ts in ((net, x, t), (there, x.cuda(), t.cuda())):
    for make in (lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: janus.optim.Adam(p, lr=0.01)):
        opt = make(model.parameters())
        for _ in range(2):
            opt.zero_grad()
            F.cross_entropy(model(xs), ts).backward()
            opt.step()
for (name, a), b in zip(net.state_dict().items(), there.state_dict().values()):
    assert b.is_cuda
    close(b, a, 1e-3)
""")


def test_pinned_memory(on_device):
    on_device("""
x = janus.arange(12).float().reshape(3, 4)
p = x.pin_memory()
assert p.is_pinned() and not x.is_pinned() and p is not x and p.pin_memory() is p and (p == x).all()
for y in (p.to("cuda", non_blocking=True), p.cuda(non_blocking=True), p.cuda(), p[1:].cuda(), x.cuda(non_blocking=True)):
    assert y.is_cuda and not y.is_pinned()
    close(y, x[1:] if y.shape[0] == 2 else x)
assert p.cuda().pin_memory().is_cuda
data = [(janus.full((4,), float(i)), i) for i in range(40)]
from janus.data import DataLoader
seen = []
for a, b in DataLoader(data, batch_size=2, pin_memory=True):
    assert a.is_pinned() and b.is_pinned()
    seen.append((a.cuda(non_blocking=True).sum(), b.cuda(non_blocking=True).sum()))
    del a, b
assert [(int(s.item()) // 4, int(n.item())) for s, n in seen] == [(4 * i + 1, 4 * i + 1) for i in range(20)]
""")


def test_gradients_cross_devices(on_device):
    on_device("""
w = janus.randn(4, requires_grad=True)
y = (w.cuda() * 3).tanh().cpu().sum()
y.backward()
close(w.grad, 3 * (1 - (3 * w.detach()).tanh() ** 2))
e = nn.Embedding(10, 3).cuda()
i = janus.tensor([1, 2, 1]).cuda()
e(i).sum().backward()
assert e.weight.grad.is_cuda and e.weight.grad.cpu()[1].tolist() == [2, 2, 2]
""")


def test_graphs(on_device):
    on_device("""
@janus.function
def step(x, w, n):
    h = x
    for _ in range(n):
        h = (h @ w).relu() + h
    return h.sum() if h.sum() > 0 else h.mean()
x, w = janus.randn(5, 4), janus.randn(4, 4)
want = [step(x, w, n).item() for n in (1, 2, 3)]
for _ in range(3):
    got = [step(x.cuda(), w.cuda(), n) for n in (1, 2, 3)]
    assert all(g.is_cuda for g in got)
    for g, v in zip(got, want):
        assert abs(g.item() - v) <= 1e-3 * (1 + abs(v))

@janus.function
def tree(t, w):
    return (tree(t[0], w) + tree(t[1], w)) @ w if isinstance(t, tuple) else t
leaf = [janus.randn(1, 4) for _ in range(4)]
for _ in range(4):
    for move in (lambda v: v, lambda v: v.cuda()):
        w1 = move(w).detach().requires_grad_()
        a, b, c, d = (move(v) for v in leaf)
        y = tree(((a, b), (c, d)), w1)
        y.sum().backward()
        grads = w1.grad if move(w).is_cuda else w1.grad
        if not w1.is_cuda:
            want = y.detach(), w1.grad
        else:
            close(y.detach(), want[0], 1e-3)
            close(w1.grad, want[1], 1e-3)
""")


def test_an_index_out_of_range(on_device):
    code = """
e = nn.Embedding(4, 2).cuda()
try:
    y = e(janus.tensor([9]).cuda())
    y.sum().item()
except IndexError as err:
    print(err)
else:
    raise AssertionError("no error")
assert e(janus.tensor([1]).cuda()).shape == (1, 2)
janus.cuda.synchronize()
"""
    assert "earlier call" in on_device(code)
    assert "earlier call" not in on_device(code, JANUS_LAUNCH_BLOCKING="1")


def test_default_device_and_files(on_device, tmp_path):
    on_device(f"""
x = janus.zeros(3)
assert x.is_cuda and janus.tensor([1.0]).is_cuda and nn.Linear(2, 2).weight.is_cuda
net = nn.Linear(2, 2)
janus.save(net.state_dict(), {str(tmp_path / "m.safetensors")!r})
again = nn.Linear(2, 2)
again.load_state_dict(janus.load({str(tmp_path / "m.safetensors")!r}))
close(again.weight, net.weight)
s = janus.cuda.memory_stats()
assert s["allocated_bytes.current"] > 0 and s["reserved_bytes.peak"] >= s["allocated_bytes.peak"]
janus.cuda.empty_cache()
assert janus.cuda.memory_reserved() <= s["reserved_bytes.current"]
""", JANUS_DEVICE="cuda")


def test_out_of_memory(on_device, request):
    if "emulated" not in request.node.name:
        pytest.skip("needs a device whose memory can be limited")
    on_device("""
kept = janus.zeros(1 << 18).cuda()
try:
    janus.zeros(1 << 24).cuda()
except (MemoryError, RuntimeError) as e:
    assert "out of memory" in str(e)
else:
    raise AssertionError("no error")
assert kept.sum().item() == 0 and janus.cuda.memory_stats()["num_ooms"] == 1
""", JANUS_EMULATED_BYTES=str(8 << 20))


def test_captured_steps(on_device):
    """Forward, backward and optimizer are one capture, replayed with other inputs, masks and rates."""
    out = on_device("""
def run(dev, graph):
    janus.manual_seed(3)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.out, self.drop = nn.Linear(8, 16), nn.Linear(16, 4), nn.Dropout(0.3)
            self.b = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])
        def forward(self, x):
            h = F.relu(self.a(x))
            y = janus.tanh(self.b[0](h)) + F.relu(self.b[1](h)) * janus.sigmoid(self.b[2](self.drop(h)))
            return self.out(y)
    m = Net().to(dev)
    opt = janus.optim.SGD(m.parameters(), lr=0.1)
    def step(x, t):
        opt.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        opt.step()
        return loss
    f = janus.function(step, measure=False) if graph else step
    losses = []
    for i in range(8):
        x, t = janus.randn(5, 8).to(dev), janus.randint(0, 4, (5,)).to(dev)
        opt.param_groups[0]["lr"] = 0.1 / (1 + i)
        losses.append(f(x, t).item())
    return janus.tensor(losses), [p.detach() for p in m.parameters()]
want, have = run("cpu", False), run("cuda", True)
close(have[0], want[0])
for p, q in zip(have[1], want[1]):
    close(p, q)
s = janus.cuda.graph_stats()
assert s["captures"] == 1 and s["replays"] >= 4 and not s["refused"], s
print(s["streams"], s["nodes"], s["waits"])
""")
    streams, nodes, waits = map(int, out.split())
    assert streams > 1 and nodes > 20 and 0 < waits < nodes


def test_steps_of_many_parameters_are_few_launches(on_device):
    """Bit for bit those of one parameter after the other, of any sizes and dtypes, rates that change, counts that differ."""
    on_device("""
import random
draw = random.Random(1)
sizes = [draw.randrange(1, 40) for _ in range(90)] + [4095, 4096, 4097, 9000, 1]
dtypes = [janus.float32] * 80 + [janus.bfloat16] * 5 + [janus.float64] * 5 + [janus.float32] * 5
makers = [lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
          lambda p: janus.optim.Adam(p, lr=0.01, weight_decay=0.01), lambda p: janus.optim.AdamW(p, lr=0.01, maximize=True)]
def run(make, graph):
    janus.manual_seed(3)
    weights = [nn.Parameter(janus.randn(n).to(d).cuda()) for n, d in zip(sizes, dtypes)]
    changes = make is not makers[0]
    opt = make(weights if changes else [{"params": weights[:50]}, {"params": weights[50:], "lr": 0.3, "weight_decay": 0.5}])
    def step(x):
        opt.zero_grad()
        sum((w.float() * x).square().sum() for w in weights[(int(x.shape[0]) == 2):]).backward()
        opt.step()
    f = janus.function(step, measure=False) if graph else step
    step(janus.ones(2, 1).cuda())  # one weight is a step behind
    for i in range(8):
        if changes:
            opt.param_groups[0]["lr"] = 0.1 / (1 + i)
        f(janus.full((1, 1), 1.5 + i).cuda())
    return [w.detach() for w in weights]
for make in makers:
    want, have = run(make, False), run(make, True)
    assert all((a == b).all() for a, b in zip(want, have))
s = janus.cuda.graph_stats()
assert s["captures"] == 3 and s["replays"] >= 3 * 3 and not s["refused"], s
assert s["nodes"] < 1300, s  # a launch for each step would be 275 more than 1216
""")


@pytest.mark.parametrize("library", ["0", "1"])
def test_attention_of_heads_side_by_side(on_device, library):
    """Operands whose members no one stride leads to are copied first, each alone or all of them, by fours or not."""
    on_device("""
import itertools
janus.manual_seed(5)
def operand(flat, rows, heads, length, size, side, at):
    flat = flat[at:at + rows * heads * length * size]
    return flat.reshape(rows, length, heads, size).transpose(1, 2) if side else flat.reshape(rows, heads, length, size)
numbers = [janus.randn(1000) for _ in range(4)]
for (rows, heads, l, s, size), dtype in itertools.product([(3, 2, 5, 7, 8), (2, 3, 6, 6, 5), (1, 4, 4, 3, 4), (4, 1, 1, 2, 12)],
                                                          [janus.float32, janus.float64, janus.bfloat16]):
    for sides in ((1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0)):
        for at in (0, 1, 4):
            found = []
            for dev in ("cpu", "cuda"):
                q, k, v, dy = (operand(x.to(dtype).to(dev), rows, heads, n, size, side, at)
                               for x, n, side in zip(numbers, (l, s, s, l), sides))
                q, k, v = (x.requires_grad_() for x in (q, k, v))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=l == s)
                y.backward(dy)
                found.append([y, q.grad, k.grad, v.grad])
            for want, have in zip(*found):
                close(have.float(), want.float(), 3e-2 if dtype == janus.bfloat16 else 1e-4)
""", JANUS_EMULATED_DNN=library)


def test_softmax_of_rows_of_any_length(on_device):
    """In registers by fours or one by one, a warp or a block a row; longer ones and other axes by themselves."""
    on_device("""
janus.manual_seed(5)
for n in (1, 3, 4, 127, 128, 257, 1024, 4096, 9000, 16384, 16385):
    for dtype in (janus.float32, janus.bfloat16, janus.float64):
        x, dy = janus.randn(5, n).to(dtype), janus.randn(5, n).to(dtype)
        if n > 3:
            x[1, 2] = -float("inf")
        for f in (F.softmax, F.log_softmax):
            for side in (False, True):
                found = []
                for dev in ("cpu", "cuda"):
                    a, g = ((t.t() if side else t).to(dev) for t in (x, dy))
                    a = a.detach().requires_grad_()
                    y = f(a, dim=0 if side else 1)
                    y.backward(g)
                    found += [y.float().cpu(), a.grad.float().cpu()]
                for want, have in zip(found[:2], found[2:]):
                    same = (want == have) | ((want - have).abs() <= (2e-2 if dtype == janus.bfloat16 else 1e-4) * (1 + want.abs()))
                    assert same.all(), (n, dtype, side, want, have)
infinite = janus.tensor([[1.0, float("nan"), 2.0, 3.0], [-float("inf")] * 4, [float("inf"), 1.0, 2.0, 3.0]])
for f in (F.softmax, F.log_softmax):  # nothing to divide by
    for x, dim in ((infinite, 1), (infinite.double(), 1), (infinite.t(), 0)):
        assert f(x, dim=dim).isnan().all() and f(x.cuda(), dim=dim).isnan().all()
assert F.softmax(janus.tensor(3.0).cuda(), dim=0).item() == 1
""")


def test_captures_per_shape_and_held_results(on_device):
    on_device("""
m = nn.Sequential(nn.Linear(8, 200), nn.Tanh(), nn.Linear(200, 200)).cuda()
c = copy.deepcopy(m).cpu()
f = janus.function(lambda x: m(x), measure=False)
with janus.no_grad():
    for rows in (100, 3) * 5:
        x = janus.randn(rows, 8)
        close(f(x.cuda()), c(x))
s = janus.cuda.graph_stats()
assert s["captures"] - s["evicted"] == 2 and s["replays"] >= 4 and not s["busy"], s
# what a capture left for a backward is not written over
xs = [janus.randn(100, 8).cuda() for _ in range(6)]
ys = [f(x) for x in xs]
for x, y in zip(xs, ys):
    close(y, c(x.cpu()))
    m.zero_grad(), c.zero_grad()
    y.square().sum().backward()
    c(x.cpu()).square().sum().backward()
    for p, q in zip(m.parameters(), c.parameters()):
        close(p.grad, q.grad, 1e-3)
assert janus.cuda.graph_stats()["busy"], janus.cuda.graph_stats()
""")


def test_what_comes_in_turns_is_captured_late(on_device):
    """A capture takes as long as several runs; flushes of many shapes may never come again as often."""
    on_device("""
f = janus.function(lambda x: (x.tanh() * x.exp() + x.sin()).sum(), measure=False)
made = []
for i in range(20):
    for n in range(12):
        x = janus.randn(10 + n).cuda()
        close(f(x), (x.tanh() * x.exp() + x.sin()).sum())
    made.append(janus.cuda.graph_stats()["captures"])
assert made[9] == 0 and made[-1] >= 12, made  # more: those whose memory was held meanwhile
""")


def test_captured_errors_are_found(on_device):
    on_device("""
w = janus.randn(10, 4).cuda()
f = janus.function(lambda i: F.embedding(i, w).sum(), measure=False)
good, bad = janus.tensor([1, 2, 9]).cuda(), janus.tensor([1, 2, 10]).cuda()
for _ in range(4):
    close(f(good), F.embedding(good, w).sum())
assert janus.cuda.graph_stats()["replays"]
for _ in range(2):
    try:
        f(bad).item()
    except IndexError as e:
        assert "index out of range" in str(e), e
    else:
        assert False, "no error"
    close(f(good), F.embedding(good, w).sum())
""")


BRANCHES = """
f = janus.function(lambda x, w: body(x, w), measure=False)
def body(x, w):
    h = (x @ w).tanh()
    if h.sum() > 0:
        h = h.exp()
    else:
        h = h * 2 - 1
    n = 0
    while h.abs().sum() > 1:
        h = h * 0.75
        n += 1
    return h + 1, n
w = janus.randn(5, 6)
there = w.cuda()
for i in range(12):
    x = janus.randn(3, 5)
    want, have = body(x, w), f(x.cuda(), there)
    close(have[0], want[0])
    assert have[1] == want[1], (have[1], want[1])
s = janus.cuda.graph_stats()
"""


def test_branches_on_the_device(on_device):
    on_device(BRANCHES + """
if janus.cuda.get_device_name() == "emulated" or s["branches"]:
    assert s["captures"] - s["evicted"] == 1 and s["branches"] == 2 and s["replays"] >= 9 and not s["refused"], s
""")
    on_device(BRANCHES + "assert s['branches'] == 0 and s['captures'] > 2, s", JANUS_CUDA_BRANCHES="0")
    on_device(BRANCHES + "assert s['branches'] == 0 == s['captures'], s", JANUS_CUDA_GRAPHS="0")
    on_device(BRANCHES, JANUS_CUDA_STREAMS="1")


def test_long_loops_give_up(on_device):
    """A loop that a capture leaves after many rounds goes on where it can be interrupted."""
    on_device("""
def body(x, most):
    x = x * 1
    while x.sum() < most:
        x = x + 1
    return x + 0
f = janus.function(body, measure=False)
x = janus.tensor([1.0]).cuda()
few, many = janus.tensor(20.0).cuda(), janus.tensor(66.0).cuda()
counts = []
for most in (few, few, few, many, few, many):
    assert f(x, most).item() == most.item()
    counts.append(janus.cuda.graph_stats()["branches"])
if counts[2]:
    assert counts[2:] == [1, 2, 2, 2], counts
""", JANUS_CUDA_ROUNDS="50")


def test_memory_goes_where_captures_were(on_device):
    """The emulated device has 16 MiB here; a GPU has enough."""
    on_device("""
m = nn.Linear(16, 4096).cuda()
f = janus.function(lambda x: m(x), measure=False)
with janus.no_grad():
    for i in range(12):
        for _ in range(3):
            f(janus.randn(8 + i, 16).cuda())
    assert janus.cuda.graph_stats()["captures"] == 12
if janus.cuda.get_device_name() == "emulated":
    y = []
    while not janus.cuda.graph_stats()["evicted"]:
        y.append(janus.zeros(1 << 14).cuda())
    assert len(y) > 100 and janus.cuda.memory_stats()["num_alloc_retries"] >= 1
""", JANUS_EMULATED_BYTES=str(16 << 20))


def test_captures_can_be_switched_off(on_device):
    for more, streams in (({"JANUS_CUDA_GRAPHS": "0"}, 0), ({"JANUS_CUDA_STREAMS": "1"}, 1)):
        out = on_device("""
f = janus.function(lambda x: (x.tanh() * x.exp() + x.sin()).sum(), measure=False)
x = janus.randn(10).cuda()
for _ in range(5):
    close(f(x), (x.tanh() * x.exp() + x.sin()).sum())
print(janus.cuda.graph_stats()["streams"])
""", **more)
        assert int(out) == streams


def test_rows_of_batches(on_device):
    """Ops that take the rows of a recursion's leaves together: losses, normalisation, pooling, products of vectors."""
    on_device("""
def tree(depth, leaf):
    return leaf() if depth == 0 else (tree(depth - 1, leaf), tree(depth - 1, leaf))

def check(body, leaf, *weights):
    @janus.function(measure=False)
    def walk(node, w):
        if isinstance(node, tuple):
            return walk(node[0], w) + walk(node[1], w)
        return body(node, w)
    janus.manual_seed(1)
    data = [tree(3, leaf) for _ in range(3)]
    for _ in range(4):
        for d in data:
            grads, values = [], []
            for device in ("cpu", "cuda"):
                move = lambda n: (move(n[0]), move(n[1])) if isinstance(n, tuple) else [t.to(device) for t in n]
                w = [v.detach().to(device).requires_grad_() for v in weights]
                y = walk(move(d), w)
                y.sum().backward()
                values.append(y.detach())
                grads.append([v.grad for v in w])
            close(values[1], values[0])
            for a, b in zip(*grads):
                close(b, a)
    assert walk.stats()["graph"] >= 6 and walk.stats()["kernels"] < 40 * walk.stats()["graph"], walk.stats()

w = janus.randn(6, 10)
scores = lambda: [janus.randn(7, 6), janus.randint(0, 10, (7,))]
one = lambda: [janus.randn(6), janus.tensor(3)]
pair = lambda: [janus.randn(7, 6), janus.randn(7, 10)]
for kind in ("mean", "sum"):
    check(lambda n, w: F.cross_entropy(n[0] @ w[0], n[1], reduction=kind), scores, w)
    check(lambda n, w: F.mse_loss(n[0] @ w[0], n[1], reduction=kind), pair, w)
check(lambda n, w: F.nll_loss(F.log_softmax(n[0] @ w[0], -1), n[1]), scores, w)
check(lambda n, w: F.cross_entropy(n[0] @ w[0], n[1], reduction="none").sum(), scores, w)
check(lambda n, w: F.cross_entropy(n[0] @ w[0], n[1], label_smoothing=0.1, ignore_index=3), scores, w)
check(lambda n, w: F.smooth_l1_loss(n[0] @ w[0], n[1]), pair, w)
check(lambda n, w: F.binary_cross_entropy_with_logits(n[0] @ w[0], n[1]), pair, w)
check(lambda n, w: F.layer_norm(n[0] @ w[0], (10,), w[1], w[2]).tanh(), pair, w, janus.randn(10), janus.randn(10))
check(lambda n, w: F.max_pool2d((n[0] * w[0]).reshape(1, 2, 4, 4), 2).square(), lambda: [janus.randn(32)], janus.randn(32))
check(lambda n, w: janus.outer(n[0] * w[0], n[0]).tanh() @ (n[0] * w[0]), lambda: [janus.randn(6)], janus.randn(6))
check(lambda n, w: janus.dot(n[0] * w[0], n[0] + w[0]), lambda: [janus.randn(6)], janus.randn(6))
""")


TREES = """
import random
class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, children
def tree(n):
    k = random.randint(1, n - 1) if n > 1 else 0
    return Node(0, (tree(k), tree(n - k))) if k else Node(random.randint(0, 9))
class TreeLSTM(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed, self.gates, self.out = nn.Embedding(10, size), nn.Linear(2 * size, 5 * size), nn.Linear(size, 1)
    def visit(self, node):
        if not node.children:
            x = self.embed(janus.tensor(node.value))
            return janus.tanh(x), x * 0.5
        (h1, c1), (h2, c2) = self.visit(node.children[0]), self.visit(node.children[1])
        i, f, g, o, u = self.gates(janus.cat([h1, h2], -1)).chunk(5, -1)
        c = janus.sigmoid(i) * janus.tanh(u) + janus.sigmoid(f) * c1 + janus.sigmoid(g) * c2
        return janus.sigmoid(o) * janus.tanh(c), c
here = TreeLSTM(SIZE)
there = copy.deepcopy(here).cuda()
def loss(model, trees):
    total = 0
    for t in trees:
        total = total + model.out(model.visit(t)[0]).sum()
    return total
f = janus.function(loss)
made = []
for i in range(ROUNDS):
    trees = [tree(random.randint(2, 24)) for _ in range(6)]
    for m in (here, there):
        m.zero_grad()
    y, z = loss(here, trees), f(there, trees)
    y.backward()
    z.backward()
    close(z, y)
    for p, q in zip(there.parameters(), here.parameters()):
        close(p.grad, q.grad)
    made.append(janus.cuda.graph_stats()["row_captures"])
s = janus.cuda.graph_stats()
assert f.stats()["graph"] >= ROUNDS - 2, f.stats()
"""


@pytest.mark.parametrize("size", [4, 40])  # small weights are copied, large ones read in place
def test_captures_of_rows(on_device, size):
    """Trees are always new ones: their groups are replayed for rounded numbers of rows."""
    on_device(f"SIZE, ROUNDS = {size}, 10" + TREES + """
assert s["row_replays"] > 2 * s["row_captures"] > 0, s
assert made[-1] - made[5] < made[5], made
""")
    on_device(f"SIZE, ROUNDS = {size}, 3" + TREES + "assert not s['row_captures'], s", JANUS_CUDA_GRAPHS="0")


def test_halves_and_autocast(on_device):
    on_device("""
for dtype, tol in ((janus.float16, 4e-3), (janus.bfloat16, 3e-2)):
    janus.manual_seed(0)
    x, w = janus.randn(4, 8).to(dtype), janus.randn(8, 8).to(dtype)
    f = janus.function(lambda x, w: (F.gelu(x @ w).softmax(-1) * 0.1, F.layer_norm(x, (8,)), F.pad(x, (1, 1), value=0.3)))
    for _ in range(3):
        got = f(x.cuda(), w.cuda())
    for a, b in zip(got, f(x, w)):
        assert a.dtype is dtype and a.is_cuda
        close(a.float(), b.float(), tol)
    assert f.stats()["graph"] >= 2

model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3)).cuda()
optimizer = janus.optim.SGD(model.parameters(), lr=0.1)
scaler = janus.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2)
def step(x, y):
    optimizer.zero_grad()
    with janus.autocast("cuda"):
        out = model(x)
        assert out.dtype is janus.float16
        loss = F.cross_entropy(out, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss
x, y = janus.randn(2, 1, 4, 4).cuda(), janus.tensor([0, 2]).cuda()
losses = [step(x, y).item() for _ in range(6)]
assert losses[-1] < losses[0] / 2 and scaler.get_scale() == 8192.0
assert all(p.dtype is janus.float32 and p.grad.dtype is janus.float32 for p in model.parameters())

@janus.function
def product(x, w):
    return x @ w
a, b = janus.randn(3, 3), janus.randn(3, 3)
with janus.autocast("cuda"):
    for _ in range(3):
        assert product(a, b).dtype is janus.float32 and product(a.cuda(), b.cuda()).dtype is janus.float16
    assert a.cuda().half().exp().dtype is janus.float32 and a.half().exp().dtype is janus.float16
assert product(a.cuda(), b.cuda()).dtype is janus.float32
""")


def test_tf32_is_another_capture(on_device):
    on_device("""
m = nn.Linear(8, 200).cuda()
f = janus.function(lambda x: m(x).tanh(), measure=False)
matmul, cudnn = janus.backends.cuda.matmul, janus.backends.cudnn
assert not matmul.allow_tf32 and not cudnn.allow_tf32 and janus.get_float32_matmul_precision() == "highest"
captures = []
def runs():
    with janus.no_grad():
        for _ in range(5):
            x = janus.randn(100, 8).cuda()
            close(f(x), m(x).tanh())
    captures.append(janus.cuda.graph_stats()["captures"])
runs()
matmul.allow_tf32 = True
assert janus.get_float32_matmul_precision() == "high"
runs()
cudnn.allow_tf32 = 1
assert cudnn.allow_tf32 is True
runs()
janus.set_float32_matmul_precision("highest")
assert not matmul.allow_tf32
cudnn.allow_tf32 = False
runs()
assert captures == [1, 2, 3, 3], captures
""")


def test_recursion_in_halves(on_device):
    on_device("""
janus.manual_seed(0)
w = (janus.randn(16, 16) * 0.3).half()
def run(dev, dtype, graph):
    p = w.clone().to(dev).to(dtype).requires_grad_()
    def encode(node):
        if isinstance(node, int):
            return leaves[node]
        return janus.tanh((encode(node[0]) + encode(node[1])) @ p)
    def step(trees):
        loss = janus.zeros((), device=dev, dtype=janus.float32)
        for tree in trees:
            loss = loss + encode(tree).float().square().sum()
        loss.backward()
        return loss.detach()
    f = janus.function(step, measure=False) if graph else step
    leaves = [(janus.arange(16) * (i + 1) / 40.0).reshape(1, 16).to(dev).to(dtype) for i in range(4)]
    trees = [((0, 1), (2, (3, 0))), (1, 2), ((3, 3), 1)]
    losses = [f(trees).item() for _ in range(4)]
    if graph:
        assert f.stats()["graph"] >= 3, f.stats()
    return janus.tensor(losses), p.grad
for dtype, tol in ((janus.float32, 1e-4), (janus.float16, 5e-2), (janus.bfloat16, 2e-1)):
    want, have = run("cpu", janus.float32, False), run("cuda", dtype, True)
    close(have[0], want[0], tol)
    close(have[1].float(), want[1], tol)
""")


def test_text_networks(on_device):
    samples = os.path.join(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")), "samples")
    on_device(f"""
import sys
sys.path.insert(0, {os.path.abspath(samples)!r})
""" + """
import zoo
def run(dev, graph):
    janus.manual_seed(0)
    net = zoo.make("bert_classifier", words=30, size=16, layers=1, heads=2, positions=8, dropout=0.0).to(dev)
    optimizer = janus.optim.AdamW(net.parameters(), lr=1e-2)
    def step(words, mask, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(words, mask=mask), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    f = janus.function(step, measure=False) if graph else step
    words = ((janus.arange(12) * 7) % 30).reshape(2, 6)
    mask = janus.arange(6)[None] < janus.tensor([[6], [3]])
    losses = [f(words.to(dev), mask.to(dev), janus.tensor([0, 1]).to(dev)).item() for _ in range(4)]
    if graph:
        assert f.stats()["graph"] >= 3, f.stats()
    return losses
want, have = run("cpu", False), run("cuda", True)
assert all(abs(a - b) < 1e-4 for a, b in zip(want, have)), (want, have)
""")


@pytest.mark.parametrize("library", ["0", "1"])
def test_attention_in_halves(on_device, library):
    """By the own kernels and, on the emulated device, as it is handed to cuDNN."""
    on_device("""
def operand(rows, size, seed):  # heads lie side by side, as projections leave them
    x = (((janus.arange(2 * rows * 3 * size) * (7 + 4 * seed) + seed) % 23) - 11).float() / 8
    return x.reshape(2, rows, 3, size).transpose(1, 2)
base = [operand(9, 16, 1), operand(11, 16, 2), operand(11, 8, 3)]
weight = operand(9, 8, 5)
keys = janus.arange(11)[None] < janus.tensor([[11], [4]])
blind = (janus.arange(99) % 3 != 1).reshape(9, 11).logical_and(janus.arange(9)[:, None] != 5)
masks = [None, "causal", keys[:, None, None], blind, blind[None, None].expand(2, 3, 9, 11), blind[:, :1],
         blind.float() * 2 - 1]
for dtype, tol in ((janus.float16, 1e-2), (janus.bfloat16, 8e-2)):
    for mask in masks:
        found = []
        for dev in ("cpu", "cuda"):
            # what is compared with: the same numbers in float32
            q, k, v = [x.to(dtype).to(dtype if dev == "cuda" else janus.float32).to(dev).requires_grad_() for x in base]
            more = {"is_causal": True} if isinstance(mask, str) else {} if mask is None else {
                "attn_mask": mask.to(dev) if mask.dtype == janus.bool else mask.to(q.dtype).to(dev)}
            for call in (lambda: F.scaled_dot_product_attention(q, k, v, **more),
                         janus.function(lambda: F.scaled_dot_product_attention(q, k, v, **more), measure=False)):
                for _ in range(3):
                    q.grad = k.grad = v.grad = None
                    y = call()
                    (y.float() * weight.to(dev)).sum().backward()
            found.append([t.float() for t in (y.detach(), q.grad, k.grad, v.grad)])
        for want, have in zip(*found):
            close(have, want, tol)
        if mask is blind:
            assert (found[1][0][:, :, 5] == 0).all() and (found[1][1][:, :, 5] == 0).all()
""", JANUS_EMULATED_DNN=library)


STREAM = """
import json
from janus import nn
def step(x): return janus.tanh(x @ x) * 2 + 1
f = janus.function(step, verify="never")
x = janus.ones(6, 6).cuda()
for _ in range(6): f(x)
for part in range(2):  # a second profile has its own times
    with janus.profile("trace.json") as p:
        for _ in range(3): y = (x + 1).exp() @ x
        for _ in range(20): z = f(x)
        janus.cuda.synchronize()
    there = [e for e in p.events if e["kind"] == "device"]
    names = [e["name"] for e in there]
    assert names.count("exp") == names.count("matmul") == 3, names
    assert "captured flush" in names, names
    assert p.kinds["device"][1] == len(there) and "device kernel" in str(p)
    assert {"exp (device)", "captured flush (device)"} <= {name for name, *_ in p.ops}
    last = max(e["start"] + e["ns"] for e in p.events)
    end = -1e6  # floats of milliseconds: a microsecond or so either way
    for e in sorted(there, key=lambda e: e["start"]):
        assert e["ns"] >= 0 and end - 1e5 <= e["start"] and e["start"] + e["ns"] <= last + 1e5, e
        end = e["start"] + e["ns"]
    trace = json.load(open("trace.json"))["traceEvents"]
    row, = [e["tid"] for e in trace if e["ph"] == "M" and e["args"]["name"] == "device stream 0"]
    assert sum(e.get("cat") == "device kernel" and e["tid"] == row for e in trace) == len(there)
    assert not any(e["tid"] == row and e["ph"] == "X" and e["cat"] != "device kernel" for e in trace)
few = janus.profile(most=4)
with few:
    for _ in range(5000): x + 1  # more than is kept until times are asked for
assert len(few.events) == 4 and few.lost >= 4996, few.lost
close(y, (x.cpu() + 1).exp() @ x.cpu())
with janus.profile() as p:
    pass
assert not p.events
"""


def test_a_profile_has_the_device_s_stream(on_device, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    on_device(STREAM)


def test_what_a_step_writes_is_moved_together(on_device):
    on_device("""
sizes = [(k * 977) % 20000 + 1 for k in range(140)]
def made():
    return [janus.zeros(n).cuda() for n in sizes], janus.zeros(40, 3).cuda(), [janus.arange(5.0).cuda() + k for k in range(3)]
def write(x, tensors, rows, turned):
    for k, t in enumerate(tensors):
        t.copy_(x[:t.shape[0]] + k)
    for k in range(40):
        rows[k].copy_(x[k:k + 3] * 2)
    first = turned[0] * 1
    turned[0].copy_(turned[1])
    turned[1].copy_(turned[2])
    turned[2].copy_(first)
    turned[0][1:].copy_(turned[0][:-1] * 1)
    return x.sum()
f, ours, theirs = janus.function(write, measure=False), made(), made()
for k in range(5):
    x = janus.rand(20001).cuda() + k
    close(f(x, *ours), write(x, *theirs))
    for a, b in zip([*ours[0], ours[1], *ours[2]], [*theirs[0], theirs[1], *theirs[2]]):
        assert (a.cpu() == b.cpu()).all(), (k, a.shape)
assert f.stats()["graph"] >= 3, f.stats()
""")
