# SPDX-License-Identifier: Apache-2.0
"""janus.tensor() of lists whose length only the graph knows, as programs over sentences make them: numbers read, looked up and computed,
of every kind and dtype, alone and in pairs; of lists that are written before or after, that are empty, or hold something else than before."""
import itertools
import random

import pytest

import janus
from compared import close
from shares import LIGHT
from texts import names_of

WORDS = "the cat sat on a mat by door".split()
INDEX = {w: i for i, w in enumerate(WORDS)}
WEIGHT = {w: i / 4 for i, w in enumerate(WORDS)}

# What the list is made of: words, tags (ints), scores (floats), flags (bools).
LISTS = {
    "ints": "tags", "floats": "scores", "bools": "flags", "copied": "list(tags)", "a tuple": "tuple(tags)",
    "looked up": "[index[w] for w in words]", "weights": "[weight[w] for w in words]", "computed": "[t * 2 + 1 for t in tags]",
    "divided": "[s / 2 for s in scores]", "some": "[t for t in tags if t > 0]", "compared": "[t > 1 for t in tags]",
    "chosen": "[t if f else 7 for t, f in zip(tags, flags)]", "numbered": "[i * t for i, t in enumerate(tags)]",
    "pairs": "[(t, t + 1) for t in tags]", "mixed pairs": "[(t, s) for t, s in zip(tags, scores)]",
    "lists": "[[t, s, f] for t, s, f in zip(tags, scores, flags)]", "the rest": "tags[1:]", "places": "[i for i in range(len(tags))]",
    "mixed": "[t if f else s for t, s, f in zip(tags, scores, flags)]",
    "ended": "[index[w] for w in words] + [7]", "begun": "[0] + tags", "both": "tags + [t * 2 for t in tags]", "without last": "[t + 1 for t in tags][:-1]",
    "without first": "[t + 1 for t in tags][1:]", "padded": "[index[w] for w in words] + [0] * (12 - len(words))", "padded tags": "tags + [9] * (10 - len(tags))",
    "mask": "[1.0] * len(tags) + [0.0] * (3 - len(tags))", "again": "tags * 2", "twice the list": "2 * [t - 1 for t in tags]", "last ones": "[t + 1 for t in tags][-3:]",
    "a middle": "[t + 1 for t in tags][1:-1]", "up to half": "[t + 1 for t in tags][:len(tags) // 2]", "a row": "[[index[w] for w in words]]",
    "two rows": "[[index[w] for w in words], tags]", "rows of parts": "[tags[:-1], tags[1:]]", "rows that differ": "[tags, tags + [1]]",
    "a batch": "[[index[w] for w in x] + [0] * (12 - len(x)) for x in (words, words[1:], words[:-1])]", "with a tuple": "tags + (1,)", "times a float": "tags * 1.5",
    "plus words": "words + tags", "a tuple and a list": "tuple(t + 1 for t in tags) + [1]", "isinstance": "tags if isinstance([t for t in tags], list) else words",
    "tuple of them": "tuple(t + 1 for t in tags)[1:]", "of its type": "[t for t in tags] if type([t for t in tags]) is list else words",
}
OPTIONS = ["", ", dtype=janus.long", ", dtype=janus.float32", ", dtype=janus.float64", ", dtype=janus.bool", ", dtype=janus.int32", ", dtype=None"]
USES = {
    "returned": "    return y",
    "summed": "    return (y * 2).sum(), y.shape, y.dtype, len(y)",
    "twice": "    z = janus.tensor(l)\n    z.add_(1) if z.dtype != janus.bool else z.logical_not()\n    return y, z, l[0]",
    "rows": "    return w[y.long().clamp(0, 5)].tanh().sum(0)",
    "grown": "    tags.append(2)\n    return y, len(tags)",
    "written": "    tags[0] = 3\n    return y, tags[0]",
}
# Lists of two numbers need images of their dims, others may be refused; what is refused is right as well.
ALWAYS = {"ended", "begun", "both", "without last", "padded", "padded tags", "again", "twice the list", "a row", "two rows", "rows of parts", "a batch", "ints", "floats", "bools", "looked up", "weights", "computed", "divided", "compared", "numbered", "pairs"}


