# SPDX-License-Identifier: Apache-2.0
"""Functions of CPython's that are called for what an operator or a statement would do: on lists and dicts, which they may write or hand on."""
import copy
import functools
import heapq
import itertools
import operator

import pytest

import janus
from shares import EACH, share
from texts import names_of

ARGS = ("n", "2", "'s'", "u", "x", "L", "LL", "[LL]", "D", "[1, 2]")
CALLS = """
list.append(LL, n)
list.__setitem__(LL, 0, n)
list.__delitem__(LL, 0)
list.__iadd__(LL, [n])
list.__imul__(LL, 2)
list.sort(LL)
list.reverse(LL)
list.extend(LL, (n, a))
list.insert(LL, 0, n)
list.pop(LL)
list.clear(LL)
list.remove(LL, 1)
LL.__iadd__([n])
LL.__setitem__(0, n)
LL.__delitem__(0)
LL.__imul__(2)
LL.__init__()
LL.__init__([n])
list.__init__(LL, [n, n])
LL.__class__.append(LL, n)
type(LL).append(LL, n)
getattr(LL, 'append')(n)
functools.partial(LL.append, n)()
functools.partial(list.append, LL)(n)
operator.methodcaller('append', n)(LL)
operator.attrgetter('append')(LL)(n)
list(map(LL.append, [n, a]))
[LL.append(v) for v in (n, a)]
dict.update(DD, {n: 1})
dict.__setitem__(DD, n, 1)
dict.pop(DD, 1, None)
dict.setdefault(DD, n, 4)
dict.__delitem__(DD, 1)
dict.clear(DD)
dict.popitem(DD)
dict.__ior__(DD, {n: 2})
DD.__ior__({n: 2})
DD.__setitem__(n, 2)
DD.update(z=n)
DD.update([(n, 2)])
DD.__init__({n: 2})
DD.popitem()
object.__setattr__(h, 'w', n)
h.__setattr__('w', n)
h.__dict__.update(w=n)
h.__dict__.__setitem__('w', n)
vars(h).update(w=n)
setattr(h, 'w', n)
h.__init__()
delattr(h, 'v')
object.__delattr__(h, 'v')
h.__delattr__('v')
heapq.heappush(LL, n)
heapq.heappop(LL)
heapq.heapify(LL)
heapq.heappushpop(LL, n)
copy.copy(LL).append(n)
L.append(n)
list.append(L, n)
list.__setitem__(L, 0, n)
operator.setitem(L, 0, n)
operator.delitem(L, 0)
operator.iadd(L, [n])
operator.iconcat(L, [n])
operator.imul(L, 2)
operator.setitem(D, n, 2)
operator.delitem(D, 1)
operator.ior(D, {n: 2})
operator.setitem(LL, slice(0, 1), [n])
operator.delitem(LL, slice(0, 2))
slice(0, 2).indices(n)
LL.__getitem__(0)
LL.__contains__(n)
LL.__len__()
LL.__eq__([1, 2, n])
LL.__add__([n])
LL.__mul__(2)
LL.__rmul__(2)
LL.__reversed__().__next__()
LL.__iter__().__next__()
LL.copy().append(n)
LL.index(n)
LL.count(n)
LL[:].append(n)
max(LL, [n]).append(3)
min(L, LL).append(3)
max([LL, L], key=len).append(n)
sorted([LL, L], key=len)[0].append(n)
next(iter([LL])).append(n)
list(reversed([LL]))[0].append(n)
dict(k=LL)['k'].append(n)
dict([(1, LL)])[1].append(n)
tuple([LL])[0].append(n)
sum([LL, L], []).append(n)
sum([[LL]], [])[0].append(n)
(LL or L).append(n)
(lambda v: v)(LL).append(n)
(lambda v=LL: v)().append(n)
(LL if a else L).append(n)
[LL, L][a].append(n)
{1: LL, 2: L}[a].append(n)
{'k': LL}.get('k', L).append(n)
{'k': LL}.setdefault('k', L).append(n)
{'k': LL}.pop('k').append(n)
[LL].pop().append(n)
zip([LL]).__next__()[0].append(n)
enumerate([LL]).__next__()[1].append(n)
functools.reduce(lambda p, q: p, [LL, L]).append(n)
itertools.chain([LL]).__next__().append(n)
[v for v in [LL]][0].append(n)
getattr(h, 'zz', LL).append(n)
[*[LL]][0].append(n)
(*[LL],)[0].append(n)
LL.__setattr__('q', 1)
int.__add__(n, 2)
str.upper('s')
str.join(',', ['a', u])
'%s' % n
'{}'.format(n)
'{0.v}'.format(h)
format(n, '>5')
n.__add__(2)
n.bit_length()
(n).__class__(3)
int('3')
divmod(n, 2)
pow(n, 2, 5)
hash((n, 1))
hash('s')
isinstance(n, int)
issubclass(type(n), int)
callable(LL.append)
LL.append is LL.append
LL.append == M.append
LL.append == L.append
h.m is h.m
h.m == h.m
h.m.__self__ is h
h.m.__func__ is type(h).m
x.sum == x.sum
operator.attrgetter('v')(h)
operator.itemgetter(0)(LL)
operator.itemgetter(0, 1)(LL)
operator.methodcaller('index', n)(LL)
operator.length_hint(LL)
operator.concat(LL, [n])
operator.concat(LL, [n]).append(2)
operator.getitem([LL], 0).append(n)
operator.getitem(LL, slice(0, 2))
operator.countOf(LL, n)
operator.indexOf(LL, n)
operator.contains(LL, n)
operator.truth(LL)
operator.not_(LL)
operator.index(n)
operator.pos(n)
operator.or_(D, {n: 2})
operator.add(LL, [n]).append(2)
operator.mul([LL], 2)[1].append(n)
copy.copy([LL])[0].append(n)
copy.copy((LL,))[0].append(n)
copy.copy({1: LL})[1].append(n)
[LL] * 2 == [LL, LL]
([LL] * 2)[1].append(n)
([LL] + [])[0].append(n)
((LL,) + ())[0].append(n)
list.__getitem__([LL], 0).append(n)
list.copy([LL])[0].append(n)
dict.get({1: LL}, 1).append(n)
dict.copy({1: LL})[1].append(n)
list(dict.values({1: LL}))[0].append(n)
list({1: LL}.items())[0][1].append(n)
tuple.__getitem__((LL,), 0).append(n)
iter([LL]).__next__().append(n)
""".strip().split("\n")
FORMS = ("r = {}", "r = None\n    for i in range(2):\n        {}", "r = called(lambda: {})")
LISTS = ("[1, 2, n]", "[x, 1, n]", "h.r")
TEXT = """
def called(v):
    return v()

def f(x, a, n, u, L, D, h):
    LL = {list}
    M = LL
    DD = {{1: 2, 's': n}}
    {call}
    return x * 2, r, LL, DD, M is LL, r is LL, r is L, r is D
"""


