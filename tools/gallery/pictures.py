# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/gallery.md: ./run python3 tools/gallery/pictures.py [DIR]

Pages that janus writes (graphs by janus.dump, a report by janus.explain) are shown by a headless Chromium and kept as PNG.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import janus

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome", "chrome") if (p := shutil.which(n))), None)


def program():
    """The names of train.py, run under that name alone: pages show no folder of this machine."""
    os.chdir(HERE)
    names = {"__name__": "train"}
    with open("train.py", encoding="utf-8") as f:
        exec(compile(f.read(), "train.py", "exec"), names)
    return names


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
    names = program()
    names["run"]()
    with tempfile.TemporaryDirectory() as pages:
        for name, what in (("tree", names["net"]), ("step", names["step"])):
            page = os.path.join(pages, name + ".html")
            janus.dump(what, page)
            with open(page, "a", encoding="utf-8") as f:
                f.write("<script>setTimeout(() => { janusView.unfoldAll(3000); janusView.fit(); }, 200)</script>\n")
            picture(page, os.path.join(out, name + ".png"), 1280, 720)
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
