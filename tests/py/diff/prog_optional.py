# SPDX-License-Identifier: Apache-2.0
"""Values that are None on some paths: gradients of steps whose inputs use different weights, with every optimizer and
every way to forget gradients, and names, attributes, arguments and results that hold None or a tensor."""

import janus

from .harness import MUST, case, t

OPTIMIZERS = {
    "sgd": lambda p: janus.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: janus.optim.SGD(p, lr=0.1, weight_decay=0.1, maximize=True),
    "momentum": lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam": lambda p: janus.optim.Adam(p, lr=0.1),
    "amsgrad": lambda p: janus.optim.Adam(p, lr=0.1, amsgrad=True),
    "adamw": lambda p: janus.optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: janus.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "adagrad": lambda p: janus.optim.Adagrad(p, lr=0.1),
    "adadelta": lambda p: janus.optim.Adadelta(p),
    "adamax": lambda p: janus.optim.Adamax(p, weight_decay=0.1),
    "nadam": lambda p: janus.optim.NAdam(p, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: janus.optim.RAdam(p, betas=(0.5, 0.8), maximize=True),
    "rprop": lambda p: janus.optim.Rprop(p),
    "asgd": lambda p: janus.optim.ASGD(p, lr=0.1, t0=2.0),
}


def to_none(optimizer):
    optimizer.zero_grad()


def to_zeros(optimizer):
    optimizer.zero_grad(set_to_none=False)


def keep(optimizer):
    pass


def chosen(params, x):
    """Uses one or two of three weights, as the input says."""
    w, v, u = params
    if x.sum() > 0:
        h = w * x
    else:
        h = v * x
    if x[0] > 0.5:
        h = h * u
    return h.sum()


def add_step(name, make, forget, at_end, twice):

    def program(function, log):
        params = [t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)]
        optimizer = make(params)

        @function
        def step(x):
            if not at_end:
                forget(optimizer)
            loss = chosen(params, x)
            loss.backward()
            if twice:
                chosen(params, x * x - 0.3).backward()
            optimizer.step()
            if at_end:
                forget(optimizer)
            return loss.detach()

        for i in range(14):
            log(step(t(3, seed=i)), *params, [p.grad for p in params], optimizer.state)

    program.__name__ = program.__qualname__ = name
    case(program, graph=MUST)


for way, forget in (("none", to_none), ("zeros", to_zeros), ("keep", keep)):
    for kind, make in OPTIMIZERS.items():
        end, twice = len(kind) % 2 == 0, kind in ("sgd", "momentum", "adam")
        add_step(f"step_{kind}_{way}", make, forget, end, False)
        if twice:
            add_step(f"twice_{kind}_{way}", make, forget, not end, True)


@case(graph=MUST)
def own_loop(function, log):
    """An optimizer that a program writes itself."""
    params = [t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)]

    @function
    def step(x):
        for p in params:
            p.grad = None
        chosen(params, x).backward()
        n = 0
        with janus.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= 0.1 * p.grad
                    n += 1
        return n

    for i in range(14):
        log(step(t(3, seed=i)), *params)


@case(graph=MUST)
def returned(function, log):
    params = [t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)]

    @function
    def grads(x):
        for p in params:
            p.grad = None
        chosen(params, x).backward()
        return [p.grad for p in params], params[0].grad is None

    for i in range(14):
        g, none = grads(t(3, seed=i))
        log(g, none, [a is b.grad for a, b in zip(g, params)])


@case(graph=MUST)
def name(function, log):

    @function
    def f(x):
        h = None
        if x.sum() > 0:
            h = x * 2
        if h is None:
            return x
        return h + 1

    for i in range(8):
        log(f(t(3, seed=i)))


