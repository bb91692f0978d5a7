# SPDX-License-Identifier: Apache-2.0
"""`between.join(items)` of whatever has items: a generator, map(), zip(), a list, with text that only the graph knows among them."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

ITEMS = {  # of a tensor of 3, a list of names, a dict and a number
    "map of numbers": "map(str, [n, n + 1])",
    "map of items": "map(str, [int(x[0]), int(x[2])])",
    "a generator": "(f'{v.item():.2f}' for v in x)",
    "a generator that leaves some out": "(name for name in names if name != 'b')",
    "a generator over pairs": "(f'{k}={x[i].item():.1f}' for i, (k, v) in enumerate(table.items()))",
    "a list": "[str(n), names[0], '%.1f' % x[1].item()]",
    "a tuple": "('a', f'{n}')",
    "reversed": "reversed(names)",
    "sorted": "sorted(names, key=len)",
    "keys": "table",
    "values": "table.values()",
    "a text": "names[1]",
    "one": "[f'{x.sum().item():.3f}']",
    "none": "(name for name in names if not name)",
    "a filter": "filter(None, names)",
    "a chain": "[*map(str, range(2)), *names]",
    "joined texts": "['-'.join(map(str, [i, int(x[i])])) for i in range(2)]",
}
BETWEEN = ["''", "', '", "names[0]", "f'{2}'"]
USES = {
    "printed": "print({joined}, n)",
    "in text": "print(f'<{joined}>', end='!')",
    "added": "print('a ' + {joined} + ' b')",
    "in a loop": "for k in range(2):\n        print(k, {joined})",
}


def run(f):
    seen = []
    for i in range(8):
        x = janus.tensor([1.5, 2.0 + i, -0.25])
        seen.append(f(x, ["a", "bcd", "ef"], {"u": "1", "v": "2"}, i % 3).tolist())
    return seen


@pytest.mark.parametrize("items", ITEMS)
def test_what_is_joined_is_printed(items, capsys):
    for between, use in share(itertools.product(BETWEEN, USES)):
        body = USES[use].replace("{joined}", f"({between}).join({ITEMS[items]})" if use != "in text" else "{s}")
        body = f"s = ({between}).join({ITEMS[items]})\n    {body}" if use == "in text" else body
        text = f"def f(x, names, table, n):\n    y = x * 2\n    {body}\n    return y + 1\n"
        f = names_of(text, torch=janus)["f"]
        g = janus.function(f, measure=False, verify="never", regions=False)
        want, printed = run(f), capsys.readouterr().out
        assert run(g) == want
        assert capsys.readouterr().out == printed
        assert g.stats()["graph"] >= 3, (text, janus.explain(g))


WRONG = ["[n]", "[names[0], None]", "(x for _ in range(2))", "map(int, '12')", "n", "[b'a']", "[str(n), x[0].item()]"]


@pytest.mark.parametrize("items", WRONG)
def test_what_cannot_be_joined_raises(items):
    text = f"def f(x, names, n):\n    y = x * 2\n    print(','.join({items}))\n    return y\n"
    f = names_of(text, torch=janus)["f"]
    g = janus.function(f, measure=False)
    for i in range(4):
        said = []
        for h in (f, g):
            with pytest.raises(TypeError) as e:
                h(janus.ones(2), ["a"], i)
            said.append(str(e.value))
        assert said[0] == said[1]
