# SPDX-License-Identifier: Apache-2.0
"""janus.explain: the user's source, line by line, with what became of it.

The facts come from C (pyfront/call/report.c); here they are put beside the source and made text, JSON or HTML.
"""
import ast
import html
import json
import linecache
import os
import re

from . import _C, _profile
from ._words import user_path

_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_CONVERSIONS, _MOST_ASSUMPTIONS, _MOST_GRAPHS = 40, 12, 3
# Roles of ops, those first that say most of a line.
_ORDER = ["loop", "branch", "call", "compute", "random", "host", "scalar", "assert", "gradient", ""]


class Explanation(str):
    """What `janus.explain` returns: a `str`, the text that was printed.

    `json()` gives the same as a JSON text (its keys are those of `facts`, a dict), `html()` as a page of its own.
    """

    __slots__ = ("facts",)

    def json(self):
        """The facts as a JSON text."""
        return json.dumps(self.facts, indent=1)

    def html(self):
        """The facts as one HTML page that needs nothing else."""
        return _html(self.facts)


# ---- lines


def _name(file):
    return "<" + os.path.basename(file) + ">" if not os.path.isabs(file) and not os.path.exists(file) else \
        os.path.basename(file)


def _functions(file):
    """(first line, last line, name, {line: kind of statement}, {line: last line of that statement}) per function."""
    text = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        kinds, ends = {}, {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.stmt) and inner is not node:
                kind = {"If": "if", "For": "for", "While": "for", "FunctionDef": "def"}.get(type(inner).__name__, "")
                if kind == "" and isinstance(inner, (ast.Pass, ast.Global, ast.Nonlocal)):
                    kind = "def"
                if kind == "" and isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
                    kind = "def"
                kinds[inner.lineno] = kind
                body = getattr(inner, "body", None)
                ends[inner.lineno] = body[0].lineno - 1 if body else inner.end_lineno
        first = min([d.lineno for d in getattr(node, "decorator_list", [])] + [node.lineno])
        found.append((first, node.end_lineno, getattr(node, "name", "<lambda>"), kinds, ends))
    return sorted(found, key=lambda f: (f[0], -f[1]))


def _around(functions, lines, own):
    """{line: the function that it is shown in}: the outermost one around it that ran itself, and that is not around
    the decorated one; so a function inside a function belongs to it, and one that a function or a class in it only
    made stands alone."""
    chains = {line: [f for f in functions if f[0] <= line <= f[1]] for line in lines}
    ran = {id(chain[-1]) for chain in chains.values() if chain}
    return {line: next((f for f in chain if id(f) in ran and not (own and f[0] < own <= f[1])), chain[-1])
            for line, chain in chains.items() if chain}


def _mark(uses, visited, kind, entries):
    roles = {role for role, _ in uses}
    if "loop" in roles and kind == "for":
        return "loop kept"
    if "branch" in roles and kind == "if":
        return "branch kept"
    if kind == "for" and visited:
        return "loop unrolled"
    if kind == "if" and visited:
        return "branch decided"
    if roles:
        return "graph"
    if visited:
        return "folded" if kind != "def" else ""
    return "not reached" if entries and kind not in (None, "def") else ""


