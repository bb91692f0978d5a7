# SPDX-License-Identifier: Apache-2.0
"""Texts with numbers of the graph in them that are returned, stored and keys of dicts: one graph, and what CPython makes."""
import pytest

import janus
from alike import alike
from shares import share
from texts import names_of

TEXTS = ["f'{n}'", "f'step {n}: {s:.3f}'", "str(n)", "'%d of %s' % (n, name)", "'{} {:>6.2f}'.format(name, s)", "name + f'/{n + 1}'", "', '.join(['a', str(n), f'{s:.1f}'])", "f'{name}'", "f'{n % 2 == 0}{name}'", "f'{n!r:>4}|'", "str(s > 3)", "f'{[n, n + 1]}'", "f'k{n % 3}'"]
PLACES = ["return t, x", "return [t, (t, n)], x", "return {'a': t}, x", "return {t: x, 'b': 1}", "return {'k1': 0, t: x}", "hist.append(t)\n    return x", "hist.append((n, t))\n    return x", "hist.append(t)\n    hist.append(t)\n    return hist[-1] is hist[-2], x", "box.text = t\n    return x", "box.text = t\n    box.more = [t]\n    return box.text is t, x", "log[t] = n\n    return x",
          "log[t] = x\n    return log[t], x", "log[t] = log.get(t, 0) + 1\n    return x", "log['k1'] = 1\n    log[t] = 2\n    return log['k1'], x", "log[t] = 1\n    return t in log, 'k1' in log, len(log), x", "print(t)\n    return t, x", "if s > 3:\n        hist.append(t)\n    return x", "return (t if s > 3 else 'no'), x", "if s > 3:\n        return t\n    return x",
          "for i in range(n):\n        hist.append(f'{i}{t}')\n    return x", "for v in x:\n        log[f'{t}{v.item():.2f}'] = 1\n    return x", "r = ''\n    for i in range(3):\n        r += t\n    return r, x", "def go(k):\n        return [t] if k == 0 else go(k - 1) + [f'{k}']\n    return go(n % 4), x", "return len(t), x", "return t == 'k1', x", "return t.upper(), t[0], x", "return (lambda: t)(), x", "box.text = t\n    return box.text + '!', x",
          "x[t]", "hist.append(t)\n    x[0] = 'a'\n    return x", "hist.append(t)\n    assert s < 9, t\n    return x"]
# What asks what the text says, and what is one of several, is left to CPython; so is one form.
ASKS = ("log.get", "if s > 3 else", "return t\n", "go(", "len(t)", "==", "upper", "x[t]", "x[0]")
PROGRAM = """
import janus
class Box: pass
box, hist, log = Box(), [], dict(k0=0)
def arguments(k):
    return janus.ones(2) * (k % 5), k, 'ab'[k % 2:]
def f(x, n, name):
    s = x.sum().item()
    t = TEXT
    PLACE
"""


@pytest.mark.parametrize("place", PLACES)
def test_texts(place):
    for text in share(TEXTS):
        program = PROGRAM.replace("PLACE", place).replace("TEXT", text)
        graphs = alike(program, calls=9, watched=["box", "hist", "log"])
        assert min(graphs) >= 5 or "!r" in text or any(part in place for part in ASKS), (text, place)


def test_no_two_graphs_for_two_numbers():
    names = names_of(PROGRAM.replace("PLACE", "hist.append(t)\n    return {t: x}").replace("TEXT", "f'{n}: {s:.2f}'"))
    f = janus.function(names["f"], measure=False)
    for n in range(40):
        f(janus.ones(2) * n, n, "a")
    assert f.stats()["conversions"] <= 4 and f.stats()["graph"] >= 35, janus.explain(f)
    assert names["hist"][-1] == "39: 78.00"
