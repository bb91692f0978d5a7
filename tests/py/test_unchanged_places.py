# SPDX-License-Identifier: Apache-2.0
"""What a call reads from cells, tuples, lists, functions and modules that stay what they are is compared word by word
(pyfront/guard/fast.c).  Programs that change one of these places between two calls, any of them in any order, also to an
object that lies where the old one lay: the next call sees it, as the function that nobody decorated does."""
import random

import janus
import pytest
from janus import nn


class Half(nn.Module):
    def forward(self, x):
        return x * 0.5


class Twice(nn.Module):
    def forward(self, x):
        return x * 2


class Box:
    pass


def module(r):
    m = r.choice([Half, Twice])()
    m.k = r.choice([1.0, 2.0, 3.0])
    return m


def of_closure(r):
    k = r.choice([1.5, -2.0, 4.0])

    def scaled(x):
        return x * k

    return scaled


def of_default(r):
    def scaled(x, k=r.choice([1.25, -3.0]), *, b=r.choice([0.0, 7.0])):
        return x * k + b

    return scaled


def of_part(r):
    inner = of_closure(r)

    def scaled(x, f=inner):
        return f(x) - 1

    return scaled


def function(r):
    return r.choice([of_closure, of_default, of_part])(r)


def part(r):
    return r.choice([module, function])(r)


class Program:
    """A function of one tensor and the places that it reads; change(r) gives one of them another value."""

    def __init__(self, r):
        one, few, many, named, box = part(r), tuple(part(r) for _ in range(3)), [part(r) for _ in range(3)], {"a": part(r)}, Box()
        box.few, box.one = (part(r), part(r)), part(r)
        net = nn.ModuleList([module(r) for _ in range(4)])
        self.changes = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

        def f(x):
            x = few[2](few[1](few[0](one(x))))
            for m in many:
                x = m(x)
            x = box.one(box.few[1](box.few[0](named["a"](x))))
            for m in net:
                x = m(x) * m.k
            return x

        def put(new_one=None, new_few=None, new_many=None):
            nonlocal one, few, many
            one, few, many = new_one or one, new_few or few, many if new_many is None else new_many

        self.f, self.put, self.many, self.named, self.box, self.net = f, put, lambda: many, named, box, net
        self.of_cells = lambda: [one] + list(few)
        self.kept = []

    def any_function(self, r):
        found = [x for x in self.of_cells() + self.many() + [self.box.one, *self.box.few] if hasattr(x, "__code__")]
        return r.choice(found) if found else None

    def do_cell(self, r):
        self.put(new_one=part(r))

    def do_tuple(self, r):
        if r.random() < 0.5:
            self.kept.append(self.of_cells())
        self.put(new_few=tuple(part(r) for _ in range(3)))

    def do_turned_tuple(self, r):
        self.put(new_few=tuple(self.of_cells()[:0:-1]))

    def do_list(self, r):
        self.put(new_many=[part(r) for _ in range(r.randint(0, 3))])

    def do_item(self, r):
        if self.many():
            self.many()[r.randrange(len(self.many()))] = part(r)

    def do_longer(self, r):
        if len(self.many()) < 5:
            self.many().append(part(r))

    def do_shorter(self, r):
        if self.many():
            self.many().pop(0)

    def do_other_memory(self, r):
        many = self.many()
        many.extend([None] * 50)
        del many[-50:]

    def do_dict(self, r):
        self.named["a"] = part(r)

    def do_attribute(self, r):
        self.box.one = part(r)

    def do_attribute_tuple(self, r):
        if r.random() < 0.5:
            self.kept.append(self.box.few)
        self.box.few = (part(r), part(r))

    def do_defaults(self, r):
        f = self.any_function(r)
        if f is not None and f.__defaults__:
            f.__defaults__ = (of_closure(r),) if callable(f.__defaults__[0]) else (r.choice([0.75, 5.0]),)

    def do_kwdefaults(self, r):
        f = self.any_function(r)
        if f is not None and f.__kwdefaults__:
            f.__kwdefaults__ = {"b": r.choice([1.0, -4.0])}

    def do_code(self, r):
        f = self.any_function(r)
        if f is not None and f.__closure__ and len(f.__closure__) == 1:
            def scaled(x):
                return x - k

            k = 0
            f.__code__ = scaled.__code__

    def do_free_variable(self, r):
        f = self.any_function(r)
        if f is not None and f.__closure__ and isinstance(f.__closure__[0].cell_contents, float):
            f.__closure__[0].cell_contents = r.choice([1.5, 0.25])

    def do_class(self, r):
        r.choice(self.net).__class__ = r.choice([Half, Twice])

    def do_number(self, r):
        r.choice(self.net).k = r.choice([1.0, 2.0, 3.0])

    def do_number_unseen(self, r):
        r.choice(self.net).__dict__["k"] = r.choice([1.0, 2.0, 3.0])

    def do_submodule(self, r):
        self.net[r.randrange(4)] = module(r)

    def do_forward(self, r):
        Half.forward, Twice.forward = Twice.forward, Half.forward


@pytest.fixture(autouse=True)
def classes_stay():
    forward = Half.forward, Twice.forward
    yield
    Half.forward, Twice.forward = forward


def told(f, x):
    return f(x).tolist()


def run(seed, names=None, changes=25):
    """How many of the calls ran as graphs; the program's changes all seen."""
    r = random.Random(seed)
    p = Program(r)
    f = janus.function(p.f)
    x = janus.tensor([1.0, -2.0])
    done = []
    for _ in range(changes):
        for _ in range(r.randint(1, 6)):
            assert told(f, x) == told(p.f, x), (seed, done)
        for _ in range(r.choice([1, 1, 2])):
            done.append(r.choice(sorted(names or p.changes)))
            p.changes[done[-1]](r)
    assert told(f, x) == told(p.f, x), (seed, done)
    return f.stats()["graph"]


@pytest.mark.parametrize("seed", range(24))
def test_any_change_is_seen(seed):
    run(seed)


@pytest.mark.parametrize("name", sorted(Program(random.Random(0)).changes))
def test_each_change_is_seen(name):
    assert sum(run(seed, [name], 12) for seed in range(3)) > 0


def test_an_object_where_the_old_one_lay():
    """Functions of one code and tuples that, as a rule, come to lie where others lay: only what is in them differs."""
    for seed in range(12):
        r = random.Random(seed)
        p = Program(r)
        f, x = janus.function(p.f), janus.tensor([1.0, -2.0])
        for k in range(8):
            few = tuple(of_closure(r) for _ in range(3))
            p.put(new_one=of_closure(r), new_few=few)
            for _ in range(4):
                assert told(f, x) == told(p.f, x), (seed, k)
            few = None
            p.put(new_few=tuple(p.of_cells()[:1] * 3))
            p.put(new_few=tuple(of_default(r) if k % 2 else of_closure(r) for _ in range(3)))
            for _ in range(4):
                assert told(f, x) == told(p.f, x), (seed, k)
