# SPDX-License-Identifier: Apache-2.0
"""`squeeze_()` and `unsqueeze_()`: of a tensor with a history they say that its gradient would have another shape."""
import pytest

import janus


@pytest.mark.parametrize("decorate", [lambda f: f, lambda f: janus.function(f, measure=False)])
@pytest.mark.parametrize("name, dims", [("squeeze", (0,)), ("squeeze", ()), ("unsqueeze", (0,)), ("unsqueeze", (-1,))])
@pytest.mark.parametrize("history", [False, True])
def test_reshaped_in_place(name, dims, history, decorate):
    @decorate
    def f(x):
        y = x * 2
        getattr(y, name + "_")(*dims)
        return y

    for _ in range(4):
        x = janus.ones(1, 3, requires_grad=history)
        if history:
            with pytest.raises(RuntimeError, match=rf"{name}_\(\): .* keeps its shape: use y = y.{name}\(\)"):
                f(x)
        else:
            assert f(x).shape == getattr(x, name)(*dims).shape
    leaf = janus.ones(1, 3)
    getattr(leaf, name + "_")(*dims)
    assert leaf.shape == getattr(janus.ones(1, 3), name)(*dims).shape