def _sources(report, own, times):
    """Functions with their lines, the decorated one first: the user's whole, of janus itself one sum."""
    uses, visited, leads, left = {}, set(), set(), {}
    regions = [(first, last) for first, last, _, _, inner in report["regions"]]
    inside = [_C._report(inner) for *_, inner in report["regions"]]
    for entry in [e for r in (report, *inside) for e in r["entries"]]:
        for file, line, role, op, n in entry["lines"]:
            ops = uses.setdefault((file, line), {})
            ops[role, op] = max(n, ops.get((role, op), 0))
        visited.update((file, line) for file, line, _ in entry["visited"])
        leads.update((file, line) for file, line, on in entry["visited"] if on)
        for file, line, why in entry["left_out"]:
            left[file, line] = why
    refused = tuple(report["refused"]) if report["refused"] and not report["entries"] else None
    places = set(uses) | visited | set(left) | ({refused} if refused else set())
    library = sum(n for (file, _), ops in uses.items() if file.startswith(_HERE) for n in ops.values())
    if own:
        places.add(own)
    total = sum(times.get(p, 0) for p in places)
    found = []
    for file in sorted({file for file, _ in places if not file.startswith(_HERE)}, key=lambda f: (own is None or f != own[0], f)):
        functions = _functions(file)
        mine = _around(functions, [line for f, line in places if f == file], own[1] if own and own[0] == file else None)
        for first, last, name, kinds, ends in sorted({id(f): f for f in mine.values()}.values(),
                                                     key=lambda f: (own is None or not f[0] <= own[1] <= f[1], f[0])):
            lines = []
            for line in range(first, last + 1):
                spot, end = (file, line), ends.get(line, line)
                ops = uses.get(spot, {})
                kind = kinds.get(line)
                mark = _mark(ops, spot in visited, kind, report["entries"])
                reason = None
                if mark == "folded" and any((file, k) in uses or (file, k) in leads for k in range(line, end + 1)):
                    mark = "graph"  # in what it calls, or on another line of it
                if spot in left:
                    reason = left[spot]
                    if mark in ("", "folded", "not reached"):
                        mark = "left to CPython"
                    else:  # the rest of the line is not
                        reason = f"{_bare(reason)} is left to CPython"
                elif spot == refused:
                    mark, reason = "imperative", report["reason"]
                if regions and own and file == own[0] and first <= own[1] <= last and kind not in (None, "def") and \
                        not any(a <= line <= b for a, b in regions):
                    mark = "region boundary"  # CPython's, between statements that may be graphs
                lines.append({"line": line, "source": linecache.getline(file, line).rstrip("\n"), "mark": mark,
                              "reason": _bare(reason) if reason else None,
                              "ops": [f"{op} x{n}" if n > 1 else op for (role, op), n in
                                      sorted(ops.items(), key=lambda o: _ORDER.index(o[0][0]))
                                      if role != "gradient" and ".grad" not in op and not op.endswith("_grad")],
                              "ns": times.get(spot, 0), "share": times.get(spot, 0) / total if total else None})
            found.append({"name": name, "file": file, "lines": lines})
    return found, library


def _bare(reason):
    return re.sub(r"^[^\s:]*:\d+: ", "", reason.split("\n", 1)[0])


# ---- assumptions, conversions


def _assumptions(f, entry):
    """Those that can break, in the user's names, those that failed first; how many more are about code."""
    shown, others = [], 0
    for path, what, failed, code in entry["assumes"]:
        inner = re.search(r"\._(modules|parameters|buffers)|\._\w+hooks", path)
        path = user_path(f, path)
        if not failed and (code or inner or path.startswith(("<", "class ")) or re.search(r":\d", path)):
            others += 1
            continue
        shown.append({"path": path, "what": what, "failed": failed})
    shown.sort(key=lambda a: -a["failed"])
    return shown, others


def _own_code(function):
    """The code of the program's function, where one of janus stands around it (`@janus.no_grad()`); None: it has none."""
    code = getattr(function, "__code__", None)
    while getattr(code, "co_filename", "").startswith(_HERE + os.sep) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
        code = getattr(function, "__code__", None)
    return code


def _facts(f, seen=None):
    """seen: code of functions of which is told: a recursion calls itself by another Function."""
    report = _C._report(f)
    function = report["function"]
    code = _own_code(function)
    seen = {code} if seen is None else seen
    callees = []
    for g in report["callees"]:
        if g.__code__ not in seen:
            seen.add(g.__code__)
            callees.append(_facts(g, seen))
    own = (code.co_filename, code.co_firstlineno) if hasattr(code, "co_filename") else None
    sources, library = _sources(report, own, _profile.last_times())
    entries = []
    for entry in report["entries"]:
        assumes, others = _assumptions(function, entry)
        checked = entry["runs"] + sum(a[2] for a in entry["assumes"])
        entries.append({"runs": entry["runs"], "state": entry["state"], "times_ns": list(entry["times"]),
                        "checked": checked, "assumes": assumes, "others": others,
                        "effects": [[what, user_path(function, path)] for what, path in entry["effects"]]})
    return {"name": getattr(function, "__qualname__", None) or repr(function), "file": own[0] if own else None,
            "line": own[1] if own else None, "stats": _C.Function.stats(function), "sources": sources, "library": library,
            "entries": entries, "reason": report["reason"] if not report["entries"] else None, "notes": report["notes"],
            "callees": callees,
            "conversions": [{"call": call, "made": made, "ns": ns,
                             "cause": f"{user_path(function, cause)} changed" if cause else
                             "first call" if not i else "no graph before it"}
                            for i, (call, made, cause, ns) in enumerate(report["conversions"])]}


# ---- text


