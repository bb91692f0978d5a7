# SPDX-License-Identifier: Apache-2.0
"""Draws from generators of the program's own: every op that draws x where the generator lives x what controls the draw, while generators are
seeded, set back, drawn from and exchanged between the calls.  Draws are equal bit for bit, and so is where each generator stands."""
import copy
import itertools
import pickle

import janus
import pytest
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

OPS = """janus.rand(3, generator={g})|janus.randn(2, 5, generator={g})|janus.randint(0, 9, (2,), generator={g})|janus.randint(7, (5,), generator={g}, dtype=janus.int32)
janus.randperm(6, generator={g})|janus.rand_like(x, generator={g})|janus.randn_like(x, generator={g})|janus.normal(0.5, 2.0, (3,), generator={g})
janus.normal(x, 0.5, generator={g})|janus.bernoulli(x.sigmoid(), generator={g})|janus.multinomial(x.sigmoid(), 2, generator={g})|x.sigmoid().multinomial(9, True, generator={g})
x.clone().uniform_(-1, 1, generator={g})|x.clone().normal_(generator={g})|x.clone().random_(5, generator={g})|x.clone().bernoulli_(0.4, generator={g})
x.clone().exponential_(generator={g})|janus.dropout(x, 0.5, generator={g})|janus.rand(x.shape, generator={g}, dtype=janus.float64)|janus.rand(0, generator={g})
janus.rand(2, generator={g}) + janus.rand(2)|janus.rand(2, generator=None)|janus.rand(2, generator=janus.default_generator)""".replace("\n", "|").split("|")

# Where it lives: how f has it, and what stands before the body.
PLACES = {"argument": ("g", ""), "global": ("G", ""), "attribute": ("h.g", ""), "item": ("L[0]", ""), "key": ("D['g']", ""), "cell": ("inner", ""),
          "made": ("m", "m = janus.Generator().manual_seed(n)"), "made_alike": ("m", "m = janus.Generator()"), "copied": ("m", "m = g.clone_state()"),
          "chosen": ("m", "m = g if n % 3 else G")}

CONTEXTS = {
    "straight": "out.append({E})\nout.append(janus.rand(2))\nout.append({E})",
    "loop": "for i in range(3):\n    out.append({E})\n    out.append(janus.randn(3))",
    "count": "t = {E}\nfor i in range(n):\n    t = {E}\nout.append(t)",
    "while": "t, s = {E}, x.sum()\nwhile s < 6:\n    s = s + 2\n    t = {E}\nout.append(t)",
    "broken": "t = {E}\nfor i in range(5):\n    if x.sum() + i > 4:\n        break\n    t = {E}\nout.append(t)",
    "branch": "t = {E}\nif x.sum() > 2:\n    t = {E}\n    {E}\nout.append(t)\nout.append({E})",
    "either": "if n > 2:\n    out.append({E})\nelse:\n    out.extend(({E}, {E}))",
    "callee": "def sub(x):\n    return {E}\nout.append(sub(x))\nout.append(sub(x + 1))",
    "comprehension": "out += [{E} for i in range(3)]",
    "recursion": "def visit(node, x):\n    t = {E}\n    for k in node:\n        t = visit(k, x)\n    return t\nout.append(visit(TREES[n % 4], x))",
    "depth": "def deeper(k, x):\n    return deeper(k - 1, x) if k else {E}\nout.append(deeper(n, x))\nout.append({E})",
    "barrier": "out.append({E})\nticks.append(next(clock))\nout.append({E})\nfor i in range(2):\n    out.append({E})",
    "seeded": "out.append({E})\n{g}.manual_seed(n)\nout.append({E})\nout.append(janus.full((), float({g}.initial_seed())))",
    "raises": "out.append({E})\nif x.sum() > 4:\n    raise ValueError(n)\nout.append({E})",
    "tried": "try:\n    out.append({E})\n    {nothing}[n]\n    out.append({E})\nexcept IndexError:\n    out.append({E})",
    "unused": "{E}\n{E}\nout.append(x + 1)",
}

FRAME = """
import itertools, janus
TREES = ((), ((),), ((), ((),)), (((), ()), ((), ((),))))
class Holder: pass
class Own(janus.Generator): pass
clock = itertools.count()
ticks = []
G, h, L, D = janus.Generator().manual_seed(1), Holder(), [janus.Generator().manual_seed(2)], {{'g': Own().manual_seed(3)}}
h.g = janus.Generator().manual_seed(-4)
def make(inner):
    @decorated
    def f(x, g, n):
        out = []
        {before}
{body}
        return out
    return f
inner = janus.Generator().manual_seed(2 ** 64 - 5)
f = make(inner)
"""


