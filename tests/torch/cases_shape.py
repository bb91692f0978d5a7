# SPDX-License-Identifier: Apache-2.0
"""Cases: shapes, views and joins."""
from inputs import drawn, given

DIMS = ("0", "1", "-1", "2", "-3", "5", "2**40", "None", "1.5", "T.tensor(0)", "True", "np.int64(0)")
SHAPES = ("(6,)", "(2, 3)", "(-1,)", "(3, -1)", "(-1, -1)", "(4,)", "()", "(1, 6, 1)", "(0, -1)", "6", "(2, 3, 1)", "(-2, 3)",
          "(2**40, 2**40)")

ONE_DIM = ("T.unsqueeze(x, {})", "x.squeeze({})", "x.unbind({})", "T.flip(x, ({},))", "x.flip({})", "x.select({}, 0)",
           "x.narrow({}, 0, 1)", "x.size({})", "x.cumsum({})", "T.stack([x, x], {})", "T.cat([x, x], {})", "x.split(1, {})",
           "x.chunk(2, {})", "x.roll(1, {})", "x.transpose(0, {})", "x.movedim(0, {})", "x.flatten({})", "x.flatten(0, {})",
           "x.stride({})", "x.softmax({})", "x.log_softmax({})", "x.unfold({}, 1, 1)", "x.sum({})", "x.max({})", "x.sort({})",
           "x.argmax({})", "x.repeat_interleave(2, {})", "T.unflatten(x, {}, (1, -1))", "x.diagonal({})", "x.tril({})", "x.triu({})",
           "x.expand({})", "x.repeat({})", "x.tile({})", "x.index_select({}, T.tensor([0]))", "F.softmax(x, dim={})",
           "F.normalize(x, dim={})", "F.glu(x, {})", "T.diag(x, {})", "x.squeeze(({}, 0))", "x.swapaxes(0, {})")


