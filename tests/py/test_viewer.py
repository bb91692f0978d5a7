# SPDX-License-Identifier: Apache-2.0
"""The viewer's page, looked at by a real browser: it opens, folds, searches, names and finds lines."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import janus
from janus import nn

BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome", "chrome") if (p := shutil.which(n))), None)

# Answers are put into the document, which the browser prints when all has been loaded.
ASK = """<script>
try { document.body.dataset.answer = JSON.stringify((%s)(window.janusView)); }
catch (e) { document.body.dataset.answer = JSON.stringify({error: String(e), stack: e.stack}); }
</script></body></html>"""


@functools.lru_cache
def browser_works(folder):
    page = os.path.join(folder, "empty.html")
    with open(page, "w") as f:
        f.write("<html><body>it works</body></html>")
    try:
        return "it works" in run_browser(page)
    except (OSError, subprocess.SubprocessError):
        return False


def run_browser(page):
    return subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
                           "--user-data-dir=" + os.path.dirname(page) + "/profile", "--dump-dom", "file://" + page],
                          capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
def ask(tmp_path):
    if BROWSER is None:
        pytest.skip("no Chromium here")
    if not browser_works(str(tmp_path)):
        pytest.skip("Chromium does not run here")

    def answer(page, question):
        text = page.read_text()
        assert text.endswith("</body></html>\n")
        asked = tmp_path / "asked.html"
        asked.write_text(text[:-len("</body></html>\n")] + ASK % question)
        dom = run_browser(str(asked))
        found = re.search(r'data-answer="([^"]*)"', dom)
        assert found, dom[-2000:]
        got = json.loads(found[1].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        assert not isinstance(got, dict) or "error" not in got, got
        return got
    return answer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.pair = nn.Embedding(100, 32), nn.Linear(64, 32)

    def forward(self, tree):
        if isinstance(tree, int):
            return self.leaf(janus.tensor([tree]))
        left, right = tree
        return janus.tanh(self.pair(janus.cat([self.forward(left), self.forward(right)], 1)))


@pytest.fixture(scope="module")
def tree_page(tmp_path_factory):
    net = janus.function(Net(), verify="never", measure=False)
    with janus.no_grad():
        for _ in range(3):
            net(((1, 2), (3, (4, 5))))
    path = tmp_path_factory.mktemp("viewer") / "tree.html"
    janus.dump(net, path)
    return path


def test_the_page_needs_nothing_else(tree_page):
    text = tree_page.read_text()
    shell = re.sub(r'(?s)id="data">.*?</script>', "", text)
    assert not re.search(r"https?://|<link|src=|@import|url\(", shell)
    assert json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["extra"]["title"] == "Net.forward"


class Tree:
    def __init__(self, word, *kids):
        self.word, self.kids = word, list(kids)


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.up = nn.Embedding(9, 32), nn.Linear(32, 32)

    def forward(self, node):
        h = self.words(janus.tensor([node.word]))
        for kid in node.kids:
            h = h + self.up(self.forward(kid))
        return janus.tanh(h)


def a_tree(deep):
    return Tree(deep, *(a_tree(deep - 1) for _ in range(3 if deep else 0)))


def test_the_schedule(tmp_path, ask, tree_page):
    net, tree = janus.function(Sums(), verify="never", measure=False), a_tree(4)
    with janus.no_grad():
        for _ in range(3):
            net(tree)
        with janus.profile() as p:
            net(tree)
    janus.dump(net, tmp_path / "sums.html")
    groups = [e for e in p.events if e["kind"] == "group"]
    got = ask(tmp_path / "sums.html", """v => {
      document.querySelector("[data-tab=schedule]").click();
      const bars = [...document.querySelectorAll("#schedule .lane div")], rows = [...document.querySelectorAll("#schedule .list p")];
      bars[bars.length - 1].click();
      const wide = document.querySelector("#schedule .lane").clientWidth;
      return {shown: !document.getElementById("schedule").hidden && document.getElementById("source").hidden,
              bars: bars.length, rows: rows.length, lanes: document.querySelectorAll("#schedule .lane").length,
              inside: bars.every(b => b.offsetLeft >= 0 && b.offsetLeft < wide), on: document.querySelectorAll("#schedule .on").length,
              found: v.hits().length, text: rows.map(r => r.textContent).join(" / ")};
    }""")
    assert got["shown"] and got["inside"] and got["on"] == 2 and got["found"]
    assert got["bars"] == got["rows"] == len(groups) > 3 and got["lanes"] == len({e["thread"] for e in p.events if e["kind"] in ("group", "kernel")})
    assert "x81" in got["text"]  # the 81 leaves at once
    assert "No run was recorded" in ask(tree_page, 'v => document.getElementById("schedule").textContent')


def test_the_schedule_without_a_run(tree_page, ask):
    got = ask(tree_page, """v => {
      document.querySelector("[data-tab=schedule]").click();
      const steps = [...document.querySelectorAll("#schedule .step")], step = steps.find(e => e.textContent.includes("linear"));
      step.click();
      const about = document.getElementById("about").textContent, on = document.querySelectorAll("#schedule .on").length;
      const lit = v.lit().map(b => b.v.title);
      v.choose(v.boxes().find(b => b.v.title === "tanh"));
      return {text: steps.map(e => e.textContent).join(" / "), about, on, lit, node: document.getElementById("about").textContent,
              plans: [...document.querySelectorAll("#schedule summary")].map(e => e.textContent)};
    }""")
    assert any(p.startswith("@main") for p in got["plans"]) and len(got["plans"]) >= 2
    assert "invoke @" in got["text"] and "host: " in got["text"]
    assert got["on"] == 1 and "linear" in got["lit"] and "= linear" in got["about"]
    assert "segment" in got["node"] and "level" in got["node"]


GOLDEN = sorted(pathlib.Path(__file__).parents[1].glob("golden/*/*.jir"))


def plans_of(text):
    try:
        page = janus._C._page(text, "{}")
    except ValueError:
        return None  # a golden error
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_levels_follow_what_is_read():
    """Of every graph of the golden files: a step comes after the steps whose values it reads, and no node is in two of them."""
    seen = {"segment": 0, "call": 0, "wait": 0, "host": 0}
    for data in filter(None, (plans_of(path.read_text()) for path in GOLDEN)):
        subs = {s["name"]: {n["id"]: n for n in s["nodes"]} for s in data["module"]["subgraphs"]}
        for plan in data.get("plan", {"plans": []})["plans"]:
            at = {}
            for step in plan["steps"]:
                seen[step["do"]] += 1
                assert step["level"] <= plan["levels"]
                for node in step["nodes"] if step["do"] in ("segment", "call") else []:
                    assert (step["sub"], node) not in at, (plan["sub"], node)
                    at[step["sub"], node] = step
            for (sub, node), step in at.items():
                for operand in filter(None, subs[sub][node]["in"]):
                    before = at.get((sub, operand[0]))
                    assert before in (None, step) or before["level"] < step["level"], (plan["sub"], sub, node, operand)
    assert seen["segment"] > 20 and seen["call"] > 20 and seen["wait"] and seen["host"], seen


def test_a_tree_model(tree_page, ask):
    got = ask(tree_page, """v => {
      const names = v.boxes().filter(b => b.v.kind === "param").map(b => b.v.title);
      const before = v.boxes().length, inner = v.boxes().find(b => b.inner);
      const labels = v.frames().map(f => f.label);
      v.fold(inner);
      const folded = v.boxes().length;
      v.fold(v.boxes().find(b => b.v.node && b.v.node.subs));
      const found = v.search("tanh"), b = v.reveal(v.hits().find(h => h.node));
      const lit = document.querySelector("#source .on").textContent;
      const deeper = v.boxes().length;
      v.fold(v.boxes().find(b => b.v.title.startsWith("invoke") && !b.inner));
      return {names, labels, before, folded, found, sub: b.v.sub.name, lit, deeper, again: v.boxes().length,
              about: document.getElementById("about").textContent, drawn: v.drawn()};
    }""")
    # of all SubGraphs; c1 is a number that the host finds out
    assert {"tree", "self.leaf.weight", "self.pair.weight", "self.pair.bias", "return", "c1"} == set(got["names"])
    assert {"then: @then", "else: @else"} < set(got["labels"])
    assert got["folded"] < got["before"] and got["again"] > got["deeper"]  # a recursion unfolds as often as one likes
    assert got["found"] == 1 and got["sub"] == "else" and "janus.tanh(self.pair" in got["lit"]


def test_a_long_model_is_seen_whole(tmp_path, ask):
    """Numbers that fill tensors are drawn where they are read, in the box of the part that reads them."""
    net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()) for _ in range(60)]).eval()
    f = janus.function(net, verify="never", measure=False)
    with janus.no_grad():
        for _ in range(3):
            f(janus.ones(2, 4))
    janus.dump(f, tmp_path / "long.html")
    got = ask(tmp_path / "long.html", """v => {
      const start = v.boxes().length;
      v.unfoldAll(5000);
      const full = v.boxes().filter(b => b.v.node && b.v.node.op === "full");
      const of = full.map(b => v.edges().filter(e => e[0] === b));
      v.fit();
      const stage = document.getElementById("stage").getBoundingClientRect(), c = v.camera;
      const up = v.edges().filter(([a, b]) => b.ay < a.ay + a.h).length;
      return {start, all: v.boxes().length, full: full.length, edges: of.map(e => e.length),
              far: Math.max(...of.map(e => e[0][1].ay - e[0][0].ay)), up, ids: new Set(full.map(b => b.v.node.id)).size,
              below: Math.max(...v.boxes().map(b => (b.ay + b.h - c.y) * c.k)) - stage.height};
    }""")
    assert got["start"] < 100 < got["all"] and got["up"] == 0
    assert got["full"] == 60 and got["ids"] == 1 and got["edges"] == [1] * 60 and got["far"] < 120
    assert got["below"] <= 0


def test_thousands_of_nodes_open_at_once(tmp_path, ask):
    @janus.function(verify="never", measure=False)
    def f(x):
        hs = [x * i for i in range(20)]
        for r in range(160):
            hs = [janus.tanh(h + hs[(i * 7 + r) % 20]) for i, h in enumerate(hs)]
        return sum(hs)

    for _ in range(2):
        f(janus.ones(4))
    janus.dump(f, tmp_path / "big.html")
    got = ask(tmp_path / "big.html", """v => {
      const all = v.boxes().length, drawn = (v.paint(), v.drawn());
      v.camera.k = 1;
      const ms = Math.min(v.paint(), v.paint());
      const over = v.boxes().filter((a, i) => v.boxes().slice(i + 1, i + 60).some(b => a.ax < b.ax + b.w && b.ax < a.ax + a.w &&
                                                                            a.ay < b.ay + b.h && b.ay < a.ay + a.h)).length;
      const up = v.edges().filter(([a, b]) => b.ay < a.ay + a.h).length;
      return {all, drawn, ms, over, up, open: v.openMs, hits: v.search("tanh")};
    }""")
    assert got["all"] > 5000 and got["hits"] > 2500
    assert got["over"] == 0 and got["up"] == 0  # no box lies on another one, and edges go down
    assert got["drawn"] < 600  # of what is in view
    assert got["open"] < 2000 and got["ms"] < 200


def test_what_is_shown_is_text(tmp_path, ask):
    text = ('module {\n  sub @main(%"</script><b>&": f32[2]) -> f32[2] {\n'
            '    %1 = tanh %"</script><b>&" : f32[2] @"/x/</script>.py":3:1\n    return %1\n  }\n}\n')
    janus.dump(text, tmp_path / "odd.html")
    got = ask(tmp_path / "odd.html", "v => v.boxes().map(b => b.v.title)")
    assert got == ["</script><b>&", "tanh", "return"]
