# SPDX-License-Identifier: Apache-2.0
"""`C[i]` of a class may be code of the program: it runs when the program comes to it, as often, and not in a conversion."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

KINDS = {
    "method": "class A:\n    seen = 0\n    def __class_getitem__(cls, item):\n        cls.seen += 1\n        return item",
    "decorated": "class A:\n    seen = 0\n    @decorate\n    def __class_getitem__(cls, item):\n        cls.seen += 1\n        return item",
    "class method": "class A:\n    seen = 0\n    @classmethod\n    def __class_getitem__(cls, item):\n        cls.seen += 1\n        return cls",
    "of a dict": "class A(dict):\n    seen = 0\n    def __class_getitem__(cls, item):\n        cls.seen += 1",
    "of its class": "class M(type):\n    def __getitem__(cls, item):\n        cls.seen += 1\n        return item\n"
                    "class A(metaclass=M):\n    seen = 0",
    "raises": "class A:\n    seen = 0\n    def __class_getitem__(cls, item):\n        cls.seen += 1\n        raise KeyError(item)",
    "none": "class A:\n    seen = 0",
    "native": "class A(dict):\n    seen = 0",
}
USES = {
    "plain": "try:\n    out.append(repr(B[int]))\nexcept (KeyError, TypeError) as e:\n    out.append(repr(e))",
    "conditional": "if x.sum() > 0:\n    try:\n        out.append(repr(B[int]))\n    except (KeyError, TypeError) as e:\n        out.append(repr(e))",
    "loop": "for i in range(3):\n    try:\n        B[i]\n    except (KeyError, TypeError) as e:\n        out.append(repr(e))\n    out.append(B.seen)",
}


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_subscripts_of_classes(kind, use, inside):
    define = KINDS[kind] + "\nclass B(A):\n    pass\n"
    indent = "    " if inside else ""
    text = "".join(f"{indent}{line}\n" for line in define.splitlines())
    body = "out.append(B.seen)\n" + USES[use] + "\nout.append((B.seen, A.seen))\nreturn (x * 2).sum()"
    body = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"def f(x, out):\n{text}{body}" if inside else f"{text}def f(x, out):\n{body}"
    found = []
    for verify in (None, "never", "rarely", "always"):
        def decorate(g):
            return g if verify is None else janus.function(g, verify=verify, measure=False)
        names = names_of(text, janus=janus, decorate=decorate, __name__="program")
        f, seen = decorate(names["f"]), []
        for n in (1, 1, -1, 1, 1):
            out = []
            f(janus.ones(3) * n, out)
            seen.append(out)
        found.append(seen)
    assert all(seen == found[0] for seen in found[1:]), found
