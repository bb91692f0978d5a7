# SPDX-License-Identifier: Apache-2.0
"""What some of CPython's own functions and classes mean, in Python, for the converter.

The converter runs Python source; `set`, `deque`, `functools.reduce` and their like have none.  Where
a program calls one of them, a graph is made of the function or class of the same meaning here
(`pyfront/convert/objects/models.c`); run imperatively, nobody uses this module.  Objects of a class here
live inside of a graph only: one that would leave is refused.  What is not written here, or is not
known, is refused, and CPython runs the program.
"""
import collections
import functools
import itertools
import operator


def _unknown(what):
    """Refuses: a path that raises is never taken by a graph."""
    raise NotImplementedError(what)


_none = object()


def _order(keys):
    """The order in which a set has `keys`, put in one after the other.  Called as it is."""
    made = set()
    for key in keys:
        made.add(key)
    return tuple(made)


def _key_of(key, place):
    return place


class _Set:
    """A set: the keys of a dict.  Its order is known while keys were only ever added one by one."""

    __hash__ = None

    def __init__(self, items=()):
        self._keys = {}
        self._added = True
        self.update(items)

    def __len__(self):
        return len(self._keys)

    def __contains__(self, item):
        return item in self._keys

    def __iter__(self):
        if len(self._keys) <= 1:
            return iter(self._keys)
        if not self._added:
            _unknown("the order of a set")
        return map(_key_of, self._keys, _order(tuple(self._keys)))

    def add(self, item):
        self._keys[item] = None

    def discard(self, item):
        if item in self._keys:
            del self._keys[item]
            self._added = False

    def remove(self, item):
        del self._keys[item]
        self._added = False

    def pop(self):
        if len(self._keys) != 1:
            _unknown("which item of a set comes first")
        for item in self._keys:
            break
        del self._keys[item]
        return item

    def clear(self):
        self._keys.clear()
        self._added = True

    def copy(self):
        made = set()
        for item in self._keys:
            made.add(item)
        made._added = False
        return made

    def update(self, *others):
        for other in others:
            if isinstance(other, _Set):
                for item in other._keys:
                    self._keys[item] = None
                self._added = False
            elif isinstance(other, (frozenset, dict)):
                for item in other:
                    self._keys[item] = None
                self._added = False
            else:
                for item in other:
                    self._keys[item] = None

    def union(self, *others):
        made = self.copy()
        made.update(*others)
        made._added = False
        return made

    def intersection(self, *others):
        kept = self
        for other in others:
            if not isinstance(other, (_Set, frozenset)):
                other = set(other)
            made = set()
            for item in kept._keys:
                if item in other:
                    made.add(item)
            kept = made
        made = kept.copy() if kept is self else kept
        made._added = False
        return made

    def difference(self, *others):
        made = self.copy()
        made.difference_update(*others)
        return made

    def difference_update(self, *others):
        for other in others:
            if isinstance(other, _Set):
                other = list(other._keys)
            for item in other:
                if item in self._keys:
                    del self._keys[item]
        self._added = False

    def intersection_update(self, *others):
        self._keys = self.intersection(*others)._keys
        self._added = False

    def symmetric_difference(self, other):
        if not isinstance(other, (_Set, frozenset)):
            other = set(other)
        made = self.difference(other)
        made.update(other.difference(self) if isinstance(other, _Set) else
                    [item for item in other if item not in self._keys])
        made._added = False
        return made

    def issubset(self, other):
        if not isinstance(other, (_Set, frozenset)):
            other = set(other)
        for item in self._keys:
            if item not in other:
                return False
        return True

    def issuperset(self, other):
        if isinstance(other, _Set):
            other = other._keys
        for item in other:
            if item not in self._keys:
                return False
        return True

    def isdisjoint(self, other):
        if isinstance(other, _Set):
            other = other._keys
        for item in other:
            if item in self._keys:
                return False
        return True

    def __or__(self, other):
        return self.union(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __and__(self, other):
        return self.intersection(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __sub__(self, other):
        return self.difference(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __xor__(self, other):
        return self.symmetric_difference(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __ior__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        self.update(other)
        return self

    def __iand__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __isub__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        self.difference_update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        return len(self) == len(other) and self.issubset(other)

    def __le__(self, other):
        return self.issubset(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __lt__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        return len(self) < len(other) and self.issubset(other)

    def __ge__(self, other):
        return self.issuperset(other) if isinstance(other, (_Set, frozenset)) else NotImplemented

    def __gt__(self, other):
        if not isinstance(other, (_Set, frozenset)):
            return NotImplemented
        return len(self) > len(other) and self.issuperset(other)


class _Deque:
    """A deque: a list of at most `maxlen` items."""

    __hash__ = None

    def __init__(self, items=(), maxlen=None):
        self._items = []
        self.maxlen = maxlen
        self.extend(items)

    def __eq__(self, other):
        if not isinstance(other, _Deque):
            return NotImplemented
        return self._items == other._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __reversed__(self):
        return reversed(self._items)

    def __contains__(self, item):
        return item in self._items

    def __getitem__(self, at):
        if isinstance(at, slice):
            _unknown("a slice of a deque")
        return self._items[at]

    def __setitem__(self, at, item):
        if isinstance(at, slice):
            _unknown("a slice of a deque")
        self._items[at] = item

    def __delitem__(self, at):
        if isinstance(at, slice):
            _unknown("a slice of a deque")
        del self._items[at]

    def append(self, item):
        self._items.append(item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, item):
        self._items.insert(0, item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[-1]

    def extend(self, items):
        if items is self:
            items = list(self._items)
        for item in items:
            self.append(item)

    def extendleft(self, items):
        if items is self:
            items = list(self._items)
        for item in items:
            self.appendleft(item)

    def pop(self):
        return self._items.pop()

    def popleft(self):
        return self._items.pop(0)

    def clear(self):
        self._items.clear()

    def copy(self):
        return collections.deque(self._items, self.maxlen)

    def count(self, item):
        return self._items.count(item)

    def remove(self, item):
        self._items.remove(item)

    def reverse(self):
        self._items.reverse()

    def rotate(self, n=1):
        if self._items:
            n = n % len(self._items)
            self._items = self._items[len(self._items) - n:] + self._items[:len(self._items) - n]

    def __iadd__(self, items):
        self.extend(items)
        return self


class _Dict:
    """What a defaultdict and an OrderedDict have in common: the pairs of a dict."""

    __hash__ = None

    def __eq__(self, other):
        _unknown("equality of such dicts")

    def __len__(self):
        return len(self._pairs)

    def __contains__(self, key):
        return key in self._pairs

    def __iter__(self):
        return iter(self._pairs)

    def __getitem__(self, key):
        return self._pairs[key]

    def __setitem__(self, key, value):
        self._pairs[key] = value

    def __delitem__(self, key):
        del self._pairs[key]

    def get(self, key, default=None):
        return self._pairs[key] if key in self._pairs else default

    def setdefault(self, key, default=None):
        if key not in self._pairs:
            self._pairs[key] = default
        return self._pairs[key]

    def pop(self, key, default=_none):
        return self._pairs.pop(key) if default is _none else self._pairs.pop(key, default)

    def update(self, *args, **kwargs):
        for pairs in args:
            self._pairs.update(pairs._pairs if isinstance(pairs, _Dict) else pairs)
        self._pairs.update(kwargs)

    def clear(self):
        self._pairs.clear()

    def items(self):
        return self._pairs.items()

    def keys(self):
        return self._pairs.keys()

    def values(self):
        return self._pairs.values()


class _DefaultDict(_Dict):
    def __init__(self, default_factory=None, /, *args, **kwargs):
        self._pairs = {}
        self.default_factory = default_factory
        self.update(*args, **kwargs)

    def __getitem__(self, key):
        return self._pairs[key] if key in self._pairs else _missing(self, key)

    def copy(self):
        return collections.defaultdict(self.default_factory, self._pairs)


def _missing(self, key, /):
    if self.default_factory is None:
        _unknown("a key that is not there")
    self[key] = value = self.default_factory()
    return value


def _copy_default(self, /):
    return collections.defaultdict(self.default_factory, self)


def _count_elements(mapping, iterable, /):
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1


class _OrderedDict(_Dict):
    def __init__(self, /, *args, **kwargs):
        self._pairs = {}
        self.update(*args, **kwargs)

    def copy(self):
        return collections.OrderedDict(self._pairs)

    def move_to_end(self, key, last=True):
        rest = self._pairs
        if last:
            rest[key] = rest.pop(key)
        else:
            self._pairs = {key: rest[key]}
            for other, value in rest.items():
                self._pairs[other] = value

    def popitem(self, last=True):
        keys = list(self._pairs)
        key = keys[-1] if last else keys[0]
        return key, self._pairs.pop(key)


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


def _fromkeys(keys, value=None):
    made = {}
    for key in keys:
        made[key] = value
    return made


def _setitem(a, b, c, /):
    a[b] = c


def _delitem(a, b, /):
    del a[b]


def _iadd(a, b, /):
    a += b
    return a


def _iand(a, b, /):
    a &= b
    return a


def _ifloordiv(a, b, /):
    a //= b
    return a


def _ilshift(a, b, /):
    a <<= b
    return a


def _imatmul(a, b, /):
    a @= b
    return a


def _imod(a, b, /):
    a %= b
    return a


def _imul(a, b, /):
    a *= b
    return a


def _ior(a, b, /):
    a |= b
    return a


def _ipow(a, b, /):
    a **= b
    return a


def _irshift(a, b, /):
    a >>= b
    return a


def _isub(a, b, /):
    a -= b
    return a


def _itruediv(a, b, /):
    a /= b
    return a


def _ixor(a, b, /):
    a ^= b
    return a


def _iconcat(a, b, /):
    if type(a) is not list or type(b) not in (list, tuple):
        _unknown("iconcat() of other sequences")
    a += b
    return a


# What the methods of a list mean of which only the run knows what is in it: by its length and
# what is read, written, inserted and deleted at single places.


def _bound(at, n, otherwise):
    if at is None:
        return otherwise
    return max(at + n, 0) if at < 0 else min(at, n)


def _part(items, start, stop, step):
    if step is not None and step != 1:
        _unknown("a slice with a step")
    n, made = len(items), []
    for i in range(_bound(start, n, 0), _bound(stop, n, n)):
        made.append(items[i])
    return made


def _copy(items):
    return _part(items, None, None, None)


def _set_part(items, start, stop, step, more):
    if step is not None and step != 1:
        _unknown("a part with a step is written")
    more = list(more)
    n = len(items)
    start = _bound(start, n, 0)
    for at in range(_bound(stop, n, n) - 1, start - 1, -1):
        del items[at]
    for item in more:
        items.insert(start, item)
        start += 1


def _del_part(items, start, stop, step):
    _set_part(items, start, stop, step, ())


def _index(items, item):
    for i in range(len(items)):
        if items[i] == item:
            return i
    _unknown("an item that is not there")


def _count(items, item):
    n = 0
    for i in range(len(items)):
        if items[i] == item:
            n += 1
    return n


def _contains(items, item):
    for i in range(len(items)):
        if items[i] == item:
            return True
    return False


def _remove(items, item):
    del items[_index(items, item)]


def _reverse(items):
    n = len(items)
    for i in range(n // 2):
        items[i], items[n - 1 - i] = items[n - 1 - i], items[i]


def _clear(items):
    for _ in range(len(items)):
        items.pop()


# Of `operator` what goes by which object it is given, and what writes to it.  All else there gives a value, and may be asked for it.
_OPERATORS = {
    operator.is_: lambda a, b, /: a is b,
    operator.is_not: lambda a, b, /: a is not b,
    operator.getitem: lambda a, b, /: a[b],
    operator.setitem: _setitem,
    operator.delitem: _delitem,
    operator.iadd: _iadd,
    operator.iconcat: _iconcat,
    operator.iand: _iand,
    operator.ifloordiv: _ifloordiv,
    operator.ilshift: _ilshift,
    operator.imatmul: _imatmul,
    operator.imod: _imod,
    operator.imul: _imul,
    operator.ior: _ior,
    operator.ipow: _ipow,
    operator.irshift: _irshift,
    operator.isub: _isub,
    operator.itruediv: _itruediv,
    operator.ixor: _ixor,
}


# What is called -> what is meant; the values of functions called as they are, on constants.
MODELS = {
    set: _Set,
    collections.deque: _Deque,
    collections.defaultdict: _DefaultDict,
    collections.OrderedDict: _OrderedDict,
    collections.defaultdict.__missing__: _missing,
    collections.defaultdict.copy: _copy_default,
    collections._count_elements: _count_elements,
    functools.partial: _Partial,
    functools.reduce: _reduce,
    filter: _filter,
    itertools.chain: _chain,
    itertools.starmap: _starmap,
    itertools.repeat: _repeat,
    itertools.product: _product,
    itertools.accumulate: _accumulate,
    itertools.permutations: _permutations,
    itertools.combinations: _combinations,
    itertools.combinations_with_replacement: _combinations_again,
    itertools.pairwise: _pairwise,
    operator.itemgetter: _itemgetter,
    operator.attrgetter: _attrgetter,
    dict.fromkeys: _fromkeys,
    itertools.chain.from_iterable: _chain_all,
    **_OPERATORS,
}
AS_THEY_ARE = (_order,)
LISTS = {
    "__getitem__[]": _part,
    "__setitem__[]": _set_part,
    "__delitem__[]": _del_part,
    "copy": _copy,
    "index": _index,
    "count": _count,
    "__contains__": _contains,
    "remove": _remove,
    "reverse": _reverse,
    "clear": _clear,
}
