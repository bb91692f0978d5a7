# SPDX-License-Identifier: Apache-2.0
"""The breadth of the language: objects made inside, calls of every kind, text, assignment, types."""

import collections
import dataclasses

import janus

from .harness import case, t

Pair = collections.namedtuple("Pair", "a b", defaults=(3,))


@dataclasses.dataclass
class State:
    h: object
    n: int = 3
    seen: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    k: float = 0.5

    @property
    def scaled(self):
        return self.x * self.k


class Counter:
    step = 2

    def __init__(self, x):
        self.total = x

    def add(self, y):
        self.total = self.total + y * self.step
        return self


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def trees():
    return [Node(1.0, [Node(0.5), Node(-2.0, [Node(3.0)])]), Node(2.0), Node(1.0, [Node(0.5), Node(-1.0)]),
            Node(0.5, [Node(1.0, [Node(2.0, [Node(3.0)])])])]


@case
def two_lambdas_on_a_line(function, log):
    f, g = function(lambda x: x + 1), function(lambda x: x * 2)
    p, q = function(lambda x: x - 1), function(lambda x: x - 1)
    for i in range(4):
        log(f(g(t(2, seed=i))), p(q(t(2, seed=i))))


@case
def lambdas_as_arguments(function, log):
    @function
    def f(x, g, h):
        return g(h(x))

    for i in range(4):
        log(f(t(2, seed=i), lambda y: y + 1, lambda y: y * 3))


@case
def named_tuples(function, log):
    @function
    def f(p):
        a, b = p
        q = Pair(p.a + b, b=p[1] * 2)
        return Pair(q.a), q, q._replace(a=a), q._asdict(), Pair(*q), p

    for i in range(4):
        p = Pair(t(2, seed=i), t(2, seed=1))
        r = f(p)
        log(r, r[-1] is p, type(r[0]) is Pair)


@case
def named_tuples_through_a_recursion(function, log):
    @function
    def f(node, p):
        s = Pair(p.a * node.value, p.b + 1)
        for c in node.children:
            s = f(c, s)
        return Pair(s.a.tanh(), s.b)

    for node in trees():
        log(f(node, Pair(t(2), t(2, seed=1))))


@case
def dataclasses_made_inside(function, log):
    @function
    def f(x):
        s, u = State(x + 1), State(x, n=2)
        s.h = s.h * s.n
        s.seen.append(u)
        z = Frozen(x, k=2.0)
        return s, z.scaled, z

    for i in range(4):
        s, y, z = f(t(2, seed=i))
        log(s, y, z.x, z.k, type(s) is State, s.seen[0].h)


@case
def dataclass_arguments(function, log):
    @function
    def f(s):
        return s.h * s.n

    for i in range(4):
        log(f(State(t(2, seed=i))))


@case
def instances_made_inside(function, log):
    @function
    def f(x, n):
        c = Counter(x)
        for _ in range(n):
            c.add(x).add(1)
        return c.total, c

    for i in range(4):
        total, c = f(t(2, seed=i), 3)
        log(total, c.total is total, vars(c), c.step)


@case
def one_object_in_two_places(function, log):
    @function
    def f(x):
        c = Counter(x)
        return [c, c], {"c": c}

    for i in range(3):
        (a, b), d = f(t(2, seed=i))
        log(a is b, d["c"] is a, a)


@case
def instances_under_a_condition(function, log):
    @function
    def f(x):
        c = Counter(x)
        if x.sum() > 0:
            c.add(1)
        else:
            c.total = c.total * 2
        return c.total

    for i in range(6):
        log(f(t(3, seed=i)))


@case
def keyword_only_arguments(function, log):
    @function
    def f(node, x, scale=2.0, *, depth=0):
        y = x * scale * node.value + depth
        for c in node.children:
            y = y + f(c, x, depth=depth + 1)
        return y

    @function
    def g(x):
        def inner(a, *rest, k=2, **more):
            return a * k + sum(rest) + more.get("z", 0)

        return inner(x) + inner(x, 1, 2, k=3, z=4) + (lambda y, *, s=3: y * s)(x)

    for node in trees():
        log(f(node, t(2)), g(t(2)))


@case
def text_of_known_values(function, log):
    @function
    def f(x, n, name):
        key = f"{name}{n}-{n:03d}{n!r:>4}" + "%d_%s" % (n, name) + "{} {k}".format(n, k=name)
        return {key: x + 1}, f"{x.shape} {x.ndim} {tuple(x.shape)}", "%s" % n, name.upper().join(["a", "b"])

    for i in range(4):
        log(f(t(2, seed=i), 3, "q"))


@case(graph=False)
def text_of_tensors_inside_tuples(function, log):
    @function
    def f(x):
        return "{}".format((x, 1)), "%s" % ([x],)

    for i in range(3):
        log(f(t(2, seed=i)))


@case
def asserts_and_chains(function, log):
    @function
    def f(x, n):
        assert n > 0, f"bad {n}"
        assert x.ndim == 1 and 0 < n < 10 <= 12
        s = x.sum().item()
        if -0.5 < s < 0.5:
            return x * n
        return x

    for i in range(5):
        log(f(t(3, seed=i), 2))
    log.raises(f, t(3), -1)


