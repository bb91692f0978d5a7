# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers: a seed, and how much was drawn.

Both are attributes, so that a graph reads and writes them as it does those of any object.  A seed has 64 bits and is kept as the
number that these are with a sign, which is what graphs have.
"""
from operator import index as _index
from os import urandom as _urandom

from . import _C

_START = 67280421310721


class Generator:
    """A source of random numbers: a seed and how much was drawn."""

    __slots__ = ("_seed", "_offset")
    __module__ = "janus"

    def __init__(self, device="cpu"):
        self._seed, self._offset = _START, 0

    def manual_seed(self, seed, /):
        """Sets the seed and starts again."""
        if type(seed) is not int:
            seed = _index(seed)
        if not -0x7fffffffffffffff <= seed <= 0x7fffffffffffffff:
            seed = (seed + 2 ** 63) % 2 ** 64 - 2 ** 63
        self._seed, self._offset = seed, 0
        return self

    def initial_seed(self):
        """The seed."""
        return self._seed if self._seed >= 0 else self._seed + 2 ** 64

    def seed(self):
        """Sets a seed nobody knows, and returns it."""
        return self.manual_seed(int.from_bytes(_urandom(8), "little")).initial_seed()

    def get_state(self):
        """The state as a uint8 tensor."""
        return _C._state_of(self._seed, self._offset)

    def set_state(self, state, /):
        """Takes back a state."""
        self._seed, self._offset = _C._state_in(state)
        return self

    def clone_state(self):
        """A generator that draws from here on what this one would."""
        other = Generator()
        other._seed, other._offset = self._seed, self._offset
        return other

    def _advance(self, drawn):
        self._offset += (drawn.numel() + 3) // 4


class _Default(Generator):
    """The one that draws where none is given: its state is C's, and a run of a graph's own."""

    __slots__ = ()
    __module__ = "janus"

    def __init__(self):
        pass

    def __reduce__(self):
        return "default_generator"

    @property
    def _seed(self):
        return _C._default_state()[0]

    @_seed.setter
    def _seed(self, seed):
        _C._set_default_state(seed, self._offset)

    @property
    def _offset(self):
        return _C._default_state()[1]

    @_offset.setter
    def _offset(self, offset):
        _C._set_default_state(self._seed, offset)


_Default.__name__ = _Default.__qualname__ = "Generator"
default_generator = _Default()
_C._generators(Generator, default_generator)
