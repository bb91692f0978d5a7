# SPDX-License-Identifier: Apache-2.0
"""janus.dump: graphs as text, drawings, or the viewer's page."""
import json
import linecache
import os
import re
import subprocess

from . import _C, _profile
from ._asked import path_of
from ._explain import _HERE
from ._words import user_path

_FORMS = (".jir", ".json", ".dot", ".svg", ".html")
_MOST_LINES = 20000


def input_names(f):
    """Names of the parameters of the newest graph of a function, as its user would write them."""
    report = _C._report(f)
    return [user_path(report["function"], path) for path in report["entries"][0]["inputs"]] if report["entries"] else []


def _sources(files, library):
    """{file: lines} of those that can be read; janus's own files only where asked for."""
    found = {}
    for file in sorted(files, key=lambda f: (f.startswith(_HERE), f)):
        lines = [line.rstrip("\n") for line in linecache.getlines(file)]
        if lines and len(lines) <= _MOST_LINES and (library or not file.startswith(_HERE)):
            found[file] = lines
    return found


def _name(report):
    return getattr(report["function"], "__qualname__", None) or repr(report["function"])


def _why_none(report):
    """Why a function has no graph, as far as its calls have shown."""
    if report["reason"]:
        return report["reason"].split("\n", 1)[0]
    return "none of its calls was converted" if report["function"].stats()["calls"] else "it was not called"


def _page(what):
    if isinstance(what, str):
        places = re.findall(r'@"((?:[^"\\]|\\.)*)":\d+:\d+', what)
        return _C._page(what, json.dumps({"sources": _sources({json.loads(f'"{p}"') for p in places}, True)}))
    report = _C._report(what)
    files = {file for entry in report["entries"][:1] for file, *_ in entry["lines"]}
    times = {f"{file}:{line}": ns for (file, line), ns in _profile.last_times().items() if file in files}
    return _C._page(what, json.dumps({"title": _name(report), "times": times,
                                      "names": input_names(what), "schedule": _profile.last_flush(files), "sources": _sources(files, True)}))


def _drawing(dot):
    """Graphviz' picture of a graph."""
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True)
    except OSError as error:
        raise type(error)("janus.dump: a .svg is drawn by the program dot of Graphviz, which cannot be run "
                          f"({error.strerror}; Debian, Ubuntu: graphviz); .html needs no program") from None
    if done.returncode:
        raise RuntimeError(f"janus.dump: the program dot of Graphviz failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def dump(what, path):
    """Writes graphs to a file, in the form that its name ends with.

    what: what `janus.function` returned (a decorated Module, too), or the text of a graph.  path: ends with

    - `.jir`: the text form, all graphs of the function, most recent first
    - `.html`: a page to look at the newest graph in any browser, without a network: SubGraphs fold and unfold, nodes have
      their source line beside them, a search, a minimap; a tab has the schedule: which ops run together as segments,
      after what; after a `janus.profile`, times, too, and of the last run which groups of rows ran when, on which lane
    - `.json`, `.dot`: for scripts and Graphviz, the newest graph; `.svg`: a drawing by Graphviz, which must be installed

    Raises TypeError for anything else to write, ValueError for another suffix or a function without graphs, OSError where
    the file cannot be written or Graphviz is not there.  Then no file is made.
    """
    suffix = os.path.splitext(os.fsdecode(path_of("janus.dump", path, "a path to write to")))[1]
    if suffix not in _FORMS:
        raise ValueError(f"janus.dump: no format goes with the suffix \"{suffix}\" (.jir .json .dot .svg .html)")
    if not isinstance(what, str):
        try:
            report = _C._report(what)
        except TypeError:
            raise TypeError("janus.dump: a janus.function or a graph's text is needed, got "
                            f"{type(what).__name__}") from None
        if not report["entries"]:
            raise ValueError(f"janus.dump: {_name(report)} has no graph yet: {_why_none(report)}")
    if suffix == ".html":
        text = _page(what)
    elif suffix == ".svg":
        text = _drawing(_C._dump_text(what, ".dot"))
    else:
        text = _C._dump_text(what, suffix)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
