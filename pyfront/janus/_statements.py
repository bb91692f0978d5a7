# SPDX-License-Identifier: Apache-2.0
"""Statements of Python as text: which names they bind and read, how they are left."""
import ast
import collections

FALL, RETURN, BREAK, CONTINUE = range(4)  # how a group of statements is left
RETURNED = ". what is returned"  # a variable of skeletons (_skeleton.py)
# managers that let exceptions go on
_QUIET = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast", "profile", "deferred", "open")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def unbound_by(statement):
    """Names of variables that a statement may leave without a value."""
    return {n.id if isinstance(n, ast.Name) else n.name for n in ast.walk(statement)
            if (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)) or (isinstance(n, ast.ExceptHandler) and n.name)}


def bindings_of(statements):
    """How often the text of statements binds each name, or takes its value away."""
    found = collections.Counter()
    for n in (n for s in statements for n in ast.walk(s)):
        if isinstance(n, ast.Name):
            found[n.id] += not isinstance(n.ctx, ast.Load)
        elif isinstance(n, ast.arg):
            found[n.arg] += 1
        else:  # of functions, classes, handlers, patterns, imports
            for name in (getattr(n, "name", None), getattr(n, "rest", None), getattr(n, "asname", None)):
                found[str(name).partition(".")[0]] += 1
    return found


def statements_of(block):
    """All statements of a function's body, inner ones included, functions and classes inside not."""
    for s in block:
        yield s
        if not isinstance(s, (*_FUNCTIONS, ast.ClassDef)):
            for inner in inner_blocks(s):
                yield from statements_of(inner)


def inner_blocks(s):
    for name in ("body", "orelse", "finalbody"):
        block = getattr(s, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
        yield part.body


def blocks_of(function):
    yield function.body
    for s in statements_of(function.body):
        if not isinstance(s, (*_FUNCTIONS, ast.ClassDef)):
            yield from inner_blocks(s)


def _leaves(block):
    """Whether nothing behind a block is reached from its end."""
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Break, ast.Continue))


def _passes_on(manager):
    """Whether the text of a `with` statement's manager says that exceptions go on: those that most steps are in do."""
    name = getattr(manager, "func", None)
    return getattr(name, "attr", getattr(name, "id", None)) in _QUIET


