# SPDX-License-Identifier: Apache-2.0
"""Cases: arithmetic, comparisons, reductions, products, creation."""
from inputs import CORNERS, DTYPES, FLOATS, INTS, corners, drawn, given, inf, nan

UNARY = ("abs absolute neg negative exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan sinh "
         "cosh tanh sigmoid erf sign floor ceil round trunc isnan isinf isfinite logical_not logit relu asin acos atan "
         "asinh acosh atanh erfc erfinv lgamma digamma sgn frac signbit sinc positive arcsin arctan").split()
IN_PLACE = ("abs exp expm1 log log1p neg sqrt rsqrt square reciprocal sin cos tanh sigmoid erf sign floor ceil round "
            "relu asin acos atan asinh acosh atanh erfc erfinv lgamma digamma sinh cosh tan log2 log10 exp2 trunc frac "
            "sgn sinc").split()
BINARY = ("add sub mul div floor_divide remainder fmod pow maximum minimum eq ne lt le gt ge logical_and logical_or "
          "logical_xor logaddexp true_divide atan2 hypot xlogy float_power").split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
OPERATORS = "+ - * / // % ** == != < <= > >= & | ^ << >>".split()


def unary(c):
    for op in UNARY:
        c.add(f"T.{op}(x)", corners("x"), tolerance=4)
        for dtype in DTYPES:
            if dtype != "float32":
                c.add(f"T.{op}(x)", corners("x", dtype, few=True), tolerance=4)
        c.add(f"x.{op}()", drawn("x", (2, 3), layout="turned", low=0.1, high=0.9))
        c.add(f"x.{op}()", drawn("x", (4,), layout="stepped", low=0.1, high=0.9))
        c.add(f"T.{op}(x)", given("x", [], shape=(0,)))
        c.add(f"T.{op}(x)", given("x", 0.25))
    for op in IN_PLACE:
        c.add(f"y = x * 1; z = y.{op}_(); (y, z is y)", corners("x", few=True), tolerance=4)
        c.add(f"x.{op}_()", corners("x", "int64"))
        c.add(f"x.{op}_()", corners("x", "bool"))
    for op in ("-x", "+x", "~x", "abs(x)"):
        for dtype in DTYPES:
            c.add(op, corners("x", dtype, few=True))
    for source in ("x.round(decimals=2)", "T.clamp(x, -1, 2.5)", "x.clamp(min=0)", "x.clamp(max=0.0)", "x.clamp(2, 1)",
                   "x.clamp(min=float('nan'))", "T.clip(x, -1, 1)", "x.clamp_min(0.5)", "x.clamp_max(-0.5)", "x.clamp()",
                   "T.clamp(x, min=T.tensor(0.5))", "T.clamp(x, max=x * 0.5)", "x.clamp(-inf, inf)",
                   "T.nan_to_num(x)", "x.sigmoid().logit()", "T.logit(x, 0.1)", "T.softmax(x, 0)", "T.deg2rad(x)",
                   "T.polygamma(1, x)", "x.polygamma(3)", "T.polygamma(-1, x)"):
        c.add(source, corners("x"), tolerance=4)
        c.add(source, corners("x", "int64"), tolerance=4)


