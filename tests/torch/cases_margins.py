# SPDX-License-Identifier: Apache-2.0
"""Cases: losses of margins and of several labels, the bilinear form."""
from inputs import drawn, given

REDUCTIONS = ("", ", reduction='sum'", ", reduction='none'", ", size_average=False", ", reduction='other'")
CLASSES = ("F.multi_margin_loss(x, t{})", "F.multi_margin_loss(x, t, 2, 0.5{})", "F.multi_margin_loss(x, t, weight=w{})")
WRONG = ("F.multi_margin_loss(x, t, 3)", "F.multi_margin_loss(x, t[:1])", "F.multi_margin_loss(x, t, weight=w[:2])",
         "F.multi_margin_loss(x, t, weight=w[None])", "F.multi_margin_loss(x[0], t)", "F.multi_margin_loss(x[0], t[0])",
         "F.multi_margin_loss(x[0], t[:1], reduction='none')", "F.multi_margin_loss(x[0], t[0], reduction='none')",
         "F.multi_margin_loss(x, t + 9)", "F.multi_margin_loss(x[None], t)", "F.multi_margin_loss(x[:0], t[:0], reduction='none')",
         "F.multi_margin_loss(x, t.float())")
LABELS = ("F.multilabel_margin_loss(x, l{})", "F.multilabel_margin_loss(x[0], l[0]{})")
WRONG_LABELS = ("F.multilabel_margin_loss(x, l[0])", "F.multilabel_margin_loss(x, l + 9)", "F.multilabel_margin_loss(x[:0], l[:0], reduction='none')")
SOFT = ("F.multilabel_soft_margin_loss(x, y{})", "F.multilabel_soft_margin_loss(x[0], y[0]{})", "F.multilabel_soft_margin_loss(x, y, w{})",
        "F.soft_margin_loss(x, y * 2 - 1{})", "F.soft_margin_loss(x * 30, y * 2 - 1{})")
TRIPLES = ("F.triplet_margin_with_distance_loss(x, y, z{})", "F.triplet_margin_with_distance_loss(x, y, z, swap=True, margin=2.0{})",
           "F.triplet_margin_with_distance_loss(x, y, z, distance_function=lambda a, b: (a - b).abs().sum(-1){})",
           "F.triplet_margin_with_distance_loss(x, y, z, margin=0{})", "F.triplet_margin_with_distance_loss(x, y, z[0]{})",
           "T.nn.TripletMarginWithDistanceLoss(swap=True)(x, y, z)")


def collect(c):
    """Adds them all."""
    x, w = drawn("x", (3, 4)), drawn("w", (4,), low=0.1, grad=False)
    t, y = given("t", [1, 3, 0], "int64"), drawn("y", (3, 4), "bool")
    labels = given("l", [[3, 0, -1, 1], [-1, -1, -1, -1], [2, 2, 1, 0]], "int64")
    for reduction in REDUCTIONS:
        for source in CLASSES:
            c.add(source.format(reduction), x, t, w, tolerance=4)
        for source in LABELS:
            c.add(source.format(reduction), x, labels, tolerance=4)
        for source in SOFT:
            c.add("y = y.float(); " + source.format(reduction), x, y, w, tolerance=4)
        for source in TRIPLES:
            c.add(source.format(reduction if "size" not in reduction else ""), x, drawn("y", (3, 4)), drawn("z", (3, 4)), tolerance=8)
    for source in WRONG:
        c.add(source, x, t, w)
    for source in WRONG_LABELS:
        c.add(source, x, labels)
    for name in ("MultiMarginLoss(2, 1.5)", "MultiMarginLoss(p=3)", "MultiMarginLoss(weight=T.ones(1, 4))"):
        c.add(f"T.nn.{name}(x, t)", x, t, tolerance=4)
    c.add("T.nn.MultiLabelMarginLoss()(x, l)", x, labels, tolerance=4)
    c.add("T.nn.MultiLabelSoftMarginLoss()(x, y.float())", x, y, tolerance=4)
    c.add("T.nn.SoftMarginLoss('none')(x, y.float())", x, y, tolerance=4)
    for a, b in (((2, 3), (2, 2)), ((3,), (2,)), ((2, 1, 3), (2, 1, 2)), ((0, 3), (0, 2)), ((2, 3), (1, 2)), ((2, 2), (2, 3)), ((2, 3), (2, 1, 2))):
        c.add("F.bilinear(a, b, w, v)", drawn("a", a), drawn("b", b), drawn("w", (4, 3, 2)), drawn("v", (4,)), tolerance=8)
        c.add("F.bilinear(a, b, w)", drawn("a", a, "float64"), drawn("b", b, "float64"), drawn("w", (1, 3, 2), "float64"), tolerance=8)
    for of in ("0, 2, 3", "3, 2, 4", "3, 2, 4, False"):
        c.add(f"[tuple(p.shape) for p in T.nn.Bilinear({of}).parameters()]")
        c.add(f"repr(T.nn.Bilinear({of}))")
