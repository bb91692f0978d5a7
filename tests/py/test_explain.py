# SPDX-License-Identifier: Apache-2.0
"""janus.explain: marks of lines, assumptions in the user's names, conversions and their causes."""
import contextlib
import html.parser
import io
import json
import re

import pytest

import janus
from janus import nn


def explained(f):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        e = janus.explain(f)
    assert out.getvalue() == str(e) + "\n" and isinstance(e, str)
    return e


def marks(e, name=None):
    """{text of the line: its mark}"""
    sources = [s for s in e.facts["sources"] if name is None or s["name"] == name]
    return {line["source"].strip(): line["mark"] for s in sources for line in s["lines"]}


def test_each_line_has_a_mark():
    def step(x, k, flag=True):
        """What it is for."""
        n = len(str(flag))
        if flag:
            y = x * k
        else:
            y = x - k
        for i in range(2):
            y = y + i
        while y.sum() < 100:
            y = y * 2
        if y.mean() > 3:
            y = y + (y.sum()
                     * n)
        if y.max() < 0:
            raise ValueError("x")
        return y

    f = janus.function(step, verify="never", measure=False)
    for _ in range(4):
        f(janus.ones(2), 3)
    e = explained(f)
    assert marks(e, "step") == {
        "def step(x, k, flag=True):": "", '"""What it is for."""': "", "n = len(str(flag))": "folded",
        "if flag:": "branch decided", "y = x * k": "graph", "else:": "", "y = x - k": "not reached",
        "for i in range(2):": "loop unrolled", "y = y + i": "graph", "while y.sum() < 100:": "loop kept",
        "y = y * 2": "graph", "if y.mean() > 3:": "branch kept", "y = y + (y.sum()": "graph", "* n)": "",
        "if y.max() < 0:": "branch decided", 'raise ValueError("x")': "left to CPython", "return y": "folded"}
    assert re.search(r"^step|step \(test_explain.py:\d+\): 4 calls, 3 as graphs, 1 imperative", e)
    assert "assumes: x is a tensor of f32 [2]" in e and "assumes: k is 3" in e and "call 1: a graph was made in" in e
    assert "argument" not in e


def test_a_refused_function_says_where_and_why():
    def reads(x):
        y = x * 2
        return y + len(open("/dev/null").read())

    f = janus.function(reads)
    for _ in range(4):
        f(janus.ones(2))
    e = explained(f)
    line, = (line for s in e.facts["sources"] for line in s["lines"] if line["mark"] == "imperative")
    assert line["source"].strip().startswith("return y + len(open") and "open" in line["reason"]
    assert e.split("\n")[1].startswith("runs imperatively: ") and "no graph could be made" in e


