# SPDX-License-Identifier: Apache-2.0
"""Programs that are data, others in each call, run in few graphs: the interpreter's loop is the graph's, and a record of functions
(`{"add": (add, 2), ...}`) is looked up by a name that only the graph knows."""
import random

import pytest

import janus
from shares import share
from texts import names_of


def interpreter(numbers):
    """The text of an interpreter, and the names that it has, with how many operands each takes."""
    one = {"tanh": "janus.tanh(a)", "neg": "-a", "sq": "a * a", "half": "a * 0.5"}
    two = {"add": "a + b", "mul": "a * b", "sub": "a - b", "max": "janus.maximum(a, b)"}
    names = numbers.sample(list(one), 2) + numbers.sample(list(two), 2)
    shape = numbers.randrange(4)
    lines = []
    for name in names:
        f = f"lambda a: {one[name]}" if name in one else f"lambda a, b: {two[name]}"
        pops = 1 if name in one else 2
        record = [f"({f}, {pops})", f"(({f},), {pops}, '{name}')", f"({pops}, ('{name}', {f}))", f"({f}, {pops}, [])"][shape]
        lines.append(f"    {name!r}: {record},")
    take = ["fn, pops = TABLE[op]", "fn, pops = TABLE[op][0][0], TABLE[op][1]", "pops, (_, fn) = TABLE[op]", "r = TABLE[op]; fn, pops = r[0], r[1]"][shape]
    call = ["fn(*[stack.pop() for _ in range(pops)])", "fn(stack.pop()) if pops == 1 else fn(stack.pop(), stack.pop())"][numbers.randrange(2)]
    missing = numbers.random() < 0.5
    body = take.split("; ")
    if missing:
        body = ["try:", *("    " + line for line in body), "except KeyError as e:", "    print('no', e)", "    return None"]
    spy = ["", "print(op)", "seen.append(op)", "count += pops"][numbers.randrange(4)]
    text = "TABLE = {\n" + "\n".join(lines) + "\n}\n\n\ndef run(program, x, seen):\n    stack, count = [], 0\n    for op, arg in program:\n"
    text += "        if op == 'x':\n            stack.append(x)\n        elif op == 'k':\n            stack.append(x * arg)\n        else:\n"
    text += "".join(f"            {line}\n" for line in body) + f"            stack.append({call})\n"
    text += (f"            {spy}\n" if spy else "") + "    return stack.pop(), stack, count\n"
    return text, {name: 1 if name in one else 2 for name in names}, missing


def program(numbers, pops):
    depth, out = 0, []
    for _ in range(numbers.randint(3, 8)):
        fits = [n for n, k in pops.items() if k <= depth]
        name = numbers.choice(["x", "k", *fits, *fits])
        out.append((name, numbers.choice([0.5, 1.5, -2.0]) if name == "k" else 0.0))
        depth += 1 - pops.get(name, 0)
    return tuple(out)


def outcome(f, program, x, capsys):
    seen = []
    try:
        r = f(program, x, seen)
    except (IndexError, KeyError) as e:
        return type(e), str(e), seen, capsys.readouterr().out
    if r is None:
        return r, seen, capsys.readouterr().out
    out, stack, count = r
    every = [out, *stack]
    same = [[a is b for b in every] for a in every], [a is x for a in every]
    return [(v.tolist(), v.stride()) for v in every], same, count, seen, capsys.readouterr().out


@pytest.mark.parametrize("seed", share(range(40)))
def test_records_of_functions(seed, capsys):
    numbers = random.Random(seed)
    text, pops, in_try = interpreter(numbers)
    names = names_of(text, janus=janus)
    f = names["run"]
    decorated = janus.function(f, measure=False, verify="never")
    programs = [program(numbers, pops) for _ in range(30)]
    for k in range(0, 30, 10):
        programs.insert(k + 5, (("x", 0.0), ("nothing", 0.0)))  # no such function
        programs.insert(k + 7, (("x", 0.0), (numbers.choice([n for n in pops if pops[n] == 2]), 0.0)))  # a stack that is too short
    for turn, p in enumerate(programs):
        x = janus.tensor([numbers.uniform(-1, 1) for _ in range(3)])
        assert outcome(f, p, x, capsys) == outcome(decorated, p, x, capsys), (turn, p)
    name = numbers.choice(list(pops))  # another function of that name, and one that is gone
    record = names["TABLE"][numbers.choice([n for n in pops if pops[n] == pops[name]])]
    for change in (lambda: names["TABLE"].__setitem__(name, record), lambda: names["TABLE"].pop(name)):
        change()
        for p in programs[:6]:
            x = janus.tensor([numbers.uniform(-1, 1) for _ in range(3)])
            assert outcome(f, p, x, capsys) == outcome(decorated, p, x, capsys), p
    if in_try:
        return  # a fork ends behind the `try`
    f = names_of(text, janus=janus)["run"]
    decorated = janus.function(f, measure=False, verify="never")
    for turn in range(24):
        p, x = program(numbers, pops), janus.tensor([numbers.uniform(-1, 1) for _ in range(3)])
        assert outcome(f, p, x, capsys) == outcome(decorated, p, x, capsys), (turn, p)
    stats = decorated.stats()
    assert stats["graph"] >= 12 and stats["conversions"] <= 12, (stats["conversions"], janus.explain(decorated))
