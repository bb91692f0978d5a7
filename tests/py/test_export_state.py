# SPDX-License-Identifier: Apache-2.0
"""Graphs that write are exported with what they write: each kind of place in each kind of program goes on from call to
call as the program itself does, in Python and in C, and the export leaves the program as it was."""
import os
import subprocess

import pytest
from c_programs import compiled, needs_cjson
from test_model import agree, leaves, packed

import janus
from janus import nn

COUNT, TOTAL = 0, janus.zeros(3)


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.mean, self.last = 0, 0.5, None
        self.hidden, self.pair = janus.zeros(3), (janus.zeros(3), 1)
        self.items, self.table = [0.0, janus.zeros(3)], {"n": 2, "sum": janus.zeros(3)}
        self.register_buffer("seen", janus.zeros(3))
        self.register_buffer("also", janus.zeros(3))  # equal, and not one with it


def in_place(self, x):
    self.seen.add_(x)
    self.also.mul_(0.5).sub_(x)
    return self.seen + self.also


def replaced(self, x):
    self.hidden = janus.tanh(self.hidden + x)
    return self.hidden


def counter(self, x):
    self.n += 1
    return x / self.n, self.n


def average(self, x):
    self.mean = 0.9 * self.mean + 0.1 * x.sum().item()
    return x - self.mean


def pair(self, x):
    h, n = self.pair
    self.pair = (h * 0.5 + x, n + 1)
    return self.pair[0] * n


def item(self, x):
    self.items[0] += 2.0
    self.items[1] = self.items[1] + x
    return self.items[1] * self.items[0]


def key(self, x):
    self.table["n"] += 1
    self.table["sum"] = self.table["sum"] + x
    return self.table["sum"] / self.table["n"]


def only_written(self, x):
    self.last = x * 2
    return x


def constant(self, x):
    self.n = 7
    return x * 2


def sometimes(self, x):
    if x.sum() > 0:
        self.seen.add_(x)
    return self.seen * 2


def draws(self, x):
    self.n += 1
    return x + janus.rand(3) * self.n


def whole_step(self, x):
    y = in_place(self, x) + replaced(self, x)
    return {"y": y, "n": counter(self, x)[1], "noise": janus.randn(3)}


def by_global(self, x):
    global COUNT, TOTAL
    COUNT += 1
    TOTAL = TOTAL + x
    return TOTAL * COUNT


METHODS = [in_place, replaced, counter, average, pair, item, key, only_written, constant, sometimes, draws,
           whole_step, by_global]


def closure():
    total, n = janus.zeros(3), 0

    def f(x):
        nonlocal n, total
        n += 1
        total = total + x
        return total / n
    return f


def batch_norm():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 3), nn.BatchNorm1d(3))


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.state = (janus.zeros(1, 4), janus.zeros(1, 4))

    def forward(self, x):
        self.state = self.cell(x.reshape(1, 3), self.state)
        return self.state[0]


PROGRAMS = {f.__name__: (lambda f=f: f.__get__(Holder()), (3,)) for f in METHODS}
PROGRAMS.update(closure=(closure, (3,)), batch_norm=(batch_norm, (5, 3)), cell=(Cell, (3,)))


@pytest.fixture
def program(request):
    global COUNT, TOTAL
    janus.manual_seed(0)
    COUNT, TOTAL = 0, janus.zeros(3)
    make, shape = PROGRAMS[request.param]
    return make(), [janus.randn(*shape) for _ in range(6)]


def more(f, xs):
    """Examples that take the other arm, where there are arms."""
    return [(x,) for x in xs[1:]] if getattr(f, "__name__", "") == "sometimes" else ()


def same(a, b):
    return len(a) == len(b) and all(p == q and type(v) is type(w) and
                                    (janus.allclose(v, w) if isinstance(v, janus.Tensor) else v == w)
                                    for (p, v), (q, w) in zip(a, b))