class Names(ast.NodeVisitor):
    """Which variables statements bind and read.

    exposed: read, or left alone, on a path on which they were not bound before, as nearly as the text tells;
    bound: on some path; surely: on all paths that go on behind; loaded: read anywhere."""

    def __init__(self, statements):
        self.exposed, self.bound, self.surely, self.loaded = set(), set(), set(), set()
        self.block(statements)

    def block(self, statements):
        for s in statements:
            self.visit(s)

    def load(self, name):
        self.loaded.add(name)
        if name not in self.surely:
            self.exposed.add(name)

    def store(self, name):
        self.bound.add(name)
        self.surely.add(name)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.load(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.store(node.id)
        else:
            self.load(node.id)
            self.bound.add(node.id)
            self.surely.discard(node.id)

    def visit_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.load(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)
            self.visit(node.target)
        elif not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self.visit(node.target)

    def _arms(self, *arms):
        """Each is a function that visits one."""
        before, after = set(self.surely), None
        for arm in arms:
            self.surely = set(before)
            leaves = arm()
            if not leaves:
                after = self.surely if after is None else after & self.surely
        self.surely = self.surely | before if after is None else after

    def _arm(self, statements):
        def arm():
            self.block(statements)
            return _leaves(statements)
        return arm

    def _expression(self, node):
        def arm():
            self.visit(node)
        return arm

    def visit_If(self, node):
        self.visit(node.test)
        self._arms(self._arm(node.body), self._arm(node.orelse))

    def visit_IfExp(self, node):
        self.visit(node.test)
        self._arms(self._expression(node.body), self._expression(node.orelse))

    def visit_BoolOp(self, node):
        self.visit(node.values[0])
        for value in node.values[1:]:
            self._arms(self._expression(value), lambda: None)

    def visit_Compare(self, node):
        self.visit(node.left)
        self.visit(node.comparators[0])
        for value in node.comparators[1:]:
            self._arms(self._expression(value), lambda: None)

    def _loop(self, node, head):
        before = set(self.surely)
        head()
        inside = set(self.surely) if isinstance(node, ast.While) else before
        self.block(node.body)
        self.surely = set(inside)  # `break` goes past the `else`
        self.block(node.orelse)
        self.surely = inside

    def visit_While(self, node):
        self._loop(node, lambda: self.visit(node.test))

    def visit_For(self, node):
        self.visit(node.iter)
        self._loop(node, lambda: self.visit(node.target))

    def visit_Match(self, node):
        self.visit(node.subject)
        before = set(self.surely)
        for case in node.cases:
            self.surely = set(before)
            self.visit(case)
        self.surely = before

    def visit_MatchAs(self, node):
        self.generic_visit(node)
        if node.name:
            self.store(node.name)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        self.generic_visit(node)
        if node.rest:
            self.store(node.rest)

    def visit_With(self, node):
        """What is bound inside is not for sure behind one whose manager may end an exception."""
        before = None
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars:
                self.visit(item.optional_vars)
            if before is None and not _passes_on(item.context_expr):
                before = set(self.surely)
        self.block(node.body)
        if before is not None and not _leaves(node.body):
            self.surely &= before

    def visit_Try(self, node):
        """Handlers begin, and `finally` does, wherever in the body something was raised; behind it is bound what the
        body and all handlers that go on have bound."""
        before = set(self.surely)
        self.block(node.body)
        self.block(node.orelse)
        after = None if _leaves(node.orelse or node.body) else self.surely
        for handler in node.handlers:
            self.surely = set(before)
            if handler.type:
                self.visit(handler.type)
            if handler.name:
                self.store(handler.name)
            self.block(handler.body)
            if handler.name:
                self.surely.discard(handler.name)
            if not _leaves(handler.body):
                after = self.surely if after is None else after & self.surely
        self.surely = set(before)
        self.block(node.finalbody)
        self.surely |= before if after is None else after - (unbound_by(node) - self.surely)

    visit_TryStar = visit_Try

    def visit_Import(self, node):
        for alias in node.names:
            self.store(alias.asname or alias.name.split(".")[0])

    visit_ImportFrom = visit_Import

    def _comprehension(self, node):
        inner = Names([])
        inner.visit(node.generators[0].iter)
        for i, g in enumerate(node.generators):
            if i:
                inner.visit(g.iter)
            inner.visit(g.target)
            for test in g.ifs:
                inner.visit(test)
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                inner.visit(getattr(node, part))
        walrus = {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        for name in inner.exposed:
            self.load(name)
        self.loaded |= inner.loaded - (inner.bound - walrus)
        self.bound |= walrus

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Lambda(self, node):
        for default in node.args.defaults + node.args.kw_defaults:
            if default:
                self.visit(default)
        inner = Names([])
        inner.visit(node.body)
        own = inner.bound | {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        for name in inner.loaded - own:
            self.load(name)

    def _inner_scope(self, node):
        for n in ast.walk(node):
            if isinstance(n, ast.Name):
                self.load(n.id)
        self.store(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _inner_scope


def variables_of(function, code):
    """The variables of a function, without those that only its comprehensions have: from CPython 3.12 on their code is
    a part of the function's, and their variables are among those of its code object."""
    names = Names(function.body)
    own = names.bound | {n.target.id for n in ast.walk(function)
                         if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    own |= {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    theirs = {n.id for g in ast.walk(function) if isinstance(g, ast.comprehension)
              for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    return (set(code.co_varnames) | set(code.co_cellvars)) - (theirs - own)


def left(way, value):
    """The statement of a region's function that says how the region is left."""
    statement = ast.Return(ast.Tuple([ast.Constant(way), value], ast.Load()))
    statement.way = way
    return statement


class Leaves(ast.NodeTransformer):
    """What leaves a region by `return`, `break` or `continue` returns from its function, with how it is left."""

    def __init__(self, outs):
        self.outs, self.ways, self.loops = outs, set(), 0

    def _leave(self, node, way, value):
        self.ways.add(way)
        value = value or tuple_of(self.outs, ast.Load())
        return ast.copy_location(left(way, value), node)

    def visit_Return(self, node):
        return self._leave(node, RETURN, node.value or ast.Constant(None))

    def visit_Break(self, node):
        return node if self.loops else self._leave(node, BREAK, None)

    def visit_Continue(self, node):
        return node if self.loops else self._leave(node, CONTINUE, None)

    def _loop(self, node):
        self.loops += 1
        node.body = [self.visit(s) for s in node.body]
        self.loops -= 1
        node.orelse = [self.visit(s) for s in node.orelse]
        return node

    visit_For = visit_While = _loop

    def _other(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other


class Told(ast.NodeTransformer):
    """Statements of a group that leave it tell its region before: tell(way) makes the statement.  Where something
    runs after that, of a `with` or `finally`, they cannot."""

    def __init__(self, tell):
        self.tell, self.loops = tell, 0

    def visit_Return(self, node):
        value = ast.Assign([name_of(RETURNED, ast.Store())], node.value or ast.Constant(None))
        back = ast.Return(name_of(RETURNED, ast.Load()))
        return [ast.copy_location(value, node), placed(self.tell(RETURN), node), ast.copy_location(back, node)]

    def visit_Break(self, node):
        return node if self.loops else [placed(self.tell(BREAK), node), node]

    def visit_Continue(self, node):
        return node if self.loops else [placed(self.tell(CONTINUE), node), node]

    def _loop(self, node):
        self.loops += 1
        node.body = [x for s in node.body for x in listed(self.visit(s))]
        self.loops -= 1
        node.orelse = [x for s in node.orelse for x in listed(self.visit(s))]
        return node

    visit_For = visit_While = _loop

    def _other(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other
    visit_With = visit_Try = visit_TryStar = _other


def listed(x):
    return x if isinstance(x, list) else [x]


class Late(ast.NodeVisitor):
    """How a statement is left from inside a `with` or `try` of it, which has something to do then."""

    def __init__(self, statement):
        self.ways, self.loops, self.inside = set(), 0, 0
        self.visit(statement)

    def _way(self, way):
        if self.inside and (way == RETURN or not self.loops):
            self.ways.add(way)

    def visit_Return(self, node):
        self._way(RETURN)

    def visit_Break(self, node):
        self._way(BREAK)

    def visit_Continue(self, node):
        self._way(CONTINUE)

    def _loop(self, node):
        self.loops += 1
        for s in node.body:
            self.visit(s)
        self.loops -= 1
        for s in node.orelse:
            self.visit(s)

    visit_For = visit_While = _loop

    def _guard(self, node):
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1

    visit_With = visit_Try = visit_TryStar = _guard

    def _other(self, node):
        pass

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other


def name_of(name, ctx):
    return ast.Name(name, ctx)


def tuple_of(names, ctx):
    return ast.Tuple([name_of(n, ctx) for n in names], type(ctx)())


def reads_of(statements):
    """How often names stand where they are read, deleted or changed in place."""
    found = collections.Counter()
    for s in statements:
        for n in ast.walk(s):
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
                found[n.id] += 1
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found[n.target.id] += 1
    return found


def placed(node, where):
    """Gives all that is new in it the place of `where`."""
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, where)
    return node
