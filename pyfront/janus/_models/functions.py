# SPDX-License-Identifier: Apache-2.0
"""What makes functions or goes through items: `functools`, `itertools`, `filter`, getters."""
from .unknown import _none, _unknown


class _Partial:
    """A partial: what is called, with the first of its arguments."""

    def __init__(self, func, /, *args, **keywords):
        if isinstance(func, _Partial):
            args = (*func.args, *args)
            keywords = {**func.keywords, **keywords}
            func = func.func
        self.func = func
        self.args = args
        self.keywords = keywords

    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})


def _call_partial(partial, /, *args, **keywords):
    return partial.func(*partial.args, *args, **{**partial.keywords, **keywords})


def _reduce(function, items, first=_none):
    items = iter(items)
    total = next(items) if first is _none else first
    for item in items:
        total = function(total, item)
    return total


def _filter(function, items):
    if function is None or function is bool:
        return (item for item in items if item)
    return (item for item in items if function(item))


def _filterfalse(function, items, /):
    if function is None or function is bool:
        return (item for item in items if not item)
    return (item for item in items if not function(item))


def _part_of(items, start, stop, step):
    for at, item in zip(range(stop), items):  # which asks for no item behind the last one
        if at >= start and (at - start) % step == 0:
            yield item


def _rest_of(items, start, step):
    for at, item in enumerate(items):
        if at >= start and (at - start) % step == 0:
            yield item


def _islice(items, first, /, *more):
    start, stop, step = (0, first, 1) if not more else (first, more[0], more[1] if len(more) > 1 else 1)
    start, step = 0 if start is None else start, 1 if step is None else step
    if len(more) > 2 or start < 0 or step < 1 or (stop is not None and stop < 0):
        _unknown("islice() of such a part")
    if stop is None:
        return _rest_of(iter(items), start, step)
    return _part_of(iter(items), start, stop, step)


def _chain_all(its):
    return (item for it in its for item in it)


def _chain(*its):
    return (item for it in its for item in it)


def _starmap(function, items):
    return (function(*item) for item in items)


def _repeat(item, times):
    return (item for _ in range(times))


def _product(*its, repeat=1):
    if repeat < 0:
        _unknown("product() of less than nothing")
    pools = [tuple(it) for it in its] * repeat
    made = [()]
    for pool in pools:
        made = [(*rest, item) for rest in made for item in pool]
    return iter(made)


def _arranged(pool, made):
    return iter([tuple([pool[i] for i in places]) for places in made])


def _longer(made, n, first):
    """Rows of places and one more each, from first(row) on."""
    if len(made) * n > 4000:
        _unknown("very many arrangements")
    return [(*row, i) for row in made for i in range(first(row), n)]


def _permutations(iterable, r=None):
    pool, made = tuple(iterable), [()]
    if r is not None and r < 0:
        _unknown("permutations() of less than nothing")
    for _ in range(len(pool) if r is None else r):
        made = [row for row in _longer(made, len(pool), lambda row: 0) if row[-1] not in row[:-1]]
    return _arranged(pool, made)


def _in_order(iterable, r, step):
    pool, made = tuple(iterable), [()]
    if r < 0:
        _unknown("combinations of less than nothing")
    for _ in range(r):
        made = _longer(made, len(pool), lambda row: row[-1] + step if row else 0)
    return _arranged(pool, made)


def _combinations(iterable, r):
    return _in_order(iterable, r, 1)


def _combinations_again(iterable, r):
    return _in_order(iterable, r, 0)


def _pairs_of(items):
    before = _none
    for item in items:
        if before is not _none:
            yield before, item
        before = item


def _pairwise(iterable, /):
    return _pairs_of(iter(iterable))


def _accumulate_from(items, function, total):
    for item in items:
        total = item if total is _none else function(total, item)
        yield total


def _add(a, b):
    return a + b


def _accumulate(items, func=None, *, initial=None):
    if initial is not None:
        _unknown("accumulate() from a first value")
    return _accumulate_from(iter(items), _add if func is None else func, _none)


def _itemgetter(item, *items):
    if items:
        return lambda obj: tuple([obj[i] for i in (item, *items)])
    return lambda obj: obj[item]


def _attrgetter(attr):
    if not isinstance(attr, str) or "." in attr:
        _unknown("attrgetter() of a path")
    return lambda obj: getattr(obj, attr)
