# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays that a function makes of tensors and takes numbers out of are part of graphs; whatever else they are asked for is CPython's."""
import itertools
import random

import pytest

import janus
from shares import share
from texts import names_of

np = pytest.importorskip("numpy")

MADE = {"a loss": "y.sum().detach().cpu().numpy()", "of no history": "x.sum().numpy()", "forced": "y.sum().numpy(force=True)", "ints": "x.argmax().numpy()",
        "truth": "(x.sum() > 3).numpy()", "a double": "x.double().mean().numpy()", "a half": "x.half().mean().numpy()", "one": "x[:1].numpy()", "row": "x.numpy()",
        "table": "y.detach().reshape(2, 2).numpy()", "it requires grad": "y.sum().numpy()", "a parameter's": "w.data.sum().numpy()", "bf16": "x.bfloat16().sum().numpy()"}
# What graphs are made of, for arrays without dims.
TAKEN = ("float(a)", "int(a)", "bool(a)", "a.item()", "a.tolist()", "a.shape", "a.ndim", "a.size", "1 if a else 2", "math.sqrt(abs(float(a)))", "isinstance(a, np.ndarray)",
         "type(a) is np.ndarray", "not a", "f'{a.item():.3f}'", "float(a) + a.item()", "hasattr(a, 'item')")
OTHER = ("a", "a + 1", "1 + a", "a * x", "x * a", "a == 1", "1 != a", "a < x", "a is a", "[a]", "(a, float(a))", "str(a)", "repr(a)", "f'{a}'", "f'{a:.3f}'", "'%.2f' % a", "len(a)",
         "a[0]", "[v for v in a]", "list(a)", "np.mean(a)", "np.sqrt(a)", "a.mean()", "a.dtype", "hasattr(a, 'mean')", "hasattr(a, 'nothing')", "-a", "abs(a)", "a ** 2",
         "max(a, 1)", "min([a, a])", "sum([a, a])", "a in [1.0]", "{a: 1}", "round(a, 1)", "math.isnan(a)", "math.floor(a)", "janus.tensor(a)", "janus.from_numpy(a)", "janus.as_tensor(a)",
         "copy.copy(a)", "copy.deepcopy(a)", "isinstance(a, float)", "type(a).__name__", "a.item(0)", "a.astype('float64')", "a.sum().item()", "x[a]", "[1, 2, 3][a]", "range(a)", "a and 1", "a or 1",
         "a.nothing", "kept.append(a)", "vars(a)", "callable(a)", "dir(a)[:1]", "hash(a)", "a.__class__", "a.T", "a.real", "a.flags.writeable", "any([a])", "sorted([a, 2])",
         "print(a)", "a.fill(2)", "setattr(a, 'k', 1)", "a.copy()", "id(a) == id(a)", "divmod(a, 2)", "pow(a, 2)", "slice(a)", "'abc'[a:]", "complex(a)", "str(float(a))", "np.asarray(a)",
         "np.float32(a)", "float(np.asarray(a))", "a @ a", "a.__float__()", "a.__len__()", "a.__bool__()", "a.__init__(3)", "a.__array_priority__")
PLACES = {"plain": "r = {e}", "try": "try:\n        r = {e}\n    except Exception as e:\n        r = type(e).__name__", "written": "x.add_(1)\n    r = {e}",
          "kept": "r = {e}\n    kept.append(a.item())", "in an arm": "r = None\n    if x.sum() > 4:\n        r = {e}", "in a loop": "r = []\n    for _ in range(k):\n        r.append({e})"}
TEXT = """
kept = []
def f(x, w, k):
    y = (x * w).tanh()
    a = {made}
    {place}
    return r, (y * 2).sum()
"""


def frozen(v):
    if isinstance(v, (list, tuple)):
        return type(v).__name__, [frozen(i) for i in v]
    if isinstance(v, np.ndarray):
        return "array", str(v.dtype), v.shape, repr(v.tolist())
    if isinstance(v, janus.Tensor):
        return "tensor", str(v.dtype), repr(v.tolist()), v.requires_grad
    return type(v).__name__, "nan" if v != v else v if isinstance(v, (int, float, str, type(None))) else repr(v)


def outcomes(text, decorated):
    names = names_of(text, janus=janus, np=np, math=__import__("math"), copy=__import__("copy"))
    f = janus.function(names["f"], verify="never", measure=False, numerics="exact", regions=False) if decorated else names["f"]
    w = janus.tensor([0.5, -1.0, 2.0, 0.25], requires_grad=True)
    seen = []
    for i in range(5):
        x = janus.tensor([1.0, 2.5, -0.5, 3.0]) * (i + 1) / 2
        try:
            r, y = f(x, w, i % 3)
            y.backward()
            seen.append(frozen(r) + (y.item(),))
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
        seen.append((x.tolist(), [frozen(k) for k in names["kept"]], None if w.grad is None else w.grad.tolist()))
    return seen, f


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", MADE)
def test_arrays_do_what_they_do_in_cpython(made, capfd):
    texts = [TEXT.format(made=MADE[made], place=PLACES[p].format(e=e)) for p, e in itertools.product(PLACES, TAKEN + OTHER)]
    random.Random(made).shuffle(texts)
    for text in share(texts):
        want, got = outcomes(text, False)[0], outcomes(text, True)[0]
        assert got == want, text
    capfd.readouterr()


@pytest.mark.parametrize("place", [p for p in PLACES if p != "in an arm"])  # where some of these values do not go by path
@pytest.mark.parametrize("made", list(MADE)[:7])
def test_numbers_of_arrays_are_of_the_graph(made, place):
    for e in share(TAKEN):
        text = TEXT.format(made=MADE[made], place=PLACES[place].format(e=e))
        want, (got, f) = outcomes(text, False)[0], outcomes(text, True)
        assert got == want, text
        assert f.stats()["graph"] > 0, (text, janus.explain(f))
