# SPDX-License-Identifier: Apache-2.0
"""index_add of a source without elements: no index is looked at, forward or backward, and all gradients have their shapes."""
import itertools

import pytest

import janus
from shares import share

# dims of the tensor, the dim that is indexed, and indices: where nothing is added any number may stand there
CASES = [(dims, dim, indices) for dims, dim in itertools.product([(0,), (3, 0), (0, 3), (2, 0, 3), (2, 3, 0), (0, 0), (4, 3)], range(3))
         if dim < len(dims) for indices in ([], [0], [1, 0], [7, 7, 7])
         if 0 in dims[:dim] + dims[dim + 1:] or not indices]


@pytest.mark.parametrize("dims, dim, indices", share(CASES))
def test_gradients_of_nothing(dims, dim, indices):
    def gradients(x, source, index):
        x, source = x.detach().requires_grad_(), source.detach().requires_grad_()
        x.index_add(dim, index, source).sum().backward()
        return x.grad, source.grad

    x = janus.ones(dims)
    source = janus.ones(dims[:dim] + (len(indices),) + dims[dim + 1:])
    index = janus.tensor(indices, dtype=janus.int64)
    for function in gradients, janus.function(gradients, verify="always"):
        for _ in range(3):
            of_x, of_source = function(x, source, index)
            assert of_x.shape == x.shape and of_source.shape == source.shape
            assert of_x.tolist() == x.tolist() and not of_source.numel()