def binary(c):
    for op in BINARY:
        c.add(f"T.{op}(x, y)", corners("x", few=True, column=True), corners("y", few=True), tolerance=2)
        for dtype in ("float64", "float16", "bfloat16"):
            c.add(f"T.{op}(x, y)", given("x", [1.5, -2.0, 0.0, inf, nan], dtype), given("y", [2.0, 3.0, -1.0, 2.0, 1.0], dtype))
        for dtype in INTS:
            x = [0, 1, 7, 100] if dtype == "uint8" else [0, 1, 7, -7, 100, 2**30 + 1]
            y = [1, 2, 3] if dtype == "uint8" else [1, 2, 3, -2]
            c.add(f"T.{op}(x, y)", given("x", [[v] for v in x], dtype), given("y", y, dtype))
            c.add(f"T.{op}(x, y)", given("x", [7, 1, 0], dtype), given("y", [2, 0, 0], dtype))
        c.add(f"T.{op}(x, y)", corners("x", "bool", column=True), corners("y", "bool"))
    kinds = [("float32", (2, 2)), ("float64", ()), ("float16", (2,)), ("bfloat16", (1, 2)), ("int64", (2,)), ("int32", ()),
             ("uint8", (2, 1)), ("bool", (2,))]
    for op in ("add", "mul", "div", "floor_divide", "pow", "maximum", "eq", "fmod", "logaddexp", "sub"):
        for a, sa in kinds:
            for b, sb in kinds:
                if a != b:
                    c.add(f"T.{op}(x, y)", drawn("x", sa, a, 1, 3), drawn("y", sb, b, 1, 3), tolerance=2)
    for op in BITS:
        for a in INTS + ("bool", "float32"):
            for b in INTS + ("bool",):
                c.add(f"T.{op}(x, y)", drawn("x", (3,), a, 0, 5), drawn("y", (3,), b, 0, 5))
    numbers = ("2", "0", "-1", "2.5", "True", "inf", "nan", "-0.5", "np.float64(2)", "np.int64(3)", "np.float32(0.5)",
               "T.tensor(2)", "None", "'a'", "2**40", "2**70", "1j")
    for op in OPERATORS:
        for number in numbers:
            for dtype in ("float32", "int64", "uint8", "bool", "float16"):
                if dtype != "float16" or number in ("2", "2.5", "2**40"):
                    c.add(f"x {op} {number}", drawn("x", (3,), dtype, 0, 4), tolerance=2)
                    if not number.startswith("np"):
                        c.add(f"{number} {op} x", drawn("x", (3,), dtype, 1, 4), tolerance=2)
        for dtype in ("float32", "int64", "bool"):
            for number in ("2", "2.5", "T.ones(2, 3)", "y"):
                c.add(f"z = x.clone(); w = z; z {op if op in '+ - * / // % ** & | ^ << >>'.split() else '+'}= {number}; "
                      "(z, z is w)", drawn("x", (3,), dtype, 1, 4), drawn("y", (3,), low=1))
    for op in ("add", "sub"):
        for alpha in ("2", "0.5", "True", "-1", "2**40 + 1"):
            for dtype in ("int64", "float32", "int32", "bool"):
                c.add(f"x.{op}(y, alpha={alpha})", given("x", [1, 2**24 + 1] if dtype != "bool" else [0, 1], dtype),
                      given("y", [1, 0], dtype))
                c.add(f"T.{op}(x, 3, alpha={alpha})", given("x", [1, 2**24 + 1] if dtype != "bool" else [0, 1], dtype))
    three = drawn("x", (2, 3)), drawn("a", (3,)), drawn("b", (2, 1), low=0.5)
    whole = drawn("x", (2, 3), "int64", 0, 9), given("a", [2**40 + 1, 3, -2], "int64"), drawn("b", (2, 1), "int64", 1, 5)
    for op in ("addcmul", "addcdiv"):
        for rest in ("a, b", "a, b, value=2", "a, b, value=0.5", "2, a, b", "0.5, a, b"):
            for operands in (three, whole):
                c.add(f"T.{op}(x, {rest})", *operands)
                c.add(f"y = x * 1; y.{op}_({rest}); y", *operands)
                c.add(f"x.{op}({rest})", *operands)
    for source in ("x.lerp(a, 0.3)", "T.lerp(x, a, b)", "x.add_(2, a)", "y = x * 1; y.add_(2, a); y",
                   "y = x * 1; y.sub_(2, a); y", "T.add(x, 2, a)", "T.rsub(x, a)", "T.rsub(x, 2, alpha=3)",
                   "T.div(x, a, rounding_mode='trunc')", "T.div(x, a, rounding_mode='floor')", "x.div(a, rounding_mode='x')",
                   "T.where(x > 0, x, a)", "T.where(x, x, a)", "T.where(condition=x > 0, input=x, other=a)",
                   "T.where(x > 0, 1, 0)", "T.where(x > 0, x, 0.5)", "T.where(x > 0, 1.5, x)", "x.where(x > 0, a)",
                   "T.where((x > 0).to(T.uint8), x, a)", "x.masked_fill(x > 0, 7)", "x.masked_fill((x > 0).long(), 7)",
                   "x.masked_fill((x > 0).to(T.uint8), 7)", "T.where(x > 0)", "T.hypot(x, a)", "T.atan2(x, a)",
                   "T.xlogy(x, a)", "T.heaviside(x, a)", "T.copysign(x, a)", "T.nextafter(x, a)",
                   "x.masked_fill(x > 0, T.tensor(2.))", "x.masked_fill(x > 0, a)", "T.logaddexp2(x, a)", "T.fmin(x, a)",
                   "T.fmax(x, a)", "T.dist(x, a)", "T.floor_divide(x, a)", "T.isclose(x, a)", "T.allclose(x, x)",
                   "T.equal(x, a)", "x.equal(x)"):
        c.add(source, *three)
        c.add(source, *whole)


