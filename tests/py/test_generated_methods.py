# SPDX-License-Identifier: Apache-2.0
"""Methods that dataclass and namedtuple write, and what class patterns look at: ways to make objects x what changes between calls."""
import pytest

import janus
from shares import share
from texts import names_of

TEXT = """
import dataclasses, typing
from collections import namedtuple
from dataclasses import dataclass, field

@dataclass
class A:
    a: float = 1.0
    n: int = field(default=3, init=False)
    l: list = field(default_factory=list)

@dataclass(init=False)
class Own(A):
    z: int = 7

class Plain(A):
    pass

@dataclass
class More(A):
    w: object = None
    u: tuple = field(default_factory=tuple, init=False)

@dataclass(kw_only=True, frozen=True)
class Named:
    k: int
    c: float = 0.5

@dataclass
class Both:
    p: object
    q: float = field(default=2.0, kw_only=True)
    r: float = 3.0

@dataclass(slots=True)
class Slots:
    q: float = field(default=2.0, init=False)
    r: object = None

@dataclass
class Other:
    a: float = 2.0
    n: int = 4
    l: list = None

@dataclass
class Filled:
    a: float = 1.0
    n: int = field(default=3, init=False)
    l: list = field(default_factory=lambda: [8.0])

@dataclass
class Posts:
    a: float = 1.5
    def __post_init__(self):
        self.b = self.a * 2

class Point:
    __match_args__ = ("x", "y")
    def __init__(self):
        self.x, self.asked = 2.0, 0
    @property
    def y(self):
        self.asked += 1
        return 5.0

P = namedtuple("P", "x y", defaults=[1.0])

class T(typing.NamedTuple):
    x: object
    y: float = 2.5

class Two:
    __slots__ = ("a", "b")
    def __init__(self):
        self.a = 1.0
        self.b = 5.0

m, made, p = Point(), [], P(2.0, 3.0)

def of(o, *names):
    made.append(o)
    return [getattr(o, n) for n in names]

def f(x):
    {body}
"""
BODIES = {
    "default": "return x * A().a", "class's": "o = of(A(), 'n')\n    return x + o[0]", "given": "return x * of(A(2.0, [1]), 'a')[0]",
    "named": "return x * A(l=[2], a=3.0).a", "no init": "return x * of(Own(2.0), 'a')[0]", "subclass": "return x * of(Plain(2.0, [1]), 'a')[0]",
    "more": "return x * of(More(w=x), 'a')[0]", "frozen": "return x * of(Named(k=2), 'c')[0]", "both": "o = Both(x, 4.0, q=2.0)\n    return o.p * o.q + o.r",
    "both's": "o = of(Both(r=x, p=x), 'q')\n    return x * o[0]", "slots": "return x * of(Slots(x), 'q')[0]", "posts": "return x * of(Posts(), 'b')[0]", "tuple": "return x * P(x).y",
    "typed": "return x * T(x).y", "positions": "match m:\n        case Point(1.0, _):\n            return x\n        case Point(x=q, y=5.0):\n            return x * q",
    "bound": "match m:\n        case Point(y=q):\n            return x * q", "one": "match m:\n        case Point(q):\n            return x * q\n    return x",
    "either": "match m:\n        case Point(1.0 | 3.0, q) | Point(q, 5.0):\n            return x * q\n    return x",
    "fields": "return x * p.x + p.y", "replaced": "t = p._replace(y=x)\n    return t.x * t.y", "as dict": "return x * p._asdict()['y']",
    "of both": "t = P(x, 3.0)\n    return t.x * t.y + t._replace(x=2.0).x", "two": "t = Two()\n    return x * t.a + t.b",
    "missing": "match m:\n        case Point(y=1.0, z=_):\n            return x\n        case Point(x=q):\n            return x * q",
}
CHANGES = ["A.n = 9", "A.__init__.__defaults__ = (5.0,) + A.__init__.__defaults__[1:]", "Named.__init__.__kwdefaults__['c'] = 4.0", "P.__new__.__defaults__ = (8.0,)",
           "T.__new__.__defaults__ = None", "A.__post_init__ = lambda s: made.append('post')", "A.__init__ = Other.__init__", "A.__init__ = Filled.__init__", "A.__dataclass_fields__['l'].default_factory = lambda: [6.0]", "Slots.__init__ = Other.__init__", "del Posts.__post_init__",
           "P.__new__.__code__ = (lambda _cls, x, y: _tuple_new(_cls, (x, 33.0))).__code__", "Posts.__init__.__code__ = Posts.__init__.__code__.replace(co_consts=(None,))",
           "Point.__match_args__ = ('x',)", "m.x = 1.0", "Point.__match_args__ = ('x', 'x')", "Point.__match_args__ = ['x', 'y']", "m.z = 4", "del m.x",
           "Point.y = property(lambda s: s.x * 2)", "Both.__init__.__kwdefaults__ = {'q': 7.0}", "Slots.__init__.__defaults__ = (1.0,)", "A.a = 4.0",
           "P.x = P.__dict__['y']", "P.x = property(lambda s: 50.0)", "P._fields = ('y', 'x')", "P._replace = lambda s, **k: s", "P._asdict = lambda s: {'y': 70.0}",
           "P._make = classmethod(lambda cls, i: (9.0, 8.0))", "Two.a = Two.__dict__['b']", "del Two.a"]


def seen_of(o):
    return type(o).__name__, sorted((k, str(v)) for k, v in vars(o).items()) if hasattr(o, "__dict__") else o.q if hasattr(o, "q") else str(o)


def outcomes(body, change, options):
    names = names_of(TEXT.format(body=body), janus=janus, __name__="program")
    f = janus.function(names["f"], measure=False, **options) if options is not None else names["f"]
    seen = []
    for i in range(7):
        if i == 4:
            exec(change, names)
        try:
            seen.append(f(janus.ones(2)).tolist())
        except Exception as e:
            seen.append((type(e), str(e)))
        seen.append(([seen_of(o) for o in names["made"]], vars(names["m"]).copy()))
    return seen, f.stats()["graph"] if options is not None else 0


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.parametrize("kind", BODIES)
def test_as_undecorated(kind, options):
    graphs = 0
    for change in share(CHANGES):
        want, _ = outcomes(BODIES[kind], change, None)
        got, ran = outcomes(BODIES[kind], change, options)
        assert want == got, (kind, change)
        graphs += ran
    assert graphs or kind in ("no init", "more", "slots"), "no graph"
