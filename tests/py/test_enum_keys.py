# SPDX-License-Identifier: Apache-2.0
"""Members of an Enum as keys: of the caller's dicts, and of those that are made inside.  What hashes by code of the program's is CPython's."""
import enum

import pytest

import janus
from shares import share
from texts import names_of

CLASSES = {"Enum": "class Op(enum.Enum):\n    ADD, MUL, NEG = 'add', 'mul', 'neg'", "auto": "class Op(enum.Enum):\n    ADD, MUL, NEG = enum.auto(), enum.auto(), enum.auto()",
           "Flag": "class Op(enum.Flag):\n    ADD, MUL, NEG = 1, 2, 4", "IntEnum": "class Op(enum.IntEnum):\n    ADD, MUL, NEG = 0, 1, 2",
           "hashes": "class Op(enum.Enum):\n    ADD, MUL, NEG = 1, 2, 3\n    def __hash__(self):\n        hashed.append(self.name)\n        return 5",
           "equals": "class Op(enum.Enum):\n    ADD, MUL, NEG = 1, 2, 3\n    __hash__ = enum.Enum.__hash__\n    def __eq__(self, other):\n        return self.value == getattr(other, 'value', other)",
           "with a field": "class Op(enum.Enum):\n    ADD, MUL, NEG = (1, 'a'), (2, 'b'), (3, 'c')\n    def __init__(self, n, text):\n        self.n, self.text = n, text"}
USES = {"read": "x * table[k]", "get": "(table.get(k), table.get(other, 'none'))", "in": "(k in table, other not in table)", "missing": "table[other]", "write": "table.__setitem__(k, x.sum())",
        "new": "table.__setitem__(other, x * 2)", "made": "{Op.ADD: x + 1, Op.MUL: x * 2, Op.NEG: -x}[k]", "given back": "{k: x, other: x * 2}", "same key": "{k: 1, k: 2}", "functions": "calls[k](x)",
        "items": "[(key, v) for key, v in table.items()]", "keys": "list({k: 1, Op.ADD: 2})", "default": "table.setdefault(other, 5)", "tuple": "{(k, 1): x * 3}[k, 1]", "set": "k in {Op.ADD, Op.NEG}",
        "counted": "[table.get(o, 0) for o in (Op.ADD, Op.MUL, Op.NEG)]", "pop": "table.pop(k)", "removed": "table.pop(other, 'no')", "is": "next(iter({k: 1})) is k", "graph": "x * table[(Op.ADD if x.sum() > 3 else Op.MUL)]"}
TEXT = """
hashed = []
{of}
calls = {{Op.ADD: lambda x: x + 1, Op.MUL: lambda x: x * 2, Op.NEG: lambda x: -x}}
ops = [Op.ADD, Op.MUL]

def f(k, other, x, table):
    v = {use}
    return v, x * 2
"""


def shown(v):
    if isinstance(v, janus.Tensor):
        return (str(v.dtype), tuple(v.shape), str(v.tolist()))
    if type(v) in (tuple, list):
        return [type(v).__name__, *map(shown, v)]
    if type(v) is dict:
        return ["dict", *[(shown(k), shown(o)) for k, o in v.items()]]
    return (type(v).__name__, repr(v))


def outcome(use, of, verify):
    names = names_of(TEXT.format(use=USES[use], of=CLASSES[of]), janus=janus, enum=enum, __name__="program")
    f = janus.function(names["f"], verify=verify, measure=False) if verify else names["f"]
    Op, log = names["Op"], []
    for i in range(18):
        k = names["ops"][i // 3 % 2]
        table = {Op.ADD: 2.0 + i // 6, Op.MUL: 3.0}
        if i == 13:
            Op.__hash__ = lambda self: 7
            table = {Op.ADD: 1.0, Op.MUL: 2.0}
        try:
            log.append(shown(f(k, Op.NEG, janus.arange(3.0) + i, table)))
        except Exception as error:
            log.append(f"{type(error).__name__}: {error}")
        log.append([(key.name, shown(v)) for key, v in table.items()])
        if i > 12:
            del names["calls"]
            names["calls"] = {Op.ADD: abs, Op.MUL: abs}
    return log, list(names["hashed"]) if verify != "always" else [], f.stats() if verify else {}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("of", CLASSES)
def test_as_undecorated(of, verify):
    for use in share(USES):
        want, got = outcome(use, of, None), outcome(use, of, verify)
        assert want[0] == got[0], use
        assert verify == "always" or want[1] == got[1], use


@pytest.mark.parametrize("of", ["Enum", "auto", "with a field", "IntEnum"])
@pytest.mark.parametrize("use", ["read", "get", "in", "made", "functions", "given back", "write"])
def test_in_graphs(use, of):
    stats = outcome(use, of, "never")[2]
    assert stats["graph"] > 0, stats
