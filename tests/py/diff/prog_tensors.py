# SPDX-License-Identifier: Apache-2.0
"""Programs of tensor operations without control flow."""

import janus
import janus.nn.functional as F

from .harness import MUST, case, t


@case
def add(function, log):
    @function
    def f(a, b):
        return a + b

    for i in range(4):
        log(f(t(2, 3, seed=i), t(2, 3, seed=i + 1)))


@case
def arithmetic_with_scalars(function, log):
    @function
    def f(a):
        return 2 * a - a / 3 + (1 - a) ** 2 - a // 0.5 + a % 0.3

    for i in range(3):
        log(f(t(5, seed=i)))


@case
def broadcasting(function, log):
    @function
    def f(a, b, c):
        return (a + b) * c

    for i in range(3):
        log(f(t(4, 1, 3, seed=i), t(5, 1), t(3, seed=2)))


@case
def matmul_shapes(function, log):
    @function
    def f(a, b):
        return a @ b

    for shapes in [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)),
                   ((5, 2, 3), (5, 3, 4))]:
        for _ in range(2):
            log(f(t(*shapes[0]), t(*shapes[1], seed=1)))


@case
def unary_functions(function, log):
    @function
    def f(x):
        return x.tanh(), x.sigmoid(), x.exp(), (x.abs() + 1).log(), (x * x).sqrt(), F.relu(x), -x, x.abs()

    for i in range(3):
        log(f(t(7, seed=i)))


@case
def reductions(function, log):
    @function
    def f(x):
        return x.sum(), x.mean(dim=0), x.sum(dim=1, keepdim=True), x.max(), x.min(), x.argmax(dim=1)

    for i in range(3):
        log(f(t(3, 4, seed=i)))


@case
def max_along_a_dim(function, log):
    @function
    def f(x):
        values, indices = x.max(dim=1)
        return values + 1, indices

    for i in range(3):
        log(f(t(3, 4, seed=i)))


@case
def shapes_and_views(function, log):
    @function
    def f(x):
        a = x.reshape(3, 4).transpose(0, 1)
        return a, a.reshape(-1), x.view(2, 6).unsqueeze(0).squeeze(0), x.reshape(2, 2, 3).permute(2, 0, 1)

    for i in range(3):
        log(f(t(12, seed=i)))


@case
def slicing(function, log):
    @function
    def f(x):
        return x[1], x[:, 1:3], x[..., -1], x[::2], x[None], x[-2:, 0]

    for i in range(3):
        log(f(t(4, 5, seed=i)))


@case
def index_with_tensor(function, log):
    @function
    def f(x, i):
        return x[i], x.index_select(0, i)

    for i in range(3):
        log(f(t(5, 2, seed=i), janus.tensor([4, 0, 2 + (i % 2)])))


@case
def cat_and_stack(function, log):
    @function
    def f(a, b):
        return janus.cat([a, b], dim=1), janus.stack([a, b, a], dim=0), janus.cat((a, b))

    for i in range(3):
        log(f(t(2, 3, seed=i), t(2, 3, seed=9)))


@case
def chunk_and_split(function, log):
    @function
    def f(x):
        a, b, c = x.chunk(3, dim=1)
        d, e = x.split(3, dim=1)
        return a * b + c, d, e

    for i in range(3):
        log(f(t(2, 6, seed=i)))


@case
def where_and_comparisons(function, log):
    @function
    def f(a, b):
        return janus.where(a > b, a, b), a == b, (a < b).sum(), a >= 0.5

    for i in range(3):
        log(f(t(6, seed=i), t(6, seed=i + 1)))


@case
def softmax_and_losses(function, log):
    @function
    def f(x, y):
        return F.softmax(x, dim=1), F.log_softmax(x, dim=-1), F.cross_entropy(x, y), F.mse_loss(x, x * 0.5)

    for i in range(3):
        log(f(t(4, 3, seed=i), janus.tensor([0, 2, 1, i % 3])))


@case
def embedding_lookup(function, log):
    w = t(6, 3, seed=4)

    @function
    def f(i):
        return F.embedding(i, w) * 2

    for i in range(3):
        log(f(janus.tensor([[1, 5], [0, i]])))


@case
def dtypes_promote(function, log):
    @function
    def f(a, b, c):
        return a + b, b + c, a * 2, b * 2.5, c + 1, b / 2, a > 0

    for i in range(3):
        log(f(t(3, seed=i), janus.tensor([1, 2, 3 + i]), janus.tensor([True, False, True])))


@case
def float64_stays(function, log):
    @function
    def f(a):
        return (a * 1.1).sum() + a.mean()

    for i in range(3):
        log(f(t(9, seed=i, dtype=janus.float64)))


