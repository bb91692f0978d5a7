# SPDX-License-Identifier: Apache-2.0
"""fold, grid_sample, embedding_bag, CTC and their like, beside loops over numbers; as graphs they give the same."""
import itertools
import math

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from texts import names_of


def near(a, b, room=1e-5):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, room) for x, y in zip(a, b))
    return a == b or math.isclose(a, b, rel_tol=room, abs_tol=room)


def drawn(*shape, pace=1.7):
    return janus.tensor([math.sin(pace * i) for i in range(math.prod(shape))]).reshape(shape)


@pytest.mark.parametrize("kernel, dilation, padding, stride", [(2, 1, 0, 1), ((2, 3), 1, 1, 2), (2, 2, 0, 1), (3, 1, (1, 0), (2, 1))])
def test_fold_is_the_transpose_of_unfold(kernel, dilation, padding, stride):
    """<unfold(x), y> = <x, fold(y)>."""
    x = drawn(2, 3, 5, 6)
    columns = F.unfold(x, kernel, dilation, padding, stride)
    y = drawn(*columns.shape, pace=0.9)
    folded = nn.Fold((5, 6), kernel, dilation, padding, stride)(y)
    assert folded.shape == x.shape and near((columns * y).sum().item(), (x * folded).sum().item(), 1e-4)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_the_grid_of_no_move_gives_the_image(mode, corners):
    x = drawn(2, 3, 4, 5)
    still = janus.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]] * 2)
    grid = F.affine_grid(still, (2, 3, 4, 5), corners)
    for outside in ("zeros", "border", "reflection"):
        assert near(F.grid_sample(x, grid, mode, outside, corners).tolist(), x.tolist(), 1e-4)
    turned = F.affine_grid(janus.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]] * 2), (2, 3, 4, 5), corners)
    assert near(F.grid_sample(x, turned, mode, align_corners=corners).tolist(), x.flip(3).tolist(), 1e-4)


def test_outside_of_the_image():
    x, far = drawn(1, 1, 3, 3), janus.full((1, 1, 1, 2), 5.0)
    assert F.grid_sample(x, far).item() == 0 and F.grid_sample(x, far, padding_mode="border").item() == x[0, 0, 2, 2].item()


def bag_of(rows, mode):
    columns = list(zip(*rows))
    return [{"sum": sum, "mean": lambda c: sum(c) / len(c), "max": max}[mode](c) for c in columns] if rows else [0.0, 0.0, 0.0]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_bags(mode, padding):
    table, index, offsets = drawn(6, 3), [0, 1, 1, 4, 5, 2], [0, 2, 2, 5]
    layer = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=padding, _weight=table)
    got = layer(janus.tensor(index), janus.tensor(offsets)).tolist()
    for bag, (begin, end) in enumerate(zip(offsets, offsets[1:] + [6])):
        assert near(got[bag], bag_of([table[i].tolist() for i in index[begin:end] if i != padding], mode))
    assert near(layer(janus.tensor([index[:3], index[3:]])).tolist(),
                [bag_of([table[i].tolist() for i in part if i != padding], mode) for part in (index[:3], index[3:])])


def collapsed(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 3], [3, 1, 3], [1, 1, 1, 1]])
def test_ctc_is_the_sum_over_all_paths(labels, blank):
    """4 steps, 4 classes: 256 paths."""
    scores = drawn(4, 1, 4, pace=2.9).log_softmax(2).requires_grad_()
    sums = {}
    for path in itertools.product(range(4), repeat=4):
        if collapsed(path, blank) == labels:
            sums[path] = math.exp(sum(scores[t, 0, k].item() for t, k in enumerate(path)))
    want = -math.log(sum(sums.values())) if sums else math.inf
    rows = janus.tensor([labels + [1] * (4 - len(labels))])
    loss = F.ctc_loss(scores, rows, (4,), (len(labels),), blank, "none")
    assert near(loss.item(), want)
    assert F.ctc_loss(scores, rows, (4,), (len(labels),), blank, "none", True).item() == (loss.item() if sums else 0)
    if sums:
        loss.sum().backward()
        shares = [[-sum(p for path, p in sums.items() if path[t] == k) / sum(sums.values()) for k in range(4)] for t in range(4)]
        assert near(scores.grad[:, 0].tolist(), shares, 1e-4)


