# SPDX-License-Identifier: Apache-2.0
"""The samples run to their end on little data and say what they should; their readers read."""
import gzip
import json
import os
import struct
import subprocess
import sys

import janus
import pytest

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
KEYS = ["accuracy", "majority", "bag_of_types", "imperative_trees_per_s", "graph_trees_per_s", "ratio",
        "max_rel_loss_diff", "graph_share", "imperative_op_us"]
sys.path.insert(0, SAMPLES)
needs_function = pytest.mark.skipif(not hasattr(janus, "function"), reason="this build has no janus.function")


def run(name, *arguments):
    """What a sample wrote as JSON, and what it printed."""
    done = subprocess.run([sys.executable, os.path.join(SAMPLES, name), *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_function
def test_tree_classifier(tmp_path):
    out = run("tree_classifier.py", "--limit", 60, "--epochs", 2, "--hidden", 8, "--json", tmp_path / "t.json")
    table = json.loads((tmp_path / "t.json").read_text())
    assert list(table) == KEYS
    assert all(key in out for key in KEYS)
    assert table["max_rel_loss_diff"] < 1e-4
    assert 0 <= table["accuracy"] <= 1 and table["imperative_trees_per_s"] > 0 and table["imperative_op_us"] > 0


@needs_function
def test_tree_classifier_in_double_precision(tmp_path):
    run("tree_classifier.py", "--limit", 60, "--epochs", 1, "--hidden", 8, "--dtype", "f64", "--json",
        tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["max_rel_loss_diff"] < 1e-9


@needs_function
def test_tree_classifier_on_sentiment_trees(tmp_path):
    lines = ["(3 (2 a) (3 (3 good) (2 film)))", "(1 (2 a) (1 (1 bad) (2 film)))"] * 6
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    with gzip.open(tmp_path / "test.txt.gz", "wt") as stream:
        stream.write("\n".join(lines[:4]) + "\n")
    run("tree_classifier.py", "--data", "sst", tmp_path, "--epochs", 1, "--hidden", 8, "--json", tmp_path / "t.json")
    table = json.loads((tmp_path / "t.json").read_text())
    assert table["bag_of_types"] is None and table["majority"] == 0.5


def test_tree_classifier_says_what_is_wrong(tmp_path):
    for arguments in (["--data", "sst"], ["--data", "other", "x"], ["--epochs", "0"]):
        done = subprocess.run([sys.executable, os.path.join(SAMPLES, "tree_classifier.py"), *arguments],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "Traceback" not in done.stderr


def idx_folder(folder):
    """A tiny set of IDX files: bright images are 1, dark ones 0."""
    for part, count in (("train", 40), ("t10k", 10)):
        labels = bytes(i % 2 for i in range(count))
        pixels = b"".join(bytes([250 if label else 5]) * 784 for label in labels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as stream:
            stream.write(struct.pack(">IIII", 2051, count, 28, 28) + pixels)


@needs_function
def test_lenet_on_idx_files(tmp_path):
    idx_folder(tmp_path)
    out = run("lenet.py", "--data", tmp_path, "--epochs", 3, "--batch", 10, "--json", tmp_path / "l.json")
    table = json.loads((tmp_path / "l.json").read_text())
    assert table["max_rel_loss_diff"] < 1e-4 and f"IDX files of {tmp_path}" in out


@needs_function
def test_lenet_on_digits(tmp_path):
    path = tmp_path / "digits.csv"
    path.write_text("".join(",".join(["16" if i % 2 else "0"] * 64 + [str(i % 2)]) + "\n" for i in range(40)))
    run("lenet.py", "--data", path, "--epochs", 2, "--batch", 8)


def test_images_that_are_damaged(tmp_path):
    import imagedata
    idx_folder(tmp_path)
    images = imagedata.load(str(tmp_path), 30)
    assert images.train[0].shape == (30, 1, 28, 28) and images.test[1].tolist() == [0, 1, 0, 1, 0, 1]
    assert abs(images.train[0][1, 0, 0, 0].item() - 250 / 255) < 1e-6
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"\0\0\0\1\0\0\0\1x")
    with pytest.raises(ValueError, match="no IDX file"):
        imagedata.load(str(tmp_path))


@needs_function
def test_char_lm(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("abcdefgh" * 300)
    run("char_lm.py", "--data", text, "--hidden", 16, "--steps", 10, "--batch", 5, "--lr", 0.02, "--json",
        tmp_path / "c.json")
    table = json.loads((tmp_path / "c.json").read_text())
    assert table["perplexity"] < 4 and table["max_rel_loss_diff"] < 1e-4


def test_ptb_reader():
    from treedata import ptb
    assert ptb.parse("(3 (2 It) (4 (2 's) (4 good)))") == (
        3, ("<unk>", [("It", []), ("<unk>", [("'s", []), ("good", [])])]))
    for line in ("", "(3 (2 a)", "(3 a))", "(3 a) (2 b)", "x", "(7 a)", "(3 a b)", "(3 (2 a) b)", "("):
        with pytest.raises(ValueError):
            ptb.parse(line)


def test_standard_library_reader(tmp_path):
    from treedata import stdlib
    for package in ("one", "two", "test"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(
            "CONSTANT = 1\n"
            "class Thing:\n    def method(self, other):\n        return helper(self.size, CONSTANT, other)\n"
            "def helper(a):\n    def inner():\n        return a\n    return inner\n"
            "def x(): pass\n")
    (tmp_path / "two" / "broken.py").write_text("def f(:\n")
    (tmp_path / "no_package").mkdir()
    found = stdlib.collect(str(tmp_path))
    assert [package for package, _ in found] == ["one", "two"]
    functions = {qualified: (raw, kinds) for _, qualified, raw, kinds in found[0][1]}
    assert set(functions) == {"one.Thing.method", "one.helper"}  # x has too few nodes, inner is inside
    raw, kinds = functions["one.Thing.method"]
    words = list(stdlib.vocabulary.words(raw))
    assert raw[0] == "FunctionDef" and ".self" in words and ".size" in words and ".other" in words
    assert not {".helper", ".CONSTANT", ".method"} & set(words) and words.count("<unk>") == 3
    assert sorted(kinds) == sorted(word for word in words if word[0] not in ".<")
    dataset = stdlib.load(root=str(tmp_path))
    assert dataset.classes == ["one", "two"] and len(dataset.train) + len(dataset.test) == 4
    assert stdlib.hash_of("one.helper") == 8547059055703986977  # on every machine


def test_baselines():
    from treedata import baseline, tree
    kinds = [[0] * (1 + i % 5) + [1] * (5 - i % 5) for i in range(60)]
    examples = [tree.Example(None, int(i % 5 > 2), None) for i in range(60)]
    dataset = tree.Dataset("made", ["few", "many"], {}, examples[:40], examples[40:], [kinds[:40], kinds[40:]])
    assert baseline.majority(dataset.train, dataset.test) == 0.6
    assert baseline.bag_of_types(dataset) == 1.0

    def bowl(weight):
        gap = weight - janus.tensor([1.0, -2.0], dtype=janus.float64)
        scale = janus.tensor([1.0, 50.0], dtype=janus.float64)
        return (scale * gap * gap).sum().item(), 2 * scale * gap

    low = baseline.minimise(bowl, janus.zeros(2, dtype=janus.float64))
    assert abs(low[0].item() - 1) < 1e-4 and abs(low[1].item() + 2) < 1e-4