def program(op, place, context):
    g, before = PLACES[place]
    body = CONTEXTS[context].replace("{nothing}", "[1, 2, 3]").replace("{E}", op).replace("{g}", g)
    return FRAME.format(before=before or "pass", body="\n".join("        " + line for line in body.split("\n")))


def generators(names, given):
    return [names["G"], names["h"].g, names["L"][0], names["D"]["g"], names["inner"], given, janus.default_generator]


def run(text, decorated):
    """What the calls gave, and after each call where the generators stand."""
    names = names_of(text, decorated=decorated)
    janus.manual_seed(11)
    given, seen = janus.Generator().manual_seed(6), []
    for n in range(9):
        x = janus.arange(3.0) * (n % 3)
        try:
            seen.append([(t.dtype, t.tolist()) for t in names["f"](x, given, n % 5)])
        except ValueError as e:
            seen.append(str(e))
        all_of = generators(names, given)
        seen.append([(g.initial_seed(), g.get_state().tolist()) for g in all_of])
        if n == 3:
            for g in all_of:
                g.manual_seed(n)
        elif n == 4:
            saved = [g.get_state() for g in all_of]
        elif n == 5:
            for g, state in zip(all_of, saved):
                g.set_state(state)
            given = janus.Generator().manual_seed(2 ** 63 + n)
            names["h"].g, names["L"][0] = Own().manual_seed(-1), janus.Generator()
        elif n == 6:
            for g in all_of:
                janus.rand(5, generator=g)
    return seen, names["f"]


class Own(janus.Generator):
    pass


def cases(context):
    """Each op in one place, each place with a few ops."""
    places = itertools.cycle(PLACES)
    yield from zip(OPS, places)
    ops = itertools.islice(itertools.cycle(OPS), len(CONTEXTS[context]) % 7, None)
    yield from ((next(ops), place) for place in PLACES)


@pytest.mark.parametrize("verify", ["default", "never"])
@pytest.mark.parametrize("context", CONTEXTS)
def test_draws_and_states(context, verify):
    graphs = 0
    for op, place in share(cases(context)):
        text = program(op, place, context)
        want, _ = run(text, lambda f: f)
        got, f = run(text, janus.function if verify == "default" else janus.function(verify=verify))
        assert got == want, text
        graphs += f.stats()["ops_graph"] > 0
        assert not f.stats()["disproved"], text
    assert graphs > 0


def test_a_generator_is_a_number_not_a_guard():
    """One graph serves generators of any seed that stand anywhere."""
    @janus.function
    def f(g):
        return janus.rand(4, generator=g) + janus.randn(4, generator=g)

    for seed in range(40):
        one, other = janus.Generator().manual_seed(seed * 2 ** 59), janus.Generator().manual_seed(seed * 2 ** 59)
        for _ in range(2):
            assert (f(one) == f.__wrapped__(other)).all()
        assert one.get_state().tolist() == other.get_state().tolist()
    stats = f.stats()
    assert stats["conversions"] <= 3 and stats["graph"] >= 70, stats


def test_the_runs_own_generator_stays():
    @janus.function
    def f(g, x):
        return janus.dropout(x, 0.5) + janus.rand(3, generator=g)

    g = janus.Generator()
    for _ in range(5):
        before = janus.get_rng_state().tolist()
        f(g, janus.ones(3))
        after = janus.get_rng_state().tolist()
        assert after[:8] == before[:8] and after[8] == (before[8] + 1) % 256


def test_copies():
    g = janus.Generator().manual_seed(3)
    janus.rand(7, generator=g)
    for other in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g)), g.clone_state()):
        assert other is not g and other.initial_seed() == 3 and other.get_state().tolist() == g.get_state().tolist()
        was = g.get_state()
        assert (janus.rand(4, generator=other) == janus.rand(4, generator=g)).all()
        g.set_state(was)
    assert copy.deepcopy(janus.default_generator) is janus.default_generator
    assert pickle.loads(pickle.dumps(janus.default_generator)) is janus.default_generator
    assert isinstance(janus.default_generator, janus.Generator)


def test_seeds():
    for seed in (0, 1, -1, 2 ** 63 - 1, 2 ** 63, -2 ** 63, 2 ** 64 - 1, 2 ** 64 + 5, True):
        g = janus.Generator()
        assert g.manual_seed(seed) is g and g.initial_seed() == seed % 2 ** 64
        janus.manual_seed(int(seed))
        assert janus.initial_seed() == seed % 2 ** 64
        assert (janus.randn(9, generator=g) == janus.randn(9)).all()
    for bad in (1.5, "1", None):
        with pytest.raises(TypeError):
            janus.Generator().manual_seed(bad)
    assert janus.Generator().seed() != janus.Generator().seed()
    with pytest.raises(TypeError):
        janus.Generator().set_state(janus.zeros(3))
    with pytest.raises(TypeError, match="generator must be a janus.Generator"):
        janus.rand(2, generator=3)
