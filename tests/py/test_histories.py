# SPDX-License-Identifier: Apache-2.0
"""What backward() uses up of a graph's results, and which writes it minds: as the tape does op by op.

Arms of a branch keep alike here: which was taken a node for both does not know.
Programs are made from a seed: a few ops on tensors, some in loops, branches, recursions or callees, of which one to
three results leave (views of what is kept among them); then writes, backward() and autograd.grad() in any order."""
import importlib.util
import os
import random

import pytest

import janus
from compared import close
from shares import LIGHT

# Of a tensor that is used up and one that was written, the tape names the one it comes to first, which inside a
# recursion a node for all of it cannot say.
SAVED = ("Trying to backward through the graph a s", "one of the variables needed for gradient")
UNARY = ("janus.tanh({0})", "{0}.exp()", "{0}.sin()", "{0} * 2", "{0} + 1", "{0}.sigmoid()", "-{0}", "{0}.t()", "{0}.view(-1).view(2, 2)",
         "{0}[0] + {0}", "{0}.unsqueeze(0)[0]", "{0}.reshape(4).reshape(2, 2)", "callee({0}, w)", "({0} * {0}).sum() + {0}",
         "{0}.detach()", "{0}.clone()", "{0}.permute(1, 0)", "{0}.chunk(2, 0)[0] * {0}")
BINARY = ("{0} * {1}", "{0} + {1}", "{0} @ {1}", "{0} / ({1} * {1} + 1)", "janus.where({0} > 0, {0}, {1})", "{0} - {1}.exp()")
BLOCKS = ("""    if {0}.sum() > 0:
        {1} = {0}.exp()
    else:
        {1} = {0}.sigmoid()
""", """    {1} = {0}
    for _ in range(n):
        {1} = janus.tanh({1} * w)
""", """    {1} = {0}
    for _ in range(n):
        {1} = {1} + v
""", """    {1} = deep(n, {0}, w)
""", """    {1}, spare = pair(n, {0}, w)
    {1} = {1} * v
""")
HELPERS = """import janus


def callee(a, w):
    b = janus.tanh(a * w)
    return b


def deep(n, a, w):
    if n == 0:
        return a * w
    return janus.tanh(deep(n - 1, a, w))


def pair(n, a, w):
    if n == 0:
        return a * w, a.exp()
    b, c = pair(n - 1, a, w)
    return b.tanh(), c * b


"""


def program(rng):
    """Source of f(x, w, v, n), and how many results it has."""
    names, lines = ["x", "w", "v"], []
    for i in range(rng.randrange(2, 6)):
        kind, to = rng.random(), f"y{i}"
        one, other = rng.choice(names[-4:]), rng.choice(names)
        if kind < 0.45:
            lines.append(f"    {to} = " + rng.choice(UNARY).format(one) + "\n")
        elif kind < 0.8:
            lines.append(f"    {to} = " + rng.choice(BINARY).format(one, other) + "\n")
        else:
            lines.append(rng.choice(BLOCKS).format(one, to))
        names.append(to)
    made = names[3:]
    out = [made[-1]] + rng.sample(made[:-1], min(len(made) - 1, rng.randrange(3)))
    rng.shuffle(out)
    lines.append(f"    return [{', '.join(out)}]\n")
    return "def f@(x, w, v, n):\n" + "".join(lines), len(out)


def actions(rng, n):
    out = []
    for _ in range(rng.randrange(2, 5)):
        r, kind = rng.randrange(n), rng.random()
        if kind < 0.35:
            out.append(("write", r, rng.randrange(4)))
        elif kind < 0.8:
            out.append(("backward", r, rng.random() < 0.3))
        else:
            out.append(("grad", r, rng.randrange(3)))
    return out + [("backward", rng.randrange(n), False)]


def write(results, r, how, x):
    with janus.no_grad():
        if how == 0:
            x.add_(1)
        elif how == 1:
            results[r].mul_(2)
        elif how == 2:
            results[r].view(-1)[:1] = 3
    if how == 3:
        results[r].add_(1)


def act(f, todo, seed):
    janus.manual_seed(seed)
    x = janus.rand(2, 2) + 0.1
    w, v = (janus.rand(2, 2).requires_grad_() for _ in range(2))
    log = []
    try:
        results = f(x, w, v, 2)
    except RuntimeError as e:  # a view of what is no view
        return [str(e)]
    for what, r, how in todo:
        try:
            if what == "write":
                write(results, r, how, x)
            elif what == "backward":
                results[r].sum().backward(retain_graph=how)
            else:
                asked = [[w], [v], [w, v]][how]
                log.append([g if g is None else g.tolist() for g in janus.autograd.grad(results[r].sum(), asked, allow_unused=True)])
        except RuntimeError as e:
            log.append(str(e)[:40])
            if log[-1] == SAVED[1]:  # half-way through the tape, which a graph's node is not
                break
        log.append([p.grad if p.grad is None else p.grad.tolist() for p in (w, v)])
    return [t.tolist() for t in results] + log


def agree(want, got):
    for i, (a, b) in enumerate(zip(want, got)):
        if a != b and a in SAVED and b in SAVED:
            return close(want[:i], got[:i])
    return close(want, got)


@pytest.mark.parametrize("verify", ["never", "rarely"])
def test_generated(tmp_path, verify):
    count = 12 if LIGHT else int(os.environ.get("JANUS_HISTORIES", "120"))
    rng = random.Random(5)
    made = [program(rng) for _ in range(count)]
    file = tmp_path / f"histories_{verify}.py"
    file.write_text(HELPERS + "\n\n".join(text.replace("@(", f"{i}(", 1) for i, (text, _) in enumerate(made)))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    graphs, raised, wrong = 0, 0, []
    for i, (text, n) in enumerate(made):
        plain = getattr(module, f"f{i}")
        f = janus.function(plain, verify=verify, measure=False)
        for seed in range(6):
            todo = actions(random.Random(100 * i + seed), n)
            want, got = act(plain, todo, seed), act(f, todo, seed)
            raised += any(isinstance(x, str) for x in want)
            if not agree(want, got):
                wrong.append(f"{text}\n{todo}\n{want}\n{got}")
        graphs += f.stats()["graph"]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:3])
    assert graphs > 2 * count and raised > count
