# SPDX-License-Identifier: Apache-2.0
"""What is said, once, of a function that stays imperative or needs ever new graphs.

C decides when (pyfront/function/word.c).  docs/warnings.md has a section for each code.
"""
import os
import re
import warnings

from . import _C


class PerformanceWarning(UserWarning):
    """A decorated function works as it should, and is not as fast as it could be.

    Each text begins with a stable code, `J001` and so on; docs/warnings.md says what each means and what to change.
    `JANUS_QUIET=1` in the environment, or a filter of Python's `warnings`, silences them.
    """


PerformanceWarning.__module__ = "janus"

# Of J001, by a word of the reason: what to change.
_CHANGES = [
    (r"`async def`", "decorate the functions that it calls"),
    (r"elements of a tensor|as a truth|\bitem\(\)", "keep numbers that decide as tensors (janus.where, comparisons in an "
     "`if`), or decide before the decorated call"),
    (r"writ|stored|in place", "return a new value and let the caller write it"),
    (r"leaves the graph|a result", "return tensors, numbers, and containers of those"),
    (r"loop|round|iterat|range", "give what changes in the loop one type and shape from the start"),
    (r"differentiated again", "take gradients of gradients outside of the decorated function"),
    (r"\bcall|method|function|attribute", "move it out of the decorated function, or decorate what it calls instead"),
]
_OTHERWISE = "move that statement out of the decorated function, or decorate what it calls instead"

_registry = {}


def _code_of(f):
    code = getattr(f, "__code__", None)
    return code if hasattr(code, "co_varnames") else None


def user_path(f, path):
    """A path of a guard in the names of the function's user: "argument 0.width" is "x.width"."""
    code = _code_of(f)
    if code is None:
        return path
    owner = getattr(f, "__self__", None)
    bound = 0 if owner is None else 1
    if bound and code.co_argcount:
        path = path.replace("<method>.__self__", code.co_varnames[0])
    path = re.sub(r"""\._(?:modules|parameters|buffers)\["(\w+)"\]""", r".\1", path)

    def named(match):
        place = int(match[1]) + bound
        if place < code.co_argcount:
            return code.co_varnames[place]
        if code.co_flags & 4:
            return f"{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}[{place - code.co_argcount}]"
        return match[0]
    path = re.sub(r"\bargument (\d+)", named, path)

    def cell(match):
        return code.co_freevars[int(match[1])] if int(match[1]) < len(code.co_freevars) else match[0]
    return re.sub(r"<function>:2 cell (\d+)", cell, path).replace("global ", "")


def _bare(reason):
    """The reason without the place before it and the line of source below it."""
    return re.sub(r"^[^\s:]*:\d+: ", "", reason.split("\n", 1)[0])


def text_of(f, code, cause):
    """(what is the matter, what to change)."""
    stats = _C.Function.stats(f)
    if code == 1:
        cause = _bare(cause)
        change = next((c for pattern, c in _CHANGES if re.search(pattern, cause)), _OTHERWISE)
        return f"runs imperatively: no graph can be made of this line: {cause}", change
    if code == 2:
        what = user_path(f, cause) if cause else "what it is called with"
        return (f"needs ever new graphs: {stats['conversions']} conversions in {stats['calls']} calls, since {what} "
                "keeps changing",
                "pass what changes as a tensor or a plain number, or fix it before the decorated call")
    if code == 3:
        return (f"starts over again and again: {stats['fallbacks']} of {stats['calls']} calls were discarded, last: "
                f"{_bare(cause) if cause else 'not known'}",
                "keep what differs between calls (branches, lengths, shapes) out of the decorated function, or pass it "
                "as an argument")
    if code == 4:
        return ("is not faster as a graph, which was measured twice, and runs imperatively",
                "decorate the function that calls it, so that one graph has more to do, or remove the decorator")
    return (f"runs imperatively: {_bare(cause) if cause else 'its source is not there'}",
            "define it in a file (or a notebook's cell) and leave the file as it was when it was imported")


def say(f, code, cause, file, line):
    if os.environ.get("JANUS_QUIET", "0") not in ("", "0"):
        return
    its = _code_of(f)
    if file is None and its is not None:
        file, line = its.co_filename, its.co_firstlineno
    what, change = text_of(f, code, cause)
    name = getattr(f, "__qualname__", None) or repr(f)
    text = (f"J{code:03}: {name} {what}. To change: {change}. (docs/warnings.md; janus.explain shows all; JANUS_QUIET=1 "
            "silences this)")
    warnings.warn_explicit(text, PerformanceWarning, file or "<unknown>", line or 1, registry=_registry)
