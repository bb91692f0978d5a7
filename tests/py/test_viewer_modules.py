# SPDX-License-Identifier: Apache-2.0
"""The viewer's page of a model without recursion: what belongs to one module is a box that folds."""
import pytest

import janus
from janus import nn
from test_viewer import ask  # noqa: F401, a fixture


class Block(nn.Module):
    def __init__(self, c, wider=False):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, c, 1), nn.BatchNorm2d(c)
        self.conv2, self.bn2 = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)
        self.down = nn.Sequential(nn.Conv2d(c, c, 1), nn.BatchNorm2d(c)) if wider else None

    def forward(self, x):
        y = janus.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.down is not None:
            x = self.down(x)
        y = y + x
        return janus.relu(y)


class Net(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.layer1 = nn.Sequential(*(Block(4, i == 0) for i in range(blocks)))
        self.layers = nn.ModuleList([Block(4) for _ in range(blocks)])
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        x = janus.relu(self.stem(x))
        x = self.layer1(x)
        for layer in self.layers:
            x = layer(x)
        return self.fc(x.mean((2, 3)))


LOOK = """v => {
  const shown = () => v.boxes().map(b => b.v.title), at = t => v.boxes().find(b => b.v.module && b.v.title === t);
  const wrong = () => v.edges().filter(([a, b]) => b.ay < a.ay + a.h).length + v.boxes().filter((a, i) => !a.inner &&
    v.boxes().slice(i + 1, i + 80).some(b => !b.inner && a.ax < b.ax + b.w && b.ax < a.ax + a.w && a.ay < b.ay + b.h && b.ay < a.ay + a.h)).length;
  const first = shown(), links = v.edges().map(([a, b]) => a.v.title + " > " + b.v.title);
  let bad = wrong();
  v.fold(at("layer1"));
  const second = shown();
  bad += wrong();
  v.fold(at("layer1.0"));
  const third = shown(), frames = v.frames().map(f => f.label);
  bad += wrong();
  const about = document.getElementById("about").textContent;
  v.fold(at("layer1.0"));
  v.fold(at("layer1"));
  const back = shown();
  v.search("layers.1.conv2.weight");
  const found = v.reveal(v.hits()[0]), within = v.boxes().filter(b => b.inner).map(b => b.v.title);
  v.search("relu");
  v.unfoldAll(3000);
  return {first, links, second, third, frames, about, back, bad: bad + wrong(), found: found.v.title, within, all: v.boxes().length};
}"""


@pytest.mark.parametrize("blocks", [3, 6])
def test_modules_fold_and_unfold(tmp_path, ask, blocks):  # noqa: F811
    net = janus.function(Net(blocks).eval(), verify="never", measure=False)
    with janus.no_grad():
        for _ in range(3):
            net(janus.randn(1, 3, 8, 8))
    janus.dump(net, tmp_path / "net.html")
    got = ask(tmp_path / "net.html", LOOK.replace("v => {", "v => { document.getElementById('none').click();", 1))
    assert [t for t in got["first"] if t.startswith(("layer", "relu", "mean"))] == ["relu", "layer1", "layers", "mean"]
    assert {"relu > layer1", "layer1 > layers", "layers > mean"} <= set(got["links"])
    blocks_of_layer1 = [f"layer1.{i}" for i in range(blocks)]
    assert [t for t in got["second"] if t.startswith("layer1.") and "weight" not in t] == blocks_of_layer1
    # the sum and the last relu of a block read none of its parameters; the convolution of `down` does
    inside = got["third"][got["third"].index("layer1.0"):got["third"].index("layer1.1")]
    assert inside.count("relu") == 2 and inside.count("conv2d") == 2 and "layer1.0.down" in inside, inside
    assert {"self.layer1", "self.layer1.0"} <= set(got["frames"]) and "module self.layer1.0" in got["about"]
    assert "  self.layer1.0.conv1.weight: f32[4,4,1,1]" in got["about"]
    assert got["back"] == got["first"] and got["bad"] == 0
    assert got["found"] == "self.layers.1.conv2.weight" and {"layers", "layers.1"} <= set(got["within"])
    assert got["all"] > 100