def _ms(ns):
    return f"{ns / 1e6:.2f} ms" if ns >= 1e5 else f"{ns / 1e3:.1f} us"


def _head(facts):
    s = facts["stats"]
    where = f" ({_name(facts['file'])}:{facts['line']})" if facts["file"] else ""
    together = f"{s['coexecution']} co-executed, " if s["coexecution"] else ""
    return (f"{facts['name']}{where}: {s['calls']} calls, {s['graph']} as graphs, {together}{s['imperative']} imperative, "
            f"{s['fallbacks']} discarded, {s['conversions']} conversions, {s['entries']} entries")


def _source_text(source):
    out = [f"{source['name']} in {_name(source['file'])}:"]
    timed = any(line["ns"] for line in source["lines"])
    for line in source["lines"]:
        text = f"  {line['mark']:15} "
        if timed:
            text += f"{_ms(line['ns']):>10} {line['share']:4.0%} " if line["ns"] else " " * 16
        text += f"{line['line']:5} | {line['source']}"
        ops = ", ".join(line["ops"][:6]) + (", ..." if len(line["ops"]) > 6 else "")
        out.append((f"{text:<80}  # {ops}" if ops else text).rstrip())
        if line["reason"]:
            out.append(f"  {'':15} {' ' * 16 if timed else ''}{'':5} ^ {line['reason']}")
    return out


def _root(path):
    return re.match(r"[^.\[]*", path)[0]


def _common(paths):
    """What paths have in common, up to a name or an index that is whole."""
    common = os.path.commonprefix(paths)
    if all(len(p) == len(common) or p[len(common)] in ".[" for p in paths):
        return common
    return re.sub(r"[.\[][^.\[]*$", "", common) or common


_KINDS = [("is a tensor of", "tensors", "types, shapes and requires_grad"), ("is a ", "objects", "types"),
          ("has length", "containers", "lengths"), ("is an object met", "objects", "which are one"),
          ("is absent", "attributes", "that they are absent"), ("is the same object", "objects", "which they are"),
          ("is ", "values", "what they are"), ("", "places", "what is there")]


def _grouped(assumes):
    """A line for what failed, and for places of which few are alike; else one for all of a kind at one place."""
    lines = [f"{a['path']} {a['what']} (failed {a['failed']} times)" for a in assumes if a["failed"]]
    groups = {}
    for a in assumes:
        if not a["failed"]:
            kind = next(k for k in _KINDS if a["what"].startswith(k[0]))
            groups.setdefault((_root(a["path"]), kind), []).append(a)
    for (_, (_, name, what)), group in groups.items():
        if len(group) < 3:
            lines += [f"{a['path']} {a['what']}" for a in group]
        else:
            lines.append(f"{len(group)} {name} of {_common([a['path'] for a in group])}: {what}")
    return lines


def _entry_text(i, entry):
    out = [f"graph {i}: {entry['runs']} runs, its assumptions checked {entry['checked']} times"]
    first, graph, plain = entry["times_ns"]
    if graph and entry["state"] in ("pays", "slow"):
        out[0] += f", {_ms(graph)} a call" + (f" (imperatively {_ms(plain)})" if plain else "")
    lines = _grouped(entry["assumes"])
    out += [f"  assumes: {line}" for line in lines[:_MOST_ASSUMPTIONS]]
    if len(lines) > _MOST_ASSUMPTIONS:
        out.append(f"  assumes: {len(lines) - _MOST_ASSUMPTIONS} more of that kind (json() has all)")
    if entry["others"]:
        out.append(f"  assumes: that code, classes and modules are as they were ({entry['others']} checks)")
    kinds = {}
    for what, path in entry["effects"]:
        kinds.setdefault((what, _root(path)), []).append(path)
    out += [f"  effect: {what}: {paths[0] if len(paths) == 1 else f'{len(paths)} of {_common(paths)}'}"
            for (what, _), paths in kinds.items()]
    return out


def _notes_text(notes):
    """Texts, those that come again and again once."""
    counts = {}
    for note in notes:
        counts[note] = counts.get(note, 0) + 1
    return [f"  {note}" + (f"\n    ({n} times)" if n > 1 else "") for note, n in counts.items()]


def _recorded_text(s):
    return (f"co-execution: {s['recorded']} ops recorded, run at {s['flushes']} times, {s['grouped']} of them "
            f"(and of gradients) in {s['groups']} groups")


