# SPDX-License-Identifier: Apache-2.0
"""super(): methods, properties and class attributes of the classes behind one in the MRO."""

import janus
import janus.nn as nn

from .harness import FAST, MUST, case, t


class Base:
    scale = 3

    def __init__(self, a):
        self.a = a

    def get(self, x):
        return x * self.a

    @property
    def more(self):
        return self.a + 1


class Left(Base):
    scale = 4

    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def get(self, x):
        return super().get(x) * self.b * super().scale + super().more


class Right(Base):
    def get(self, x):
        return super().get(x) - self.a


class Both(Left, Right):
    def __init__(self, a, b):
        super(Both, self).__init__(a, b)

    def get(self, x):
        return super().get(x) + super(Left, self).get(x)


class Alone:
    def __init__(self):
        super().__init__()
        self.v = 1


@case(graph=MUST)
def classes(function, log):
    @function
    def f(o, x):
        return o.get(x)

    for i in range(4):
        for o in (Base(2), Left(2, 3), Right(4), Both(1, 5)):
            log(f(o, t(3, seed=i)))


@case(graph=MUST)
def made_inside(function, log):
    @function
    def f(x, n):
        return Both(x, 2).get(x), Left(x, n).b, Alone().v

    for i in range(4):
        log(f(t(3, seed=i), i))


@case(graph=MUST)
def a_base_changes(function, log):
    class A:
        def get(self, x):
            return x

    class B(A):
        pass

    class C(B):
        def get(self, x):
            return super().get(x) * 2

    @function
    def f(o, x):
        return o.get(x)

    o = C()
    for step in range(4):
        for i in range(3):
            log(f(o, t(3, seed=i)))
        if step == 0:
            A.get = lambda self, x: x + 100
        elif step == 1:
            B.get = lambda self, x: x + 1000
        elif step == 2:
            del B.get


@case(graph=FAST)
def modules(function, log):
    class Scaled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2

    class Twice(Scaled):
        def forward(self, x):
            return super().forward(x) + super(Scaled, self).forward(x)

    m = Twice(3, 3)
    f = function(lambda x: m(x).sum())
    for i in range(4):
        loss = f(t(2, 3, seed=i))
        loss.backward()
        log(loss, m)


@case(graph=False)
def refused(function, log):
    """Where CPython raises, and what is not known."""

    class A:
        def bad(self):
            return super().nothing

        @classmethod
        def of(cls):
            return super().__name__

        def listed(self, x):
            return [super(A, self).__class__ for _ in range(2)]

    @function
    def f(o, x):
        return o.bad()

    @function
    def g(o, x):
        return o.listed(x)

    for i in range(3):
        log.raises(lambda: f(A(), 1))
        log(len(g(A(), 1)))
