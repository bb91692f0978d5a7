# SPDX-License-Identifier: Apache-2.0
"""Named tuples of a class that gives its instances a dict: what they have in it comes before what the class has, and behind fields."""
import pytest

import janus
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import collections
class C(collections.namedtuple('C', 'a b')):
    v = 1
    def go(self): return self.v + 1
    @property
    def p(self): return 7
    @classmethod
    def make(cls): return 3
    @staticmethod
    def plain(): return 4
c = C(3, 5)
def f(x, n):
    return {use}, x * n
def arguments(k):
    if k == {when}:
        c.{name} = {value}
    return janus.ones(2), k % 3
"""
NAMES = {"v": "5", "go": "lambda: 50", "make": "lambda: 60", "plain": "lambda: 70", "other": "8"}
USES = ["c.v", "c.go()", "C.make() + c.make()", "c.plain()", "getattr(c, 'v', 9)", "getattr(c, 'other', 9)", "hasattr(c, 'other')", "c.p + c.a", "c._replace(a=n).v"]


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("when", [0, 4])
@pytest.mark.parametrize("name", NAMES)
def test_as_cpython_does(name, when):
    for use in USES:
        alike(TEXT.format(use=use, when=when, name=name, value=NAMES[name]), calls=8)
