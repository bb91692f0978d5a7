# SPDX-License-Identifier: Apache-2.0
"""Cases: functions made of other ops."""
from inputs import drawn

# x is float or integers; y is x's partner, a number of rows of its own.
SHAPES = ("T.moveaxis(x, 0, -1)", "T.swapdims(x, 0, -1)", "x.ravel()", "x.t().ravel()", "x[..., ::2].ravel()", "x.fliplr()", "x.flipud()",
          "T.rot90(x)", "x.rot90(2)", "x.rot90(3, (1, 0))", "x.rot90(-4)", "x.rot90(1, (0, 2))", "x.rot90(1, (0, 0))",
          "x.tensor_split(2)", "x.tensor_split(3, -1)", "x.tensor_split(0)", "x.tensor_split((1, 9))", "x.tensor_split((2, 1))",
          "x.tensor_split(T.tensor([1]))", "x.hsplit(2)", "x.hsplit((1,))", "x.vsplit(2)", "x.dsplit(2)", "x.hsplit(0)",
          "T.atleast_1d(x)", "T.atleast_2d(x)", "T.atleast_3d(x)", "T.atleast_3d(x, x)", "T.column_stack((x, x))",
          "T.row_stack((x, x))", "T.dstack((x, x))", "T.concatenate((x, x))", "T.concatenate((x, x), -1)", "T.cartesian_prod(x, x)",
          "T.block_diag(x)", "T.block_diag(x, x)", "T.column_stack(())", "T.tensordot(x, x, 0)", "T.tensordot(x, x, ([0], [0]))",
          "T.tensordot(x, x, ([-1], [-1]))", "T.tensordot(x, x)", "T.tensordot(x, x, -1)", "T.kron(x, x)", "x.trace()", "x.diag_embed()",
          "x.diag_embed(1)", "x.diag_embed(-2, 0, 1)", "x.diag_embed(0, 1, 0)", "x.diag_embed(0, 1, 1)", "x.diagflat()", "x.diagflat(-1)",
          "T.argwhere(x)", "x.diff()", "x.diff(2, 0)", "x.diff(0)", "x.diff(9)", "x.diff(-1)", "x.diff(1, -1, x, x)")
# x and w are [3, 4], z is x with a NaN.
MADE = ("T.cumprod(x, 1)", "T.cumprod(x, 0)", "T.logcumsumexp(x, 1)", "T.cummax(x, 1)", "T.cummin(x, 0)",
        "T.nansum(z, 1)", "T.nanmean(z)", "T.nanmean(z, 1, True)", "T.aminmax(x, dim=1)", "T.kthvalue(x, 2)",
        "T.kthvalue(x, 2, 0, True)", "T.msort(x)", "T.quantile(x, .3)", "T.quantile(x, .3, 1)",
        "T.quantile(x, T.tensor([.1, .5, 1.]), 1, True)", "T.quantile(x, T.tensor([.1, .5, 1.]))",
        "T.quantile(z, .5, 1)", "T.nanquantile(z, .4, 1)", "T.nanquantile(z, T.tensor([.2, .9]), 0)",
        "T.quantile(x, .3, 0, interpolation='nearest')", "T.quantile(x, .3, 0, interpolation='lower')",
        "T.quantile(x, .3, 0, interpolation='higher')", "T.quantile(x, .3, 0, interpolation='midpoint')",
        "T.quantile(x, .5, None, True)", "T.bincount(i)", "T.bincount(i, x.reshape(-1)[:i.numel()])",
        "T.bincount(i, minlength=9)", "T.searchsorted(s, x)", "T.searchsorted(s, x, right=True)",
        "T.searchsorted(s, .3)", "T.searchsorted(T.stack([s, s+1, s-1]), x)", "T.bucketize(x, s)",
        "T.bucketize(s, s, right=True)", "T.isin(i, T.tensor([1, 3]))", "T.isin(i, T.tensor([1, 3]), invert=True)",
        "T.isin(i, 1)", "T.cov(x)", "T.cov(x[0])", "T.corrcoef(x)", "T.dist(x, w)", "T.dist(x, w, 1)",
        "x.unfold(1, 2, 1)", "x.unfold(0, 2, 2)", "x.unfold(1, 3, 2)", "x.index_fill(1, j, 2.)",
        "x.index_copy(1, j, x[:, :2])", "x.masked_scatter(x>0, w)", "T.take(x, i)", "x.clone().fill_diagonal_(7.)",
        "T.zeros(7, 2).fill_diagonal_(1., wrap=True)", "x.clone().tril_()", "x.clone().triu_(1)", "x.clone().cumsum_(1)",
        "x.clone().cumprod_(1)", "x.scatter_reduce(1, k, w, 'sum')", "x.scatter_reduce(1, k, w, 'mean')",
        "x.scatter_reduce(1, k, w, 'prod')", "x.scatter_reduce(1, k, w, 'amax')", "x.scatter_reduce(1, k, w, 'amin')",
        "x.scatter_reduce(1, k, w, 'sum', include_self=False)", "x.scatter_reduce(1, k, w, 'mean', include_self=False)",
        "x.scatter_reduce(1, k, w, 'prod', include_self=False)", "x.scatter_reduce(1, k, w, 'amax', include_self=False)",
        "x.scatter_reduce(1, k, w, 'amin', include_self=False)", "x.clone().scatter_reduce_(1, k, w, 'amax')")
