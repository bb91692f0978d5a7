# SPDX-License-Identifier: Apache-2.0
"""janus: imperative deep-learning programs run as speculative symbolic graphs."""
from . import _other_project

_other_project.refuse(__path__)

from . import (_C, _between, _compat, _elements, _generator, _limits, _math, _pairs, _places, _random, _runs, _shape,  # noqa: E402
               _stacks, _statistics, _tensor, _arrays)
from ._C import __version__  # noqa: E402

# Everything public of the C part and of these modules is a name of the package.
for _part in (_C, _generator, _shape, _stacks, _math, _elements, _between, _statistics, _runs, _places, _pairs, _limits,
              _random, _tensor, _compat):
    for _name, _value in vars(_part).items():
        if not _name.startswith("_") and getattr(_value, "__name__", "") not in ("builtins", "math", "types") \
                and _name not in ("autograd", "backward", "cuda", "register_hook", "numpy", "type", "cuda_", "tensor_text",
                                  "method", "collections"):
            globals()[_name] = _value
del _part, _name, _value

from . import amp, autograd, cuda, linalg  # noqa: E402
from ._print import set_printoptions  # noqa: E402

autograd.Variable = _compat.Variable
from math import e, inf, nan, pi  # noqa: E402
newaxis = None
strided, preserve_format, contiguous_format = "strided", "preserve_format", "contiguous_format"

from . import data, distributions, nn, optim, utils  # noqa: E402
from ._dump import dump  # noqa: E402
from ._check import check  # noqa: E402
from ._explain import Explanation, explain  # noqa: E402
from . import debug  # noqa: E402
from ._profile import profile  # noqa: E402
from ._merge import Merged, merge  # noqa: E402
from ._vmap import checkpoint, vmap  # noqa: E402
from ._words import PerformanceWarning  # noqa: E402
from .io import load, save  # noqa: E402
from ._export import LoadedGraph, export, load_graph  # noqa: E402

import os as _os  # noqa: E402
if _os.environ.get("JANUS_DEVICE"):
    cuda.why_unavailable()
    _C.set_default_device(_os.environ["JANUS_DEVICE"])
