# SPDX-License-Identifier: Apache-2.0
"""JANUS_CACHE: a second start has its graphs without conversions; what differs is not taken; files may be anything."""
import concurrent.futures
import json
import os
import random
import subprocess
import sys

import pytest
from compared import close
from janus import _stored
from shares import LIGHT

# A program is a module `program`, whose source is in the file that the driver is given.  `results` is what it shows.
DRIVER = """
import json, os, sys, types
import janus

HEAD = "import sys\\nimport janus\\nfrom janus import nn\\njanus.manual_seed(0)\\n"
COUNTS = ("conversions", "cache_hits", "region_hits", "graph", "imperative", "disproved", "fallbacks")

def run(path, text):
    text = HEAD + text
    if not os.path.exists(path) or open(path).read() != text:
        with open(path, "w") as file:
            file.write(text)
    m = sys.modules["program"] = types.ModuleType("program")
    m.__file__ = path
    exec(compile(text, path, "exec"), m.__dict__)
    return m.results, {k: v for k, v in m.f.stats().items() if k in COUNTS}

def in_child(path, text, folder, plain=False):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if not plain:
                from janus import _stored
                _stored._folder = folder
            else:
                janus.function = lambda f, **options: Plain(f)
            with os.fdopen(write, "w") as out:
                json.dump(run(path, text), out)
            os._exit(0)
        except BaseException as e:
            print(repr(e)[:300], file=sys.stderr)
            os._exit(3)
    os.close(write)
    with os.fdopen(read) as file:
        got = file.read()
    status = os.waitpid(pid, 0)[1]
    return status, json.loads(got) if got and not status else None

class Plain:
    def __init__(self, f): self.f = f
    def __call__(self, *args, **kwargs): return self.f(*args, **kwargs)
    def stats(self): return {}

def close(a, b):
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-4 * abs(b) + 1e-5
    return type(a) is type(b) and a == b

if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.stdin.read())))
"""

MODEL = """
class Cell(nn.Module):
    SCALE = 2.0
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n)
    @property
    def doubled(self):
        return self.lin.weight * self.SCALE
    @staticmethod
    def act(x):
        return janus.tanh(x)
    def forward(self, x, k=1, *, flag=True):
        y = self.act(self.lin(x)) + self.doubled.sum()
        return {"y": y, "k": (k, [x, None, "text", 1.5])} if flag else y
net = Cell(3)
f = janus.function(net.forward)
results = []
for i in range(3):
    out = f(janus.ones(2, 3) * i, 2)
    out["y"].sum().backward()
    results += [out["y"].tolist(), out["k"][0], net.lin.weight.grad.tolist()]
"""

TREE = """
class Node:
    __slots__ = ("kind", "left", "right", "value")
    def __init__(self, kind, left=None, right=None, value=0):
        self.kind, self.left, self.right, self.value = kind, left, right, value
w = janus.ones(4, 4, requires_grad=True)
table = janus.randn(5, 4)
def walk(n):
    if n.kind == "leaf":
        return table[n.value] * 1.0
    if n.kind == "not":
        return -walk(n.left)
    return janus.tanh(walk(n.left) @ w + walk(n.right))
f = janus.function(walk)
def tree(depth, i=0):
    if depth == 0:
        return Node("leaf", value=i % 5)
    if depth == 2:
        return Node("not", tree(1, i + 1))
    return Node("and", tree(depth - 1, 2 * i), tree(depth - 1, 2 * i + 1))
results = []
for i in range(4):
    out = f(tree(4, i))
    out.sum().backward()
    results += [out.tolist(), w.grad.tolist()]
"""

STEP = """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = janus.optim.Adam(net.parameters(), lr=0.1)
losses = []
class State:
    steps = 0
state = State()
def step(x, y, memo={}):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
    state.steps += 1
    print("loss", loss.item(), sep="=", file=sys.stderr)
    return loss
f = janus.function(step)
x, y = janus.randn(6, 4), janus.tensor([0, 1, 0, 1, 1, 0])
results = [f(x, y).item() for _ in range(4)] + [losses, state.steps, net[0].weight.tolist()]
"""

