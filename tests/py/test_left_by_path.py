# SPDX-License-Identifier: Apache-2.0
"""What may leave a block on some of its paths (return, break, continue), in each part of each statement that has parts, decided by
each kind of condition: what runs behind it, `finally` and `else` with it, is what runs undecorated."""
import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

CONDITIONS = {"a value": "x.sum() > 0", "a size": "x.shape[0] == n", "a number": "n > 2", "a truth": "log", "both": "n > 2 and x.sum() > 0"}
LEAVES = {"return": "return x - 7", "nothing": "return None", "break": "break", "continue": "continue", "raise": "raise ValueError(n)"}
# {0} may leave, {1} to {3} do something
STATEMENTS = {
    "try": "try:\n    {1}\n    {0}\nexcept KeyError:\n    {2}",
    "else of try": "try:\n    {1}\nexcept KeyError:\n    {2}\nelse:\n    {0}\n    {3}",
    "try with finally": "try:\n    {1}\n    {0}\n    {2}\nfinally:\n    {3}",
    "else before finally": "try:\n    {1}\nexcept KeyError:\n    pass\nelse:\n    {0}\n    {2}\nfinally:\n    {3}",
    "finally": "try:\n    {1}\nfinally:\n    {0}\n    {2}",
    "finally behind a return": "try:\n    {1}\n    return x\nfinally:\n    {0}\n    {2}",
    "handler": "try:\n    {1}\n    raise KeyError\nexcept KeyError:\n    {0}\n    {2}\nfinally:\n    {3}",
    "handler of a look-up": "try:\n    k = d[n]\nexcept KeyError:\n    {0}\n    {2}\nelse:\n    {3}",
    "else of a look-up": "try:\n    k = d[n]\nexcept KeyError:\n    {2}\nelse:\n    {0}\n    {3}",
    "with": "with Scope(log):\n    {1}\n    {0}\n    {2}",
    "for": "for j in range(2):\n    {1}\n    {0}\n    {2}\nelse:\n    {3}",
    "else of for": "for j in range(2):\n    {1}\nelse:\n    {0}\n    {2}",
    "while": "j = 0\nwhile j < 2:\n    j += 1\n    {1}\n    {0}\n    {2}\nelse:\n    {3}",
    "else of while": "j = 0\nwhile j < 2:\n    j += 1\n    {1}\nelse:\n    {0}\n    {2}",
    "match": "match n:\n    case 1 | 3:\n        {1}\n        {0}\n        {2}\n    case _:\n        {3}",
    "if": "if n % 2:\n    {1}\n    {0}\nelse:\n    {2}",
    "try in finally": "try:\n    {1}\nfinally:\n    try:\n        {0}\n        {2}\n    finally:\n        {3}",
    "loop in try": "try:\n    for j in range(2):\n        {0}\n        {1}\n    {2}\nfinally:\n    {3}",
}
DOES = ["x = x + 3", "log.append(n)", "x = x * 2 + n"]


def indented(text, by):
    return text.replace("\n", "\n" + " " * by)


def text(statement, leaves, condition, looped):
    leave = f"if {CONDITIONS[condition]}:\n    {LEAVES[leaves]}"
    body = statement
    for k, part in enumerate([leave, *DOES]):
        for line in statement.split("\n"):
            if line.strip() == "{%d}" % k:
                body = body.replace(line, " " * (len(line) - 3) + indented(part, len(line) - 3))
    loop = f"for i in range(2):\n        {indented(body, 8)}\n        x = x * 1.5"
    return f"""
class Scope:
    def __init__(self, log):
        self.log = log
    def __enter__(self):
        return self
    def __exit__(self, *why):
        self.log.append('left')

def f(x, n, log, d):
    {loop if looped else indented(body, 4)}
    x = x + 0.5
    log.append('end')
    return x
"""


def outcomes(f):
    out = []
    for k in range(8):
        x, log = (janus.ones(3 - k % 2) * (1 if k % 3 else -1)).requires_grad_(k > 4), [0] * (k % 4 == 1)
        try:
            y = f(x, k % 4, log, {1: 2})
            out.append((y if y is None else y.tolist(), log))
        except ValueError as e:
            out.append((str(e), log))
    return out


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_runs_behind(statement, leaves):
    for looped in (False, True)[leaves in ("break", "continue"):]:
        for condition in CONDITIONS:
            names = names_of(text(STATEMENTS[statement], leaves, condition, looped), janus=janus, __name__="program")
            for options in ({"verify": "never"}, {}):
                f = janus.function(names["f"], measure=False, **options)
                assert outcomes(f) == outcomes(names["f"]), (condition, looped, options)