SAMPLED = ("F.fold(F.unfold(im, 2), (4, 5), 2)",
           "F.fold(F.unfold(im, (2, 3), padding=1, stride=2), (4, 5), (2, 3), padding=1, stride=2)",
           "F.fold(F.unfold(im, 2, dilation=2), (4, 5), 2, dilation=2)", "F.affine_grid(th, (2, 3, 3, 4))",
           "F.affine_grid(th, (2, 3, 3, 4), align_corners=True)", "F.grid_sample(im, gr)",
           "F.grid_sample(im, gr, align_corners=True)", "F.grid_sample(im, gr, padding_mode='border')",
           "F.grid_sample(im, gr*2, padding_mode='reflection')",
           "F.grid_sample(im, gr*3, padding_mode='reflection', align_corners=True)", "F.local_response_norm(im, 2)",
           "F.local_response_norm(im, 3, .1, .5, 2.)", "F.embedding_bag(i2, w)", "F.embedding_bag(i2, w, mode='sum')",
           "F.embedding_bag(i2, w, mode='max')", "F.embedding_bag(i1, w, of)", "F.embedding_bag(i1, w, of, mode='max')",
           "F.embedding_bag(i1, w, of, mode='sum', per_sample_weights=ps)",
           "F.embedding_bag(i1, w, T.tensor([0, 2, 6]), mode='sum', include_last_offset=True)",
           "F.embedding_bag(i1, w, of, padding_idx=1)", "F.embedding_bag(i1, w, of, mode='max', padding_idx=1)",
           "F.embedding_bag(i2, w, padding_idx=-1, mode='sum')", "F.ctc_loss(F.log_softmax(lp, 2), tg, (5, 4), (2, 3))",
           "F.ctc_loss(F.log_softmax(lp, 2), tg, T.tensor([5, 4]), T.tensor([2, 1]), reduction='none')",
           "F.ctc_loss(F.log_softmax(lp, 2), T.tensor([1, 2, 2, 1, 3]), (5, 5), (2, 3), reduction='sum')",
           "F.ctc_loss(F.log_softmax(lp, 2), tg, (5, 2), (2, 3), reduction='none', zero_infinity=True)",
           "F.ctc_loss(F.log_softmax(lp, 2), tg, (5, 5), (0, 3), reduction='none', blank=3)",
           "F.ctc_loss(F.log_softmax(lp[:, 0], 1), tg[0], T.tensor(5), T.tensor(3))")
ALONE = ("T.triu_indices(3, 4)", "T.triu_indices(4, 3, 1)", "T.triu_indices(0, 3)", "T.triu_indices(-1, 3)", "T.tril_indices(3, 4, -1)",
         "T.tril_indices(2, 2, 9)", "T.tril_indices(2, 2, dtype=T.int32)", "T.block_diag()")
LIMITS = ("bits", "max", "min", "dtype")


def collect(c):
    """Adds them all."""
    for source in SHAPES:
        for shape in ((2, 4), (4,), (), (0, 2), (2, 2, 2)):
            c.add(source, drawn("x", shape))
            c.add(source, drawn("x", shape, "int64"))
    for p in ("0.", "1", "2.", "3.", ".5", "-1."):
        for shapes in (((3, 2), (4, 2)), ((2, 3, 2), (4, 2)), ((3, 2), (4, 3)), ((2,), (4, 2)), ((0, 2), (3, 2)), ((3, 0), (2, 0)),
                       ((30, 2), (4, 2))):
            c.add(f"T.cdist(x, y, {p})", drawn("x", shapes[0]), drawn("y", shapes[1]), tolerance=16.0)
    c.add("T.cdist(x, x)", drawn("x", (4, 2)))
    settings = ("z = x.masked_fill(x > 0.8, nan); i = T.tensor([1, 0, 3, 3, 5]); j = T.tensor([2, 0]); "
                "s = T.tensor([-.9, -.2, -.2, .3, .8]); k = T.tensor([[0, 1, 1, 2], [3, 3, 3, 3], [0, 0, 2, 1]]); ")
    for source in MADE:
        c.add(settings + source, drawn("x", (3, 4)), drawn("w", (3, 4)))
    settings = ("gr = gr * 1.2; w = w - 0.5; i2 = T.tensor([[0, 1, 5], [2, 2, 4]]); i1 = T.tensor([0, 1, 1, 4, 5, 2]); "
                "of = T.tensor([0, 2, 2, 4]); tg = T.tensor([[1, 2, 3], [1, 1, 2]]); ")
    for source in SAMPLED:
        c.add(settings + source, drawn("im", (2, 3, 4, 5)), drawn("th", (2, 2, 3)), drawn("gr", (2, 3, 4, 2)), drawn("w", (6, 3)),
              drawn("lp", (5, 2, 4)), drawn("ps", (6,)), tolerance=16.0)
    for source in ALONE:
        c.add(source)
    for dtype in ("float16", "bfloat16", "float32", "float64", "int64"):
        for what in LIMITS + ("eps", "tiny", "smallest_normal", "resolution"):
            c.add(f"T.finfo(T.{dtype}).{what}")
    for dtype in ("uint8", "int32", "int64", "float32"):
        for what in LIMITS:
            c.add(f"T.iinfo(T.{dtype}).{what}")
    c.add("str(T.finfo(T.float16))")
    c.add("T.finfo().max")
