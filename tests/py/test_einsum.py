# SPDX-License-Identifier: Apache-2.0
"""einsum against NumPy's."""
import pytest

import janus

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]),
    ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("i,j->ij", [(2,), (3,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]), ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(6, 2, 3, 4), (2, 4, 5)]), ("...i->...", [(2, 3)]), ("i...,i...->...", [(3, 2), (3, 2)]),
    ("...ij,jk", [(2, 3, 4), (4, 5)]), ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("ij,ij->ij", [(1, 3), (2, 3)]),
])
def test_is_numpys(equation, shapes):
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape) for shape in shapes]
    got = janus.einsum(equation, *[janus.tensor(a, dtype=janus.float64) for a in arrays])
    np.testing.assert_allclose(got.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation, shapes, error", [
    ("ij,jk->ik", [(2, 3), (4, 5)], RuntimeError), ("ij->i", [(2, 3, 4)], RuntimeError),
    ("...ij->...", [(2,)], RuntimeError), ("ij,jk->ik", [(2, 3)], ValueError),
])
def test_what_does_not_fit(equation, shapes, error):
    with pytest.raises(error):
        janus.einsum(equation, *[janus.ones(shape) for shape in shapes])
