# SPDX-License-Identifier: Apache-2.0
"""Shapes, strides and what is made of them are objects of their own each time that the program asks for them."""
import importlib.util
import itertools

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

SIZES = ["y.shape", "x.shape", "x.size()", "y.sum().shape", "y[:0].shape", "y.shape[:1]", "y.shape[1:]", "x.stride()",
         "tuple(x.shape)", "(1, y.shape[0])", "KEPT", "y.t().stride()", "y.reshape(-1).shape"]
FORMS = ["{0}", "[{0}, {0}]", "(lambda s: (s, [s], {{'a': s}}))({0})", "{{'a': {0}}}", "[{0}] * 2", "setattr(o, 'kept', {0})",
         "kept.append({0})"]


def module_of(tmp_path):
    text = ["import janus", "KEPT = janus.ones(2).shape", "class O: pass", "o, kept, made = O(), [], {}"]
    for i, (size, form) in enumerate(itertools.product(SIZES, FORMS)):
        text += [f"def f{i}(x):", "    y = x + 1", f"    return y, {form.format(size)}", f"made[{form.format(size)!r}] = f{i}"]
    path = tmp_path / "made_anew.py"
    path.write_text("\n".join(text) + "\n")
    spec = importlib.util.spec_from_file_location("made_anew", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pattern(value, seen):
    """What a value is made of, and which of the objects met before its parts are."""
    if not isinstance(value, (tuple, list, dict)):
        return type(value).__name__, None if isinstance(value, janus.Tensor) else value
    if id(value) in seen:
        return "again", seen[id(value)]
    seen[id(value)] = len(seen)
    return type(value).__name__, [pattern(v, seen) for v in (value.items() if isinstance(value, dict) else value)]


def observed(module, f):
    x, calls, seen = janus.ones(3, 4), [], {}
    module.kept.clear()
    for _ in range(4):
        calls.append((f(x), getattr(module.o, "kept", None), *module.kept))
    return [pattern(list(c[0]), seen) + (pattern(list(c[1:]), seen),) for c in calls]


def test_made_anew(tmp_path):
    module, graphs = module_of(tmp_path), 0
    for text, f in module.made.items():
        vars(module.o).clear()
        want = observed(module, f)
        vars(module.o).clear()
        g = janus.function(f, verify="never", measure=False)
        assert observed(module, g) == want, text
        graphs += g.stats()["graph"]
    assert graphs > 3 * len(module.made) // 2
