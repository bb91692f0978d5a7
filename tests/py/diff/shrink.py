# SPDX-License-Identifier: Apache-2.0
"""Makes a program smaller as long as it still fails: statements go, expressions become parts of themselves."""
import ast
import copy
import warnings


def places(tree):
    """(list of statements, index) of all statements, the largest first."""
    found = [(body, i) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody")
             if isinstance(body := getattr(node, name, None), list) for i in range(len(body))]
    return sorted(found, key=lambda place: -sum(1 for _ in ast.walk(place[0][place[1]])))


def bodies(statement):
    return [getattr(statement, name) for name in ("body", "orelse") if getattr(statement, name, None)]


def smaller(tree):
    """Functions that change a copy of the tree, each by one step."""
    for n, (body, i) in enumerate(places(tree)):
        def drop(copied, n=n):
            body, i = places(copied)[n]
            body[i:i + 1] = [] if len(body) > 1 else [ast.Pass()]
        if not isinstance(body[i], ast.Pass):
            yield drop
        for k in range(len(bodies(body[i])) if isinstance(body[i], (ast.If, ast.For, ast.With, ast.While, ast.Try)) else 0):
            def flatten(copied, n=n, k=k):
                body, i = places(copied)[n]
                body[i:i + 1] = bodies(body[i])[k]
            yield flatten
    for n, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            parts = [p for p in ast.iter_child_nodes(value) if isinstance(p, ast.expr)] if isinstance(value, ast.expr) else []
            for k in range(len(parts)):
                def lift(copied, n=n, field=field, k=k):
                    at = list(ast.walk(copied))[n]
                    parts = [p for p in ast.iter_child_nodes(getattr(at, field)) if isinstance(p, ast.expr)]
                    setattr(at, field, parts[k])
                yield lift
            items = value if isinstance(value, list) else []
            for i, item in enumerate(items):
                inner = [p for p in ast.iter_child_nodes(item) if isinstance(p, ast.expr)] if isinstance(item, ast.expr) else []
                for k in range(len(inner)):
                    def lift_item(copied, n=n, field=field, i=i, k=k):
                        at = getattr(list(ast.walk(copied))[n], field)
                        at[i] = [p for p in ast.iter_child_nodes(at[i]) if isinstance(p, ast.expr)][k]
                    yield lift_item


def shrunk(text, fails):
    tree, tried, at, better = ast.parse(text), set(), 0, False
    while True:
        changes = list(smaller(tree))
        if at >= len(changes):
            if not better:
                return ast.unparse(tree) + "\n"
            at, better = 0, False
            continue
        copied = copy.deepcopy(tree)
        try:
            changes[at](copied)
            text = ast.unparse(ast.fix_missing_locations(copied))
            with warnings.catch_warnings(action="ignore"):
                compile(text, "", "exec")
        except (SyntaxError, ValueError, TypeError, AttributeError, IndexError):
            at += 1
            continue
        if text not in tried and len(text) <= len(ast.unparse(tree)) and fails(text):
            tree, better = copied, True
        else:
            at += 1
        tried.add(text)