@case(graph=MUST)
def result(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            return None
        return (w * x).sum()

    for i in range(8):
        w.grad = None
        y = f(t(3, seed=i))
        if y is not None:
            y.backward()
        log(y, w)


@case(graph=MUST)
def both_results(function, log):

    def part(x):
        return x * 2 if x.sum() > 0 else None

    @function
    def f(x, y):
        a, b = part(x), part(y)
        if a is None and b is None:
            return x
        if a is None or b is None:
            return (a if b is None else b) * 3
        return a * b

    for i in range(12):
        log(f(t(3, seed=i), t(3, seed=3 * i + 1)))


@case(graph=MUST)
def accumulated(function, log):

    @function
    def f(xs):
        total = None
        for x in xs:
            if x.sum() > 0.3:
                total = x if total is None else total + x
        return total

    for i in range(10):
        log(f([t(3, seed=i + 2 * k) for k in range(3)]))


@case(graph=MUST)
def used_as_it_is(function, log):
    """Where it is None CPython raises."""

    @function
    def f(x, how):
        h = None
        if x.sum() > 0:
            h = x * 2
        if how == 0:
            return h + 1
        if how == 1:
            return h.sum()
        if how == 2:
            return janus.stack([x, h])
        if how == 3:
            return h[0]
        return -h

    for how in range(5):
        for i in range(6):
            log.raises(f, t(3, seed=i), how)


@case(graph=MUST)
def attribute(function, log):

    class State:
        h = None

    s = State()

    @function
    def f(x):
        s.h = None
        if x.sum() > 0:
            s.h = x * 2
        y = x if s.h is None else x + s.h
        return y

    for i in range(8):
        log(f(t(3, seed=i)), s)


@case
def same_object(function, log):
    """It stays the tensor that it was made of."""

    @function
    def f(x):
        y, h = x + 1, None
        if x.sum() > 0:
            h = y
        return y, h

    for i in range(8):
        y, h = f(t(3, seed=i))
        log(y, h, y is h)


# ---- what may be done with a value that may be None: w is a tensor of the caller, x and y are arguments --------------


def same_argument(w, x, y):
    h = None
    if x.sum() > 0:
        h = x
    return h


def write_argument(w, x, y):
    h = None
    if x.sum() > 0:
        h = x
    if h is not None:
        h.add_(1)
    return h


def write_new(w, x, y):
    h = None
    if x.sum() > 0:
        h = x + 1
    if h is not None:
        h.add_(1)
    return h


def write_by_two_names(w, x, y):
    h, z = None, x + 1
    if x.sum() > 0:
        h = z
    if h is not None:
        h.add_(1)
    return z


def one_of_three(w, x, y):
    h = w
    if x.sum() > 0:
        h = None
    if y.sum() > 0:
        h = x
    return h


def two_names(w, x, y):
    h = None
    if x.sum() > 0:
        h = x * 2
    k = h
    if y.sum() > 0:
        h = None
    return h, k, h is k


def filtered(w, x, y):
    h = None
    if x.sum() > 0:
        h = x * 2
    return len([q for q in [h, y] if q is not None])


def first_of_rounds(w, x, y):
    h = None
    for i in range(3):
        if x[i] > 0.2:
            h = x * i if h is None else h + y
    return h


def in_a_dict(w, x, y):
    h = None
    if x.sum() > 0:
        h = x * 2
    d = {"h": h, "y": y}
    if d["h"] is None:
        d["h"] = y
    return d["h"] + 1


def default_argument(w, x, y):

    def g(a, b=None):
        return a if b is None else a + b

    h = None
    if x.sum() > 0:
        h = x * 2
    return g(y, h), g(y, b=h), g(y)


def its_type(w, x, y):
    h = None
    if x.sum() > 0:
        h = x * 2
    return isinstance(h, janus.Tensor), type(h).__name__, h == None  # noqa: E711


def two_of_them(w, x, y):
    a = b = None
    if x.sum() > 0:
        a = x * 2
    if y.sum() > 0:
        b = y * 2
    if a is None or b is None:
        return x
    if not (a is None) and b is not None:
        return a * b
    return y


def last_of_while(w, x, y):
    h = None
    while x.sum() < 2:
        x = x + 0.7
        if x[0] > 0.4:
            h = x
    return h


def add_value(body, grad):

    def program(function, log):
        w = t(3, seed=9, grad=grad)

        @function
        def f(x, y):
            return body(w, x, y)

        for i in range(10):
            x, y = t(3, seed=i), t(3, seed=i + 2)
            r = f(x, y)
            log(x, y, w, r, r is x, r is y, r is w)

    program.__name__ = program.__qualname__ = f"value_{body.__name__}" + ("_grad" if grad else "")
    case(program)


for body in (same_argument, write_argument, write_new, write_by_two_names, one_of_three, two_names, filtered,
             first_of_rounds, in_a_dict, default_argument, its_type, two_of_them, last_of_while):
    add_value(body, False)
add_value(one_of_three, True)

# ---- writes on one path to what a gradient that is still to come needs ------------------------------------------------


def leaf_saved(w, b, x):
    y = (w * w * x).sum()
    with janus.no_grad():
        if x.sum() > 0:
            w.mul_(0.9)
    return y


def buffer_saved(w, b, x):
    y = (w * b).sum()
    if x.sum() > 0:
        b.add_(x)
    return y


def buffer_saved_later(w, b, x):
    if x.sum() > 0:
        b.add_(x)
    return (w * b * x).sum()


def buffer_saved_twice(w, b, x):
    y = (w * b).sum()
    if x.sum() > 0:
        b.add_(x)
    return y + (w * b * x).sum()


def nested_write(w, b, x):
    y = (w * b).sum()
    if x.sum() > 0:
        if x[0] > 0.5:
            b.add_(x)
        else:
            y = y + (w * x).sum()
    return y


def add_write(body):

    def program(function, log):
        w, b = t(3, grad=True), t(3, seed=4)

        @function
        def f(x):
            return body(w, b, x)

        for i in range(12):
            w.grad = None
            y = f(t(3, seed=i))
            log(y, w, b)
            log.raises(y.backward)
            log(w)

    program.__name__ = program.__qualname__ = f"write_{body.__name__}"
    case(program)


for body in (leaf_saved, buffer_saved, buffer_saved_later, buffer_saved_twice, nested_write):
    add_write(body)