REDUCE = "sum mean prod amax amin any all logsumexp std var norm argmax argmin max min median cumsum cumprod nansum " \
         "count_nonzero std_mean var_mean sort argsort aminmax mode nanmean nanmedian cummax softmax log_softmax".split()


def reductions(c):
    shapes = [(), (1,), (4,), (2, 3), (2, 1, 3), (0,), (0, 3), (3, 0)]
    for op in REDUCE:
        for shape in shapes:
            for args in ("", "0", "-1", "1", "(0, 1)", "()", "None", "0, keepdim=True", "dim=-1, keepdims=True", "5", "(0, 0)"):
                if len(shape) > 1 or args in ("", "0", "-1", "()", "5"):
                    c.add(f"x.{op}({args})", drawn("x", shape), tolerance=2)
        for dtype in DTYPES:
            if dtype != "float32":
                c.add(f"T.{op}(x)", drawn("x", (2, 3), dtype, 0, 5), tolerance=2)
                c.add(f"T.{op}(x, 1)", drawn("x", (2, 3), dtype, 0, 5), tolerance=2)
        for values in ([1.0, nan, 3.0], [inf, 1.0, -inf], [1e20, 2e20, 3e20], [2.0, 2.0, 2.0], [0.0, 0.0, 1.0], [inf, inf],
                       [-inf, -inf], [3e38, 3e38], [nan, nan], [1.0, 2.0], [0.0, -0.0], [1e-30, 2e-30]):
            c.add(f"T.{op}(x)", given("x", values), tolerance=2)
            c.add(f"T.{op}(x, 0)", given("x", values), tolerance=2)
        c.add(f"T.{op}(x, 0)", drawn("x", (3, 4), layout="turned"), tolerance=2)
        c.add(f"T.{op}(x, -1)", drawn("x", (3, 4), layout="stepped"), tolerance=2)
    for p in ("1", "2", "3", "0", "0.5", "inf", "-inf", "-1", "'fro'", "'nuc'", "None"):
        for values in ([3.0, 4.0], [0.0, 0.0], [-1.0, 0.0], [inf, 1.0], [nan, 1.0], [1e20, 1e20], [1e-30, 1e-30]):
            c.add(f"x.norm({p})", given("x", values), tolerance=2)
        c.add(f"x.norm(p={p}, dim=1, keepdim=True)", drawn("x", (2, 3)), tolerance=2)
    for source in ("x.var(unbiased=False)", "x.std(0, False)", "x.std(correction=0)", "x.std(dim=1, correction=2)",
                   "x.var(1, correction=5)", "T.std(x, (0, 1))", "T.std_mean(x, 1)", "T.var_mean(x)", "x.sum(dtype=T.float64)",
                   "x.cumsum(0, dtype=T.float64)", "x.topk(2)", "x.topk(5)", "x.topk(-1)", "x.topk(1, 0, largest=False)",
                   "x.sort(0, descending=True)", "x.sort(dim=1, stable=True)", "T.sort(x, descending=True)", "x.kthvalue(1)",
                   "x.max(1)[0]", "x.max(1, True)", "T.max(x, x * 0.5)", "x.min(x * 2)", "x.argmax(keepdim=True)",
                   "x.max(dim=1).values", "x.argsort(1, True)", "T.unique(x)", "T.unique(x, return_counts=True)",
                   "T.unique(x, return_inverse=True)", "x.quantile(0.5)", "T.logsumexp(x, (0, 1))", "x.mean((0, 1), True)",
                   "T.count_nonzero(x, 0)", "T.cov(x)", "T.diff(x)", "T.bincount(x)", "T.histc(x)", "T.trace(x)",
                   "x.max(other=x)", "x.sum(axis=0)", "x.mean(axis=1, keepdims=True)", "T.median(x, 1)", "x.median(dim=0)",
                   "T.linalg.norm(x)", "x.unique()", "T.unique_consecutive(x)", "x.var(dim=None)", "T.amax(x, dim=(0, 1))"):
        c.add(source, drawn("x", (2, 3)), tolerance=2)
        c.add(source, drawn("x", (2, 3), "int64", 0, 4), tolerance=2)


