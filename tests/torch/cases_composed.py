# SPDX-License-Identifier: Apache-2.0
"""Cases: functions of two elements, runs of equal elements, dims exchanged in place."""
from inputs import corners, drawn, given

PAIRS = ("T.copysign(x, y)", "T.fmax(x, y)", "T.fmin(x, y)", "T.heaviside(x.detach(), y.detach())", "x.clone().copysign_(y)", "x.detach().clone().heaviside_(y.detach())",
         "x.clone().greater_(y.to(x.dtype))", "x.clone().less_equal_(y.to(x.dtype))")
NUMBERS = ("x.copysign(-0.0)", "x.copysign(0)", "x.copysign(-2.5)", "x.copysign(True)", "T.fmax(x, 1.0)", "T.ldexp(x, T.tensor([2]))",
           "x.float_power(2)", "x.clone().float_power_(2)", "x.clone().less_(0)", "x.clone().not_equal_(1)")
# Elements that come several times.
RUNS = ("T.mode(x)", "x.mode(0)", "x.mode(-1, True)", "x.mode(9)", "T.nanmedian(x)", "x.nanmedian(0)", "x.nanmedian(-1, True)",
        "T.unique_consecutive(x.detach())", "x.detach().unique_consecutive(return_inverse=True, return_counts=True)", "x.detach().unique_consecutive(dim=0)",
        "x.detach().unique_consecutive(True, True, -1)", "x.detach().unique_consecutive(dim=5)", "T.histc(x, 4)", "x.histc(3, -1, 1)", "x.histc(0)",
        "x.histc(5, 2, 1)")
TURNED = ("z.t_()", "z.transpose_(0, -1)", "z.swapdims_(0, 1)", "z.swapaxes_(1, 0)", "z.transpose_(0, 5)")
SHAPES = ((3, 4), (4,), (), (0, 3), (3, 0), (2, 3, 2))


def collect(c):
    """Adds them all."""
    for source in PAIRS:
        for a in ("float32", "float64", "bfloat16", "int64", "uint8"):
            c.add(source, corners("x", a, few=True, column=True), corners("y", a, few=True))
        for a, b in (("float32", "float64"), ("int64", "float32"), ("float32", "bool"), ("bool", "bool"), ("float64", "int64")):
            c.add(source, drawn("x", (2, 3), a), drawn("y", (3,), b))
        for a, b in (((2, 3), (4,)), ((), (0,)), ((0, 2), (1, 2)), ((), ())):
            c.add(source, drawn("x", a), drawn("y", b))
    for source in NUMBERS:
        for a in ("float32", "float16", "int64", "bool"):
            c.add(source, corners("x", a))
    for source in RUNS:
        for shape in SHAPES:
            for dtype in ("float32", "int64", "bool"):
                c.add("x = (x / 2).round(); " * (dtype == "float32") + source, drawn("x", shape, dtype))
        c.add(source, given("x", [[1.0, float("nan"), 2.0, float("nan")], [float("nan")] * 3 + [5.0], [2.0, 2.0, float("inf"), float("inf")]]))
    for source in TURNED:
        for shape in SHAPES:
            c.add("z = x.clone(); w = " + source + "; (z * 2, w is z, z.is_contiguous(), z.stride())", drawn("x", shape))
            c.add("z = x.detach().clone(); w = " + source + "; (z, w is z, z.stride())", drawn("x", shape, "int64"))
    for p in ((), (0.5,), (-0.5,)):
        for x in ((), (3, 2)):
            c.add(f"T.logaddexp2(x, y{p and '*' + str(p[0])})", drawn("x", x), drawn("y", (2,)))