def _text(facts):
    out = [_head(facts)]
    if facts["reason"]:
        out.append(f"runs {'co-executed' if facts['stats']['coexecution'] else 'imperatively'}: {facts['reason']}")
    out += [_recorded_text(facts["stats"])] if facts["stats"]["recorded"] else []
    for source in facts["sources"]:
        out += ["", *_source_text(source)]
    if facts["library"]:
        out += ["", f"and {facts['library']} operations in janus's own Python code"]
    for i, entry in enumerate(facts["entries"][:_MOST_GRAPHS]):
        out += ["", *_entry_text(i, entry)]
    if len(facts["entries"]) > _MOST_GRAPHS:
        out += ["", f"and {len(facts['entries']) - _MOST_GRAPHS} older graphs (json() has them)"]
    if facts["conversions"] or facts["notes"]:
        out += ["", "what happened:"]
    for c in facts["conversions"][:_MOST_CONVERSIONS]:
        out.append(f"  call {c['call']}: {'a graph was made' if c['made'] else 'no graph could be made'} in {_ms(c['ns'])} "
                   f"({c['cause']})")
    out += _notes_text(facts["notes"])
    for callee in facts["callees"]:
        out += ["", f"called by statements of {facts['name']}:", _text(callee)]
    return "\n".join(out)


# ---- HTML

_COLOURS = {"graph": "#d9ead3", "loop kept": "#d0e2f5", "branch kept": "#d0e2f5", "loop unrolled": "#d9ead3",
            "branch decided": "#fff2cc", "folded": "#eeeeee", "left to CPython": "#fce5cd", "region boundary": "#fce5cd", "imperative": "#f4cccc",
            "not reached": "#ffffff"}


def _html(facts):
    e = html.escape
    out = ["<!doctype html><meta charset=\"utf-8\"><title>janus.explain</title><style>body{font:13px/1.4 monospace;margin:1em}"
           "td{padding:0 .6em;white-space:pre}td:nth-child(1){color:#555}.r{color:#a00}</style>",
           f"<p><b>{e(_head(facts))}</b></p>"]
    if facts["reason"]:
        out.append(f"<p class=r>runs imperatively: {e(facts['reason'])}</p>")
    for source in facts["sources"]:
        out.append(f"<h3>{e(source['name'])} in {e(source['file'])}</h3><table>")
        for line in source["lines"]:
            time = f"{_ms(line['ns'])} {line['share']:.0%}" if line["ns"] else ""
            reason = f" <span class=r>{e(line['reason'])}</span>" if line["reason"] else ""
            out.append(f"<tr style=\"background:{_COLOURS.get(line['mark'], '#ffffff')}\"><td>{line['mark']}</td>"
                       f"<td>{time}</td><td>{line['line']}</td><td>{e(line['source'])}{reason}</td>"
                       f"<td>{e(', '.join(line['ops']))}</td></tr>")
        out.append("</table>")
    for callee in facts["callees"]:
        out.append(f"<h3>called by statements of {e(facts['name'])}: {e(callee['name'])}</h3><pre>{e(_text(callee))}</pre>")
    rest = [line for i, entry in enumerate(facts["entries"]) for line in _entry_text(i, entry)]
    out.append(f"<pre>{e(chr(10).join(rest + _notes_text(facts['notes'])))}</pre>")
    return "\n".join(out) + "\n"


def explain(f):
    """Prints what became of a decorated function, and returns it.

    `f` is what `janus.function` returned: a Function, a method of one, or a decorated Module.  Below the counts comes its
    source and that of the functions it calls, with a mark for each line:

    - `graph`: runs in the graph, by itself or in what it calls (janus's own code counts as its caller's); `loop kept`, `branch kept`: is a loop or a branch of the graph
    - `loop unrolled`, `branch decided`: done when the graph was made, and assumed
    - `folded`: Python work that was done when the graph was made; `not reached`: no call came there
    - `left to CPython`: assumed not to happen; a run that comes there is discarded (where it is a part of a line only, a note below the line)
    - `imperative`: why no graph can be made; `region boundary`: a statement that CPython runs between regions of
      statements, which may be graphs

    then, per graph, what it assumes and how often that was checked and failed, and what happened at which call; then the
    same of the functions that CPython's statements of one with regions call and that work with tensors.  After a
    `janus.profile`, lines have the time that was measured and their share of it.

    Returns an Explanation: a `str`, with `json()` and `html()`.  Raises TypeError if `f` is not decorated.
    """
    facts = _facts(f)
    text = Explanation(_text(facts))
    text.facts = facts
    print(text)
    return text
