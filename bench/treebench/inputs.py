# SPDX-License-Identifier: Apache-2.0
"""What every system of bench/trees gets: the same trees, the same initial weights, in one file.

A tree is a nested tuple `(label, word, children)`; label is None where a node has none.  Weights
are float32, row-major, named and shaped as PyTorch's Linear and Embedding have them.  The numbers
come from one block of random ones that is repeated: its length is a prime, so no rows are alike.
"""
import array
import gzip
import os
import pickle
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "samples"))
SST_CLASSES = 5
BLOCK = 999983
SHAPES = ["balanced", "random", "linear"]
SHAPED_TREES, SHAPED_LEAVES, SHAPED_WORDS = 500, 32, 1000


def parse_sst(text, words, unknown=None):
    """A line `(label left right)`, `(label word)`; a new word gets the next number of `words`, or `unknown`."""
    stack = [(None, None, [])]
    for token in text.replace("(", " ( ").replace(")", " ) ").split(" "):
        if token == "(":
            stack.append([None, None, []])
        elif token == ")":
            label, word, children = stack.pop()
            stack[-1][2].append((label, word, children))
        elif token:
            node = stack[-1]
            if node[0] is None:
                node[0] = int(token)
            else:
                node[1] = words.setdefault(token, len(words)) if unknown is None else words.get(token, unknown)
    return stack[0][2][0]


def sst_file(folder, part):
    """The path of train, dev or test in a folder, None if it is not there."""
    for ending in (".txt.gz", ".txt"):
        path = os.path.join(folder, part + ending)
        if os.path.exists(path):
            return path
    return None


def read_sst(path, words, unknown=None):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as lines:
        return [parse_sst(line.rstrip("\n"), words, unknown) for line in lines if line.strip()]


def find_sst(folder):
    """The folder of the treebank: the one given, or shared/data/sst beside the checkout."""
    if folder:
        places = [folder, os.path.join(folder, "sst")]
    else:
        root = os.path.abspath(os.path.join(HERE, "..", ".."))
        places = [os.path.join(os.path.dirname(root), "shared", "data", "sst"),
                  os.path.join(root, "shared", "data", "sst")]
    return next((place for place in places if sst_file(place, "train")), None)


def sst(folder):
    """`(trees, number of words, number of classes)` of the treebank's training part."""
    words = {}
    trees = read_sst(sst_file(folder, "train"), words)
    return trees, len(words), SST_CLASSES


def sst_parts(folder):
    """`(dict of train, dev and test, number of words)`; a word that train does not have is the last one."""
    words = {}
    parts = {"train": read_sst(sst_file(folder, "train"), words)}
    for part in ("dev", "test"):
        parts[part] = read_sst(sst_file(folder, part), words, len(words))
    return parts, len(words) + 1


def main_job():
    """The same of the main job's data: functions of the standard library, the class at the root."""
    from treedata import stdlib, vocabulary
    sides, classes = stdlib.split()
    words = vocabulary.build((raw for raw, _, _ in sides[False]), stdlib.LEAST_TREES)

    def number(raw, label):
        word, children = raw
        return label, words.get(word, 0), [number(child, None) for child in children]

    return [number(raw, label) for raw, _, label in sides[False]], len(words), len(classes)


def shaped(shape):
    """The same of random binary trees of one size: balanced, random (each split as likely as another) or linear."""
    source = random.Random(2)
    cut = {"balanced": lambda leaves: leaves // 2, "linear": lambda leaves: leaves - 1,
           "random": lambda leaves: source.randint(1, leaves - 1)}[shape]

    def grow(leaves):
        label = source.randrange(SST_CLASSES)
        if leaves == 1:
            return label, source.randrange(SHAPED_WORDS), []
        left = cut(leaves)
        return label, None, [grow(left), grow(leaves - left)]

    return [grow(SHAPED_LEAVES) for _ in range(SHAPED_TREES)], SHAPED_WORDS, SST_CLASSES


def count(tree):
    """Nodes of a tree as a dict of number of children -> how many, found without recursion."""
    found, stack = {}, [tree]
    while stack:
        _, _, children = stack.pop()
        found[len(children)] = found.get(len(children), 0) + 1
        stack.extend(children)
    return found


def make_weights(shapes, scales=None, seed=1):
    """dict name -> (shape, bytes).  Layers have Xavier's range, times their scale if they have one."""
    made, source = {}, random.Random(seed)
    block = array.array("f", (source.uniform(-1.0, 1.0) for _ in range(BLOCK)))
    at = 0
    for name, shape in shapes.items():
        size = 1
        for dim in shape:
            size *= dim
        fan = shape[0] + size // shape[0]
        scale = 0.5 if name.startswith("embedding") else 0.0 if len(shape) == 1 else (6.0 / fan) ** 0.5
        scale *= (scales or {}).get(name, 1.0)
        values = array.array("f", [x * scale for x in block])
        repeated = values * (2 + size // BLOCK)
        made[name] = (shape, repeated[at:at + size].tobytes())
        at = (at + size) % BLOCK
    return made


def write(path, **what):
    with open(path, "wb") as stream:
        pickle.dump(what, stream, protocol=4)


def read(path):
    with open(path, "rb") as stream:
        return pickle.load(stream)