def products(c):
    shapes = [(), (0,), (2,), (3,), (2, 3), (3, 2), (3, 0), (0, 3), (2, 2, 3), (1, 3, 2), (2, 3, 2), (5, 3, 4)]
    for op in ("matmul", "mm", "bmm", "mv", "dot", "inner", "outer", "vdot", "ger"):
        for a in shapes:
            for b in shapes:
                if op in ("matmul", "inner") or len(a) + len(b) < 6:
                    c.add(f"T.{op}(x, y)", drawn("x", a), drawn("y", b), tolerance=2)
        for a in ("float32", "float64", "float16", "int64", "int32", "bool"):
            for b in ("float32", "float64", "bfloat16", "int64", "bool"):
                sa = {"mm": (2, 2), "matmul": (2, 2), "bmm": (1, 2, 2), "mv": (2, 2)}.get(op, (2,))
                sb = {"mm": (2, 2), "matmul": (2, 2), "bmm": (1, 2, 2)}.get(op, (2,))
                c.add(f"T.{op}(x, y)", drawn("x", sa, a, 0, 4), drawn("y", sb, b, 0, 4), tolerance=2)
    for source in ("T.addmm(b, x, y)", "T.addmm(b, x, y, beta=0.5, alpha=2)", "T.addmm(b * nan, x, y, beta=0)", "x @ y",
                   "x @ y[0]", "x @ 2", "T.addmv(b[0], x, y[:, 0])", "T.addr(b, x[:, 0], y[0])", "T.kron(x, y)",
                   "T.einsum('ij,jk->ik', x, y)", "T.einsum('ij,jk', x, y)", "T.einsum('ij->', x)", "T.einsum('ii->i', b)",
                   "T.einsum('ij,kj->ik', x, y)", "T.einsum('ij,ij->', [x, x])", "T.einsum('...j,jk->...k', x, y)",
                   "T.chain_matmul(x, y)", "T.linalg.multi_dot([x, y])", "T.tensordot(x, y, 1)", "T.cross(x, x)",
                   "T.cdist(x, x)", "x.T @ x", "F.linear(x, y.t())", "F.linear(x, y.t(), b[0])", "F.linear(x, y)",
                   "F.linear(x[0], y.t()[0])", "T.einsum('ij,jk->ik', x)", "T.einsum('ij,jk->iz', x, y)", "x.mm(y, out=b)"):
        for a, b in (("float32", "float32"), ("float32", "float64"), ("int64", "int64")):
            c.add(source, drawn("x", (2, 3), a), drawn("y", (3, 2), b), drawn("b", (2, 2), a), tolerance=2)
    c.add("T.baddbmm(b, x, y)", drawn("b", (2, 2, 2)), drawn("x", (2, 2, 3)), drawn("y", (2, 3, 2)))
    c.add("T.baddbmm(b * nan, x, y, beta=0)", drawn("b", (2, 2, 2)), drawn("x", (2, 2, 3)), drawn("y", (2, 3, 2)))
    c.add("x @ y", given("x", [[0.0, 1.0], [inf, 1.0]]), given("y", [[1.0, inf], [nan, 0.0]]))


