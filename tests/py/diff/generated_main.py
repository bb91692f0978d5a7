# SPDX-License-Identifier: Apache-2.0
"""Long runs of random programs: `generated_main.py --seeds A-B [--features F,...] [--threads 1,2] [--shrink]`.

Each program runs in a process of its own.  What disagrees is printed, with --shrink as small as it can be made; at the
end, what became of the programs and why calls ran imperatively.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate, generated_run, shrink  # noqa: E402

LIMIT = 60  # seconds a program


def features_of(seed, names):
    """Some of the features, by the seed."""
    if names == ["any"]:
        rng = random.Random(seed)
        return rng.sample(generate.FEATURES, rng.randrange(1, 5))
    return names


def reasons(text):
    """Why calls ran imperatively, without what is particular to a program."""
    found = re.findall(r"(?:not converted|discarded|runs imperatively): ([^\n]*)", text)
    return [re.sub(r"'[^']*'|\"[^\"]*\"|\b[tlrx]\d*\b|\d+", "_", line)[:110] for line in found]


def one(text, seed, options, folder):
    """Compares in this process; what is found as a dict."""
    if options.fail:
        os.environ["JANUS_FAIL_ASSERT"] = str(options.fail)
    difference, steps, want = generated_run.compare(text, seed, folder, f"generated_{seed}_{os.getpid()}",
                                                    options.numerics, options.threads)
    with contextlib.redirect_stdout(None):
        why = [line for step in steps for line in reasons(generated_run.janus.explain(step))]
    stats = [step.stats() for step in steps]
    return {"difference": difference, "graph": sum(s["graph"] for s in stats), "calls": sum(s["calls"] for s in stats),
            "disproved": sum(s["disproved"] for s in stats),
            "raised": any(isinstance(x, str) and x.endswith("Error") for x in want), "why": why}


def apart(text, seed, options, folder):
    """one() in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            answer = one(text, seed, options, folder)
        except BaseException as error:
            answer = {"invalid": f"{type(error).__name__}: {error}"}
        with os.fdopen(write, "w") as out:
            json.dump(answer, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return {"difference": f"died of signal {os.WTERMSIG(status)}"}
    return json.loads(text)


def kind(difference):
    """What a smaller program must share with a larger one: numerics, and what differs."""
    place = re.sub(r"\d", "", difference.split(": ")[1] if ": " in difference else difference)
    return difference[:5], place.split(".")[-1], "nan" in difference, "Error" in difference


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0-100")
    parser.add_argument("--features", default="any", type=lambda s: s.split(",") if s else [])
    parser.add_argument("--threads", default=[None], type=numbers)
    parser.add_argument("--numerics", default=["fast", "exact"], type=lambda s: s.split(","))
    parser.add_argument("--fail", default=0, type=int, help="the assertion that fails (JANUS_FAIL_ASSERT)")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--program", help="a file with a program to run instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    first, last = (int(n) for n in options.seeds.split("-"))
    counts, why = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            features = features_of(seed, options.features)
            text = pathlib.Path(options.program).read_text() if options.program else generate.Program(seed, features).text
            found = apart(text, seed, options, folder)
            counts["programs"] += 1
            counts["graphs"] += found.get("graph", 0) > 0
            counts["calls"] += found.get("calls", 0)
            counts["calls as graphs"] += found.get("graph", 0)
            counts["raised"] += found.get("raised", False)
            if found.get("disproved"):  # verification found what JANUS_VERIFY=never would show
                counts["disproved"] += 1
                print(f"seed {seed} {','.join(features)}: {found['disproved']} graphs disproved", flush=True)
            why.update(set(found.get("why", ())))
            if found.get("invalid"):
                counts["invalid"] += 1
                print(f"seed {seed} {','.join(features)}: invalid: {found['invalid'][:200]}", flush=True)
            if found.get("difference"):
                counts["different"] += 1
                print(f"seed {seed} {','.join(features)}: {found['difference'][:600]}", flush=True)
                if options.shrink:
                    wanted = kind(found["difference"])
                    print(shrink.shrunk(text, lambda t: kind(apart(t, seed, options, folder).get("difference", "")) == wanted),
                          flush=True)
    print(dict(counts))
    for line, n in why.most_common(40):
        print(f"{n:6} {line}")


if __name__ == "__main__":
    main()