def test_ctc_forms():
    """Rows, one vector of all targets, one sequence without a batch, lengths that end before the scores do."""
    scores = drawn(5, 2, 4, pace=2.9).log_softmax(2)
    rows, ends, lengths = janus.tensor([[1, 2, 3], [1, 1, 2]]), janus.tensor([5, 3]), janus.tensor([2, 1])
    each = F.ctc_loss(scores, rows, ends, lengths, reduction="none")
    assert near(F.ctc_loss(scores, janus.tensor([1, 2, 1]), ends, lengths, reduction="none").tolist(), each.tolist())
    assert near(F.ctc_loss(scores[:3, 1], rows[1], janus.tensor(3), janus.tensor(1), reduction="none").item(), each[1].item())
    assert near(nn.CTCLoss()(scores, rows, ends, lengths).item(), (each[0].item() / 2 + each[1].item()) / 2)
    assert near(nn.CTCLoss(reduction="sum")(scores, rows, ends, lengths).item(), each.sum().item())


def test_norm_of_neighbours():
    x = drawn(2, 5, 3)
    got = nn.LocalResponseNorm(3, 0.1, 0.5, 2.0)(x)
    for c in range(5):
        squares = sum(x[:, d] * x[:, d] for d in range(max(c - 1, 0), min(c + 2, 5)))
        assert near(got[:, c].tolist(), (x[:, c] / (2 + 0.1 / 3 * squares) ** 0.5).tolist())


def test_alpha_dropout():
    """Mean and variance stay; without training, and without dropping, so does all."""
    janus.manual_seed(3)
    x = janus.randn(200000)
    y = nn.AlphaDropout(0.3)(x)
    assert abs(y.mean().item()) < 0.02 and abs(y.var().item() - 1) < 0.02
    assert nn.AlphaDropout(0.3).eval()(x) is x and F.alpha_dropout(x, 0.0, True) is x


CALLS = ["F.fold(a.reshape(1, 4, 6), (3, 4), 2)", "F.grid_sample(b, b.permute(0, 2, 3, 1)[..., :2])", "F.local_response_norm(b, 3)",
         "F.grid_sample(b, b.permute(0, 2, 3, 1)[..., :2], 'bilinear', 'reflection')", "F.affine_grid(a[:2, :3].reshape(1, 2, 3), (1, 1, 3, 2))",
         "F.embedding_bag(i, a, janus.tensor([0, 1, 3]))", "F.embedding_bag(i, a, janus.tensor([0, 1, 3]), mode='max')",
         "F.embedding_bag(i.reshape(2, 3), a)",
         "F.ctc_loss(a.reshape(4, 2, 3).log_softmax(2), i[:4].reshape(2, 2) % 2 + 1, (4, 3), (2, 1))"]


@pytest.mark.parametrize("call", CALLS)
def test_as_graphs(call):
    f = names_of(f"def f(a, b, i):\n    return {call} * 1\n", janus=janus, F=F)["f"]
    g = janus.function(f, measure=False)
    for round in range(4):
        results = []
        for run in (f, g):
            a, b = (drawn(6, 4) + round).requires_grad_(), (drawn(1, 3, 4, 5) + round).requires_grad_()
            y = run(a, b, janus.tensor([0, 3, 1, 2, 5, 5]))
            y.sum().backward()
            results.append([y.tolist()] + [None if t.grad is None else t.grad.tolist() for t in (a, b)])
        assert all(x == y or near(x, y, 1e-4) for x, y in zip(*results))
    assert g.stats()["graph"] > 0, str(janus.explain(g))


@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("corners", [False, True])
def test_the_nearest_place_has_no_slope(padding, corners):
    """A grid that requires grad gets zeros, eager and as a graph, and the image what was taken of it."""
    def gradients(image, grid):
        image, grid = image.detach().requires_grad_(), grid.detach().requires_grad_()
        F.grid_sample(image, grid, "nearest", padding, corners).sum().backward()
        return image.grad, grid.grad

    image, grid = drawn(2, 3, 4, 5), drawn(2, 3, 2, 2, pace=0.7) * 1.2
    taken = F.grid_sample(janus.ones(2, 3, 4, 5), grid, "nearest", padding, corners)
    for function in gradients, janus.function(gradients, verify="always"):
        for _ in range(3):
            of_image, of_grid = function(image, grid)
            assert of_grid.tolist() == janus.zeros(2, 3, 2, 2).tolist()
            assert near(float(of_image.sum()), float(taken.sum()))
