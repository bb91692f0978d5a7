# SPDX-License-Identifier: Apache-2.0
"""Python that stands for classes of CPython in graphs (janus/_models) has attributes of its own, which programs do not see."""
import collections
import itertools
import random
import types

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

from janus import _models  # noqa: E402

MADE = {
    set: "set([1, 2])", collections.deque: "collections.deque([1, 2])", collections.OrderedDict: "collections.OrderedDict(a=1)",
    collections.defaultdict: "collections.defaultdict(list)", collections.Counter: "collections.Counter('ab')", itertools.count: "itertools.count(3)",
    itertools.repeat: "itertools.repeat(1)", itertools.cycle: "itertools.cycle([1, 2])", types.SimpleNamespace: "types.SimpleNamespace(a=1)",
}
NAMES = dict(janus=janus, collections=collections, itertools=itertools, types=types, random=random, __name__="program")


def privates(model):
    """Names that its class or its methods use of it."""
    names = set(vars(model))
    for method in vars(model).values():
        names |= set(getattr(getattr(method, "__code__", None), "co_names", ()))
    return sorted(n for n in names if n.startswith("_") and not n.startswith("__"))


@pytest.mark.parametrize("of", [of for of in MADE if of in _models.MODELS and isinstance(_models.MODELS[of], type)], ids=lambda of: of.__name__)
def test_of_what_a_function_makes(of):
    for name in privates(_models.MODELS[of]):
        text = f"def f(x):\n    o = {MADE[of]}\n    return hasattr(o, '{name}'), getattr(o, '{name}', 3), x + 1\n"
        f = names_of(text, **NAMES)["f"]
        g = janus.function(f, verify="never", measure=False)
        x = janus.ones(2)
        for _ in range(4):
            assert g(x)[:2] == f(x)[:2], name
