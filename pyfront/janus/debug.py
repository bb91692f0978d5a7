# SPDX-License-Identifier: Apache-2.0
"""Looking for what went wrong: `find_nan`."""
import linecache
import os
import sys

from . import _C, _asked
from ._export import _plain

__all__ = ["NanFound", "find_nan"]

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


class NanFound:
    """Where the first NaN was: what `find_nan` returns.

    op: the op's name; file, line, function: of the program's line that it ran in (a gradient's is that of `backward()`);
    operands, results: types and shapes as text; count, of: how many elements of the result are NaN; made: True where
    no operand had one, False where it was there before f ran (in an argument or weight), None where a tensor was
    written in place, which may be either.
    """

    def __init__(self, op, operands, results, count, of, how, where):
        self.op, self.operands, self.results, self.count, self.of = op, operands, results, count, of
        self.made = {"made": True, "passed on": False, "in place": None}[how]
        self.file, self.line, self.function = where

    def __str__(self):
        how = {True: "is made by", False: "was there before, and is read by", None: "is left by"}[self.made]
        text = linecache.getline(self.file, self.line).strip()
        place = f"{self.file}:{self.line}, in {self.function}" + (f"\n    {text}" if text else "")
        return (f"NaN {how} {self.op} ({self.operands} -> {self.results}): {self.count} of {self.of} elements\n"
                f"  at {place}")

    __repr__ = __str__


class _Lines:
    """A trace function that knows the last line of the program that ran, and asks after each."""

    def __init__(self):
        self.stack, self.found = [("?", 0, "?")], None

    def _asked(self):
        if self.found is None:
            now = _C._nan_found()
            if now is not None:
                self.found = NanFound(*now, self.stack[-1])

    def trace(self, frame, event, arg):
        if frame.f_code.co_filename.startswith(_OWN):  # counts as the line that called it
            self._asked()
            return None
        self._asked()
        if event == "call":
            self.stack.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        elif event == "line":
            self.stack[-1] = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        elif event == "return" and len(self.stack) > 1:
            self.stack.pop()
        return self.trace


def find_nan(f, *args, inf=False, **kwargs):
    """Calls f once, imperatively and op by op, and says which op gave the first NaN.

    f: a function or Module, decorated or not; everything under it runs as CPython runs it.  inf: infinity counts, too.
    Returns a `NanFound`, None where no op gave any.  An exception of f is raised unless a NaN came first: that is the answer
    then.  What f changes is changed.  Slow, since every line is traced: for one call.  Ops on a GPU are not looked at.
    RuntimeError inside a debugger's trace, ValueError while `janus.profile` records::

        print(janus.debug.find_nan(step, x, y))
        NaN is made by log (f32[32,10] -> f32[32,10]): 3 of 320 elements
          at train.py:41, in loss
            return -(p.log() * t).sum()
    """
    if sys.gettrace() is not None:
        raise RuntimeError("find_nan traces lines, and something else does already")
    lines, f = _Lines(), _asked.function_of("janus.debug.find_nan", _plain(f))
    _C._nan_watch(inf)
    try:
        sys.settrace(lines.trace)
        try:
            f(*args, **kwargs)
        finally:
            sys.settrace(None)
            lines._asked()
    except Exception:
        if lines.found is None:
            raise
    finally:
        _C._nan_stop()
    return lines.found