@pytest.mark.parametrize("program", PROGRAMS, indirect=True)
def test_goes_on_as_the_program(tmp_path, program):
    f, xs = program
    janus.export(f, tmp_path / "f", xs[0], examples=more(f, xs))
    g = janus.load_graph(tmp_path / "f")
    assert g.state or f.__name__ in ("only_written", "constant", "draws")
    for seed, x in enumerate(xs):  # from the first one on: the export has left no trace
        janus.manual_seed(seed)
        with janus.no_grad():
            want = leaves(f(x))
        after = janus.get_rng_state()
        janus.manual_seed(seed)
        assert same(leaves(g(x)), want), seed
        assert (janus.get_rng_state() == after).all()
    of = getattr(f, "__self__", None)
    for name, value in g.state.items():
        if of is not None and name.startswith("self.") and name[5:].isidentifier():
            assert same([("", value)], [("", getattr(of, name[5:]))]), name
    g.state.update({k: v.clone() for k, v in g.state.items() if isinstance(v, janus.Tensor)})
    g(xs[0])


def test_what_is_written_is_not_shared(tmp_path):
    f = in_place.__get__(Holder())
    janus.export(f, tmp_path / "f", janus.ones(3))
    g, other = janus.load_graph(tmp_path / "f"), janus.load_graph(tmp_path / "f")
    g(janus.ones(3))
    assert g.state["self.seen"].tolist() == [1.0] * 3 and g.state["self.also"].tolist() == [-1.0] * 3
    assert other.state["self.seen"].tolist() == [0.0] * 3 and not g.weights


def test_the_export_puts_back(tmp_path):
    class Node:
        def __init__(self, value, *kids):
            self.value, self.kids, self.sum = value, list(kids), None

    def walk(node, x):
        t = x * node.value
        for k in node.kids:
            t = t + walk(k, x)
        node.sum = t
        return t

    tree = Node(1.0, Node(2.0), Node(3.0, Node(4.0)))
    before, rng = vars(tree.kids[1]).copy(), janus.get_rng_state()
    janus.export(walk, tmp_path / "walk", tree, janus.ones(2))
    assert vars(tree.kids[1]) == before and tree.sum is None and (janus.get_rng_state() == rng).all()
    g = janus.load_graph(tmp_path / "walk", types=[Node])
    other = Node(2.0, Node(5.0), Node(1.0))
    assert g(other, janus.ones(2)).tolist() == [8.0, 8.0]
    assert other.sum.tolist() == [8.0, 8.0] and other.kids[0].sum.tolist() == [5.0, 5.0]


def test_what_has_no_state_of_its_own(tmp_path):
    class Modes:
        mode = 0

    m = Modes()

    def alternates(x):
        m.mode = 1 - m.mode
        return x * 2 if m.mode else x

    def grows(x):
        m.seen = getattr(m, "seen", ()) + (x,)
        return x * 2

    for f, why in ((alternates, "one value only|no graph takes|no one graph"), (grows, "no graph|one value only")):
        with pytest.raises(ValueError, match=why):
            janus.export(f, tmp_path / "none", janus.ones(3))
    assert m.mode == 0 and not hasattr(m, "seen")


@pytest.mark.parametrize("sizes", [((2, 3), (5, 3)), ((2, 7, 3), (4, 2, 3), (9, 5, 3))])
def test_examples_leave_sizes_open(tmp_path, sizes):
    net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))

    def f(x, scale):
        return net(x).softmax(-1).sum(0) * scale

    janus.export(f, tmp_path / "f", janus.randn(*sizes[0]), 2.0, examples=[(janus.randn(*s), 3.0) for s in sizes[1:]])
    g = janus.load_graph(tmp_path / "f")
    for s in (*sizes, tuple(n + 6 for n in sizes[0][:-1]) + (3,)):
        x = janus.randn(*s)
        with janus.no_grad():
            assert janus.allclose(g(x, 0.5), f(x, 0.5), atol=1e-6)
    with pytest.raises((ValueError, RuntimeError)):
        g(janus.randn(*sizes[0][:-1], 4), 1.0)
    with pytest.raises(ValueError, match="different numbers of arguments"):
        janus.export(f, tmp_path / "g", janus.ones(2, 3), 1.0, examples=[(janus.ones(3, 3),)])
    with pytest.raises(ValueError, match="no one graph"):
        janus.export(f, tmp_path / "g", janus.ones(2, 3), 1.0, examples=[(janus.ones(2, 2, 2, 2, 3), 1.0)])


