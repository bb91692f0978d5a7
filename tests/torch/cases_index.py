# SPDX-License-Identifier: Apache-2.0
"""Cases: indices, gathers, scatters."""
from inputs import drawn, given

KEYS = ("0", "-1", "3", "-4", "2**63", "True", "False", "None", "...", "1.5", "'a'", ":", "::2", "1:", ":-1", "2:1", "::-1", "5:9", "-9:2", "::2**63-1",
        "0, 1", "0, 5", ":, 1", "..., 0", "None, 0", "0, None", ":, None, 1", "..., None", "0, 1, 2", "()", "(0, 1)", "[0, 1]", "[0, -1]", "[5]", "[]", "[[0, 1], [1, 0]]",
        "[True, False, True]", "[0, 1], [1, 0]", "[0, 1], 1", "1, [0, 1]", ":, [0, 1]", "[[0], [1]], [0, 1]", "[0, 1], :, [0, 1]", "[1.5]", "[0, None]",
        "T.tensor(1)", "T.tensor(-1)", "T.tensor(7)", "T.tensor(1.5)", "T.tensor(True)", "T.tensor(False)", "T.tensor([0, 1])", "T.tensor([0, 1], dtype=T.int32)",
        "T.tensor([0, 1, 1], dtype=T.uint8)", "T.tensor([0, 1], dtype=T.uint8)", "T.tensor([True, False, True])", "T.tensor([True, False])", "T.tensor([0.])", "T.tensor([])",
        "T.tensor([], dtype=T.int64)", "T.tensor([3])", "T.tensor([-4])", "T.tensor([-1])", "x > 0", "x > 5", "(x > 0, 0)", "x[:, 0] > 0", "(x[:, 0] > 0, 1)", "(x[:, 0] > 0, [0])",
        "0, T.tensor([True, False])", "T.tensor([[0, 1], [1, 0]])", "T.tensor([0]), T.tensor([1])", "T.tensor([0, 1]), T.tensor([0, 1, 1])", "T.tensor(0), T.tensor(1)",
        ":, T.tensor([1, 0])", "..., T.tensor([0])", "None, T.tensor([0])", "T.tensor([0]), None", "T.tensor([0]), ..., 0", "np.array([0, 1])", "np.int64(1)", "np.array([True, False, True])",
        "np.array(1)", "np.array([0.5])", "(np.array([0, 1]), np.array([1, 0]))", "np.array([0, 1]), 0", ":, np.array([1])", "range(2)", "slice(None, 2)", "slice(T.tensor(0), T.tensor(2))",
        "(slice(None), 0)", "[slice(None), 0]", "[T.tensor(0), T.tensor(1)]", "np.bool_(True)", "(T.tensor([0, 1]),)", "[[True, False]]", "{}")