EFFECTS = """
import dataclasses, enum
class Color(enum.Enum):
    RED, GREEN = 1, 2
@dataclasses.dataclass
class Box:
    a: object
    b: int = 3
counter = 0
seen = []
def work(x, color, box, flags):
    global counter
    counter += 1
    box.a = x * 2 if color is Color.RED else x * 3
    seen.append(box.b)
    d = {"a": box.a, "n": len(flags), "top": (x * 2).max(0).values}
    for k in flags:
        d[k] = x + len(k)
    return Box(d, counter), x.t()[0].clone()
f = janus.function(work)
results = []
for i in range(8):
    b = Box(None, i)
    got, row = f(janus.ones(2, 2), Color.RED, b, ("p", "qq"))
    results += [got.b, sorted((k, v if isinstance(v, int) else v.tolist()) for k, v in got.a.items()), row.tolist(), b.a.tolist(), counter]
"""

REGIONS = """
import os
class Lines:
    def __init__(self): self.texts = []
    def write(self, text): self.texts.append(text)
log = Lines()
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = janus.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
def loss_of(x, y, scale):
    there = os.path.exists("/")
    out = net(x) * scale
    return nn.functional.cross_entropy(out, y) + out.pow(2).mean() * there
def epoch(batches, log=log):
    total, norm = 0.0, 0.0
    for i, (x, y) in enumerate(batches):
        here = os.path.exists("/nowhere")
        opt.zero_grad()
        loss = loss_of(x, y, 1.0)
        loss.backward()
        opt.step()
        norm = norm + sum(p.grad.abs().sum().item() for p in net.parameters())
        total += loss.item()
        log.write(f"{i}: {here} {os.path.basename('a/b')}")
    with janus.no_grad():
        x = net(batches[0][0])
        y = (x * x).sum(1)
    return total, norm, y
f = janus.function(epoch)
batches = [(janus.randn(6, 4), janus.randint(0, 2, (6,))) for _ in range(4)]
results = []
for i in range(8):
    total, norm, y = f(batches)
    results += [total, norm, y.tolist(), list(log.texts)]
"""

VIEWS = """
w = janus.randn(4, 6)
class Box:
    pass
box = Box()
def views(x, y):
    z = x * 2 + y
    box.row, box.own = z[2], w[1:, ::2]
    return (z, z.transpose(0, 1), z[1:3], z[1:3][0], z.reshape(6, 4), z.view(2, 12)[..., ::3], z.unsqueeze(1), z[None].squeeze(0), z.narrow(1, 1, 2),
            z.detach(), z.permute(1, 0), z.chunk(2, 1)[1], z.flatten(), z[:, -1], z.unbind(0)[3], z.select(1, 2), x.t(), x[1:], w[0], z.clone()[0])
f = janus.function(views)
results = []
for i in range(4):
    x, y = janus.randn(4, 6), janus.randn(4, 6)
    out = [*f(x, y), box.row, box.own, x, w]
    results.append([[t.tolist(), list(t.stride()), t._base is None] for t in out])
    for k, t in enumerate(out):
        t.add_(k + 1.0)
        results.append([u.reshape(-1)[0].item() + u.reshape(-1)[-1].item() for u in out])
"""

ROUNDS = """
net = nn.LSTM(3, 4)
def run(x):
    out, (h, c) = net(x)
    return out.pow(2).sum() + h.sum()
f = janus.function(run)
results = []
for n in (3, 5, 4, 6, 2, 7):
    net.zero_grad()
    y = f(janus.randn(n, 2, 3))
    y.backward()
    results.append([y.item(), [p.grad.sum().item() for p in net.parameters()]])
"""

FOLDS = """
def step(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).pow(2).sum()
    loss.backward()
    optimizer.step()
    return loss.item()
f = janus.function(step)
results = []
for fold in range(4):
    model = nn.Linear(3, 2)
    optimizer = janus.optim.Adam(model.parameters())
    for k in range(4):
        results.append(f(model, optimizer, janus.randn(4, 3)))
    results += [sorted(optimizer.state[p]) for p in model.parameters()] + [model.weight.tolist()]
"""

FLAGS = """
def masked(flags, x):
    return (1.0 - janus.tensor(flags, dtype=janus.float32)) * x, (x if flags[0] else x + 1) * 2, flags[3]
f = janus.function(masked)
results = []
for k in range(16):
    y, z, last = f(tuple(k >> i & 1 == 1 for i in range(4)), janus.ones(4) * k)
    results.append([y.tolist(), z.tolist(), last])
"""

PROGRAMS = {"model": MODEL, "tree": TREE, "step": STEP, "effects": EFFECTS, "views": VIEWS, "rounds": ROUNDS, "folds": FOLDS, "flags": FLAGS}


