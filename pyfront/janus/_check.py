# SPDX-License-Identifier: Apache-2.0
"""janus.check: one call, by a graph and by CPython, compared."""
import warnings

from . import _C
from ._asked import function_of, without_body


def check(f, *args, **kwargs):
    """What f(*args, **kwargs) returns, if its graph would do the same.

    f: a function, or what janus.function made of one.  It is converted for these arguments; the graph computes the call and
    all that it would write, CPython runs it, once, and its effects stand; then results, written objects, tensors and random
    numbers are compared.  Nothing of the graph is used.

    Raises janus.SpeculationWarning, naming the first difference and the function's line, where they are not the same;
    ValueError, before anything has run, where there is no graph for these arguments, with the reason; RuntimeError where the
    graph's run was discarded or other threads leave it undecided; else what f raises.
    """
    function_of("janus.check", f, "a function, then its arguments")
    plain = getattr(f, "__wrapped__", f)
    code = getattr(plain, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    if reason := without_body(plain):
        raise ValueError(f"janus.check: no graph for these arguments: {reason}{where}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", _C.SpeculationWarning)
            got, result, text = _C._check(f, args, kwargs)
    except _C.SpeculationWarning as e:
        raise _C.SpeculationWarning(f"{e}{where}") from None
    if got == 4:
        return result
    if got == -3:
        text = text.removeprefix("?:0: ")  # what has no source has no place in it
        raise ValueError(f"janus.check: no graph for these arguments: {text}{where}")
    if got in (5, 7):
        raise _C.SpeculationWarning(f"janus.check: the graph gives other numbers: {text}{where}")
    raise RuntimeError(f"janus.check: not compared: {text}{where}")
