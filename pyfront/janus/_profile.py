# SPDX-License-Identifier: Apache-2.0
"""janus.profile: what ran when, for Perfetto or chrome://tracing, and as tables per op and per source line."""
import json
import linecache
import os

from . import _C
from ._asked import path_of

# Kinds of events of C, and what they are called in the trace.
_CATEGORIES = {"host": "host strand", "flush": "flush", "group": "lane", "kernel": "kernel", "eager": "imperative kernel",
               "guards": "guards", "commit": "commit", "convert": "conversion", "imperative": "imperative call",
               "fallback": "fallback", "device": "device kernel"}
_last, _last_events = {}, []
_MOST_KERNELS = 4000
_STREAMS = 1_000_000  # rows of the trace from there on are streams of a device


def last_times():
    """{(file, line): nanoseconds of kernels} of the last profile, for explain."""
    return _last


def last_flush(files):
    """What was computed last of a graph of these files, as the viewer has it: groups of rows on their lanes, a list of
    (lane, name, start and length in nanoseconds, rows, file, line), kernels in the same form, and all that time; of the
    last profile."""
    found = {"span": 0, "groups": [], "kernels": []}
    for flush in reversed([e for e in _last_events if e["kind"] == "flush"]):
        inside = [e for e in _last_events if e["kind"] != "flush" and flush["start"] <= e["start"] < flush["start"] + flush["ns"]]
        if any(e["kind"] == "group" and e["file"] in files for e in inside):
            found["span"] = max(e["start"] + e["ns"] for e in inside) - flush["start"]
            for e in sorted(inside, key=lambda e: e["start"]):
                found[e["kind"] + "s"].append((e["thread"], e["name"], e["start"] - flush["start"], e["ns"], e["n"], e["file"], e["line"]))
            break
    return found


def _row(event):
    return event["thread"] + (_STREAMS if event["kind"] == "device" else 0)


def _units(ns):
    return f"{ns / 1e6:10.3f} ms"


class profile:
    """Records what runs inside a `with` block::

        with janus.profile("trace.json") as p:
            train(net, batch)
        print(p)

    path: where a trace in Chrome's format is written (Perfetto opens it), None: nowhere.  most: how many events are kept;
    `lost` counts the rest.  One profile of a process is recorded at a time: RuntimeError or ValueError otherwise.

    In the trace, one row per thread has calls that CPython ran, guards, host strands, flushes and inside them the groups
    of rows and kernels that ran there (lanes are the threads' rows), commits, conversions, and fallbacks as instants.  A
    device has a row for its stream, with kernels and captured flushes when they ran there, by events around each; the
    host's rows have them when they were issued.

    After the block: `events`, a list of dicts (kind, name, file, line, thread, start, ns, n); `ops` and `lines`, lists of
    (name or (file, line), nanoseconds, kernels, rows), most expensive first; `kinds`, {kind: (nanoseconds, events)};
    `table()`, the tables as text, which is also `str`.  `janus.explain` shows the times of lines from then on.
    """

    def __init__(self, path=None, *, most=1_000_000):
        self.path = None if path is None else os.fspath(path_of("janus.profile", path, "the path of a trace to write, or None"))
        self.most = most
        self.events, self.lost = [], 0
        self.ops, self.lines, self.kinds = [], [], {}

    def __enter__(self):
        _C._profile_start(self.most)
        return self

    def __exit__(self, *exception):
        global _last, _last_events
        events, self.lost = _C._profile_stop()
        first = min((e[5] for e in events), default=0)
        self.events = [{"kind": kind, "name": name, "file": file, "line": line, "thread": thread, "start": start - first,
                        "ns": end - start, "n": n} for kind, name, file, line, thread, start, end, n in events]
        self._sum()
        _last = {place: ns for place, ns, _, _ in self.lines}
        # kernels of the end only: what is kept for a page must not be what a long record was
        _last_events = [e for i, e in enumerate(self.events)
                        if e["kind"] in ("flush", "group") or (e["kind"] == "kernel" and i >= len(self.events) - _MOST_KERNELS)]
        if self.path is not None:
            with open(self.path, "w") as file:
                json.dump(self.trace(), file)
        return False

    def _sum(self):
        ops, lines, kinds = {}, {}, {}
        for e in self.events:
            ns, n = kinds.get(e["kind"], (0, 0))
            kinds[e["kind"]] = (ns + e["ns"], n + 1)
            if e["kind"] not in ("kernel", "eager", "device"):
                continue
            there = e["kind"] == "device"  # which was a kernel of the host's, too, when it was issued
            for sums, key in ((ops, e["name"] + " (device)" * there), (lines, (None, 0) if there else (e["file"], e["line"]))):
                if key != (None, 0):
                    s = sums.setdefault(key, [0, 0, 0])
                    s[0] += e["ns"]
                    s[1] += 1
                    s[2] += e["n"]
        for name, sums in (("ops", ops), ("lines", lines)):
            setattr(self, name, sorted(((key, *s) for key, s in sums.items()), key=lambda s: -s[1]))
        self.kinds = kinds

    def trace(self):
        """The events in Chrome's trace format, as a dict."""
        pid = os.getpid()
        out = [{"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": "janus"}}]
        for row in sorted({_row(e) for e in self.events}):
            name = "main" if row == 0 else f"device stream {row - _STREAMS}" if row >= _STREAMS else f"thread {row}"
            out.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": row, "args": {"name": name}})
        for e in self.events:
            args = {"rows": e["n"]}
            if e["file"]:
                args["line"] = f"{e['file']}:{e['line']}"
            one = {"name": e["name"], "cat": _CATEGORIES[e["kind"]], "pid": pid, "tid": _row(e),
                   "ts": e["start"] / 1e3, "args": args}
            if e["kind"] not in ("kernel", "eager", "device"):
                one["name"] = f"{_CATEGORIES[e['kind']]}: {e['name']}"
            if e["kind"] == "fallback":
                one.update(ph="i", s="t")
            else:
                one.update(ph="X", dur=e["ns"] / 1e3)
            out.append(one)
        return {"traceEvents": out, "displayTimeUnit": "ns", "otherData": {"lost": self.lost}}

    def table(self, most=20):
        """Tables of the `most` expensive ops and source lines, and a sum per kind of event."""
        total = sum(ns for _, ns, _, _ in self.ops) or 1
        out = ["      time  share   kernels      rows  op"]
        for name, ns, kernels, rows in self.ops[:most]:
            out.append(f"{_units(ns)} {ns / total:6.1%} {kernels:9} {rows:9}  {name}")
        out += ["", "      time  share   kernels      rows  line"]
        for (file, line), ns, kernels, rows in self.lines[:most]:

            text = linecache.getline(file, line).strip()
            out.append(f"{_units(ns)} {ns / total:6.1%} {kernels:9} {rows:9}  {os.path.basename(file)}:{line}  {text[:60]}")
        out += ["", "      time    events  kind"]
        for kind, (ns, n) in sorted(self.kinds.items(), key=lambda k: -k[1][0]):
            out.append(f"{_units(ns)} {n:9}  {_CATEGORIES[kind]}")
        if self.lost:
            out.append(f"{self.lost} events were lost: most={self.most}")
        return "\n".join(out)

    def __str__(self):
        return self.table()


profile.__module__ = "janus"
