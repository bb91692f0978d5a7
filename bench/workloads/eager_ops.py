# SPDX-License-Identifier: Apache-2.0
"""Small operations one after the other, for janus, PyTorch and NumPy."""

REPEAT = 2000


def repeated(function):
    """A contender that calls a function of no arguments many times."""
    def set_up():
        function()

        def run():
            for _ in range(REPEAT):
                function()
            return REPEAT
        return run
    return set_up


def of_numpy(np):
    x, y = np.ones((1, 32), np.float32), np.ones((1, 32), np.float32)
    w = np.ones((32, 32), np.float32)
    return {"add": lambda: x + y, "mul by a number": lambda: x * 2.0, "tanh": lambda: np.tanh(x),
            "sum": lambda: x.sum(), "matmul 1x32 32x32": lambda: x @ w, "slice": lambda: x[:, 4:20],
            "reshape": lambda: x.reshape(32), "add in place": lambda: np.add(x, 0.0, out=x)}


def of_tensors(lib):
    x, y, w = lib.ones(1, 32), lib.ones(1, 32), lib.ones(32, 32)
    leaf = lib.ones(1, 32, requires_grad=True)

    def chain():
        z = leaf
        for _ in range(10):
            z = z * y
        z.sum().backward()
        leaf.grad = None

    return {"add": lambda: x + y, "mul by a number": lambda: x * 2.0, "tanh": lambda: lib.tanh(x),
            "sum": lambda: x.sum(), "matmul 1x32 32x32": lambda: x @ w, "slice": lambda: x[:, 4:20],
            "reshape": lambda: x.reshape(32), "add in place": lambda: x.add_(0.0),
            "add with tape": lambda: leaf + y, "10 muls and backward": chain}


def contenders(lib, modes):
    name = modes[0][0]
    cases = of_numpy(lib) if name == "NumPy" else of_tensors(lib)
    return {f"{name}: {case}": repeated(function) for case, function in cases.items()}
