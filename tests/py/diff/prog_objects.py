# SPDX-License-Identifier: Apache-2.0
"""Programs over Python objects: attributes, items, closures, globals, methods, containers."""

import collections
import functools

import janus

from .harness import case, t

SCALE = 3.0
TABLE = {"a": 1.0, "b": 2.0}
COUNTER = [0]


class Box:
    def __init__(self, value, name="box"):
        self.value = value
        self.name = name

    def scaled(self, k):
        return self.value * k

    @property
    def doubled(self):
        return self.value * 2


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@case
def attribute_read(function, log):
    @function
    def f(b, x):
        return b.value + x

    for i in range(4):
        log(f(Box(t(2, seed=i)), t(2)))


@case
def attribute_write(function, log):
    @function
    def f(b, x):
        b.value = b.value + x
        b.name = "written"
        return b.value

    b = Box(t(2))
    for i in range(4):
        log(f(b, t(2, seed=i)), b)


@case
def write_then_read_through_alias(function, log):
    @function
    def f(a, b, x):
        a.value = x * 2
        y = b.value + 1
        b.value = y
        return a.value

    one, two = Box(t(2)), Box(t(2, seed=1))
    for _ in range(3):
        log(f(one, two, t(2, seed=2)), one, two)
    for _ in range(3):
        log(f(one, one, t(2, seed=3)), one)


@case
def new_attribute(function, log):
    @function
    def f(b, x):
        b.extra = x + 1
        b.count = 7
        return b.extra

    for i in range(4):
        b = Box(0)
        log(f(b, t(2, seed=i)), b)


@case
def slots(function, log):
    @function
    def f(s):
        s.y = s.x * 2
        return s.y + s.x

    for i in range(3):
        s = Slotted(t(2, seed=i), None)
        log(f(s), s.x, s.y)


@case
def methods_and_inheritance(function, log):
    class Base:
        k = 2

        def go(self, x):
            return self.step(x) + self.k

        def step(self, x):
            return x

    class Derived(Base):
        def step(self, x):
            return super().step(x) * 3

    @function
    def f(o, x):
        return o.go(x)

    for o in (Base(), Derived(), Base(), Derived()):
        log(f(o, t(2)))
    Base.k = 5
    log(f(Base(), t(2)), f(Derived(), t(2)))


@case
def decorated_method(function, log):
    class Model:
        def __init__(self):
            self.w = t(3, seed=5)

        @function
        def __call__(self, x):
            return x * self.w

        @function
        def loss(self, x):
            return self(x).sum()

    m, n = Model(), Model()
    for i in range(3):
        log(m(t(3, seed=i)), m.loss(t(3, seed=i)), n.loss(t(3, seed=i)))
    m.w = t(3, seed=9)
    log(m(t(3)), n(t(3)))


@case
def closures(function, log):
    k, w = 2.0, t(2, seed=3)

    @function
    def f(x):
        return x * k + w

    for _ in range(3):
        log(f(t(2)))
    k = 5.0
    log(f(t(2)))
    w = t(2, seed=4)
    log(f(t(2)), f(t(2)))


@case
def closure_write(function, log):
    count = 0

    @function
    def f(x):
        nonlocal count
        count += 1
        return x * count

    for _ in range(4):
        log(f(t(2)), count)


@case
def globals_read_and_written(function, log):
    global SCALE

    @function
    def f(x):
        global SCALE
        SCALE = SCALE + 1
        return x * SCALE

    SCALE = 3.0
    for _ in range(3):
        log(f(t(2)), SCALE)
    SCALE = 10.0
    log(f(t(2)), SCALE)


@case
def global_dict(function, log):
    @function
    def f(x, key):
        TABLE[key] = TABLE[key] + 1
        return x * TABLE[key]

    TABLE.update(a=1.0, b=2.0)
    for key in ("a", "a", "b", "a"):
        log(f(t(2), key), dict(TABLE))
    log.raises(f, t(2), "missing")


@case
def list_append_and_pop(function, log):
    @function
    def f(xs, x):
        xs.append(x + 1)
        xs.append(len(xs))
        return xs[-2] * 2

    xs = []
    for i in range(4):
        log(f(xs, t(2, seed=i)), xs)


@case
def list_mutation(function, log):
    @function
    def f(xs):
        xs[0], xs[1] = xs[1], xs[0]
        xs[2] = xs[0] + xs[1]
        return len(xs)

    xs = [t(2), t(2, seed=1), None]
    for _ in range(4):
        log(f(xs), xs)


@case
def mutation_seen_through_an_alias(function, log):
    @function
    def f(d, x):
        xs = d["items"]
        xs.append(x)
        return d["items"][-1] + len(d["items"])

    d = {"items": []}
    for i in range(4):
        log(f(d, t(2, seed=i)), d)


@case
def dict_of_tensors(function, log):
    @function
    def f(d):
        d["sum"] = d["a"] + d["b"]
        return {k: v * 2 for k, v in d.items()}

    for i in range(3):
        d = {"a": t(2, seed=i), "b": t(2, seed=i + 1)}
        log(f(d), d)


@case
def tuples_and_unpacking(function, log):
    @function
    def f(pair):
        (a, b), *rest = pair
        return a + b, rest, (b, a)

    for i in range(3):
        log(f(((t(2, seed=i), t(2)), 3, "s")))


