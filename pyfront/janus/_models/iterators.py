# SPDX-License-Identifier: Apache-2.0
"""What goes through items: `itertools`, `filter`."""
from .unknown import _none, _unknown


def _filter(function, items, /):
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


def _chain_all(its, /):
    return (item for it in its for item in it)


def _chain(*its):
    return (item for it in its for item in it)


def _starmap(function, iterable, /):
    return (function(*item) for item in iterable)


class _Endless:
    """An iterator that has always one more."""

    def __iter__(self):
        return self


class _Same(_Endless):
    def __init__(self, item):
        self._item = item

    def __next__(self):
        return self._item


def _repeat(object, times=_none):
    return _Same(object) if times is _none else (object for _ in range(times))


class _Count(_Endless):
    def __init__(self, start=0, step=1):
        if type(start) not in (int, float) or type(step) not in (int, float):
            _unknown("count() by other things than numbers")
        self._item = start
        self._step = step

    def __next__(self):
        item = self._item
        self._item = item + self._step
        return item


class _Cycle(_Endless):
    """Keeps what it takes of the iterator until that has no more."""

    def __init__(self, iterable, /):
        self._rest = iter(iterable)
        self._kept = []
        self._at = -1

    def __next__(self):
        if self._at < 0:
            item = next(self._rest, _none)
            if item is not _none:
                self._kept.append(item)
                return item
            if not self._kept:
                _unknown("the end of a cycle of nothing")
            self._at = 0
        item = self._kept[self._at]
        self._at = (self._at + 1) % len(self._kept)
        return item


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
    if total is not _none:
        yield total
    for item in items:
        total = item if total is _none else function(total, item)
        yield total


def _add(a, b):
    return a + b


def _accumulate(iterable, func=None, *, initial=None):
    return _accumulate_from(iter(iterable), _add if func is None else func, _none if initial is None else initial)


def _while_true(predicate, items):
    for item in items:
        if not predicate(item):
            return
        yield item


def _takewhile(predicate, iterable, /):
    return _while_true(predicate, iter(iterable))


def _from_false(predicate, items):
    dropping = True
    for item in items:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def _dropwhile(predicate, iterable, /):
    return _from_false(predicate, iter(iterable))


def _compress(data, selectors):
    return (item for item, kept in zip(data, selectors) if kept)


def _rows_to_the_last(its, fill):
    """Of a tuple of iterators, until none has an item; which of them have come to an end is asked once of each."""
    ended = [False] * len(its)
    left = len(its)
    while left:
        row = []
        for k, it in enumerate(its):
            item = fill if ended[k] else next(it, _none)
            if item is _none:
                left -= 1
                if not left:
                    return
                ended[k] = True
                item = fill
            row.append(item)
        yield tuple(row)


def _zip_longest(*its, fillvalue=None):
    return _rows_to_the_last(tuple([iter(it) for it in its]), fillvalue)


class _Grouping:
    """Where a groupby() and its groups are: an item that no group has given yet and its key, the key of the group that
    is under way, and how many there were, since a group ends when the next one is asked for."""

    def __init__(self, items, key):
        self.items = items
        self.key_of = key
        self.item = self.key = self.of_group = _none
        self.groups = 0


def _one_more(at):
    item = next(at.items, _none)
    if item is _none:
        return False
    at.key = item if at.key_of is None else at.key_of(item)
    at.item = item
    return True


def _group(at, key, number):
    while at.groups == number:
        if at.item is _none and not _one_more(at):
            return
        if at.key not in (key,):  # which is the same object, or equal
            return
        item = at.item
        at.item = _none
        yield item


def _groups(at):
    while True:
        at.groups += 1
        while at.key is _none or (at.of_group is not _none and at.key in (at.of_group,)):
            if not _one_more(at):
                return
        at.of_group = at.key
        yield at.key, _group(at, at.key, at.groups)


def _groupby(iterable, key=None):
    return _groups(_Grouping(iter(iterable), key))


# zip(), map() and enumerate() where one of what they go over is an iterator of Python.  They take items in turn, so that
# others may take items of it between them.

def _zip_in_turn(its):
    while its:
        row = []
        for it in its:
            item = next(it, _none)
            if item is _none:
                return
            row.append(item)
        yield tuple(row)


def _zip(*its):
    return _zip_in_turn(tuple([iter(it) for it in its]))


def _map(function, /, *its):
    return (function(*row) for row in _zip(*its))


def _numbered(items, number):
    for item in items:
        yield number, item
        number += 1


def _enumerate(iterable, start=0):
    return _numbered(iter(iterable), start)


# By the name of the builtin.
IN_TURN = {"zip": _zip, "map": _map, "enumerate": _enumerate}
