# SPDX-License-Identifier: Apache-2.0
"""Fields of templates that name their arguments, or say which they are: numbers that the graph knows among these."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

FORMATS = ["{n}: {v:.2f}", "{v}{v} {n}", "{{n}} {n} }}{{", "{:d} {v}", "{0} {v:8.3f} {1}", "{1}{0}{1}", "{v:{w}.{n}f}", "{name:>8}|{n:<5}|{v:+.1e}", "{l}", "{l} {n} {d}",
           "{name!r} {v!s}", "{n:03d}/{n:,}", "{v:.1%}{{}}", "größe {v}", "{0}", "no field", "{}{}"]
PERCENTS = ["%(n)d", "%(v).3f %(n)03d %%", "%(name)s=%(v)s", "%(n)d%(n)d%(n)d", "%(l)s %(d)r", "%(v)8.2e|%(name)-9s|", "*** %(n)s *", "%(n)x %(n)o", "größe %(v)g", "%%(n)d"]
CALLS = {".format": "{t!r}.format(n, k, n=n, v=v, w=9, name=name, l=[v, n], d={{'v': v}}, unused=k)",
         ".format of given": "{t!r}.format(n, k, **table)", "%": "{t!r} % {{'n': n, 'v': v, 'name': name, 'l': [v], 'd': {{'n': n}}, 'more': k}}", "% of a dict": "{t!r} % table"}
CASES = [(call, t) for call in CALLS for t in (FORMATS if "format" in call else PERCENTS)]


def said(f, capsys):
    out = []
    for i in range(9):
        try:
            out.append(f(janus.tensor([1.5, i + 0.25]), i % 4, "abc").tolist())
        except (KeyError, IndexError, TypeError, ValueError) as e:
            out.append((type(e), str(e)))
    return out, capsys.readouterr().out


@pytest.mark.parametrize("call, template", share(CASES))
def test_fields_by_name(call, template, capsys):
    body = CALLS[call].format(t=template)
    text = ("def f(x, n, name):\n    v, k = x.sum().item(), int(x[1])\n    table = {'n': n, 'v': v, 'w': 9, 'name': name, 'l': [v, n]}\n    table['d'] = {'v': v}\n"
            f"    print({body}, k)\n    print('a ' + {body})\n    return x * 2\n")
    f = names_of(text, torch=janus)["f"]
    g = janus.function(f, measure=False, verify="never", regions=False)
    want = said(f, capsys)
    assert said(g, capsys) == want
    assert g.stats()["graph"] >= 4, janus.explain(g)


WRONG = ["'{n}'.format(k=n)", "'{0}{}'.format(n, v)", "'{}{}'.format(v)", "'{n:q}'.format(n=v)", "'{n[0]}'.format(n=[v])", "'{n.real}'.format(n=v)", "'{n'.format(n=v)", "'n}'.format(n=v)",
         "'%(n)' % {'n': v}", "'%(n)d' % {'k': v}", "'%(n)d %d' % {'n': v}", "'%(n)*d' % {'n': v}", "'%(n)d' % (v,)", "'%(a(b))s' % {'a(b)': v}", "'%(n)q' % {'n': v}", "'%d' % {'n': v}",
         "'{n!x}'.format(n=v)", "'{0[0]}'.format([v])", "'{99999}'.format(v)", "'{٣}'.format(v)", "'%(n)s' % {'n': x}", "'{n}'.format(n=x.sum())"]


@pytest.mark.parametrize("text", WRONG)
def test_other_fields_are_as_they_were(text, capsys):
    f = names_of(f"def f(x, n, name):\n    v = x.sum().item()\n    print({text})\n    return x * 2\n", torch=janus)["f"]
    g = janus.function(f, measure=False)
    want = said(f, capsys)
    assert said(g, capsys) == want
