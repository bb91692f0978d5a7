# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/gallery.md: ./run python3 tools/gallery/pictures.py [DIR]

Pages that janus writes (graphs by janus.dump, a report by janus.explain) are shown by a headless Chromium and kept as PNG: of
train.py, and of samples/zoo/resnet.py.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import janus

HERE = os.path.dirname(os.path.abspath(__file__))
ZOO = os.path.join(HERE, "..", "..", "samples", "zoo")
BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome", "chrome") if (p := shutil.which(n))), None)


UNFOLDED = "janusView.unfoldAll(3000); janusView.fit();"
# a part of a deep network, with a product chosen
CHOSEN = """janusView.unfoldAll(3000);
const chosen = janusView.boxes().filter(b => b.v.node && b.v.node.op === "conv2d")[20];
Object.assign(janusView.camera, {k: .55, x: chosen.ax - 600, y: chosen.ay - 500});
janusView.choose(chosen);"""

# groups of rows of the last run that was profiled, by lane and time, and the plan that they are of
TRACE = """document.querySelector("[data-tab=schedule]").click();
document.getElementById("side").style.width = document.getElementById("side").style.flexBasis = "1000px";
dispatchEvent(new Event("resize"));"""


def program(folder, file):
    """The names of a file, run under that name alone: pages show no folder of this machine."""
    os.chdir(folder)
    names = {"__name__": file[:-3]}
    with open(file, encoding="utf-8") as f:
        exec(compile(f.read(), file, "exec"), names)
    return names


def resnet():
    net = janus.function(program(ZOO, "resnet.py")["ResNet50"]().eval())
    with janus.no_grad():
        for _ in range(4):
            net(janus.ones(1, 3, 64, 64))
        with janus.profile():
            net(janus.ones(1, 3, 64, 64))
    return net


def picture(page, png, width, height):
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--window-size={width},{height}", "--user-data-dir=" + profile, "--virtual-time-budget=3000",
                        "--screenshot=" + png, "file://" + page], check=True, capture_output=True, timeout=120)


def main():
    if BROWSER is None:
        sys.exit("cannot: no Chromium found")
    out = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "docs", "gallery"))
    os.makedirs(out, exist_ok=True)
    names = program(HERE, "train.py")
    names["run"]()
    with tempfile.TemporaryDirectory() as pages:
        def shown(what, folder, **pictures):
            for name, script in pictures.items():
                page = os.path.join(pages, name + ".html")
                os.chdir(folder)
                janus.dump(what, page)
                with open(page, "a", encoding="utf-8") as f:
                    f.write(f"<script>setTimeout(() => {{ {script} }}, 200)</script>\n")
                picture(page, os.path.join(out, name + ".png"), 1280, 720)

        # what the last profile has recorded is in the pages that are written after it
        shown(resnet(), ZOO, resnet=CHOSEN, resnet_trace=TRACE)
        with janus.profile():
            names["run"]()
        shown(names["net"], HERE, tree=UNFOLDED)
        shown(names["step"], HERE, step=UNFOLDED, step_trace=TRACE)
        os.chdir(HERE)
        page = os.path.join(pages, "explain.html")
        with open(page, "w", encoding="utf-8") as f, open(os.devnull, "w") as nowhere:
            was, sys.stdout = sys.stdout, nowhere
            try:
                f.write(janus.explain(names["step"]).html())
            finally:
                sys.stdout = was
        picture(page, os.path.join(out, "explain.png"), 1000, 640)
    for name in sorted(os.listdir(out)):
        print(f"{name}: {os.path.getsize(os.path.join(out, name)) // 1024} KiB")


if __name__ == "__main__":
    main()