class Holder:
    def m(self):
        pass


def shown(v, depth=0):
    if isinstance(v, janus.Tensor):
        return v.tolist()
    if isinstance(v, (list, tuple)):
        return [type(v).__name__] + ([shown(w, depth + 1) for w in v] if depth < 4 else [])
    if isinstance(v, dict):
        return [(shown(k), shown(w, depth + 1)) for k, w in v.items()] if depth < 4 else []
    return repr(v) if isinstance(v, (int, float, str, bool, type(None))) else type(v).__name__


def outcomes(f):
    out, h = [], Holder()
    for i, (a, n, u) in enumerate([(1, 3, "s")] * 3 + [(1, 5, "t"), (True, 3, "s"), (0, 4, "q"), (1, 3, "s")]):
        L, D = [1, 2, 3], {1: 2, "s": 3}
        h.__dict__.clear()
        h.v, h.r = 1, [4, 2, i % 2]
        try:
            r = [shown(v) for v in f(janus.ones(2), a, n, u, L, D, h)]
        except Exception as e:
            r = [type(e).__name__, str(e).split(" at 0x")[0]]
        out.append(r + [shown(L), shown(D), shown(vars(h))])
    return out


def compared(texts):
    wrong, graphs = [], 0
    for call, made in texts:
        names = names_of(TEXT.format(list=made, call=call), copy=copy, functools=functools, heapq=heapq, itertools=itertools, operator=operator)
        want, f = outcomes(names["f"]), janus.function(names["f"], verify="never", measure=False)
        got = outcomes(f)
        graphs += f.stats()["graph"] > 0
        if got != want:
            wrong.append((call, made, [(w, g) for w, g in zip(want, got) if w != g][0]))
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    return graphs


@pytest.mark.parametrize("form", FORMS)
def test_calls(form):
    assert compared((form.format(call), made) for call in share(CALLS) for made in LISTS) > 200 // EACH


def functions():
    return [n for n in dir(operator) if n[0] != "_" and callable(getattr(operator, n)) and not isinstance(getattr(operator, n), type)]


def test_functions_of_operator():
    texts = []
    for name in functions():
        for n in (1, 2):
            texts += [(f"r = operator.{name}({', '.join(args)})", LISTS[0]) for args in itertools.product(ARGS, repeat=n)]
    texts += [(f"r = operator.setitem({of}, {at}, {v})", LISTS[0]) for of in ("L", "LL", "D", "[LL]") for at in ("0", "n", "a") for v in ARGS]
    assert compared(share(texts)) > 300 // EACH
