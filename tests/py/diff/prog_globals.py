# SPDX-License-Identifier: Apache-2.0
"""Programs that write globals, variables of enclosing functions, and containers by their methods."""

import sys

import janus

from .harness import MUST, case, t

count = 0
last = None


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def tree(k):
    return Node(k, [Node(2, [Node(3)]), Node(4)])


@case(graph=MUST)
def global_counter(function, log):
    global count, last
    count, last = 0, None

    @function
    def f(x):
        global count, last
        count += 1
        last = x * count
        return last + 1

    for i in range(6):
        log(f(t(2, seed=i)), count, last)
    count = 100
    log(f(t(2)), count, last)


def bump(by):
    global count
    count = count + by
    return count


@case(graph=MUST)
def global_of_a_callee(function, log):
    global count
    count = 5
    f = function(lambda x: x * bump(2) + count + sys.modules[__name__].count * 0)
    g = function(lambda x: x * bump(2) + count)
    for i in range(5):
        log(f(t(2, seed=i)), g(t(2)), count)


@case(graph=MUST)
def global_in_a_recursion(function, log):
    global count
    count = 0

    def visit(node):
        global count
        count += node.value
        for c in node.children:
            visit(c)
        return node.value

    @function
    def f(node, x):
        visit(node)
        return x * count

    for k in range(5):
        log(f(tree(k), t(2)), count)


@case(graph=MUST)
def closure_counter(function, log):
    n, seen = 0, None

    def more(by):
        nonlocal n
        n += by
        return n

    @function
    def f(x):
        nonlocal seen
        a = more(1)
        seen = x + a
        return seen * more(2)

    for i in range(6):
        log(f(t(2, seed=i)), n, seen)
    n = 50
    log(f(t(2)), n)


@case(graph=MUST)
def closure_in_a_recursion(function, log):
    total = 0

    def visit(node, depth):
        nonlocal total
        total += node.value * depth
        for c in node.children:
            visit(c, depth + 1)

    f = function(lambda node, x: (visit(node, 1), x * total)[1])
    for k in range(5):
        log(f(tree(k), t(2)), total)


@case(graph=MUST)
def closure_under_a_condition(function, log):
    best = 0.0

    @function
    def f(x):
        nonlocal best
        s = x.sum().item()
        if s > best:
            best = s
        return x * best

    for i in range(8):
        log(f(t(3, seed=i)), best)


@case
def which_cells_are_one(function, log):
    def make():
        n = 0

        def get():
            return n

        def put(v):
            nonlocal n
            n = v

        return get, put

    @function
    def f(get, put, x):
        put(get() + 1)
        return x * get()

    a, b = make(), make()
    for get, put in ((a[0], a[1]), (a[0], a[1]), (a[0], b[1]), (b[0], b[1]), (b[0], a[1])):
        log(f(get, put, t(2)), a[0](), b[0]())


class Box:
    pass


def boxes(f, log):
    for i in range(4):
        b = Box()
        b.scale, b.other = 2.0, i
        log(f(b, t(2)), b, list(vars(b)))
    log.raises(f, b, t(2))
    log(b)


@case(graph=MUST)
def attributes_deleted(function, log):
    @function
    def f(b, x):
        y = x * b.scale
        b.done = True
        del b.scale
        return y

    boxes(f, log)


@case
def attributes_set_after_others_were_deleted(function, log):
    @function
    def f(b, x):
        y = x * b.scale
        del b.scale
        b.done = True
        return y

    boxes(f, log)


def tables(f, log):
    for i in range(8):
        d = {"a": 2, "old": 1, "keep": i // 4}
        log(f(d, t(1, seed=i)), d, list(d))


@case(graph=MUST)
def dict_methods(function, log):
    @function
    def f(d, x):
        a = d.pop("a")
        del d["old"]
        d["new"] = x * a
        b = d.pop("missing", 3)
        d.update({"b": b, "c": x})
        d.setdefault("b", 10)
        d.setdefault("e", 11)
        return len(d), list(d)

    tables(f, log)


@case
def dict_keys_taken_out_behind_others(function, log):
    @function
    def f(d, x):
        a = d.pop("a")
        d["new"] = x * a
        d.update({"b": 3, "c": x})
        del d["old"]
        return len(d), list(d)

    tables(f, log)


@case(graph=MUST)
def dict_popped_and_set_again(function, log):
    @function
    def f(d, x):
        v = d.pop("first")
        d["first"] = v * x
        return d["first"]

    for i in range(8):
        d = {"first": t(1, seed=i), "second": 2}
        log(f(d, t(1)), list(d), d)


@case(graph=MUST)
def dict_cleared(function, log):
    @function
    def f(d, x):
        d.clear()
        d["only"] = x + 1
        return x

    for i in range(4):
        d = {i: 1, "b": 2}
        log(f(d, t(1)), d)


@case(graph=MUST)
def list_methods(function, log):
    @function
    def f(a, x):
        a.append(x)
        a.insert(0, 5)
        a.remove(3)
        last = a.pop()
        a.extend([last, 9])
        a.reverse()
        a += [1]
        del a[0]
        a[1:1] = [7, 8]
        return len(a), [1, 7, 7].index(7), [1, 7, 7].count(7)

    for i in range(6):
        a = [1, 3, 2, 0]
        log(f(a, t(1, seed=i)), a)


@case(graph=MUST)
def list_sorted_in_place(function, log):
    @function
    def f(a, b, x):
        a.sort()
        b.sort(reverse=True)
        a.append(x)
        return x * b[0]

    for i in range(6):
        a, b = [3, 1, 2], ["b", "a", "c"]
        log(f(a, [2, 5, 1], t(1)), a, b)


@case(graph=MUST)
def augmented_items(function, log):
    class Box:
        def __init__(self):
            self.n, self.items, self.table = 1, [1, 2.5, t(2) + 0], {"k": 1, "t": t(2) + 0}

    b = Box()

    @function
    def f(x):
        b.n += 2
        b.n *= 2
        b.items[0] += b.n
        b.items[1] /= 2
        b.items[2] += x
        b.table["k"] -= 1
        b.table["t"] *= 2
        return x * b.n

    items, tensor = b.items, b.items[2]
    for i in range(5):
        log(f(t(2, seed=i)), b, b.items is items, b.items[2] is tensor)


@case(graph=MUST)
def changed_in_place(function, log):
    class Sum:
        def __init__(self):
            self.n = 0

        def __iadd__(self, x):
            self.n = self.n + x
            return self

        def __add__(self, x):
            raise AssertionError("not this one")

    @function
    def f(a, alias, s, d, x):
        a += [x, 2]
        b = a
        b += (3,)
        s += 4
        d |= {"k": x}
        d["l"] = s.n
        local = [1]
        other = local
        other += [x]
        return len(alias), local, s

    for i in range(4):
        a, s, d = [1], Sum(), {}
        log(f(a, a, s, d, t(1, seed=i)), a, s, d)


@case
def set_methods(function, log):
    @function
    def f(s, x):
        s.add(4)
        s.discard(1)
        return x * len(s)

    for _ in range(3):
        s = {1, 2}
        log(f(s, t(1)), s)
