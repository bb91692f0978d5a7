# SPDX-License-Identifier: Apache-2.0
"""Small operations one after the other, for janus, PyTorch and NumPy.

A case is a statement, compiled many times in a row into a loop, so that neither a function call nor
the loop is counted; what Python itself needs to look up names and call is.
"""

UNROLL, LOOPS = 20, 200

COMMON = {"add": "x + y", "mul by a number": "x * 2.0", "sum": "x.sum()", "mean": "x.mean()", "sum of a dim": "x.sum(1)",
          "matmul 1x32 32x32": "x @ w", "reshape": "x.reshape(32)", "transpose": "w.transpose({swap})",
          "index x[0]": "x[0]", "slice x[1:3]": "four[1:3]", "slice x[:, 4:20]": "x[:, 4:20]", "greater": "x > y",
          "item": "one.item()"}
NUMPY = {"tanh": "lib.tanh(x)", "add in place": "lib.add(x, 0.0, out=x)"}
TENSORS = {"view": "x.view(32)", "tanh": "lib.tanh(x)", "relu": "lib.relu(x)", "add in place": "x.add_(0.0)",
           "unsqueeze": "x.unsqueeze(0)", "chunk in 4": "x.chunk(4, 1)", "cat of 2": "lib.cat((x, y), 0)",
           "add, grad": "leaf + y", "mul by a number, grad": "leaf * 2.0", "tanh, grad": "lib.tanh(leaf)",
           "sum, grad": "leaf.sum()", "matmul, grad": "leaf @ w", "reshape, grad": "leaf.reshape(32)",
           "slice, grad": "leaf[:, 4:20]", "10 muls and backward": "chain()"}


def timed(statement, names):
    """A contender that runs a statement many times."""
    source = "\n".join([f"def run({', '.join(f'{name}={name}' for name in names)}):", f"    for _ in range({LOOPS}):"] +
                       [f"        {statement}"] * UNROLL)
    exec(source, names)

    def run():
        names["run"]()
        return UNROLL * LOOPS

    def set_up():
        run()
        return run
    return set_up


def of_numpy(np):
    ones = lambda *shape: np.ones(shape, np.float32)  # noqa: E731
    return COMMON | NUMPY, {"lib": np, "x": ones(1, 32), "y": ones(1, 32), "w": ones(32, 32), "four": ones(4, 32),
                            "one": ones(1)}, "1, 0"


def of_tensors(lib):
    leaf, y = lib.ones(1, 32, requires_grad=True), lib.ones(1, 32)

    def chain():
        z = leaf
        for _ in range(10):
            z = z * y
        z.sum().backward()
        leaf.grad = None

    return COMMON | TENSORS, {"lib": lib, "x": lib.ones(1, 32), "y": y, "w": lib.ones(32, 32), "four": lib.ones(4, 32),
                              "one": lib.ones(1), "leaf": leaf, "chain": chain}, "0, 1"


def contenders(lib, modes):
    name = modes[0][0]
    cases, names, swap = of_numpy(lib) if name == "NumPy" else of_tensors(lib)
    return {f"{name}: {case}": timed(text.format(swap=swap), dict(names)) for case, text in cases.items()}
