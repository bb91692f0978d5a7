# SPDX-License-Identifier: Apache-2.0
"""Programs as text run decorated and not: what they return, raise, write and leave behind is compared, with which objects are one."""
import types

import janus
from texts import names_of

OPTIONS = ({"verify": "never", "measure": False}, {"measure": False})


def shown(o, met):
    """What can be seen of an object; met: numbers of those that have an identity, by the order in which they are met."""
    if isinstance(o, (int, float, complex, str, bytes, type(None))):
        return type(o).__name__, repr(o)
    if isinstance(o, (types.FunctionType, types.BuiltinFunctionType, type)):
        return "named", o.__qualname__
    if isinstance(o, tuple):
        return type(o).__name__, [shown(v, met) for v in o]
    if id(o) in met:
        return "again", met[id(o)][0]
    met[id(o)] = number, _ = len(met), o
    if isinstance(o, janus.Tensor):
        return type(o).__name__, number, str(o.dtype), o.requires_grad, o.is_leaf, o.tolist(), shown(o.grad, met)
    if isinstance(o, list):
        return type(o).__name__, number, [shown(v, met) for v in o]
    if isinstance(o, dict):
        return type(o).__name__, number, [(shown(k, met), shown(v, met)) for k, v in o.items()]
    if isinstance(o, (set, frozenset)):
        return type(o).__name__, number, sorted(map(repr, o))
    return type(o).__name__, number, shown(getattr(o, "__dict__", None), met)


def outcome(call, also):
    """What a call gives or raises, and `also` behind it."""
    try:
        result = "returns", call()
    except Exception as e:
        result = "raises", type(e).__name__, str(e)
    return shown((result, also), {})


def alike(text, calls=6, watched=(), options=OPTIONS):
    """Runs f(*arguments(k)) of a program for k = 0, 1, ...: how many of the calls were graphs, with each of the options."""
    seen, graphs = [], []
    for how in (None, *options):
        names = names_of(text, janus=janus)
        f = janus.function(names["f"], **how) if how else names["f"]
        out = []
        for k in range(calls):
            args = names["arguments"](k)
            out.append(outcome(lambda: f(*args), (args, [names[name] for name in watched])))  # noqa: B023
        seen.append(out)
        graphs += [f.stats()["graph"]] if how else []
    for out in seen[1:]:
        for k, (wanted, got) in enumerate(zip(seen[0], out)):
            assert wanted == got, (text, k)
    return graphs
