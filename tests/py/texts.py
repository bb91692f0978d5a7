# SPDX-License-Identifier: Apache-2.0
"""Programs made as text by tests that generate them."""
import itertools
import linecache

_numbers = itertools.count()


def code_of(text):
    """A program compiled.  Its source is found where conversions look for it."""
    place = f"<program {next(_numbers)}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    return compile(text, place, "exec")


def names_of(text, **names):
    """What a program defines, in a dict that begins with `names`."""
    exec(code_of(text), names)
    return names