# session FOLDER CALLS: that many calls with the arguments in FOLDER/in.bin, each result, then the state.
SESSION = r"""
    janus_session *s, *other;
    if (janus_module_load(argv[1], NULL, &m) || janus_session_new(m, &s) || janus_session_new(m, &other))
        return fail();
    unsigned n = janus_model_arguments(m), n_out = janus_model_results(m), calls = (unsigned)atoi(argv[2]);
    const char *names[8];
    janus_arg in[8], out[8];
    char path[4096];
    snprintf(path, sizeof path, "%s/in.bin", argv[1]);
    FILE *f = fopen(path, "rb");
    if (!f || n > 8 || n_out > 8)
        return 9;
    for (unsigned i = 0; i < n; i++)
        names[i] = janus_model_argument(m, i);
    for (unsigned k = 0; k < calls; k++) {
        for (unsigned i = 0; i < n; i++)
            in[i] = value(f);
        if (janus_session_call(s, names, in, n, NULL, out, n_out, NULL))
            return fail();
        for (unsigned i = 0; i < n_out; i++)
            show(janus_model_result(m, i), &out[i]);
        for (unsigned i = 0; i < n; i++)
            if (in[i].kind == JANUS_KIND_TENSOR)
                janus_tensor_release(in[i].t);
    }
    fclose(f);
    for (unsigned i = 0; i < janus_model_states(m); i++) {
        janus_arg v, first;
        if (janus_session_get(s, janus_model_state(m, i), &v))
            return fail();
        if (v.kind == JANUS_KIND_TENSOR)
            janus_tensor_retain(v.t);
        show(janus_model_state(m, i), &v);
        if (janus_session_get(other, janus_model_state(m, i), &first) || janus_session_set(s, janus_model_state(m, i), &first))
            if (first.kind != JANUS_KIND_NONE)
                return fail();
    }
    janus_arg a = {.kind = JANUS_KIND_INT};
    if (janus_session_set(s, "no such place", &a) != JANUS_NOT_FOUND || janus_session_get(NULL, "x", &a) == JANUS_OK)
        return 9;
    if (janus_model_states(m) && janus_model_batch(m, 1, in, n, NULL, out, n_out, NULL) == JANUS_OK)
        return 9;
    janus_session_release(s);
    janus_session_release(other);
    janus_session_release(NULL);
    janus_model_release(m);
    return 0;
}
"""


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    from test_model import PROGRAM
    needs_cjson()
    begin = PROGRAM[:PROGRAM.index("int main")]
    return compiled(tmp_path_factory.mktemp("session") / "session",
                    begin + "int main(int argc, char **argv) {\n    janus_model *m;\n    (void)argc;\n" + SESSION)


@pytest.mark.parametrize("program", [n for n in PROGRAMS if n not in ("draws", "whole_step", "batch_norm")], indirect=True)
def test_sessions_in_c(tmp_path, program, in_c):
    f, xs = program
    folder = tmp_path / "f"
    janus.export(f, folder, xs[0], examples=more(f, xs))
    (folder / "in.bin").write_bytes(b"".join(packed(x) for x in xs))
    done = subprocess.run([str(in_c), str(folder), str(len(xs))], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == 0, (done.stdout, done.stderr)
    g, lines = janus.load_graph(folder), iter(done.stdout.splitlines())
    for x in xs:
        for name, want in leaves(g(x)):
            agree(next(lines), name, want)
    left = {line.split("|")[0]: line for line in lines}
    assert set(left) == set(g.state)
    for name, want in g.state.items():
        agree(left[name], name, want)
