# SPDX-License-Identifier: Apache-2.0
"""Places in what is sorted, and heaps: `bisect` and what `heapq` has of C.  Items are compared in the order in which C does."""
from .unknown import _none, _unknown


def _near(x, a, lo, hi):
    if type(lo) is not int or lo < 0 or (hi is not None and (type(hi) is not int or hi < 0)):
        _unknown("bisect between such places")
    return len(a) if hi is None else hi


def _place_right(a, x, lo, hi, key):
    hi = _near(x, a, lo, hi)
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo


def _place_left(a, x, lo, hi, key):
    hi = _near(x, a, lo, hi)
    while lo < hi:
        mid = (lo + hi) // 2
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def _bisect_right(a, x, lo=0, hi=None, *, key=None):
    return _place_right(a, x, lo, hi, key)


def _bisect_left(a, x, lo=0, hi=None, *, key=None):
    return _place_left(a, x, lo, hi, key)


def _insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(_place_right(a, x if key is None else key(x), lo, hi, key), x)


def _insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(_place_left(a, x if key is None else key(x), lo, hi, key), x)


def _is_heap(heap):
    if type(heap) is not list:
        _unknown("a heap that is no list")


def _down(heap, start, at, first):
    """Lets the item at a place sink towards the root, which is where the least one is; first(a, b): a comes before b."""
    item = heap[at]
    while at > start:
        above = (at - 1) >> 1
        if not first(item, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def _up(heap, at, first):
    n, start, item = len(heap), at, heap[at]
    below = 2 * at + 1
    while below < n:
        if below + 1 < n and not first(heap[below], heap[below + 1]):
            below += 1
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = item
    _down(heap, start, at, first)


def _less(a, b):
    return a < b


def _more(a, b):
    return b < a


def _made_heap(heap, first):
    _is_heap(heap)
    if len(heap) > 2500:
        _unknown("a very large heap")
    for at in reversed(range(len(heap) // 2)):
        _up(heap, at, first)


def _popped(heap, first):
    _is_heap(heap)
    last = heap.pop()
    if not heap:
        return last
    item = heap[0]
    heap[0] = last
    _up(heap, 0, first)
    return item


def _replaced(heap, item, first):
    _is_heap(heap)
    had = heap[0]
    heap[0] = item
    _up(heap, 0, first)
    return had


def _heapify(heap, /):
    _made_heap(heap, _less)


def _heappush(heap, item, /):
    _is_heap(heap)
    heap.append(item)
    _down(heap, 0, len(heap) - 1, _less)


def _heappop(heap, /):
    return _popped(heap, _less)


def _heapreplace(heap, item, /):
    return _replaced(heap, item, _less)


def _heapreplace_max(heap, item, /):
    return _replaced(heap, item, _more)


def _heappushpop(heap, item, /):
    _is_heap(heap)
    if not heap or not heap[0] < item:
        return item
    return _replaced(heap, item, _less)


def _first_of(n, iterable, key, largest):
    """nlargest() and nsmallest(): heapq's own."""
    if type(n) is not int:
        _unknown("so many that are no int")
    if n == 1:
        pick = max if largest else min
        best = pick(iter(iterable), default=_none, key=key)
        return [] if best is _none else [best]
    if isinstance(iterable, (list, tuple, dict)):
        if n >= len(iterable):
            return sorted(iterable, key=key, reverse=largest)[:n]
    else:
        _unknown("the largest or smallest of other things than lists")
    step, before, replace = (-1, _less, _heapreplace) if largest else (1, _more, _heapreplace_max)
    it, kept, order = iter(iterable), [], 0
    for _ in range(n):
        item = next(it)
        kept.append((item if key is None else key(item), order, item))
        order += step
    if not kept:
        return kept
    _made_heap(kept, before)
    for item in it:
        by = item if key is None else key(item)
        if before(kept[0][0], by):
            replace(kept, (by, order, item))
            order += step
    kept.sort(reverse=largest)
    return [item for _, _, item in kept]


def _nlargest(n, iterable, key=None):
    return _first_of(n, iterable, key, True)


def _nsmallest(n, iterable, key=None):
    return _first_of(n, iterable, key, False)


def _most_common(self, n=None):
    pairs = list(self.items())
    return sorted(pairs, key=lambda pair: pair[1], reverse=True) if n is None else _first_of(n, pairs, lambda pair: pair[1], True)
