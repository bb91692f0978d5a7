# SPDX-License-Identifier: Apache-2.0
"""Training and inference of a recursive Tree-LSTM over functions of the standard library.

The trees are made here and handed to every library as one file, so that all see the same ones.
Ends in 15 s, with torch.compile in one to two minutes; what has not answered after --patience is given up.
"""
import json
import os
import sys
import sysconfig
import tempfile

import harness

sys.path.insert(0, os.path.join(harness.HERE, "..", "samples"))
N_TREES = 50


def prepare():
    """Writes raw trees and says where in BENCH_TREES."""
    from treedata import stdlib
    functions = sorted(entry for _, usable in stdlib.collect(sysconfig.get_path("stdlib")) for entry in usable)
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as stream:
        json.dump([raw for _, _, raw, _ in functions[:N_TREES]], stream)
    os.environ["BENCH_TREES"] = stream.name


if __name__ == "__main__":
    try:
        harness.steps(f"Tree-LSTM over {N_TREES} trees, torch.compile over the smallest; "
                      "hidden 32, batch 25, Adagrad", "tree_lstm", "node", prepare=prepare)
    finally:
        if "BENCH_TREES" in os.environ:
            os.unlink(os.environ["BENCH_TREES"])