def creation(c):
    values = ("1", "2.5", "True", "300", "-1", "2**31", "2**40", "2**63", "-2**63 - 1", "inf", "nan", "1e39", "1e5", "[]",
              "[1, 2.5]", "[True, 1]", "[[1, 2], [3]]", "[[]]", "np.float64(2)", "np.int32(3)", "None", "'a'", "[None]", "1j",
              "np.array([1, 2])", "np.array([1.5])", "np.array(3)", "np.array([True])", "(1, 2)", "[np.array([1, 2])]",
              "[T.tensor(1), T.tensor(2)]", "T.tensor([1.5])", "range(3)", "[300.7]")
    for value in values:
        for dtype in ("None", "T.float32", "T.float16", "T.int64", "T.int32", "T.uint8", "T.bool"):
            c.add(f"T.tensor({value}, dtype={dtype})")
            c.add(f"T.full((2,), {value}, dtype={dtype})")
            c.add(f"T.as_tensor({value}, dtype={dtype})")
        for dtype in ("float32", "int64", "uint8", "bool", "float16", "int32"):
            for source in ("y = x.clone(); y.fill_({}); y", "y = x.clone(); y[0] = {}; y", "T.full_like(x, {})",
                           "y = x.clone(); y[:2] = {}; y", "y = x.clone(); y[x > 0] = {}; y", "x.masked_fill(x > 0, {})",
                           "x.new_full((2,), {})", "x.new_tensor({})", "T.where(x > 0, x, {})"):
                c.add(source.format(value), given("x", [0, 1, 1], dtype, grad=False))
    for source in ("T.arange({})", "T.arange(0, {})", "T.arange({}, 5)", "T.arange(0, 5, {})", "T.arange(5, 0, {})", "T.zeros({})",
                   "T.eye({})", "T.linspace(0, {}, 3)", "T.linspace(0, 1, {})", "T.ones(2, {})", "T.empty({}).shape", "T.randn({}).shape",
                   "T.randperm({}).shape", "T.rand(2, {}).shape", "T.randint({}, (2,)).shape", "T.randint(0, {}, (2,)).shape"):
        for number in ("0", "3", "-1", "2.5", "1.5", "0.0", "True", "None", "nan", "inf", "2**62", "T.tensor(3)", "'a'", "(2, 3)", "[2]",
                       "np.int64(2)", "(-1,)"):
            c.add(source.format(number))
    for source in ("T.zeros(size=(2, 3))", "T.ones(size=[2])", "T.empty(size=(2,)).shape", "T.full(size=(2,), fill_value=3)",
                   "T.full((2,), fill_value=1.5)", "T.arange(end=3)", "T.arange(start=1, end=3)", "T.arange(start=0, end=4, step=2)",
                   "T.linspace(start=0, end=1, steps=3)", "T.linspace(0, 1, steps=3)", "T.randint(low=0, high=2, size=(2,)).shape",
                   "T.randint(high=2, size=(2,)).dtype", "T.randn(size=(2,)).shape", "T.rand(size=(2,)).shape", "T.eye(n=2)", "T.eye(2, m=3)",
                   "T.eye(2, 3, dtype=T.int64)", "T.randperm(n=4).dtype", "T.tensor(data=[1])", "T.as_tensor(data=[1])",
                   "T.zeros_like(input=T.ones(2))", "T.stack(tensors=[T.ones(1)], dim=0)", "T.cat(tensors=[T.ones(1)], dim=0)",
                   "T.zeros(2, requires_grad=True)", "T.zeros(2, dtype=T.int64, requires_grad=True)", "T.tensor([1], requires_grad=True)",
                   "T.ones(2, device='cpu')", "T.ones(2, device='x')", "T.ones(2, out=None)", "T.zeros(())", "T.zeros([])", "T.zeros(2, 3, dtype=T.bool)",
                   "T.full((2,), True)", "T.full((), 2)", "T.full((2,), 3, dtype=T.float64)", "T.logspace(0, 2, 3)", "T.arange(3, dtype=T.float16)",
                   "T.arange(1, 2, 0.25)", "T.arange(0.0, 1.0, 0.1)", "T.linspace(0, 10, 5, dtype=T.int64)", "T.complex(T.ones(1), T.ones(1))",
                   "T.from_numpy(np.zeros(2, np.int16))", "T.from_numpy(np.zeros(2, np.int8))", "T.from_numpy(np.zeros(2, np.uint16))",
                   "T.from_numpy(np.zeros(2, np.float16))", "T.from_numpy(np.zeros(2, bool))", "T.from_numpy(np.zeros((2, 2)).T)",
                   "T.from_numpy([1])", "T.from_numpy(np.array(1.5))", "T.from_numpy(np.zeros(2, np.complex64))", "T.from_numpy(np.arange(4)[::2])",
                   "T.from_numpy(np.arange(4)[::-1])", "T.tensor(np.zeros(2, np.int16))", "T.tensor(np.zeros(2, np.float16))",
                   "T.tensor(np.zeros(2, np.uint32))", "T.as_tensor(np.zeros(2, np.int16))", "T.Tensor([1, 2])", "T.Tensor(2).shape",
                   "T.FloatTensor([1, 2])", "T.LongTensor([1])", "T.FloatTensor(2, 3).shape", "T.Tensor(2, 3).shape", "T.empty(0).sum()",
                   "T.tril(T.ones(3, 3), 1)", "T.triu(T.ones(2, 3), -1)", "T.tril(T.ones(3))", "T.diag(T.ones(2))", "T.diag(T.ones(2), 1)",
                   "T.meshgrid(T.arange(2), T.arange(3), indexing='ij')", "T.meshgrid(T.arange(2), T.arange(3))", "T.cartesian_prod(T.arange(2), T.arange(2))",
                   "T.tril_indices(2, 2)", "T.vander(T.arange(3))", "T.block_diag(T.ones(1), T.ones(2))", "T.heaviside(T.ones(1), T.ones(1))",
                   "T.result_type(T.ones(1), 2)", "T.result_type(T.ones(1, dtype=T.int64), 2.5)", "T.promote_types(T.int32, T.float16)",
                   "T.can_cast(T.float32, T.int64)", "T.can_cast(T.int64, T.float32)", "T.finfo(T.float32).max", "T.iinfo(T.int64).max",
                   "T.finfo(T.float32).eps", "T.finfo(T.float16).tiny", "T.is_tensor(1)", "T.numel(T.ones(2))", "T.is_floating_point(T.ones(1))"):
        c.add(source)
    for a in DTYPES:
        for b in DTYPES:
            c.add("x.to(y.dtype)", given("x", [0, 1, 2, 100] if a != "bool" else [0, 1], a), given("y", [0], b))
            c.add("T.promote_types(x.dtype, y.dtype)", given("x", [0], a), given("y", [0], b))
            c.add("T.result_type(x, y)", given("x", [0], a), given("y", 0, b))
            c.add("T.can_cast(x.dtype, y.dtype)", given("x", [0], a), given("y", 0, b))
    for dtype in FLOATS:
        c.add("x.long()", given("x", [v for v in CORNERS if abs(v) < 1e4], dtype))
        c.add("x.bool()", corners("x", dtype, few=True))


def collect(c):
    """Adds them all."""
    for part in (unary, binary, reductions, products, creation):
        part(c)
