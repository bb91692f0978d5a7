# SPDX-License-Identifier: Apache-2.0
"""Lists, tuples and dicts with numbers of the graph in them, printed and made text of."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

ITEMS = {  # v: a float of a tensor, n: an int that varies, k: an int of a tensor, b: a bool of one
    "a list": "[v, n, k, b]",
    "a tuple": "(v, n)",
    "a tuple of one": "(v,)",
    "a dict": "{'loss': v, 'n': n, 3: b, None: k}",
    "texts beside numbers": "['it\\'s', \"x\", v, b'y', None, True, 2.5, -0.0]",
    "lists in lists": "[[v, [n]], (k, ()), {'a': [b]}, []]",
    "dicts in dicts": "{'a': {'b': {n: v}}}",
    "a list that grew": "grown",
    "a list of the caller's": "given",
    "a list of both": "[given, grown]",
    "an item of a loop": "[i * v for i in range(3)]",
    "sums": "[n] * 2 + [v]",
    "a part": "[v, n, k][1:]",
    "odd floats": "[v * 1e300 * 1e10, (v * 1e300 * 1e10) * 0.0, -v * 0.0]",
    "items of a dict": "list({'a': v, 'b': n}.items())",
    "values of a dict": "list({'a': v, 'b': n}.values())",
}
WAYS = [
    "print({i})",
    "print('a', {i}, n, sep='|')",
    "print(f'<{{{i}}}>')",
    "print(f'{{{i}!r}} {{{i}!s}}')",
    "print(str({i}) + repr({i}))",
    "print('%s' % ({i},))",
    "print('%d: %s%% %r of %.3f' % (n, {i}, {i}, v))",
    "print('{{}} {{:.2f}} {{{{{{}}}}}}'.format({i}, v, {i}))",
    "s = str({i})\n    print(s)\n    print(s, len(grown))",
    "for r in range(2):\n        print(r, {i})",
    "l = {i}\n    t = str(l)\n    if isinstance(l, list):\n        l.append(1)\n    print(t, l)",
]


def filled(way, items):
    """In an f-string it stands by a name, since before CPython 3.12 quotes are not nested."""
    return f"i = {items}\n    " + way.format(i="i") if "f'" in way else way.format(i=items)


def run(f):
    seen = []
    for i in range(7):
        x = janus.tensor([1.5, 2.0 + i, -0.25])
        seen.append(f(x, i % 3, ["p", 1, (2.5, None)]).tolist())
    return seen


@pytest.mark.parametrize("items", ITEMS)
def test_items_look_as_they_do(items, capsys):
    for way in share(WAYS):
        body = filled(way, ITEMS[items])
        text = ("def f(x, n, given):\n    v, k, b = x.sum().item(), int(x[1]), bool(x[1] > 3)\n    grown = [v]\n    grown.append(n)\n"
                f"    {body}\n    return x * 2 + n\n")
        f = names_of(text, torch=janus)["f"]
        g = janus.function(f, measure=False, verify="never", regions=False)
        want, printed = run(f), capsys.readouterr().out
        assert run(g) == want
        assert capsys.readouterr().out == printed, text
        assert g.stats()["graph"] >= 3, (text, janus.explain(g))


RAISES = ["'%d' % ([n],)", "'%s %s' % ([n],)", "'%s' % ([n], n)", "'{} {}'.format([v])", "'{:d}'.format([v])", "'{0}{}'.format([v], n)", "f'{[v]:>9}'"]
NAMED = ["'%(a)s' % {'a': v}", "'{0} {0}'.format([v])", "'{a}'.format(a=[v])", "'%5s' % ([v],)", "'%s' % [v]", "'{!r}'.format([v])", "'%%' % ()"]


@pytest.mark.parametrize("text", RAISES + NAMED)
def test_templates_of_all_kinds(text, capsys):
    f = names_of(f"def f(x, n):\n    v = x.sum().item()\n    print({text})\n    return x * 2\n", torch=janus)["f"]
    g = janus.function(f, measure=False)
    said = {}
    for h in (f, g):
        for i in range(5):
            try:
                h(janus.tensor([1.5, i]), i)
            except (TypeError, ValueError, IndexError) as e:
                said.setdefault(h, []).append((type(e), str(e)))
        said.setdefault(h, []).append(capsys.readouterr().out)
    assert said[f] == said[g]
    assert (len(said[f]) > 1) == (text in RAISES)


SUBCLASSES = {"a list": ("class L(list):\n    def __repr__(self):\n        return 'L!'", "L([v])"),
              "a dict": ("class L(dict):\n    def __str__(self):\n        return 'L!'", "L(a=v)"),
              "a named tuple": ("from collections import namedtuple\nL = namedtuple('L', 'a b')", "L(v, n)"),
              "an ordered dict": ("from collections import OrderedDict as L", "L(a=v)"),
              "a number": ("class L(float):\n    def __repr__(self):\n        return 'L!'", "[L(2.5), v]"),
              "a text": ("class L(str):\n    def __repr__(self):\n        return 'L!'", "[L('a'), v]"),
              "an object": ("class L:\n    def __repr__(self):\n        return 'L!'", "[L(), v]"),
              "itself": ("", "l")}


@pytest.mark.parametrize("kind, way", itertools.product(SUBCLASSES, ["print({i})", "print(f'{{{i}}}')", "print(str({i}))", "print('%s' % ({i},))"]))
def test_what_looks_otherwise(kind, way, capsys):
    define, make = SUBCLASSES[kind]
    body = filled(way, make)
    f = names_of(f"{define}\ndef f(x, n):\n    v = x.sum().item()\n    l = [v]\n    l.append(l)\n    {body}\n    return x * 2\n", torch=janus)["f"]
    g = janus.function(f, measure=False)
    for i in range(5):
        f(janus.tensor([1.5, i]), i)
    want = capsys.readouterr().out
    for i in range(5):
        g(janus.tensor([1.5, i]), i)
    assert capsys.readouterr().out == want