def collect(c):
    """Adds them all."""
    for source in ONE_DIM:
        for dim in DIMS:
            for shape in ((2, 3), (1,), (), (0, 2), (2, 1, 2)):
                if shape in ((2, 3), ()) or dim in ("0", "-1", "1"):
                    c.add(source.format(dim), drawn("x", shape), tolerance=2)
    for source in ("x.reshape({})", "x.view({})", "x.reshape(*{0})" if False else "T.reshape(x, {})", "x.view_as(T.zeros({}))",
                   "x.expand({})", "x.broadcast_to({})", "T.broadcast_to(x, {})", "x.repeat({})", "x.tile({})", "x.new_zeros({})",
                   "x.unflatten(0, {})", "x.resize_({}).shape", "x.expand_as(T.zeros({}))"):
        for shape in SHAPES:
            c.add(source.format(shape), drawn("x", (2, 3)))
            c.add(source.format(shape), drawn("x", (2, 3), layout="turned"))
            c.add(source.format(shape), given("x", [], shape=(0,)))
    for x in (drawn("x", (2, 3)), drawn("x", (2, 3), layout="turned"), drawn("x", (3,), layout="stepped"), given("x", 1.5),
              drawn("x", (2, 1, 3)), drawn("x", (0, 3)), drawn("x", (2, 2, 3, 2))):
        for source in (
                "x.t()", "x.T", "x.mT", "x.H", "x.transpose(0, 1)", "x.permute(1, 0)", "x.permute(0)", "x.permute(0, 0)",
                "x.permute(-1, 0, 1)", "x.permute((1, 0))", "T.permute(x, (1, 0))", "x.squeeze()", "x.contiguous()", "x.flatten()", "T.ravel(x)",
                "x.flatten(1)", "x.flatten(0, 1)", "x.flatten(1, 0)", "x.flatten(-2, -1)", "x.reshape(-1)", "x.view(-1)", "x.flip(())", "x.flip(0)",
                "x.flip(0, 1)", "x.flip((0, 0))", "x.fliplr()", "x.flipud()", "x.rot90()", "x.roll(1)", "x.roll((1, 1), (0, 1))", "x.roll((1, 2), 0)", "x.roll(())",
                "x.diagonal()", "x.diagonal(1)", "x.diagonal(-1)", "x.diagonal(0, 0, 0)", "x.diagonal(0, -1, 0)", "x.diagonal(offset=5)",
                "T.diag(x)", "T.diag_embed(x)", "x.movedim(0, -1)", "x.movedim((0, 1), (1, 0))", "x.movedim((0, 0), (0, 1))", "T.moveaxis(x, 0, -1)",
                "x.unsqueeze(0).squeeze(0)", "x.split(2)", "x.split([1, 1])", "x.split([1, 2], 1)", "x.split(0)", "x.split(-1)", "x.split([-1, 3])",
                "x.split(2, dim=-1)", "x.chunk(2)", "x.chunk(0)", "x.chunk(5, -1)", "T.tensor_split(x, 2)", "x.unbind()", "x.unbind(-1)",
                "T.cat([x, x])", "T.cat((x, x), -1)", "T.cat([x, x.long()])", "T.cat([])", "T.cat(x)", "T.cat([x, T.zeros(0)])",
                "T.cat([x, T.zeros(0, 7)])", "T.stack([x, x], -1)", "T.stack([x, x[:1]])", "T.stack([])", "T.stack([x, x.double()])", "T.hstack([x, x])",
                "T.vstack([x, x])", "T.dstack([x, x])", "T.concat([x, x])", "T.cat([x, x], axis=0)", "T.concatenate([x, x])", "T.column_stack([x, x])",
                "x.narrow(0, 0, 1)", "x.narrow(0, 1, 1)", "x.narrow(0, -1, 1)", "x.narrow(0, 1, 5)", "x.narrow(0, 2**63 - 1, 2)", "x.narrow(0, 0, -1)",
                "x.narrow(0, 5, 0)", "x.select(0, 5)", "x.select(0, -1)", "x.select(5, 0)", "x.tril()", "x.triu(1)", "x.tril(-2**31)", "x.expand(2, -1, -1)",
                "x.expand(-1)", "x.expand(-1, 3)", "x.expand(2, 2, 3)", "x.expand(4, 3)", "x.repeat(2, 1)", "x.repeat(2)", "x.repeat(0, 2)", "x.repeat(-1, 2)",
                "x.repeat(2**40, 2**40)", "x.repeat_interleave(2)", "x.repeat_interleave(0)", "x.repeat_interleave(-1)", "x.repeat_interleave(2**33)",
                "x.repeat_interleave(T.tensor([2]))", "x.repeat_interleave(T.tensor([1, 2]), dim=0)", "x.repeat_interleave(T.tensor([1, 2, 0]))",
                "x.repeat_interleave(T.tensor([2]), 0)", "x.repeat_interleave(T.tensor([1., 2.]), 0)", "x.repeat_interleave(T.tensor([-1, 2]), 0)",
                "x.repeat_interleave(T.tensor(2), 0)", "T.repeat_interleave(x, repeats=2, dim=0)", "T.repeat_interleave(x.long().abs())",
                "x.as_strided((2,), (1,))", "x.as_strided((2, 2), (0, 1))", "T.as_strided(x, (1,), (1,), 1)", "x.unfold(0, 1, 1)", "T.broadcast_tensors(x, T.ones(1))",
                "x.is_contiguous()", "x.stride()", "x.storage_offset()", "x.numel()", "x.nelement()", "x.dim()", "x.ndimension()", "x.element_size()",
                "x.size()", "x.shape", "x.size(-1)", "x.shape[0]", "len(x)", "x.detach().requires_grad", "x.is_leaf", "x.clone()", "x.data", "T.atleast_1d(x)", "T.atleast_2d(x)",
                "T.squeeze(x, 0)", "T.swapdims(x, 0, 1)", "T.select(x, 0, 0)", "T.narrow(x, 0, 0, 1)", "T.unbind(x)", "T.clone(x)", "T.detach(x)", "T.t(x)",
                "x.view(x.dtype)", "x.view(T.int32)", "x.view_as(x)", "x.reshape_as(x)", "x.type_as(x.double())", "T.numel(x)", "x.nbytes", "x.itemsize",
                "y = x.clone(); y.t_().shape", "y = x.clone(); y.squeeze_(0).shape", "y = x.clone(); y.unsqueeze_(0).shape", "y = x.clone(); y.transpose_(0, 1).shape",
                "list(x)", "x.tolist()", "[v for v in x]", "bool(x)", "float(x)", "int(x)", "x.item()", "len(x.shape)", "1 in x", "hash(x) == hash(x)", "iter(x).__class__.__name__"):
            c.add(source, x)
    for shapes in ("(2, 3), (3,)", "(2, 1), (1, 3)", "(2,), (3,)", "(), (2,)", "(0,), (1,)", "(2, 3), (2,)", "3, (2, 3)"):
        c.add(f"T.broadcast_shapes({shapes})")
    for pad in ("(1, 1)", "(1, -1)", "(-1, 2)", "(0, 0)", "(2, 2, 1, 1)", "(1,)", "(-2, -2)", "(-5, 1)", "(1, 1, 1, 1, 1, 1)", "(3, 0)", "(4, 4)", "1", "(1, -3)"):
        for mode in ("'constant'", "'reflect'", "'replicate'", "'circular'", "'constant', 2.5", "'x'"):
            for shape in ((3,), (2, 3), (1, 2, 3), (1, 2, 3, 4)):
                c.add(f"F.pad(x, {pad}, {mode})", drawn("x", shape))
        c.add(f"F.pad(x, {pad}, value=7)", drawn("x", (2, 3), "int64"))
        c.add(f"F.pad(x, {pad}, value=True)", given("x", [[0, 1]], "bool"))
    writes = ("x.diagonal().fill_(7)", "x.t().fill_(7)", "x[0].fill_(7)", "x.view(-1)[0].zero_()", "x.reshape(-1).mul_(2)", "x.expand(2, 3, 3).add_(1)",
              "x.unbind()[0].add_(1)", "x.split(1)[1].add_(1)", "x.chunk(2)[0].add_(1)", "x.select(0, 1).add_(1)", "x.narrow(0, 0, 1).add_(1)", "x.squeeze().add_(1)",
              "x.unsqueeze(0).add_(1)", "x.permute(1, 0).add_(1)", "x.movedim(0, 1).add_(1)", "x.flatten().add_(1)", "x.T.add_(1)", "x.transpose(0, 1).add_(1)",
              "x[:, 1].add_(1)", "x[..., None].add_(1)", "x.data.add_(1)", "x.detach().add_(1)", "x.expand_as(x).add_(1)", "x.view_as(x).add_(1)", "x.unflatten(0, (1, 3)).add_(1)",
              "x.as_strided((3,), (4,)).add_(1)", "x.contiguous().add_(1)", "x.to(T.float32).add_(1)", "x.float().add_(1)", "x.swapaxes(0, 1).add_(1)", "x.tile(1).add_(1)",
              "x.diagonal(1).add_(1)", "T.diag(x).add_(1)", "x.roll(1).add_(1)", "x.flip(0).add_(1)", "x.broadcast_to((3, 3)).add_(1)", "x.clone().add_(1)", "T.as_tensor(x).add_(1)",
              "copy.copy(x).add_(1)", "copy.deepcopy(x).add_(1)", "x.cpu().add_(1)", "x.numpy().__iadd__(1)", "x.unfold(0, 1, 1).add_(1)", "T.atleast_2d(x).add_(1)", "x.ravel().add_(1)",
              "F.dropout(x, 0.5, False).add_(1)", "T.broadcast_tensors(x, x)[0].add_(1)", "T.meshgrid(x[0], x[0], indexing='ij')[0].add_(1)", "x.mT.add_(1)", "x.H.add_(1)")
    for write in writes:
        c.add(f"r = {write}; x", drawn("x", (3, 3), grad=False))
        c.add(f"x = x * 1; r = {write}; x", drawn("x", (3, 3)))