@case
def starred_and_nested_targets(function, log):
    @function
    def f(xs):
        a, *b = xs
        *c, d = b
        (e, (g, *h)), k = (a, (d, *c)), 3
        return a + sum(b) + d, [*c, d, *h], {**{"k": e}}, g * k

    for i in range(4):
        log(f([t(2, seed=i), t(2, seed=1), t(2, seed=2)]))


@case
def walrus(function, log):
    @function
    def f(x):
        if (s := x.sum()) > 0:
            return s * x
        ys = [y for k in range(3) if (y := k * 2) > 1]
        return x + s + sum(ys)

    for i in range(6):
        log(f(t(3, seed=i)))


@case
def tests_of_types(function, log):
    @function
    def f(x, o):
        if isinstance(o, (int, float)) and not isinstance(o, bool):
            return x * o
        if type(o) is str:
            return x + len(o)
        return x

    for o in (1, 2.0, "ab", None, 1, 2.0, "ab", True, None):
        log(f(t(2), o))


@case
def tests_of_types_in_a_recursion(function, log):
    class Leaf:
        def __init__(self, v):
            self.v = v

    class Both:
        def __init__(self, left, right):
            self.left, self.right = left, right

    class Either(Both):
        pass

    @function
    def f(n, x):
        if isinstance(n, (Both, list)):
            return f(n.left, x) + f(n.right, x).tanh()
        return x * n.v

    trees = [Both(Leaf(1.0), Either(Leaf(2.0), Leaf(0.5))), Either(Both(Leaf(1.0), Leaf(3.0)), Leaf(2.0))]
    for n in trees + trees:
        log(f(n, t(2)))


@case
def handlers_not_needed(function, log):
    @function
    def f(x, d):
        try:
            y = x + d["k"]
        except KeyError:
            y = x
        else:
            y = y * 2
        finally:
            z = 1
        with janus.no_grad():
            y = y + z
        return y

    for i in range(4):
        log(f(t(2, seed=i), {"k": i % 2}))
    log(f(t(2), {}))


@case
def generators_consumed_at_once(function, log):
    @function
    def f(xs):
        return (sum(x * 2 for x in xs), any(x.sum() > 0 for x in xs), all(x.sum() > 0 for x in xs),
                max(x.sum().item() for x in xs), tuple(x + 1 for x in xs), [*(x for x in xs if x.ndim == 1)],
                dict((i, x + 1) for i, x in enumerate(xs)), {k % 3 for k in (1, 2, 5)} == {1, 2})

    for i in range(4):
        log(f([t(2, seed=i), t(2, seed=1)]))


@case
def generator_functions(function, log):
    def pairs(n):
        for i in range(n):
            if i == 1:
                yield i, "one"
                continue
            yield i, "other"
        yield from ((k, "more") for k in range(2))

    def numbered(xs):
        with janus.no_grad():
            for i, x in enumerate(xs):
                yield x * i

    @function
    def f(x, xs):
        names = []
        for i, name in pairs(3):
            x = x + i
            names.append(name)
            if name == "more":
                break
        return x, names, sum(numbered(xs)), list(pairs(1)), dict(pairs(2))

    for i in range(4):
        log(f(t(2, seed=i), [t(2, seed=1, grad=True), t(2, seed=2)]))


@case
def generators_in_turn_with_their_consumer(function, log):
    def draws(n):
        for _ in range(n):
            yield janus.rand(2)

    @function
    def f(x):
        for d in draws(3):
            x = x * d + janus.rand(2)
        return x

    for i in range(4):
        log(f(t(2, seed=i)))


@case
def generator_over_children(function, log):
    def values(node):
        yield node.value
        for c in node.children:
            yield c.value * 2

    @function
    def f(node, x):
        y = x * sum(values(node))
        for c in node.children:
            y = y + f(c, x)
        return y

    for node in trees():
        log(f(node, t(2)))


@case
def tensors_of_numbers(function, log):
    @function
    def f(x, n):
        s, k = x.sum().item(), n + 1
        return (x + janus.tensor([1.0, 2.0]) * janus.tensor(2), janus.tensor([[s, 1], [2, s]]), janus.tensor([n, k]),
                janus.tensor(s, dtype=janus.float64), janus.tensor([True, s > 0]), janus.tensor([n]),
                janus.tensor([]), janus.tensor([[n, 2], [3, k]], dtype=janus.float32))

    for n in (1, 2, 3, 4, 5, 2):
        log(f(t(2, seed=n), n))
    log.raises(f, t(2), "a")


@case
def chained_comparison_with_effects(function, log):
    @function
    def f(xs, x):
        if x.sum() < 0 < xs.pop():
            x = x * 2
        return x

    for i in range(6):
        xs = [1, 2, 3]
        log(f(xs, t(3, seed=i)), xs)


@case
def chained_comparison_of_an_iterator(function, log):
    @function
    def f(xs, x):
        it = iter(xs)
        if next(it) < x.sum() < next(it):
            x = x * 2
        return x + next(it)

    for i in range(6):
        log(f([-1, 1, 5, 7], t(3, seed=i)))


@case
def lambdas_that_yield(function, log):
    @function
    def f(x):
        pairs = lambda y: [(yield y * 2), (yield y + 1)]
        made = [(lambda: (yield x))() for _ in range(2)]
        sent = pairs(x)
        return list(pairs(x)), [type(g).__name__ for g in made], next(made[0]), next(sent), sent.send(3)

    for i in range(4):
        log(f(t(2, seed=i)))