def collect(c):
    """Adds them all."""
    for key in KEYS:
        for shape in ((3, 2), (3,), (), (3, 2, 2)):
            if shape == (3, 2) or key in ("0", "...", "None", "True", "T.tensor(True)", "[0, 1]", "()", "x > 0", ":, [0, 1]", "[0, 1], :, [0, 1]", "T.tensor(1)", "(x > 0, 0)"):
                c.add(f"x[{key}]", drawn("x", shape))
                c.add(f"y = x * 1; y[{key}] = 7; y", drawn("x", shape))
                c.add(f"y = x * 1; y[{key}] = T.ones(2) * 7; y", drawn("x", shape))
                c.add(f"y = x * 1; y[{key}] += 1; y", drawn("x", shape))
        c.add(f"x[{key}]", drawn("x", (3, 2), layout="turned"))
        c.add(f"x[{key}]", drawn("x", (3, 2), "int64"))
        c.add(f"y = x.clone(); y[{key}] = 2.5; y", drawn("x", (3, 2), "int64"))
        c.add(f"y = x * 1; y[{key}] = v; y", drawn("x", (3, 2)), drawn("v", (3, 1)))
        c.add(f"y = x * 1; y[{key}] = v; y", drawn("x", (3, 2)), drawn("v", (), "float64"))
    indices = ("T.tensor([0, 1])", "T.tensor([-1])", "T.tensor([3])", "T.tensor(1)", "T.tensor([[0, 1]])", "T.tensor([0], dtype=T.int32)", "T.tensor([0.])", "T.tensor([], dtype=T.int64)",
               "T.tensor([True])", "T.tensor([0], dtype=T.uint8)", "[0]", "0", "T.tensor([[0, 1], [1, 0], [0, 0]])", "T.tensor([[-1]])", "T.tensor([[5]])")
    forms = ("T.index_select(x, 0, {})", "x.index_select(-1, {})", "x.gather(0, {})", "T.gather(x, 1, {})", "x.gather(2, {})", "x.scatter(0, {}, x)", "x.scatter(0, {}, 1.5)",
             "x.scatter(1, {}, value=2)", "x.scatter_add(0, {}, x)", "x.scatter_add(1, {}, T.ones(3, 2))", "x.index_add(0, {}, x)", "x.index_add(0, {}, x[:1])", "x.index_add(0, {}, x[:1], alpha=2)",
             "x.index_fill(0, {}, 3.5)", "x.clone().index_fill_(0, {}, 3.5)", "x.index_copy(0, {}, x[:1])", "x.clone().index_copy_(0, {}, x[:1])", "F.embedding({}, x)", "F.embedding({}, x, padding_idx=-1)", "F.embedding({}, x, 9)",
             "x.take({})", "T.take(x, {})", "T.take_along_dim(x, {}, 0)", "x.index_put(({},), T.tensor(2.))", "x.index_put([{}], T.tensor(2.), accumulate=True)", "x.clone().index_put_(({},), T.tensor(2.))",
             "x.index_put_(({},), T.tensor(2.))", "F.one_hot({})", "F.one_hot({}, 4)", "F.one_hot({}, 1)", "x.scatter(0, {}, 1.5, reduce='add')", "x.scatter_reduce(0, {}, x, 'sum')",
             "x.clone().scatter_(0, {}, 1)", "x.clone().scatter_(dim=0, index={}, src=x)", "x.index_reduce(0, {}, x[:1], 'prod')")
    for form in forms:
        for index in indices:
            c.add(form.format(index), drawn("x", (3, 2)))
        c.add(form.format("T.tensor([[0, 1], [1, 0], [0, 0]])"), drawn("x", (3, 2), "int64"))
    for source in ("T.masked_select(x, x > 0)", "x.masked_select(x[:, :1] > 0)", "x.masked_select((x > 0).to(T.uint8))", "x.masked_select(x)", "T.nonzero(x > 0)", "x.nonzero(as_tuple=True)",
                   "T.nonzero(x.long())", "x.argwhere()", "y = x * 1; y.masked_fill_(x > 0, 2); y", "y = x * 1; y.masked_fill_(x > 0, x); y", "y = x * 1; y.masked_scatter_(x > 0, x + 1); y",
                   "x.masked_scatter(x > 0, x + 1)", "x.masked_scatter(x > 0, T.ones(0))", "T.searchsorted(T.arange(3.), x)", "T.bucketize(x, T.arange(3.))", "x.put_(T.tensor([0]), T.tensor([2.]))",
                   "T.take(x, T.tensor([0]))", "x.where(x > 0, 0)", "x.where(x > 0, x * 2)", "T.isin(x, x)", "T.tril_indices(3, 3)", "x.select_scatter(T.ones(2), 0, 0)", "x.slice_scatter(x[:1], 0, 1, 2)",
                   "x.diagonal_scatter(T.ones(2))", "x[x.argmax()]" , "x[0][x[0].argmax()]", "x.copy_(x)", "y = x * 1; y.copy_(T.ones(2)); y", "y = x * 1; y.copy_(T.ones(3)); y", "y = x * 1; y.copy_(2); y",
                   "y = x * 1; y.fill_(T.tensor(2.)); y", "y = x * 1; y.fill_(x); y", "y = x * 1; y.zero_(); y", "y = x.clone(); del y[0]"):
        c.add(source, drawn("x", (3, 2)))
        c.add(source, drawn("x", (3, 2), layout="turned"))
    for dtype in ("float64", "int64", "int32", "bool"):
        c.add("y = x * 1; y[0] = v; y", drawn("x", (3, 2)), drawn("v", (2,), dtype))
        c.add("y = x * 1; y[T.tensor([0])] = v; y", drawn("x", (3, 2)), drawn("v", (2,), dtype))
        c.add("y = x * 1; y[x > 0] = v; y", drawn("x", (3, 2)), drawn("v", (1,), dtype))
        c.add("y = x * 1; y.copy_(v); y", drawn("x", (3, 2)), drawn("v", (2,), dtype))
        c.add("x.scatter(0, T.tensor([[0, 0]]), v)", drawn("x", (3, 2)), drawn("v", (1, 2), dtype))
        c.add("x.index_add(0, T.tensor([0]), v)", drawn("x", (3, 2)), drawn("v", (1, 2), dtype))
        c.add("y = v.clone(); y += x; y", drawn("x", (2,)), given("v", [1, 1], dtype))
        c.add("y = v.clone(); y.add_(1.5); y", given("v", [1, 1], dtype, grad=False))
        c.add("y = v.clone(); y.mul_(x); y", drawn("x", (3, 2)), given("v", [1, 1], dtype, grad=False))
