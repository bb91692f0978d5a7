# SPDX-License-Identifier: Apache-2.0
"""What nodes and items hold is of one kind in some calls and of another in later ones, and nothing but its kind is asked: no graph goes on as before."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

KINDS = {
    "int": "3", "float": "0.5", "bool": "True", "tensor": "janus.ones(2)", "tracked": "w * 1", "leaf": "w", "text": "'a'", "None": "None",
    "list": "[1]", "tuple": "(1, 2)", "dict": "{'a': 1}", "object": "Box()", "empty": "[]", "function": "len", "zero": "0",
}
QUESTIONS = {
    "list": "isinstance(v, list)", "int": "isinstance(v, int)", "text": "isinstance(v, str)", "several": "isinstance(v, (tuple, dict))",
    "a tensor": "isinstance(v, janus.Tensor)", "an object": "isinstance(v, Box)", "None": "v is None", "not None": "v is not None",
    "its type": "type(v) is int", "equal types": "type(v) == list", "its class": "v.__class__ is list", "a default": "getattr(v, 'append', None) is None", "a key": "{1: 2, 3: 4}.get(v, 5) == 4 if not isinstance(v, (list, dict)) else False", "called": "callable(v)", "an attribute": "hasattr(v, 'append')", "equal to text": "v == 'a'"
    " if not isinstance(v, janus.Tensor) else False", "the name of its type": "type(v).__name__ == 'float'", "one of": "v is True or v is False", "float": "not isinstance(v, float)",
}
PATTERNS = {
    "case list()": "list()", "case []": "[*_]", "case {}": "{}", "case None": "None", "case int()": "int()", "case Box()": "Box()", "case text": "'a'", "case float() | None": "float() | None",
}
PLACES = {
    "nodes": """
class N:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
def f(n, x):
    y = {node}
    for k in n.kids: y = y + f(k, x)
    return y
def made(v, again): return N(v(), *(N(v()) for _ in range(1 + again)))
""",
    "items": """
def f(items, x):
    y = x
    for q in items: y = {item}
    return y
def made(v, again): return [v() for _ in range(2 + again)]
""",
    "pairs": """
def f(items, x):
    y = x
    for name, q in items: y = {item}
    return y
def made(v, again): return [("a", v()) for _ in range(2 + again)]
""",
    "dicts": """
def f(n, x):
    y = {key}
    for k in n["kids"]: y = y + f(k, x)
    return y
def made(v, again): return {{"v": v(), "kids": [{{"v": v(), "kids": []}} for _ in range(1 + again)]}}
""",
}


def text(place, question):
    if question in PATTERNS:
        ask = f"def ask(v, y, x):\n    match v:\n        case {PATTERNS[question]}: return y * 2\n        case _: return y + 3\n"
    else:
        ask = f"def ask(v, y, x): return y * 2 if ({QUESTIONS[question]}) else y + 3\n"
    use = "ask({v}, {y}, x)"
    body = PLACES[place].format(node=use.format(v="n.v", y="x"), item=use.format(v="q", y="y"), key=use.format(v="n['v']", y="x"))
    return f"w = janus.ones(2, requires_grad=True)\nclass Box: pass\n{ask}{body}"


def outcomes(program, kinds, **options):
    names = names_of(program, janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for at, kind in enumerate(kinds):
        data = names["made"](lambda: eval(KINDS[kind], names), at % 3)  # pylint: disable=cell-var-from-loop
        try:
            out.append(f(data, janus.tensor([1.0, 2.0])).tolist())
        except Exception as e:  # pylint: disable=broad-except
            out.append(type(e).__name__)
    return out, f.stats()["graph"] if options else 0


CASES = list(itertools.product(KINDS, KINDS, [*QUESTIONS, *PATTERNS]))


@pytest.mark.parametrize("place", PLACES)
def test_the_next_kind_is_asked(place):
    graphs = 0
    for a, b, question in share(CASES[list(PLACES).index(place)::13]):
        kinds = (a, a, a, a, b, a, b)
        program = text(place, question)
        want, _ = outcomes(program, kinds)
        got, n = outcomes(program, kinds, verify="never")
        assert got == want, (program, kinds)
        graphs += n > 0
    assert graphs > 0
