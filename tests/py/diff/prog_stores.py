# SPDX-License-Identifier: Apache-2.0
"""What is stored is compared by what was stored; `test_stores.py` generates the class."""
import janus

from .harness import MUST, case


class Box:
    def __init__(self, **kw):
        self.__dict__.update(kw)


def number(v):
    return janus.tensor([float(v)])


@case
def a_store_then_one_of_another_kind_under_a_condition(function, log):
    @function
    def f(o, x):
        o.mode = "low"
        if x.sum() > 4:
            o.mode = 3

    for v in (1, 2, 9, 1, 9, 9):
        o = Box(mode="?")
        f(o, number(v))
        log(o)


@case
def none_then_a_number_in_a_loop(function, log):
    @function
    def f(o, k):
        o.best = None
        for i in range(k):
            if i == 2:
                o.best = i

    for k in (1, 2, 5, 1, 5, 7):
        o = Box(best=0)
        f(o, k)
        log(o)


@case
def new_attributes_in_another_order(function, log):
    """The order of a dict is state, too."""

    @function
    def f(o, x):
        made = Box()
        if x.sum() > 4:
            o.a = made.a = 1
            o.b = made.b = 2
        else:
            o.b = made.b = 3
            o.a = made.a = 4
        return made

    for v in (1, 9, 1, 9, 9, 1):
        o = Box(c=0)
        log(f(o, number(v)), o)


@case(graph=MUST)
def a_dict_that_ends_empty(function, log):
    clear, pop = function(lambda d: d.clear()), function(lambda d: d.pop("k"))

    @function
    def delete(d):
        del d["k"]

    for f in (clear, pop, delete):
        for _ in range(3):
            d = {"k": 1}
            log(f(d), d)


@case(graph=MUST)
def an_item_of_a_dict_from_another_key(function, log):
    @function
    def f(d):
        d["a"] = d["b"]

    for i in range(4):
        d = {"a": 1, "b": number(i)}
        f(d)
        log(d)


@case
def what_a_loop_carries_wraps_itself(function, log):
    @function
    def f(n):
        r = None
        for i in range(n):
            r = (i, r)
        return r

    @function
    def g(n):
        r = (0, 0.5, "s")
        for i in range(n):
            r = (r[0], i * 0.5, "s" if i < 3 else None)
        return r

    for n in (3, 3, 5, 2, 0, 4, 6):
        log(f(n), g(n))


@case(graph=MUST)
def a_number_in_a_tuple_changes_in_a_loop(function, log):
    @function
    def f(n, x):
        state = (x, 0, 1.5)
        for i in range(n):
            state = (state[0] + 1, state[1] + 2, 1.5)
        return state

    for n in (3, 4, 5, 2, 0, 4, 6):
        log(f(n, number(n)))


@case
def a_filtered_list_of_objects(function, log):
    kept = function(lambda boxes: [b for b in boxes if b.on])
    words = function(lambda words: [w for w in words if w != "a"])
    largest = function(lambda boxes: max((b.name for b in boxes if b.on), default="none"))

    def visit(node):
        return [k for k in node.kids if k.v > 2] + [x for k in node.kids for x in visit(k)]

    tree = function(lambda node: visit(node))
    for n in (1, 2, 3, 4, 1, 5):
        boxes = [Box(on=i % 3 != 1, name="n" + str(i)) for i in range(n)]
        log(kept(boxes), words(list("zbcde"[:n])))
        log(largest(boxes))
        log(tree(Box(v=0, kids=[Box(v=i, kids=[Box(v=i + 2, kids=[])]) for i in range(n)])))