@case
def new_shape_each_call(function, log):
    @function
    def f(a):
        return (a * 2).sum(dim=0)

    for n in (3, 3, 4, 5, 3, 0, 1):
        log(f(t(n, 2)))


@case
def zero_dims_and_empty(function, log):
    @function
    def f(a, b):
        return a + b, b.sum(), a * b.sum()

    for _ in range(3):
        log(f(t(), t(0)))


@case
def conv_and_pool(function, log):
    w, b = t(4, 2, 3, 3, seed=2), t(4, seed=3)

    @function
    def f(x):
        return F.max_pool2d(F.relu(F.conv2d(x, w, b, stride=1, padding=1)), 2)

    for i in range(3):
        log(f(t(2, 2, 6, 6, seed=i)))


@case
def layer_norm(function, log):
    @function
    def f(x, w, b):
        return F.layer_norm(x, (5,), w, b)

    for i in range(3):
        log(f(t(3, 5, seed=i), t(5, seed=7), t(5, seed=8)))


@case
def casts(function, log):
    @function
    def f(x):
        return x.long(), x.double(), (x > 0).float(), x.to(janus.float64).float(), x.int()

    for i in range(3):
        log(f(t(5, seed=i) * 3))


@case
def creation_inside(function, log):
    @function
    def f(x):
        return janus.zeros(2, 3) + x, janus.ones_like(x), janus.arange(4), janus.full((2,), 7.0), janus.eye(2)

    for i in range(3):
        log(f(t(2, 3, seed=i)))


@case
def constant_tensor_inside(function, log):
    @function
    def f(x):
        return x + janus.tensor([1.0, 2.0, 3.0]) * janus.tensor(2)

    for i in range(3):
        log(f(t(3, seed=i)))


@case
def shape_arithmetic(function, log):
    @function
    def f(x):
        n, m = x.shape
        return x.reshape(m, n) / (n * m) + x.size(0) + x.dim() + len(x)

    for i in range(3):
        log(f(t(2, 5, seed=i)))


@case
def item_and_back(function, log):
    @function
    def f(x):
        s = x.sum().item()
        return x * s, s

    for i in range(3):
        log(f(t(4, seed=i)))


@case
def nan_and_inf_values(function, log):
    @function
    def f(x):
        return x + float("nan"), x / 0.0, x * float("inf"), (x / 0.0).max()

    for i in range(3):
        log(f(t(3, seed=i)))


@case(graph=MUST)
def tensors_as_indices(function, log):
    """A tensor of no dims is an index, also among others, and the place of a write; its gradient goes there."""

    @function
    def pick(x, i, j):
        y = x * 2
        y[i] = 7.0
        return y[i, j] + x[:, j].sum() + y[..., i].sum() + y[x[:, 0].argmax()].sum()

    for i, j in ((0, 1), (0, 1), (2, 3), (-1, -2), (1, 0)):
        x = t(3, 4, grad=True)
        y = pick(x, janus.tensor(i), janus.tensor(j))
        y.backward()
        log(y, x.grad)
    log.raises(pick, t(3, 4), janus.tensor(3), janus.tensor(0))


@case(graph=MUST)
def tensors_as_operands(function, log):
    @function
    def fill(x, v):
        return x.masked_fill(x > 0, v), janus.addcmul(x, x, x, value=v), x.masked_fill(x < 0, v + 1)

    for v in (0.5, 0.5, 2.0):
        log(*fill(t(3, 4), janus.tensor(v)))


@case(graph=MUST)
def strides_of_results(function, log):
    """What leaves has the strides of the program's tensor, with a history and without."""

    @function
    def views(x):
        y = x * 2
        return [y.t(), y[:, 1:3].clone()[::2], (x + 1).expand(2, 3, 4), (x + 2)[None], (x + 3)[..., None, :],
                (x + 4).chunk(2, 1)[1], (x + 5).sum(0).expand(5, 4), (x + 6).t().detach(), (x + 7)[:1, ::2]]

    for grad in (False, True):
        for _ in range(3):
            out = views(t(3, 4, grad=grad))
            log(*out)
            log([(y.stride(), y.is_contiguous()) for y in out])


@case(graph=MUST)
def view_of_pieces(function, log):
    @function
    def heads(x):
        q, k = (x * 2).split(4, 2)
        return q.view(2, 3, 2, -1).transpose(1, 2) @ k.view(2, 3, 2, -1).transpose(1, 2).transpose(-2, -1)

    for _ in range(3):
        log(heads(t(2, 3, 8)))
