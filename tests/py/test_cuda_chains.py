# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops that a device runs as one kernel (exec/kernels/dev_chain.c) have the bits of kernel after kernel."""
import random

import pytest
from test_cuda import on_device  # noqa: F401  (a fixture)

ONE = ("{a}.exp()", "-{a}", "F.relu({a})", "F.silu({a})", "F.gelu({a})", "{a}.clamp(-1.0, 0.75)", "{a}.sigmoid()", "{a}.tanh()",
       "{a}.abs().sqrt()", "({a} * {a} + 1.5).rsqrt()", "F.leaky_relu({a}, 0.3)", "{a}.square()", "{a} + 1e-5", "{a} * 0.3")
TWO = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / ({b} * {b} + 1.0)", "janus.maximum({a}, {b})", "janus.lerp({a}, {b}, 0.25)")
SIZES = ((1, 6, 4, 4), (2, 5, 3, 3), (1, 8, 1, 1), (2, 4, 8, 7), (3, 1, 2, 4))


def broadcast(a, b):
    n = max(len(a), len(b))
    pairs = list(zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b))
    return tuple(map(max, pairs)) if all(i == j or 1 in (i, j) for i, j in pairs) else None


def line(pick, shapes, channels):
    """An expression and its shape: an op, or a view, of what there is."""
    a, b, kind = pick.choice(list(shapes)[-8:]), pick.choice(list(shapes)), pick.random()
    shape = shapes[a]
    if kind < 0.4:
        return pick.choice(ONE).format(a=a), shape
    if kind < 0.5 and shape == (channels,):
        return f"{a}.reshape(1, -1, 1, 1)", (1, channels, 1, 1)
    if kind < 0.6 and len(shape) == 4:
        return f"{a}.transpose(2, 3)", (*shape[:2], shape[3], shape[2])
    return pick.choice(TWO).format(a=a, b=b), broadcast(shape, shapes[b])


def program(seed):
    pick = random.Random(seed)
    n, c, h, w = pick.choice(SIZES)
    args = {"x": (n, c, h, w), "y": (n, c, h, w), "t": (n, c, w, h), "r": (h, 1), "b": (n, 1, 1, 1), "w": (w,), "s": (), "c": (c,),
            "d": (c,)}
    shapes, lines = dict(args), []
    while len(lines) < 4 + seed % 19:
        text, shape = line(pick, shapes, c)
        if shape is not None:
            shapes[f"v{len(lines)}"] = shape
            lines.append(f"    v{len(lines)} = {text}\n")
    returned = {len(lines) - 1, pick.randrange(len(lines)), pick.randrange(len(lines))}
    return (f"def f{seed}({', '.join(args)}):\n{''.join(lines)}    return {', '.join(f'v{i}' for i in sorted(returned))},\n"
            f"programs.append((f{seed}, {list(args.values())}))\n")


@pytest.mark.parametrize("graphs", ["0", "1"])
@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_bits_are_those_of_single_kernels(on_device, numerics, graphs):  # noqa: F811
    first = 100 * (numerics == "fast") + 50 * int(graphs)
    on_device("programs = []\n" + "".join(map(program, range(first, first + 20))) + f"""
def same(a, b):
    a, b = a.cpu(), b.cpu()
    return a.shape == b.shape and ((a == b) | ((a != a) & (b != b))).all().item()
with janus.no_grad():
    for f, shapes in programs:
        janus.manual_seed(len(f.__name__))
        args = [janus.randn(*s).cuda() for s in shapes]
        want = f(*args)
        g = janus.function(f, measure=False, numerics={numerics!r})
        for _ in range(4):
            for a, b in zip(g(*args), want):
                assert same(a, b), (f.__name__, a, b)
        assert g.stats()["graph"] >= 2, (f.__name__, g.stats())
""", JANUS_CUDA_GRAPHS=graphs)