def test_what_failed_is_counted_and_first():
    @janus.function(verify="never", measure=False)
    def f(x, *, width, rest=None):
        return x * width["w"][0]

    for i in range(6):
        f(janus.ones(2), width={"w": [2.0]})
    for i in range(3):
        f(janus.ones(5), width={"w": [2.0]})
    for i in range(2):
        f(janus.ones(5), width={"w": [4.0]})
    e = explained(f)
    oldest = e.facts["entries"][-1]
    assert oldest["assumes"][0]["path"] == "x" and oldest["assumes"][0]["failed"] >= 1
    assert oldest["checked"] == oldest["runs"] + sum(a["failed"] for a in oldest["assumes"])
    causes = [c["cause"] for c in e.facts["conversions"]]
    assert causes[0] == "first call" and causes[1].endswith("of x changed") and len(causes) == 3
    assert 'width["w"]' in causes[2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.scale = 2.0

    def forward(self, x):
        return self.inner(x) * self.scale


def test_modules_offer_the_same():
    net = janus.function(Net())
    for _ in range(4):
        net(janus.ones(1, 3))
    e = explained(net)
    assert marks(e, "forward")["return self.inner(x) * self.scale"] == "graph"
    assert "assumes: self.scale is 2.0" in e and "Net.forward (test_explain.py:" in e
    assert explained(net.forward).facts["stats"]["calls"] == 4


class Decorated(nn.Module):
    @janus.function
    def forward(self, x):
        return x + 1


def test_modules_whose_forward_is_decorated(tmp_path):
    net = Decorated()
    for _ in range(3):
        net(janus.ones(2))
    assert explained(net).facts["stats"]["graph"] == 2
    janus.dump(net, tmp_path / "net.jir")
    assert "sub @main" in (tmp_path / "net.jir").read_text()


def test_json_and_html():
    @janus.function
    def f(x):
        if x.shape[0] < 2:      # & <b>
            return x
        return x * 2

    for _ in range(3):
        f(janus.ones(2))
    e = explained(f)
    assert json.loads(e.json()) == e.facts
    page = e.html()

    class Reader(html.parser.HTMLParser):
        text, rows = "", 0

        def handle_starttag(self, tag, attrs):
            self.rows += tag == "tr"

        def handle_data(self, data):
            self.text += data
    reader = Reader()
    reader.feed(page)
    assert reader.rows == len(e.facts["sources"][0]["lines"]) and "if x.shape[0] < 2:      # & <b>" in reader.text
    assert "src=" not in page and "href=" not in page


def test_functions_without_source_and_of_many_graphs():
    names = {}
    exec("def f(x, k):\n    return x * k", names)
    f = janus.function(names["f"])
    for _ in range(5):
        f(janus.ones(2), 2)
    assert "its source text is not available" in explained(f)
    g = janus.function(lambda x, name: x * name.count("a"), verify="never")
    for i in range(8):
        g(janus.ones(2), "a" * i)
    e = explained(g)
    assert len(e.facts["entries"]) == 8 and "and 5 older graphs" in e and e.count("\ngraph ") == 3


def test_a_line_of_which_a_part_is_cpython_s_is_a_graph():
    """A path that raises is left to CPython; the line that comes to it runs in the graph all the same."""
    def draws(x):
        y = x.multinomial(1)
        if y.sum() > 100: raise ValueError("many")  # noqa: E701
        if y.sum() > 200:
            raise ValueError("more")
        return y

    f = janus.function(draws, verify="never", measure=False)
    for _ in range(4):
        f(janus.ones(3, 4))
    e = explained(f)
    lines = {line["source"].strip(): (line["mark"], line["reason"]) for s in e.facts["sources"] for line in s["lines"]}
    raises = "a path that raises an exception"
    assert lines["y = x.multinomial(1)"] == ("graph", raises + " is left to CPython")
    assert lines["if y.sum() > 100: raise ValueError(\"many\")  # noqa: E701"] == ("graph", raises + " is left to CPython")
    assert lines["if y.sum() > 200:"] == ("branch decided", None)
    assert lines["raise ValueError(\"more\")"] == ("left to CPython", raises)


def test_a_function_in_a_wrapper_of_janus_has_its_own_place():
    @janus.no_grad()
    def doubled(x, flag=None, deep=False):
        if flag is None and deep is False:
            return x * 2
        return x

    f = janus.function(doubled, measure=False)
    for flag in (None, None, None, 1.5):
        f(janus.ones(3), flag)
    e = explained(f)
    assert re.match(r"\S*doubled \(test_explain.py:\d+\): 4 calls", e)
    assert "flag is None (failed 1 times)" in e or "args[1] is None" in e, e


def test_what_is_no_function():
    for o in (len, 3, nn.Linear(1, 1), None):
        with pytest.raises(TypeError, match="is no janus.function"):
            janus.explain(o)


def test_explaining_changes_nothing():
    def f(x):
        return x + 1

    f = janus.function(f)
    assert explained(f).facts["entries"] == []
    for _ in range(4):
        f(janus.ones(2))
    before = f.stats()
    explained(f), explained(f)
    assert f.stats() == before


def test_what_janus_does_is_the_work_of_the_user_s_line():
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.LSTM(3, 3))
    opt = janus.optim.Adam(net.parameters())

    def step(x):
        opt.zero_grad()
        y, _ = net(x)
        loss = nn.functional.mse_loss(y, x)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss

    f = janus.function(step, verify="never", measure=False)
    for _ in range(2):
        f(janus.ones(2, 4, 3))
    with janus.profile() as p:
        f(janus.ones(2, 4, 3))
    e = explained(f)
    got = marks(e, "step")
    assert got.pop("opt.zero_grad()") in ("folded", "graph")  # it sets .grad to None, no more
    assert got == {
        "def step(x):": "", "y, _ = net(x)": "graph", "loss = nn.functional.mse_loss(y, x)":
        "graph", "loss.backward()": "graph", "nn.utils.clip_grad_norm_(net.parameters(), 1.0)": "graph", "opt.step()":
        "graph", "return loss": "folded"}
    assert "janus's own Python code" not in e and {file for (file, _), *_ in p.lines} == {__file__}
    assumed = [line for line in e.split("\n") if line.startswith("  assumes: ")]
    assert len(assumed) <= 14 and re.search(r"\d+ tensors of opt", e) and re.search(r"effect: writes a tensor: \d+ of opt", e)
    assert len(e.facts["entries"][0]["assumes"]) > 40