def start(tmp_path, text, cache="cache", **env):
    """What a program shows, and the counts of its function; in a process of its own."""
    if not (tmp_path / "driver.py").exists():  # which a process that starts beside this one may be reading
        (tmp_path / "driver.py").write_text(DRIVER)
    env = {**os.environ, "JANUS_CACHE": str(tmp_path / cache) if cache else "", "JANUS_MEASURE": "0", "JANUS_QUIET": "1",
           "JANUS_VERIFY": "rarely", "PYTHONDONTWRITEBYTECODE": "1", **env}
    done = subprocess.run([sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "program.py")], input=text,
                          capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def drive(tmp_path, body, *args, **env):
    """Runs code that uses the driver's functions, in a process of its own; what it prints last, from JSON."""
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "body.py").write_text("from driver import *\n" + body)
    env = {**os.environ, "JANUS_CACHE": str(tmp_path / "none"), "JANUS_MEASURE": "0", "JANUS_QUIET": "1",
           "JANUS_VERIFY": "never", "PYTHONDONTWRITEBYTECODE": "1", **env}
    done = subprocess.run([sys.executable, str(tmp_path / "body.py"), *map(str, args)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def entries(tmp_path, cache="cache"):
    return sorted((tmp_path / cache).glob("*/*.entry"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_start_has_its_graphs(tmp_path, name):
    plain, _ = start(tmp_path, PROGRAMS[name], None, JANUS_DISABLE="1")
    first, counts = start(tmp_path, PROGRAMS[name])
    assert close(first, plain) and counts["conversions"] and not counts["cache_hits"]
    assert entries(tmp_path)
    second, counts = start(tmp_path, PROGRAMS[name])
    assert close(second, plain)
    assert counts["cache_hits"] and not counts["disproved"] and not counts["fallbacks"], counts
    if name != "effects":  # whose numbers are others at each call: graphs that were used once are not kept
        assert not counts["conversions"], counts
    if name in ("model", "tree", "views"):  # an optimizer has no state at first, which no graph was made for
        assert not counts["imperative"]


def test_a_second_start_has_its_regions(tmp_path):
    """Which statements are CPython's is remembered, too, and that a function is none of ours."""
    plain, _ = start(tmp_path, REGIONS, None, JANUS_DISABLE="1")
    first, counts = start(tmp_path, REGIONS)
    assert close(first, plain) and counts["conversions"] and not counts["cache_hits"] and counts["region_hits"]
    assert sorted((tmp_path / "cache").glob("*/refused"))
    second, again = start(tmp_path, REGIONS)
    assert close(second, plain) and not again["disproved"] and not again["fallbacks"]
    assert again["cache_hits"] >= 3 and again["conversions"] < counts["conversions"]
    assert again["region_hits"] > counts["region_hits"]


FIRST_STEP = """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = janus.optim.Adam(net.parameters(), lr=0.1)
def epoch(loader, losses):
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        if i % 2 == 0:
            losses.append(loss.item())
f = janus.function(epoch)
data = janus.data.TensorDataset(janus.randn(24, 4), janus.randint(0, 2, (24,)))
loader = janus.data.DataLoader(data, batch_size=6)
results = []
for _ in range(2):
    f(loader, results)
"""


def test_a_step_that_makes_an_optimizers_state_is_not_converted_for(tmp_path):
    """The first of an epoch is taken by no kept entry; a graph of it would be good for no other, and never kept."""
    def conversions():
        done = subprocess.run([sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "program.py")], input=FIRST_STEP,
                              capture_output=True, text=True, env={**os.environ, "JANUS_CACHE": str(tmp_path / "cache"),
                                                                   "JANUS_MEASURE": "0", "JANUS_LOG": "conversions"})
        assert done.returncode == 0, done.stderr[-3000:]
        lines = done.stderr.splitlines()
        return json.loads(done.stdout.splitlines()[-1])[0], sum(line.startswith("janus conversions: converted") for line in lines)

    (tmp_path / "driver.py").write_text(DRIVER)
    first, some = conversions()
    second, again = conversions()
    assert some and not again and close(first, second)


REGION_CHANGES = [  # of REGIONS
    ("out.pow(2).mean() * there", "out.pow(2).mean() * (not there)"),
    ("    there = os.path.exists(\"/\")\n", "    there = 1\n"),
    ("self.texts.append(text)", "self.texts.append(text * 2)"),
    ("nn.Tanh()", "nn.ReLU()"),
    ("opt.step()\n", "opt.step(); log.write('step')\n"),
    ("y = (x * x).sum(1)", "y = (x * x).sum(0)"),
    ("        here = os.path.exists(\"/nowhere\")\n", "        here = False\n"),
    ("f = janus.function(epoch)", "f = janus.function(epoch, numerics='exact')"),
    ("f = janus.function(epoch)", "janus.randn = None if 0 else janus.randn\nf = janus.function(epoch, regions=False)"),
    ("f = janus.function(epoch)", "os.path.exists = lambda p: len(p)\nf = janus.function(epoch)"),
    ("f = janus.function(epoch)", "nn.Linear.forward = lambda self, x: x @ self.weight.t()\nf = janus.function(epoch)"),
    ("momentum=0.9", "momentum=0.5"),
    ("lr=0.1", "lr=0.2"),
]


CHANGES = [  # of MODEL: (text, other text): another program in the same file, with the same functions by name
    ("SCALE = 2.0", "SCALE = 3.0"),
    ("janus.tanh(x)", "janus.relu(x)"),
    ("self.lin.weight * self.SCALE", "self.lin.weight - self.SCALE"),
    ("k=1, *, flag=True", "k=1, *, flag=False or True"),
    ("[x, None, \"text\", 1.5]", "[x, None, \"text\", -1.5]"),
    ("net = Cell(3)", "net = Cell(3)\nnet.act = janus.sigmoid"),
    ("net = Cell(3)", "net = Cell(3)\nCell.act = staticmethod(lambda x: x * x)"),
    ("net = Cell(3)", "class Other(Cell):\n    SCALE = 5.0\nnet = Other(3)"),
    ("net = Cell(3)", "net = Cell(3)\nnn.Linear.forward = lambda self, x: x @ self.weight"),
    ("net = Cell(3)", "net = Cell(3)\nnet.lin.weight.requires_grad_(True)\nnet.lin = nn.Linear(3, 3, bias=False)"),
    ("net = Cell(3)", "net = Cell(3)\nCell.__call__ = lambda self, x: x"),
    ("net = Cell(3)", "net = Cell(3)\njanus.tanh = janus.sin"),
    ("f = janus.function(net.forward)", "f = janus.function(net.forward, numerics='exact')"),
    ("f(janus.ones(2, 3) * i, 2)", "f(janus.ones(4, 3) * i, 2)"),
    ("f(janus.ones(2, 3) * i, 2)", "f(janus.ones(2, 3) * i, k=3)"),
    ("f(janus.ones(2, 3) * i, 2)", "f(janus.ones(3, 2).t() * i, 2)"),
    ("f(janus.ones(2, 3) * i, 2)", "f(janus.ones(2, 3, dtype=janus.float64).float() * i, 2.0)"),
    ("janus.ones(2, 3) * i, 2)", "janus.ones(2, 3, dtype=net.lin.weight.dtype) * i, True)"),
]


@pytest.mark.parametrize("base, changes", [(MODEL, CHANGES), (REGIONS, REGION_CHANGES)], ids=["model", "regions"])
def test_what_differs_is_not_taken(tmp_path, base, changes):
    """The entries of a program, then programs that differ, in the same file: each does what it does without."""
    changed = [base.replace(*change) for change in changes]
    assert all(text != base for text in changed)
    start(tmp_path, base)
    (tmp_path / "texts.json").write_text(json.dumps([base, *changed]))
    got = drive(tmp_path, """
path, folder, texts = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
shown = []
for text in texts:
    plain, got = in_child(path, text, None, True), in_child(path, text, folder)
    shown.append([plain[0], got[0], bool(plain[1]) and bool(got[1]) and close(got[1][0], plain[1][0]), got[1] and got[1][1]])
print(json.dumps(shown))
""", tmp_path / "program.py", tmp_path / "cache", tmp_path / "texts.json")
    assert got[0][2] and got[0][3]["cache_hits"] and (base is REGIONS or not got[0][3]["conversions"])
    for change, (plain, status, same, counts) in zip(changes, got[1:]):
        assert plain == status, change
        assert plain or same, (change, counts)
    assert sum(not plain for plain, *_ in got) > len(changes) * 3 // 4


def _resealed(body):
    return f"{_stored._FORMAT} {_stored._hashed(body)}\n".encode() + body


def _mutated(rng, body):
    """The same JSON with something else in some places."""
    top = json.loads(body)
    for _ in range(rng.randint(1, 3)):
        at, path = top, []
        while isinstance(at, (list, dict)) and at:
            key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            path.append((at, key))
            at = at[key]
            if rng.random() < 0.1:
                break
        where, key = path[-1]
        where[key] = rng.choice([None, -1, 0, 1, 2 ** 31, 2 ** 64, -2 ** 63, "", "x", [], {}, ["("], {"r": ["p", 0]}, {"o": ["T", 1]},
                                 True, at, [at], rng.randint(0, 40)])
    return json.dumps(top).encode()


@pytest.mark.parametrize("name", ["model", "tree", "effects", "views", "refused"])
@pytest.mark.parametrize("sealed", [False, True], ids=["damaged", "resealed"])
def test_files_may_be_anything(tmp_path, name, sealed):
    """Damaged files are as if they were not there.  Where even the checksum was made anew, nothing crashes."""
    refused = name == "refused"
    text = REGIONS if refused else PROGRAMS[name]
    plain, _ = start(tmp_path, text)
    (path,) = sorted((tmp_path / "cache").glob("*/refused"))[:1] if refused else entries(tmp_path)[:1]
    data, rng = path.read_bytes(), random.Random(name)
    _, _, body = data.partition(b"\n")
    for i in range(6 if LIGHT else 20):
        folder = tmp_path / "damaged" / str(i) / path.parent.name
        folder.mkdir(parents=True)
        for k in range(1 if refused else 8):
            if sealed:
                new = _resealed(_mutated(rng, body))
            else:
                new = bytearray(data)
                for _ in range(rng.randint(1, 4)):
                    new[rng.randrange(len(new))] ^= rng.randint(1, 255)
                new = bytes(new[:rng.randrange(len(new))] if rng.random() < 0.3 else new)
            (folder / ("refused" if refused else f"{k}.entry")).write_bytes(new)
    got = drive(tmp_path, """
print(json.dumps([in_child(sys.argv[1], open(sys.argv[3]).read(), os.path.join(sys.argv[2], str(i)))
                  for i in range(int(sys.argv[4]))]))
""", tmp_path / "program.py", tmp_path / "damaged", _text_file(tmp_path, text), 6 if LIGHT else 20,
                JANUS_VERIFY="rarely")
    for i, (status, shown) in enumerate(got):
        assert status == 0, i
        if not sealed:
            assert close(shown[0], plain) and not shown[1]["cache_hits"], i


def _text_file(tmp_path, text):
    (tmp_path / "text").write_text(text)
    return tmp_path / "text"


def test_what_is_in_the_way(tmp_path):
    plain, _ = start(tmp_path, MODEL, None)
    (tmp_path / "file").write_text("")
    assert close(start(tmp_path, MODEL, "file")[0], plain)  # no folder
    assert close(start(tmp_path, MODEL, "a/new/folder")[0], plain)
    folder = entries(tmp_path, "a/new/folder")[0].parent
    for one in folder.iterdir():
        one.unlink()
    (folder / "00.entry").mkdir()
    os.symlink("/dev/zero", folder / "01.entry")
    assert close(start(tmp_path, MODEL, "a/new/folder")[0], plain)


def test_many_at_once(tmp_path):
    plain, _ = start(tmp_path, TREE, None)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for got, counts in pool.map(lambda _: start(tmp_path, TREE), range(4)):
            assert close(got, plain) and not counts["disproved"]
    assert not [p for p in (tmp_path / "cache").glob("*/*") if p.suffix != ".entry"]


DISCARDED = """
class Leaf:
    def __init__(self, v): self.v = v
class Pair:
    def __init__(self, a, b): self.a, self.b = a, b
def total(t):
    return t.v * 2 if type(t) is Leaf else total(t.a) + total(t.b)
f = janus.function(total)
t = Pair(Leaf(janus.ones(2)), Pair(Leaf(janus.ones(2)), Leaf(janus.ones(2))))
results = [f(t).tolist() for _ in range(3)]
if LATER:
    t.b.a.v = 1.5
    results += [f(t).tolist() for _ in range(3)]
"""


def test_a_discarded_entry_is_forgotten(tmp_path):
    start(tmp_path, "LATER = 0\n" + DISCARDED)
    before = entries(tmp_path)
    plain, _ = start(tmp_path, "LATER = 1\n" + DISCARDED, None)
    got, counts = start(tmp_path, "LATER = 1\n" + DISCARDED)
    assert len(before) == 1 and close(got, plain) and counts["cache_hits"] == 1 and counts["fallbacks"]
    assert before[0] not in entries(tmp_path)
    assert close(start(tmp_path, "LATER = 1\n" + DISCARDED)[0], plain)