def test_a_convolution_with_norm_and_what_follows_is_one_kernel(on_device):  # noqa: F811
    """Two convolutions, each with its norm and activation: a kernel for each of the two, and one for eps."""
    on_device("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm_a, self.norm_b = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
    def forward(self, x):
        x = F.relu6(self.norm_a(self.a(x)))
        return F.silu(x + self.norm_b(self.b(x)))
net = Net().eval().cuda()
x = janus.randn(2, 3, 8, 8).cuda()
f = janus.function(net, measure=False)
with janus.no_grad():
    for _ in range(6):
        y = f(x)
    close(y, net(x))
s = f.stats()
assert s["graph"] >= 4 and s["kernels"] <= 3 * s["graph"], s
""")


CONVOLUTIONS = """
def made(seed):
    pick = random.Random(seed)
    groups = pick.choice((1, 1, 1, 4))
    n, k, c, o = pick.choice((1, 1, 2)), pick.choice((1, 1, 2, 3, 3, 5)), groups * pick.choice((1, 2, 9)), groups * pick.choice((1, 3, 10))
    if groups == 1 and seed % 4 == 0:
        c, o = pick.choice((70, 200)), pick.choice((20, 33, 64))
    h, w = pick.choice(((1, 1), (5, 5), (8, 8), (7, 12), (16, 4)))
    how = {"bias": pick.random() < 0.5, "stride": pick.choice((1, 1, 2)), "padding": k // 2, "groups": groups}
    if pick.random() < 0.2:
        how["dilation"], how["padding"] = 2, k - 1
    conv = nn.Conv2d(c, o, k, **how).cuda()
    norm = nn.BatchNorm2d(o).cuda().eval()
    norm.running_mean.copy_(janus.randn(o)), norm.running_var.copy_(janus.rand(o) + 0.5)
    act = pick.choice((F.relu6, F.silu, janus.tanh, lambda x: F.leaky_relu(x, 0.1), lambda x: x))
    x = janus.randn(n, c, h, w).cuda()
    y = conv(x)
    r = pick.choice((janus.randn(*y.shape), janus.randn(o, 1, 1), janus.randn(y.shape[-1]))).cuda()
    form = seed % 7
    def f(x, r):
        y = conv(x)
        if form == 0:
            return act(norm(y)) + r
        if form == 1:
            return y * y.sigmoid() + act(conv(x + 1.0))
        if form == 2:
            return act(norm(y)), y
        if form == 3:
            return y.transpose(2, 3) * 2.0 + 1.0
        if form == 4:
            return act(y.reshape(n, -1) * 0.5).exp()
        if form == 5:
            return act(norm(y) * r) - y.mean(dim=1, keepdim=True)
        return y - conv(x).tanh()
    return f, (x, r)
"""


@pytest.mark.parametrize("graphs", ["0", "1"])
@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_convolutions_with_what_reads_them(on_device, numerics, graphs):  # noqa: F811
    first = 200 * (numerics == "fast") + 100 * int(graphs)
    on_device(f"""
import random
{CONVOLUTIONS}
def same(a, b):
    a, b = a.cpu(), b.cpu()
    return a.shape == b.shape and ((a == b) | ((a != a) & (b != b))).all().item()
with janus.no_grad():
    for seed in range({first}, {first + 42}):
        janus.manual_seed(seed)
        f, args = made(seed)
        want = f(*args)
        want = want if isinstance(want, tuple) else (want,)
        g = janus.function(f, measure=False, numerics={numerics!r})
        for _ in range(4):
            got = g(*args)
            for a, b in zip(got if isinstance(got, tuple) else (got,), want):
                assert same(a, b), (seed, a, b)
        assert g.stats()["graph"] >= 2, (seed, g.stats())
""", JANUS_CUDA_GRAPHS=graphs)


@pytest.mark.parametrize("graphs", ["0", "1"])
def test_groups_of_rows(on_device, graphs):  # noqa: F811
    """Nodes of trees of many sizes, whose chains read what is shared, what differs, and views of both."""
    on_device("""
import random
W, S, U, Z = janus.randn(4).cuda(), janus.rand(4).cuda(), janus.randn(4).cuda(), janus.randn(3).cuda()
V, E = janus.randn(3, 1).cuda(), janus.randn(5, 3, 4).cuda()
def node(tree):
    if isinstance(tree, int):
        return E[tree] * W
    a, b = node(tree[0]), node(tree[1])
    h = a * W + b * V
    g = (S + 1e-5).rsqrt() * U
    m = ((a - b).abs() + 0.5).sqrt().reshape(4, 3) * Z
    n = (a[:, :1] * b).sigmoid()
    return F.silu(h * g - g) * n + m.tanh().reshape(3, 4) * b.sigmoid()
def made(pick, leaves):
    if leaves == 1:
        return pick.randrange(5)
    left = pick.randint(1, leaves - 1)
    return made(pick, left), made(pick, leaves - left)
f = janus.function(node, measure=False)
pick = random.Random(3)
with janus.no_grad():
    for leaves in (6, 9, 7, 6, 9, 20, 13, 20, 9, 30):
        tree = made(pick, leaves)
        close(f(tree), node(tree), 1e-5)
s = f.stats()
assert s["graph"] >= 6, s
print(s["kernels"])
""", JANUS_CUDA_GRAPHS=graphs)
