# SPDX-License-Identifier: Apache-2.0
"""Keys that are other objects at each call, as a new model's parameters are of an optimizer's states: one graph serves them all,
finds what CPython finds, and tells two keys from one that came twice."""
import random

import pytest

import janus
from janus import nn
from shares import share
from texts import names_of

MAKES = {"tensor": "janus.ones(2)", "parameter": "nn.Parameter(janus.ones(2))", "tensor of a class": "Own(janus.ones(2))", "instance": "Node()",
         "slots": "Slots()", "function": "made()", "method": "Node().method"}
PLACES = {"argument": ("o", "p"), "attribute": ("box.o", "box.p"), "item": ("box.items[0]", "box.items[1]"),
          "value": ("box.named['o']", "box.named['p']")}
OPS = {"read": "v = d[{o}] + d[{p}] * 3", "get": "v = d.get({o}, x) + d.get({p}, x * 3)", "in": "v = x * (3 if {o} in d else 5) + ({p} in d)",
       "set": "d[{o}] = x * 2\n    v = d[{p}] * x", "both": "d[{o}] = x * 2\n    d[{p}] = x * 3\n    v = d[{o}] - x",
       "read and set": "v = d[{o}]\n    d[{o}] = v + d[{p}]", "deleted": "v = d[{o}]\n    del d[{o}]\n    v = d.get({p}, v)",
       "pop": "v = d.pop({o}, x)\n    v = v + d.get({p}, x)", "setdefault": "v = d.setdefault({o}, x * 2)\n    v = v + d.setdefault({p}, x * 5)",
       "put if absent": "if {o} not in d:\n        d[{o}] = x * 4\n    v = d[{o}] + d.get({p}, x)",
       "written in place": "d[{o}].mul_(2)\n    v = d[{p}] + x", "loop": "v = x\n    for k in (o, p):\n        v = v * 2 + d.get(k, x)",
       "two dicts": "v = d[{o}] + e.get({p}, x)\n    e[{o}] = v", "deep": "v = e.setdefault('m', {{}}).get({o}, x)\n    e['m'][{o}] = v + d[{p}]"}
TEXT = """
class Node:
    def method(self):
        pass

class Slots:
    __slots__ = ('__weakref__',)

class Own(janus.Tensor):
    pass

class Box:
    pass

def made():
    return lambda: 3

def make():
    return {make}

def f(box, o, p, d, e, x):
    {op}
    return v * 2
"""
ROUNDS = ["new", "new", "new", "same", "key", "new", "one", "swapped", "refilled", "absent", "new", "dict"]


def outcome(make, place, op, rounds, decorated):
    o, p = PLACES[place]
    names = names_of(TEXT.format(make=MAKES[make], op=OPS[op].format(o=o, p=p)), janus=janus, nn=nn, __name__="program")
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    make, box, log = names["make"], names["Box"](), []
    for i, round in enumerate(rounds):
        if round == "new" or i == 0:
            o, p, d, e = make(), make(), {}, {}
            d[o], d[p] = janus.ones(2) * i, janus.ones(2) * (i + 7)
        elif round == "key":
            o = make()
            d[o] = janus.ones(2) * i
        elif round == "one":
            p = o
        elif round == "swapped":
            o, p = p, o
        elif round == "refilled":
            d[o] = janus.ones(2) * (i + 3)
            d.setdefault(p, janus.ones(2) * i)
        elif round == "absent":
            d.pop(o, None)
        elif round == "dict":
            d = {p: janus.ones(2) * i, o: janus.ones(2) * (i + 1)}
        box.o, box.p, box.items, box.named = o, p, [o, p], {"o": o, "p": p}
        try:
            log.append(f(box, o, p, d, e, janus.ones(2) + i).tolist())
        except KeyError as error:
            log.append([(key is o, key is p) for key in error.args])
        log.append([(next((name for name, k in (("o", o), ("p", p)) if k is key), type(key).__name__), getattr(v, "tolist", type(v))())
                    for key, v in (*d.items(), *e.items())])
    return log, f.stats() if decorated else {}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", MAKES)
def test_as_undecorated(make, place):
    wrong = []
    for i, op in enumerate(share(OPS)):
        rounds = [*ROUNDS, *random.Random(i).choices(ROUNDS, k=12)]
        want, got = (outcome(make, place, op, rounds, decorated)[0] for decorated in (False, True))
        if want != got:
            wrong.append((op, next((rounds[k // 2], a, b) for k, (a, b) in enumerate(zip(want, got)) if a != b)))
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"


@pytest.mark.parametrize("make", [m for m in MAKES if m not in ("function", "method")])
def test_one_graph_serves_new_keys(make):
    for place in PLACES:
        for op in ("read", "read and set", "two dicts", "written in place"):
            stats = outcome(make, place, op, ["new"] * 12, True)[1]
            assert stats["graph"] >= 9 and stats["conversions"] <= 2, (place, op, stats)


STEPS = {"sgd": "SGD(ps, lr=0.1)", "momentum": "SGD(ps, lr=0.1, momentum=0.9)", "adam": "Adam(ps, lr=0.01)", "amsgrad": "Adam(ps, lr=0.01, amsgrad=True)",
         "adagrad": "Adagrad(ps, lr=0.1)", "rmsprop": "RMSprop(ps, lr=0.01)", "adadelta": "Adadelta(ps)", "radam": "RAdam(ps, lr=0.01)"}


@pytest.mark.parametrize("name", STEPS)
def test_an_optimizer_for_each_new_model(name):
    def run(decorated):
        def step(model, optimizer, x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        f = janus.function(step, verify="never", measure=False, numerics="exact") if decorated else step
        janus.manual_seed(3)
        log, before = [], 0
        for i in range(6):
            model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
            ps = list(model.parameters())
            optimizer = eval("janus.optim." + STEPS[name], {"janus": janus, "ps": ps})
            log.append([f(model, optimizer, janus.randn(5, 3)).item() for _ in range(4)])
            log.append([p.tolist() for p in ps])
            log.append([sorted(s) for s in optimizer.state.values()])
            before = f.stats()["conversions"] if decorated and i == 2 else before
        return log, f.stats()["conversions"] - before if decorated else 0

    (want, _), (got, later) = run(False), run(True)
    assert want == got
    assert later == 0  # of the last three models
