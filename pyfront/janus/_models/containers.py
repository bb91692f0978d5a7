# SPDX-License-Identifier: Apache-2.0
"""Sets, deques and dicts with more than a dict's methods."""
import collections

from .unknown import _none, _unknown


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

    def __or__(self, other):
        _unknown("a union of such dicts")

    def __ror__(self, other):
        _unknown("a union of such dicts")

    def __ior__(self, other):
        _unknown("a union of such dicts")

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


def _fromkeys(keys, value=None):
    made = {}
    for key in keys:
        made[key] = value
    return made