@case
def identity_of_results(function, log):
    @function
    def f(x, y):
        z = x + y
        return x, z, [z, z], y

    for _ in range(3):
        x, y = t(2), t(2, seed=1)
        r = f(x, y)
        log(r[0] is x, r[3] is y, r[1] is r[2][0], r[2][0] is r[2][1], r)
    r = f(x, x)
    log(r[0] is r[3], r)


@case
def same_argument_twice(function, log):
    @function
    def f(a, b):
        a.add_(1)
        return a + b

    for i in range(3):
        log(f(t(2, seed=i) + 0, t(2)))
    x = t(2) + 0
    log(f(x, x), x)
    log(f(t(2) + 0, t(2)))


@case
def self_a_is_self_b(function, log):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    @function
    def f(p):
        p.a.mul_(2)
        return p.a + p.b, p.a is p.b

    for i in range(3):
        log(f(Pair(t(2, seed=i) + 0, t(2))))
    x = t(2) + 0
    log(f(Pair(x, x)), x)


@case
def default_and_keyword_arguments(function, log):
    @function
    def f(x, k=2, *args, scale=1.0, **kw):
        return x * k * scale + len(args) + len(kw)

    log(f(t(2)), f(t(2), 3), f(t(2), k=4), f(t(2), 1, 2, 3, scale=0.5), f(t(2), a=1, b=2), f(t(2)))
    log.raises(f)
    log.raises(f, t(2), k=1, x=2)


@case
def mutable_default(function, log):
    @function
    def f(x, seen=[]):
        seen.append(len(seen))
        return x + len(seen)

    for _ in range(4):
        log(f(t(2)))


@case
def under_functools_wraps(function, log):
    def twice(g):
        @functools.wraps(g)
        def wrapper(x):
            return g(x) * 2

        return wrapper

    @function
    @twice
    def f(x):
        return x + 1

    for _ in range(3):
        log(f(t(2)))
    log(f.__name__)


@case
def two_lambdas_on_a_line(function, log):
    f, g = function(lambda x: x + 1), function(lambda x: x * 2)
    for _ in range(3):
        log(f(t(2)), g(t(2)))


@case
def partial_and_higher_order(function, log):
    def apply(g, x):
        return g(x, 2)

    @function
    def f(x, k):
        return apply(lambda v, m: v * m + k, x)

    for k in (1, 1, 2):
        log(f(t(2), k))
    h = function(functools.partial(lambda a, b: a - b, b=3))
    log(h(t(2)), h(t(2)))


@case(graph=False)
def property_with_side_effect(function, log):
    class Noisy:
        def __init__(self):
            self.reads = 0

        @property
        def value(self):
            self.reads += 1
            return self.reads

    n = Noisy()

    @function
    def f(x):
        return x * n.value

    for _ in range(4):
        log(f(t(2)), n.reads)


@case
def plain_property(function, log):
    @function
    def f(b):
        return b.doubled + 1

    for i in range(3):
        log(f(Box(t(2, seed=i))))


@case(graph=False)
def getattr_hook(function, log):
    class Proxy:
        def __init__(self):
            self.asked = []

        def __getattr__(self, name):
            self.asked.append(name)
            return 2.0

    p = Proxy()

    @function
    def f(x):
        return x * p.anything

    for _ in range(3):
        log(f(t(2)), list(p.asked))


@case(graph=False)
def not_implemented_operators(function, log):
    class Left:
        def __add__(self, other):
            return NotImplemented

    class Right:
        def __radd__(self, other):
            return "radd"

    @function
    def f(a, b):
        return a + b

    for _ in range(2):
        log(f(Left(), Right()), f(t(2), Right()))
    log.raises(f, Left(), 3)


@case
def namedtuple(function, log):
    Point = collections.namedtuple("Point", "x y")

    @function
    def f(p):
        return Point(p.y * 2, p.x)

    for i in range(3):
        log(f(Point(t(2, seed=i), t(2))))


@case
def isinstance_and_hasattr(function, log):
    @function
    def f(o, x):
        if isinstance(o, Box):
            return x * o.value
        if hasattr(o, "y"):
            return x + 1
        return x

    for o in (Box(2), Box(3), Slotted(1, 2), 5, Box(2)):
        log(f(o, t(2)))


@case
def strings_and_formatting(function, log):
    @function
    def f(x, name):
        key = f"{name}_{x.shape[0]}".upper()
        return x + len(key), key, name in key.lower()

    for name in ("a", "a", "bcd"):
        log(f(t(2), name))


@case
def sorted_map_filter_any_all(function, log):
    @function
    def f(xs, x):
        ys = sorted(xs, key=lambda v: -v)
        zs = list(map(lambda v: v + 1, filter(lambda v: v > 1, ys)))
        return x * sum(zs) + len(zs), any(v > 2 for v in xs), all(xs), ys

    for xs in ([1, 3, 2], [1, 3, 2], [5, 1], []):
        log(f(xs, t(2)))


@case(graph=False)
def generator_function(function, log):
    @function
    def f(x, n):
        def gen():
            for i in range(n):
                yield x * i

        return list(gen())

    for n in (2, 2, 3):
        log(f(t(2), n))


@case
def code_replaced(function, log):
    def g(x):
        return x + 1

    @function
    def f(x):
        return g(x) * 2

    log(f(t(2)), f(t(2)))

    def h(x):
        return x - 1

    g.__code__ = h.__code__
    log(f(t(2)), f(t(2)))
