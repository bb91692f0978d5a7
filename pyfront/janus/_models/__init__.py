# SPDX-License-Identifier: Apache-2.0
"""What some of CPython's own functions and classes mean, in Python, for the converter.

The converter runs Python source; `set`, `deque`, `functools.reduce` and their like have none.  Where
a program calls one of them, a graph is made of the function or class of the same meaning here
(`pyfront/convert/objects/models.c`); run imperatively, nobody uses this module.  Objects of a class here
live inside of a graph only: one that would leave is refused.  What is not written here, or is not
known, is refused, and CPython runs the program.
"""
import bisect
import collections
import copy
import functools
import heapq
import itertools
import math
import operator

from . import containers, copies, functions, iterators, orders
from .iterators import IN_TURN  # noqa: F401  what C asks for
from .lists import LISTS  # noqa: F401  what C asks for
from .operators import OPERATORS

# What is called -> what is meant; the values of functions called as they are, on constants.
MODELS = {
    set: containers._Set,
    collections.deque: containers._Deque,
    collections.defaultdict: containers._DefaultDict,
    collections.OrderedDict: containers._OrderedDict,
    collections.defaultdict.__missing__: containers._missing,
    collections.defaultdict.copy: containers._copy_default,
    collections._count_elements: containers._count_elements,
    functools.partial: functions._Partial,
    functools.reduce: functions._reduce,
    filter: iterators._filter,
    itertools.chain: iterators._chain,
    itertools.starmap: iterators._starmap,
    itertools.repeat: iterators._repeat,
    itertools.product: iterators._product,
    itertools.accumulate: iterators._accumulate,
    itertools.permutations: iterators._permutations,
    itertools.combinations: iterators._combinations,
    itertools.combinations_with_replacement: iterators._combinations_again,
    itertools.pairwise: iterators._pairwise,
    itertools.islice: iterators._islice,
    itertools.filterfalse: iterators._filterfalse,
    itertools.count: iterators._Count,
    itertools.cycle: iterators._Cycle,
    itertools.takewhile: iterators._takewhile,
    itertools.dropwhile: iterators._dropwhile,
    itertools.compress: iterators._compress,
    itertools.zip_longest: iterators._zip_longest,
    itertools.groupby: iterators._groupby,
    operator.itemgetter: functions._itemgetter,
    operator.attrgetter: functions._attrgetter,
    operator.methodcaller: functions._methodcaller,
    bisect.bisect_left: orders._bisect_left,
    bisect.bisect_right: orders._bisect_right,
    bisect.insort_left: orders._insort_left,
    bisect.insort_right: orders._insort_right,
    heapq.heapify: orders._heapify,
    heapq.heappush: orders._heappush,
    heapq.heappop: orders._heappop,
    heapq.heapreplace: orders._heapreplace,
    heapq.heappushpop: orders._heappushpop,
    heapq.nlargest: orders._nlargest,
    heapq.nsmallest: orders._nsmallest,
    collections.Counter.most_common: orders._most_common,
    copy.copy: copies._copy,
    copy.deepcopy: copies._deepcopy,
    math.isclose: functions._isclose,
    math.fabs: functions._fabs,
    math.copysign: functions._copysign,
    math.fmod: functions._fmod,
    math.modf: functions._modf,
    math.pow: functions._pow,
    math.degrees: functions._degrees,
    math.radians: functions._radians,
    dict.fromkeys: containers._fromkeys,
    itertools.chain.from_iterable: iterators._chain_all,
    **OPERATORS,
}
# Classes of what a function among the models gives -> class that they stand for.
ALSO_MADE = {iterators._Same: itertools.repeat}
# Of objects of the program: what a call of one means, by its exact type.
CALLS = {functools.partial: functions._call_partial}
ASKS_FOR_ATTRIBUTES = copies._without_attributes
AS_THEY_ARE = {containers._order, copies._plain}


def _of_statistics():
    import statistics
    for name in ("mean", "fmean", "median", "median_low", "median_high", "mode", "stdev", "pstdev", "variance", "pvariance"):
        called, model = functions._on_constants(getattr(statistics, name))
        AS_THEY_ARE.add(called)
        MODELS[getattr(statistics, name)] = model


def _of_dataclasses():
    import dataclasses
    MODELS[dataclasses.asdict] = copies._asdict
    MODELS[dataclasses.astuple] = copies._astuple


def _of_arrays():
    from . import arrays
    from .._arrays import numpy
    MODELS[numpy] = arrays._numpy
    return arrays.MADE


# By the name of a module: what adds the models of its functions, once the program calls one of them; it may return a dict like
# ALSO_MADE.
LATER = {"statistics": _of_statistics, "dataclasses": _of_dataclasses, "janus._arrays": _of_arrays}