def program(made, options, use, before=""):
    return names_of(f"def f(words, tags, scores, flags, w):\n{before}    l = {LISTS[made]}\n    y = janus.tensor(l{options})\n{USES[use]}\n",
                    janus=janus, index=INDEX, weight=WEIGHT)["f"]


def arguments(rng, n, kind=0):
    tags = [rng.randint(-1, 3) for _ in range(n)]
    if kind == 1:
        tags[rng.randrange(n)] = 2.5
    elif kind == 2:
        tags[rng.randrange(n)] = True
    elif kind == 3:
        tags[rng.randrange(n)] = 2 ** 70
    elif kind == 4:
        tags[rng.randrange(n)] = janus.tensor(1)
    return ([rng.choice(WORDS) for _ in range(n)], tags, [rng.uniform(-2, 2) for _ in range(n)], [rng.random() < 0.6 for _ in range(n)],
            (janus.arange(18.0).reshape(6, 3) / 7).requires_grad_())


def outcome(f, args):
    try:
        return f(*args), args[1], None
    except Exception as e:
        return type(e), str(e), args[1]


def compare(f, **options):
    g = janus.function(f, measure=False, **options)
    lengths = [3, 5, 4, 2, 7, 6, 3, 1, 9, 4, 0, 5, 8, 2]
    for i, n in enumerate(lengths):
        want, got = outcome(f, arguments(random.Random(i), n)), outcome(g, arguments(random.Random(i), n))
        assert close(want, got), (n, want, got)
    seen = g.stats()["graph"]
    for i, kind in enumerate((1, 0, 2, 0, 3, 0, 4, 0)):
        want, got = outcome(f, arguments(random.Random(i), 4, kind)), outcome(g, arguments(random.Random(i), 4, kind))
        assert close(want, got), (kind, want, got)
    return seen


@pytest.mark.parametrize("made", LISTS)
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_as_undecorated(made):
    for k, (options, use) in enumerate(itertools.product(OPTIONS, USES)):
        if k % (4 if LIGHT else 3) and use != "returned":
            continue
        seen = compare(program(made, options, use), verify=("never", "always")[k % 5 == 0], numerics=("fast", "exact")[k % 3 == 0])
        if made in ALWAYS and options in ("", ", dtype=None") and use in ("returned", "summed"):
            assert seen >= 6, (made, options, use, seen)


@pytest.mark.parametrize("before", ["    tags.append(1)\n", "    tags += [1, 2]\n", "    tags[-1] = 9\n", "    tags.pop()\n", "    del tags[0]\n", "    tags.sort()\n",
                                    "    scores[0] = tags[0]\n"])
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_written_before(before):
    for made, use in itertools.product(("ints", "floats", "computed", "copied", "the rest"), USES):
        compare(program(made, "", use, before), verify="never")


def test_one_graph_for_all_lengths():
    """The way sentences are prepared in tutorials: one graph for a network and its training, whatever the words and how many."""
    def prepare(seq, to):
        return janus.tensor([to[w] for w in seq], dtype=janus.long)

    def made():
        janus.manual_seed(0)
        net = janus.nn.Sequential(janus.nn.Embedding(8, 6), janus.nn.Linear(6, 3))
        return net, janus.optim.SGD(net.parameters(), lr=0.1)

    def step(net, optimizer, words, tags):
        optimizer.zero_grad()
        loss = janus.nn.functional.cross_entropy(net(prepare(words, INDEX)), janus.tensor(tags))
        loss.backward()
        optimizer.step()
        return loss.item()

    graph, plain, g = made(), made(), janus.function(step, measure=False)
    rng = random.Random(0)
    for _ in range(50):
        words = [rng.choice(WORDS) for _ in range(rng.randint(2, 12))]
        tags = [rng.randint(0, 2) for _ in words]
        assert close(step(*plain, words, tags), g(*graph, words, tags))
    assert close([*plain[0].state_dict().values()], [*graph[0].state_dict().values()])
    assert g.stats()["graph"] >= 45 and g.stats()["conversions"] <= 5, str(janus.explain(g))
