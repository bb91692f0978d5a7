# SPDX-License-Identifier: Apache-2.0
"""Programs made as text by tests that generate them."""
import itertools
import linecache

_numbers = itertools.count()


def names_of(text, **names):
    """What a program defines, in a dict that begins with `names`.  Its source is found where conversions look for it."""
    place = f"<program {next(_numbers)}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    exec(compile(text, place, "exec"), names)
    return names
