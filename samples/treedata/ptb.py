# SPDX-License-Identifier: Apache-2.0
"""Trees in Penn bracket form, one a line: the Stanford Sentiment Treebank's files.

`(label left right)` inside and `(label word)` at a leaf; labels are 0..4.  An inner node has no
word of its own, so its token is UNKNOWN.  Files may be plain or gzip-compressed.
"""

import gzip
import os

from . import vocabulary
from .tree import Dataset

CLASSES = ["very negative", "negative", "neutral", "positive", "very positive"]
LEAST_TREES = 2


def parse(line):
    """`(label, raw tree)` of one line; ValueError says what is wrong with it."""
    stack, done = [], None
    # Only blanks and line ends separate: words of the treebank hold other white space.
    text = line.replace("(", " ( ").replace(")", " ) ").replace("\n", " ").replace("\r", " ").split(" ")
    text = [token for token in text if token]
    position = 0
    while position < len(text):
        token = text[position]
        position += 1
        if done is not None:
            raise ValueError(f"text after the end of a tree: {token!r}")
        if token == "(":
            if position == len(text):
                break
            stack.append((text[position], []))
            position += 1
        elif token == ")":
            if not stack:
                raise ValueError("a bracket closes what none opened")
            label, parts = stack.pop()
            word = [part for part in parts if isinstance(part, str)]
            if len(word) > 1 or (word and len(parts) > 1):
                raise ValueError(f"a leaf has one word, this one has {parts!r}")
            node = (word[0] if word else vocabulary.UNKNOWN,
                    [part for part in parts if not isinstance(part, str)])
            if stack:
                stack[-1][1].append(node)
            else:
                done = (label, node)
        elif stack:
            stack[-1][1].append(token)
        else:
            raise ValueError(f"a tree begins with a bracket, not with {token!r}")
    if done is None:
        raise ValueError("a bracket is never closed" if stack else "an empty line is no tree")
    label, raw = done
    if not label.isdigit() or int(label) >= len(CLASSES):
        raise ValueError(f"label {label!r} is not one of 0..{len(CLASSES) - 1}")
    return int(label), raw


def read(folder, name):
    """The trees of `folder/name.txt` or `.txt.gz` as a list of `(label, raw tree)`."""
    path = os.path.join(folder, name + ".txt")
    opened = open(path, encoding="utf-8") if os.path.exists(path) \
        else gzip.open(path + ".gz", "rt", encoding="utf-8")
    trees = []
    with opened as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    trees.append(parse(line))
                except ValueError as problem:
                    raise ValueError(f"{path}:{number}: {problem}") from None
    return trees


def load(folder, limit=None):
    """The sentiment task as a Dataset: train.txt to learn from, test.txt (or dev.txt) to measure."""
    train = read(folder, "train")[:limit]
    held_out = next((name for name in ("test", "dev") for ending in (".txt", ".txt.gz")
                     if os.path.exists(os.path.join(folder, name + ending))), None)
    if held_out is None:
        raise FileNotFoundError(f"no test.txt, dev.txt or the same with .gz in {folder}")
    test = read(folder, held_out)[:limit]
    words = vocabulary.build((raw for _, raw in train), LEAST_TREES)
    encoder = vocabulary.Encoder(words, len(CLASSES))
    return Dataset(f"sentiment, {folder}", CLASSES, words,
                   [encoder.example(raw, label) for label, raw in train],
                   [encoder.example(raw, label) for label, raw in test])
