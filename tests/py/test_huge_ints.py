# SPDX-License-Identifier: Apache-2.0
"""Ints that 64 bits do not hold, wherever a conversion reads a number: what CPython gives, or its exception."""
import itertools

import pytest

import janus
from texts import names_of

USES = ["items[n]", "items[n:]", "items[:n]", "items[0:4:n]", "(1, 2, 3)[n]", "'abc'[n]", "range(n)[n - 1]", "list(enumerate(items, n))",
        "items * n", "'a' * n", "[0, *items].pop(n)", "items.index(2, n)", "[*items].insert(n, 1)", "round(1.5, n)", "x[n]", "x[n:]", "x[:n]",
        "x[::n]", "x.sum(n)", "x.size(n)", "x.shape[n]", "x + n", "x * n", "x.reshape(n, -1)", "[i for i in range(3)][n]", "divmod(7, n)",
        "next(iter(range(n, n + 3)))", "[*range(n, n + 2)]", "max(n, 3)", "sum(items, n)", "1 << n", "n >> 60", "n % 7", "int(n) + 1", "float(n)",
        "hash(n)", "{n: 1}[n]", "items.count(n)", "[*zip(items, range(n, n + 9))]", "x.select(0, n)", "x.view(4, n)", "min(items[-1], n)",
        "del_(items, n)", "set_(items, n)", "list(reversed(items))[n]", "x.tolist()[n]", "x.unbind()[n]", "x.split(n)", "str(n)", "f'{n:d}'"]
NUMBERS = [2 ** 70 + 1, -2 ** 70, 2 ** 63, 2 ** 63 - 1, -2 ** 63, -2 ** 63 - 1, 2 ** 64 - 1, 3, -1, 0]
HELP = "def del_(a, n):\n    del a[n]\n    return a\n\ndef set_(a, n):\n    a[n] = 7\n    return a\n\n"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", ["folded", "varies"])
def test_as_undecorated(use, how):
    if use in ("items * n", "'a' * n", "1 << n"):  # CPython takes the memory for numbers that are not huge
        numbers = [n for n in NUMBERS if n < 2 ** 31]
    else:
        numbers = NUMBERS
    if how == "varies":  # plain ones come first, so that the graph has the number as an input
        numbers = [1, 2, 1, 2, *itertools.chain(*((n, n, 1, n) for n in numbers))]
    else:
        numbers = [*itertools.chain(*((n, n, n) for n in numbers))]
    plain = names_of(f"{HELP}def f(x, n):\n    items = [1, 2, 3]\n    return {use}\n")["f"]
    fast = janus.function(plain, verify="never", measure=False)

    def seen(f, n):
        try:
            got = f(janus.arange(4.0), n)
        except Exception as e:  # what is compared
            return type(e), str(e)
        if isinstance(got, tuple) and got and isinstance(got[0], janus.Tensor):
            got = [t.tolist() for t in got]
        return type(got), got.tolist() if isinstance(got, janus.Tensor) else got

    for n in numbers:
        assert seen(fast, n) == seen(plain, n), n