def test_a_reason_inside_of_janus_is_at_the_user_s_line():
    class Odd(nn.Module):
        def forward(self, x):
            return nn.functional.one_hot(x)

    f = janus.function(Odd())
    for _ in range(2):
        f(janus.tensor([1, 2]))
    e = explained(f)
    if not f.stats()["graph"]:
        assert [m for m in marks(e).values() if m == "imperative"] == ["imperative"]


total = 0


def test_each_effect_has_its_name():
    class Thing:
        pass

    def f(o, leaf, frozen, t, items, table, emptied):
        global total
        o.z = 3
        leaf.grad = None
        frozen.requires_grad_(False)
        t.add_(1.0)
        items.append(1)
        table["a"] = 1
        emptied.clear()
        total = 5
        del o.gone
        return t * 2.0

    g = janus.function(f, verify="never")
    for _ in range(4):
        thing = Thing()
        thing.gone = 1
        leaf = janus.ones(2, requires_grad=True)
        leaf.grad = janus.ones(2)
        g(thing, leaf, janus.ones(2, requires_grad=True), janus.ones(2), [], {}, {"b": 1})
    assert g.stats()["fallbacks"] == 0
    effects = re.findall(r"effect: (.*)", str(janus.explain(g)))
    assert sorted(effects) == ["deletes: o.gone", "sets a global: total", "sets a gradient: leaf",
                               "sets an attribute: o.z", "sets requires_grad of: frozen", "writes a dict: emptied",
                               "writes a dict: table", "writes a list: items", "writes a tensor: t"]


def test_what_statements_between_regions_call():
    import time

    def cell(x, n):
        return cell(x, n - 1) if n else (x * 2).tanh() + x.exp()

    def step(x):
        return cell(x, 2).sum() * 2

    def unrelated(n):
        return n + 1

    def epoch(n):
        start, total = time.perf_counter(), 0.0
        for i in range(unrelated(n)):
            total += float(step(janus.ones(3) * i))
        return total if start else None

    f = janus.function(epoch, regions=True, measure=False)
    for n in range(8):
        f(n)
    told = janus.explain(f)
    callees = told.facts["callees"]
    assert [c["name"].rsplit(".", 1)[-1] for c in callees] == ["step"], told
    assert callees[0]["stats"]["graph"] > 0 and callees[0]["entries"]
    assert "called by statements of" in told and "called by statements of" in told.html()
    assert json.loads(told.json())["callees"][0]["name"].endswith("step")


def test_boundaries_of_regions():
    import time

    def step(x):
        y = janus.relu(x) @ x
        y = y * 2 + x
        time.time()
        z = y @ y
        return z.tanh().sum()

    f = janus.function(step, regions=True, measure=False)
    for _ in range(6):
        f(janus.ones(4, 4))
    told = janus.explain(f)
    (source,) = told.facts["sources"]
    marks = [line["mark"] for line in source["lines"]]
    assert marks == ["", "graph", "graph", "region boundary", "graph", "graph"]
    assert "time" in source["lines"][3]["reason"] and "region boundary" in told and "region boundary" in told.html()
    assert "matmul" in source["lines"][1]["ops"]


def made_inside():
    """Functions and classes made in here are shown alone, unless the function around them ran, too."""
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(3, 3)

        def forward(self, x):
            return janus.relu(self.w(x))

    def by_hand(x):
        return x * 2

    def with_its_own(x):
        def part(y):
            return y + 1
        return part(x) * 3

    return Inner(), by_hand, with_its_own


def test_what_was_made_inside_of_a_function_is_shown_alone():
    inner, by_hand, with_its_own = made_inside()

    @janus.function(verify="never", measure=False)
    def f(x):
        return with_its_own(by_hand(inner(x)))

    for g in (f, janus.function(made_inside()[0], verify="never", measure=False)):
        for _ in range(3):
            g(janus.ones(2, 3))
    e = explained(f)
    assert [s["name"] for s in e.facts["sources"]] == ["f", "forward", "by_hand", "with_its_own"]
    assert marks(e, "with_its_own")["return y + 1"] == "graph"  # what it made itself belongs to it
    assert "def made_inside" not in e and "def made_inside" not in explained(g)
