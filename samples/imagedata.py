# SPDX-License-Identifier: Apache-2.0
"""Small grey images with labels: IDX files (MNIST, Fashion-MNIST) or scikit-learn's digits.

Images come as one tensor [N, 1, side, side] with values around 0..1, labels as int64 [N].
"""
import array
import csv
import gzip
import os
import struct

import janus

DEBIAN = "/usr/share/datasets/fashion-mnist"
PARTS = {"train": "train", "test": "t10k"}


class Images:
    """`train` and `test` are pairs (images, labels); `name` says what they are."""

    def __init__(self, name, train, test):
        self.name = name
        self.train = train
        self.test = test


def open_idx(folder, stem):
    """The bytes of one IDX file, plain or gzip-compressed, with `-idx` or `.idx` in its name."""
    for name in (stem, stem.replace("-idx", ".idx")):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as stream:
                return stream.read()
        if os.path.exists(path + ".gz"):
            with gzip.open(path + ".gz") as stream:
                return stream.read()
    raise FileNotFoundError(f"{folder} has neither {stem} nor {stem}.gz")


def read_idx(folder, part, limit):
    """`(images, labels)` of one part, at most `limit` of them."""
    raw = open_idx(folder, f"{part}-labels-idx1-ubyte")
    magic, count = struct.unpack(">II", raw[:8])
    if magic != 2049 or len(raw) != 8 + count:
        raise ValueError(f"{folder}: the labels of {part} are no IDX file of bytes")
    used = count if limit is None else min(limit, count)
    labels = janus.tensor(list(raw[8:8 + used]))
    raw = open_idx(folder, f"{part}-images-idx3-ubyte")
    magic, n_images, rows, columns = struct.unpack(">IIII", raw[:16])
    if magic != 2051 or len(raw) != 16 + n_images * rows * columns or n_images != count:
        raise ValueError(f"{folder}: the images of {part} are no IDX file of bytes, or not as many as labels")
    pixels = array.array("f", list(raw[16:16 + used * rows * columns]))
    return janus.tensor(pixels).reshape(used, 1, rows, columns) / 255.0, labels


def read_digits(stream, limit):
    """The digits of scikit-learn's CSV file: every fifth one is for testing."""
    rows = [[float(value) for value in row] for row in csv.reader(stream)][:limit]
    parts = []
    for keep in (lambda i: i % 5 != 0, lambda i: i % 5 == 0):
        kept = [row for i, row in enumerate(rows) if keep(i)]
        images = janus.tensor([row[:64] for row in kept]).reshape(len(kept), 1, 8, 8) / 16.0
        parts.append((images, janus.tensor([int(row[64]) for row in kept])))
    return parts


def digits_of_sklearn():
    """The path of the digits inside an installed scikit-learn, None without one."""
    try:
        import sklearn
    except ImportError:
        return None
    path = os.path.join(os.path.dirname(sklearn.__file__), "datasets", "data", "digits.csv.gz")
    return path if os.path.exists(path) else None


def load(data=None, limit=None):
    """Images from a folder of IDX files or a digits file; without one from what is installed."""
    if data is None:
        data = DEBIAN if os.path.isdir(DEBIAN) else digits_of_sklearn()
        if data is None:
            raise FileNotFoundError("no images found: install dataset-fashion-mnist or scikit-learn, "
                                    "or give --data a folder of IDX files or a digits.csv.gz")
    if os.path.isdir(data):
        test_limit = None if limit is None else max(limit // 5, 1)
        return Images(f"IDX files of {data}", read_idx(data, PARTS["train"], limit),
                      read_idx(data, PARTS["test"], test_limit))
    with (gzip.open(data, "rt") if data.endswith(".gz") else open(data)) as stream:
        return Images(f"digits of {data}", *read_digits(stream, limit))
