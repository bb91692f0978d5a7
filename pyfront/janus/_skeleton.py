# SPDX-License-Identifier: Apache-2.0
"""Skeletons: functions of which CPython runs some statements and graphs the others.

A *region* is a group of neighbouring statements that may run as a graph.  The skeleton of a function is the
function with, in place of each group,

    .t = .regions[k](live-ins, what variables hold that the statements bind again)
    if not .t:
        the statements
        if .t is not None:
            .regions[k].leave((0, live-outs))
    else:
        live-outs = .t[1]

and for the converter the text of a function of the live-ins that returns the live-outs; that one never runs.
Both are made inside the tree of the whole file, so that names mean what they mean there, and have the positions
of the user's text.  What is added has names that are no identifiers.

What is bound again must have no finalizer that would run: a graph binds variables behind all else that it does.

A region that is no graph (yet) may run its function after all, by a skeleton of that function: so what is learnt
while a loop runs is of use to its later rounds.  That hands over all that its variables hold, which live on here,
and so do graphs (pyfront/convert/finish/hold.c).  The *first* skeleton of a function, in whose first call nothing is known,
has regions in its loops alone.

What CPython's statements call is asked for: `.regions[-2](callee)(arguments)`.  A function of the program is then
decorated, too, if it works with tensors (pyfront/call/callee.c).

Which statements are CPython's is learnt from conversions: where one is refused, the statement becomes CPython's
(of a compound one its head: what is in it is grouped again).
"""
import __future__

import ast
import builtins
import copy
import functools
import types
import weakref

from . import _C
from ._statements import (BREAK, CONTINUE, FALL, RETURN, RETURNED, Late, Leaves, Names, Told, bindings_of, blocks_of, left, listed,
                          name_of, placed, reads_of, statements_of, tuple_of, unbound_by, variables_of)

REGIONS = ". regions of statements"  # keyword-only parameter of a skeleton, its regions as a tuple
TAKEN = ". what a region leaves"  # variables of a skeleton
OLD = ". what a region replaces"  # that is bound, where not all is
KEPT = ". held by "  # and the name of a variable
NESTED = 4  # added to how a region is left: with what its dead variables hold
_LOOKS_AT_FRAMES = {"locals", "vars", "dir", "eval", "exec", "breakpoint"}  # functions, and attributes of modules
_FRAME_ATTRIBUTES = {"_getframe", "_current_frames", "currentframe", "set_trace", "settrace", "setprofile", "f_locals"}
_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.GeneratorExp, ast.ClassDef)
_WORK = (ast.Call, ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.Compare, ast.Subscript)
_LOOPS = (ast.For, ast.While)
_TRIES = tuple(t for t in (ast.Try, getattr(ast, "TryStar", None)) if t)
_MAX_SPLITS = 64
_METHODS = {n for t in (_C.Tensor, list, dict, set, str) for n in dir(t)}  # which programs' classes have, too



class _OfCodes:
    """What is known of code objects, each as long as it lives.  Codes that look alike are equal, so these go by identity."""

    def __init__(self):
        self._known = {}  # id: (weak reference, what is known)

    def __contains__(self, code):
        return id(code) in self._known and self._known[id(code)][0]() is code

    def __getitem__(self, code):
        return self._known[id(code)][1]

    def __setitem__(self, code, value):
        # no function in Python: a signal's handler would run in it, and what that raises would be lost
        forget = functools.partial(self._known.pop, id(code))
        self._known[id(code)] = weakref.ref(code, forget), value


_plans = _OfCodes()  # Plan, or None
_regions = _OfCodes()  # of a region's function: its node, its class, its path, Plan.named


def plan_of(function):
    """The plan of a Python function, None: it has no skeleton."""
    code = function.__code__
    if code not in _plans:
        try:
            plan = Plan(function)
        except (_NoSkeleton, SyntaxError, ValueError, RecursionError):
            plan = None
        _plans[code] = plan
    return _plans[code]


class _NoSkeleton(Exception):
    pass


def _codes(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _codes(c)


def made_in(code, was, now):
    """A code whose functions and classes, made in the function of the name `was`, have the names of those of `now`.  Names
    of functions are constants up to CPython 3.10, those of classes in all."""
    was, consts = was + ".<locals>.", []
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            c = made_in(c, was[:-len(".<locals>.")], now)
            if getattr(c, "co_qualname", "").startswith(was):
                c = c.replace(co_qualname=f"{now}.<locals>.{c.co_qualname[len(was):]}")
        elif isinstance(c, str) and c.startswith(was):
            c = f"{now}.<locals>.{c[len(was):]}"
        consts.append(c)
    return code.replace(co_consts=tuple(consts)) if any(a is not b for a, b in zip(consts, code.co_consts)) else code


def with_constants(code, of):
    """The code with the constants that the code `of` has: (1, 2) in a function is one object each time it runs."""
    consts = _C._constants_like(code.co_consts, of)
    return code.replace(co_consts=tuple(with_constants(c, of) if isinstance(c, types.CodeType) else c for c in consts))


def _place(statement):
    return statement.lineno, statement.col_offset


class Plan:
    """What is CPython's of the statements of one code object."""

    def __init__(self, function):
        code = function.__code__
        if code.co_flags & 0x2a0 or code.co_name == "<lambda>":  # generators and coroutines
            raise _NoSkeleton
        self._code, self.flags = weakref.ref(code), code.co_flags & _FUTURES
        if code in _regions:
            self.node, self.in_class, self.path, self.named = _regions[code]
        else:  # CPython 3.10's codes have no qualified names
            self.named = getattr(code, "co_qualname", function.__qualname__)  # of the program's function
            self.path = self.named.split(".")
            found = _C._source_node(code, function.__globals__)
            if not found:
                raise _NoSkeleton
            self.node, self.in_class = found  # the file's, which is not changed
        again = made_in(self.compiled([self.node])[0], ".".join(self.path), self.named)
        if again.co_consts != code.co_consts and not hasattr(code, "co_qualname"):
            raise _NoSkeleton  # names of functions inside, which are constants up to CPython 3.10
        self.creates = False  # whether it asks for create_graph
        for n in ast.walk(self.node):
            if isinstance(n, ast.keyword) and n.arg == "create_graph" and getattr(n.value, "value", True):
                self.creates = True
            if isinstance(n, ast.Attribute) and n.attr in _FRAME_ATTRIBUTES:
                raise _NoSkeleton
            if isinstance(n, ast.Name) and (n.id in _LOOKS_AT_FRAMES or (n.id[:2] == "__" and n.id[-2:] != "__")):
                raise _NoSkeleton
        self.python, self.cuts = set(), set()  # places of statements: CPython's; beginnings of regions
        self.quiet = set()  # names of methods that no function of the program was called by
        self.version = 0  # of what is planned
        self.made = None  # version, code of the skeleton, [Region text]
        self.made_first = None  # the same of the first skeleton

    @property
    def code(self):
        """The code, which whoever asks has a function of.  It is not kept: the plan lives as long as it does."""
        return self._code()

    def compiled(self, functions):
        """The codes of functions that stand where the planned one stands, beginning with that one: in scopes of the
        same names, of which the innermost function has its free variables.  The rest of the file is not needed."""
        body, free = functions, list(self.code.co_freevars)
        names = self.path[:-1]
        inner = names[-1:] != ["<locals>"]  # the next scope is a class
        if inner and names and "__class__" in free:
            free.remove("__class__")  # which it has itself
        while names:
            if names.pop() == "<locals>":
                if free:
                    body = [ast.Assign([name_of(n, ast.Store()) for n in free], ast.Constant(None)), *body]
                    free = []
                no = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
                scope = ast.FunctionDef(names.pop(), no, body, [], None)
            else:
                name = self.path[len(names)]
                scope = ast.ClassDef(name, [], [], body, [])
            if "type_params" in scope._fields:
                scope.type_params = []
            scope.lineno = scope.end_lineno = 1  # not where the function is, whose name it may have
            scope.col_offset = scope.end_col_offset = 0
            body = [placed(scope, functions[0])]
        if free:
            raise _NoSkeleton
        tree = ast.fix_missing_locations(ast.Module(body, []))
        codes = list(_codes(_C._compile(tree, self.code.co_filename, self.flags)))
        found = [c for c in codes if c.co_name == self.code.co_name and c.co_firstlineno == self.code.co_firstlineno]
        if len(found) != 1 or found[0].co_freevars != self.code.co_freevars:
            raise _NoSkeleton
        return [*found, *codes]

    def split(self, place, within):
        """A conversion was refused at the statement at `place`, None: not at any.  within: the places of the first and
        last statement of the region that was converted, None: the function.  Whether the plan has changed."""
        before = len(self.python) + len(self.cuts)
        if before >= _MAX_SPLITS:
            return False
        statements = self._group(within)
        if place and any(_place(s) == place for s in statements_of(statements)):
            self.python.add(place)
        elif len(statements) > 1:
            self.cuts.add(_place(statements[len(statements) // 2]))
        elif statements:
            self.python.add(_place(statements[0]))
        changed = len(self.python) + len(self.cuts) > before
        self.version += changed
        return changed

    def state(self):
        """What `resume` takes: what is CPython's, in lists of numbers."""
        return [sorted(self.python), sorted(self.cuts)]

    def resume(self, state):
        """Goes on from what the plan of this code was in another process."""
        python, cuts = ({(int(line), int(col)) for line, col in places} for places in state)
        before = len(self.python) + len(self.cuts)
        self.python |= python
        self.cuts |= cuts
        self.version += len(self.python) + len(self.cuts) > before

    def leave_out(self, within):
        """A region is not worth it: its statements are CPython's."""
        self.python.update(_place(s) for s in self._group(within))
        self.version += 1

    def settle(self, met):
        """Many calls were asked for, of which `met` has the functions of the program: other names of methods of
        tensors and containers are no longer."""
        before = len(self.quiet)
        self.quiet |= _METHODS - {getattr(f, "__name__", None) for f in met}
        self.version += len(self.quiet) > before

    def _group(self, within):
        if within is None:
            return self.node.body[getattr(self.node, "own", slice(None))]
        for block in blocks_of(self.node):
            places = [_place(s) for s in block]
            if within[0] in places and within[1] in places:
                return block[places.index(within[0]):places.index(within[1]) + 1]
        return []

    def make(self, first=False):
        """(code of the skeleton, [Region text]); None: there is nothing in it.  first: of the first one."""
        if first and not self.python and not self.cuts:
            if self.made_first is None or self.made_first[0] != self.version:
                loops = any(isinstance(n, (*_LOOPS, ast.comprehension)) for n in ast.walk(self.node))
                self.made_first = self.version, *((loops and _Maker(self, True).make()) or (None, []))
            return self.made_first[1:]
        if self.made is None or self.made[0] != self.version:
            self.made = self.version, *(_Maker(self).make() or (None, []))
        return self.made[1:]


class Text:
    """A region: the name of its function, the places of its first and last statement, what else tells it from others,
    its node, class and code; nests: its function may be run; partial: a dead variable may be bound before and not in it."""

    def __init__(self, name, within, key, node, in_class, nests, partial):
        self.name, self.within, self.key, self.node, self.in_class = name, within, (within, key), node, in_class
        self.nests, self.partial = nests, partial
        self.code = None


class Callees(ast.NodeTransformer):
    """Calls of what may be a function of the program ask for it.  Not in functions that are made.  quiet: names of
    methods that are not asked for."""

    def __init__(self, quiet):
        self.quiet, self.any = quiet, False

    def visit_Call(self, node):
        self.generic_visit(node)
        f = node.func
        if isinstance(f, ast.Name):
            known = f.id == "super" or hasattr(builtins, f.id)
        elif isinstance(f, ast.Attribute):
            known = f.attr in self.quiet or self._own(f.value)
        else:
            known = not isinstance(f, (ast.Subscript, ast.Call)) or self._own(f)
        if not known:
            ask = _item(REGIONS, -2)
            node.func = placed(ast.Call(ask, [f], []), f)
            self.any = True
        return node

    def _own(self, node):
        """Whether it is text or a number, or one of the regions."""
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Name) and node.value.id == REGIONS
        return isinstance(node, (ast.Constant, ast.JoinedStr))

    def _scope(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope


def _item(name, i):
    """Item i of a variable of the skeleton."""
    return ast.Subscript(name_of(name, ast.Load()), ast.Constant(i), ast.Load())


def _bind(name, value):
    return ast.Assign([name_of(name, ast.Store())], value)


def _unless_unbound(statement, *otherwise):
    """The statement, and others where a variable that it reads has no value."""
    return ast.Try([statement], [ast.ExceptHandler(_item(REGIONS, -1), None, list(otherwise))], [], [])


class _Keeps(ast.NodeTransformer):
    """The function of a region is left with what its variables hold, which would die with it; UnboundLocalError for
    those that hold nothing."""

    def __init__(self, names):
        self.names = names

    def _scope(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope

    def visit_Return(self, node):
        way = getattr(node, "way", RETURN)
        out, held = [], []
        left = node.value.elts[1] if way != RETURN else _item(RETURNED, 1)
        if way == RETURN:  # what it returns is such a pair, of whatever statement
            out.append(placed(_bind(RETURNED, node.value), node))
        for n in self.names:
            keep = _unless_unbound(_bind(KEPT + n, name_of(n, ast.Load())), _bind(KEPT + n, _item(REGIONS, -1)))
            out.append(placed(keep, node))
            held.append(name_of(KEPT + n, ast.Load()))
        elements = [ast.Constant(way + NESTED), left, ast.Tuple(held, ast.Load())]
        return [*out, placed(ast.Return(ast.Tuple(elements, ast.Load())), node)]

    def _other(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other


class _Maker:
    """Makes the skeleton that a plan asks for."""

    def __init__(self, plan, first=False):
        self.plan, self.first = plan, first
        self.node = copy.deepcopy(plan.node)
        code = plan.code
        self.locals = variables_of(self.node, code)
        self.free = set(code.co_freevars)
        # variables that functions made inside share; comprehensions, which nobody calls later, do with values
        later = {x.id for n in ast.walk(self.node) if isinstance(n, _SCOPES) and n is not self.node
                 for x in ast.walk(n) if isinstance(x, ast.Name)}
        self.cells = set(code.co_cellvars) & self.locals & later
        self.bindings = bindings_of([self.node])
        self.kept = getattr(plan.node, "kept", [])  # of a region's function: what else its caller gets
        self.texts, self.functions = [], []
        self.guards = 0  # `with` and `try` statements of CPython's that are around

    def make(self):
        body = self.node.body
        head = []
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            head, body = body[:1], body[1:]
        args = self.node.args
        names = [a.arg for a in args.posonlyargs + args.args + args.kwonlyargs]
        names += [a.arg for a in (args.vararg, args.kwarg) if a]
        made = self.block(body, set(names), set(names), None, set())
        if self.kept:
            made = [x for s in made for x in listed(_Keeps(self.kept).visit(s))]
        callees = Callees(self.plan.quiet)
        made = [callees.visit(s) for s in made]
        if not self.texts and not callees.any:
            return None
        # variables are let go of in the order in which the text names them first: this never runs
        order = [name_of(n, ast.Store()) for n in self.plan.code.co_varnames if n not in names]
        if order:
            made.insert(0, placed(ast.If(ast.Constant(False), [ast.Assign(order, ast.Constant(None))], []), body[0]))
        self.node.body = head + made
        args.kwonlyargs.append(ast.arg(REGIONS))
        args.kw_defaults.append(ast.Constant(()))
        try:
            skeleton, *codes = self.plan.compiled([self.node, *self.functions])
        except _NoSkeleton:
            return None
        for text in self.texts:
            (found,) = (c for c in codes if c.co_name == text.name)
            text.code = made_in(with_constants(found, self.plan.code), ".".join([*self.plan.path[:-1], text.name]), self.plan.named)
            if not set(text.code.co_freevars) <= self.free:
                return None
        return made_in(with_constants(skeleton, self.plan.code), ".".join(self.plan.path), self.plan.named), self.texts

    def block(self, statements, maybe, sure, loop, after):
        """Groups them.  maybe, sure: what may be, and what is, bound before them; loop: the outermost one around them,
        or None; after: what may be read behind them, and behind that loop."""
        out, group = [], []
        maybe, sure = set(maybe), set(sure)
        for i, s in enumerate(statements):
            rest = after | Names(statements[i + 1:]).loaded
            place = _place(s)
            inner = list(statements_of([s]))
            opened = any(_place(x) in self.plan.python for x in inner)
            if self.first and not loop:
                opened = opened or any(isinstance(x, _LOOPS) for x in inner)
            if group and (place in self.plan.cuts or opened or not self.fits(s)):
                out += self.region(group, *before, after | Names(statements[i:]).loaded, loop)
                group = []
            names, lost = Names([s]), unbound_by(s)
            if opened or not self.fits(s):
                out.append(self.open(s, maybe, sure - lost, loop, rest))
            else:
                if not group:
                    before = set(maybe), set(sure)
                group.append(s)
            maybe |= names.bound
            sure = (sure | names.surely) - lost
        if group:
            out += self.region(group, *before, after, loop)
        return out

    def fits(self, s):
        """Whether a statement may be in a region."""
        if isinstance(s, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Break, ast.Continue,
                          ast.Raise, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        for n in ast.walk(s):
            if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)):
                return False
            if isinstance(n, ast.Name) and (n.id in self.cells or n.id in ("super", "__class__") or
                                            isinstance(n.ctx, ast.Del)):
                return False
            if self.kept and getattr(n, "way", RETURN) != RETURN:
                return False
        return not Late(s).ways - (set() if self.guards else {RETURN})

    def open(self, s, maybe, sure, loop, after):
        """A statement of CPython's; its blocks are grouped."""
        inside = maybe | Names([s]).bound
        if isinstance(s, _LOOPS):
            s.body = self.block(s.body, inside, sure, loop or s, after | Names(s.orelse).loaded)
            s.orelse = self.block(s.orelse, inside, sure, loop, after)
        elif isinstance(s, ast.If):
            s.body = self.block(s.body, inside, sure, loop, after)
            s.orelse = self.block(s.orelse, inside, sure, loop, after)
        elif isinstance(s, ast.With):
            self.guards += 1
            s.body = self.block(s.body, inside, sure, loop, after)
            self.guards -= 1
        elif isinstance(s, _TRIES):
            later = after | Names(s.finalbody).loaded
            for handler in s.handlers:
                later |= Names(handler.body).loaded
            self.guards += 1
            s.body = self.block(s.body, maybe, sure, loop, later | Names(s.orelse).loaded)
            s.orelse = self.block(s.orelse, inside, sure, loop, later)
            self.guards -= 1
        return s

    def region(self, group, maybe, before, after, loop):
        """The statements that stand for a group.  maybe, before: what may be, and what is, bound before it; after: what
        may be read."""
        if (self.first and not loop) or sum(isinstance(n, _WORK) for s in group for n in ast.walk(s)) < 2:
            return group
        names = Names(group)
        reads = set(after)
        if loop:  # the next round reads what is exposed, and whatever others in the loop do
            reads |= names.exposed | set(reads_of([loop]) - reads_of(group))
        outs = sorted(names.bound & reads & self.locals)
        ins = {n for n in names.exposed & self.locals if n in maybe or n not in names.bound}
        leaves = Leaves(outs)
        body = [leaves.visit(copy.deepcopy(s)) for s in group]
        ends = isinstance(group[-1], ast.Return)
        ways = leaves.ways | (set() if ends else {FALL})
        # those that are bound at its end may not be yet where it is left by `break` or `continue`
        sure = set() if ways & {BREAK, CONTINUE} else names.surely
        ins |= {n for n in outs if n not in sure and n in maybe}
        ins = sorted(ins)
        if len(ins) > 250 or len(outs) > 250:
            return group
        first, last = group[0], group[-1]
        if not ends:
            body.append(left(FALL, tuple_of(outs, ast.Load())))
        declared = names.bound - self.locals
        head = [kind(sorted(d)) for kind, d in ((ast.Nonlocal, declared & self.free), (ast.Global, declared - self.free)) if d]
        body = head + body
        number = len(self.texts)
        name = f".region {number} of {self.plan.code.co_name} at {first.lineno}"
        arguments = ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in ins], vararg=None, kwonlyargs=[],
                                  kw_defaults=[], kwarg=None, defaults=[])
        function = ast.FunctionDef(name, arguments, body, [], None)
        if "type_params" in function._fields:
            function.type_params = []
        function.own = slice(len(head), len(head) + len(group))  # statements of the user's
        self.functions.append(placed(function, first))
        replaced = names.bound & self.locals & maybe
        key = tuple(ins), tuple(outs), tuple(sorted(ways))
        # what an exception leaves, and whether a name is bound, the function of a region cannot say
        nests = not self.guards and sure.union(ins).issuperset(outs)
        function.kept = sorted((names.bound & self.locals) - set(outs))
        self.texts.append(Text(name, (_place(first), _place(last)), key, function, self.plan.in_class, nests,
                               not names.surely.issuperset(maybe.intersection(function.kept))))
        # bound here alone, and all of them wherever it ends: all are before it, or none is
        here = bindings_of(group)
        alone = {n for n in replaced & sure if self.bindings[n] == here[n]} if not self.guards else set()
        old = sorted(replaced - before - alone), sorted(alone - before), sorted(replaced & before)
        return self.around(group, number, ins, outs, function.kept, old, ways)

    def around(self, group, number, ins, outs, dead, old, ways):
        """The group with the call of its region before it.  dead: variables that it may bind and nobody reads after it,
        which its function hands over as well, if that runs, as does a graph where one of them holds an object, and which
        are bound then; old: three lists of variables that it binds again, each of which may be bound before; of which all
        or none may; which are."""
        first = group[0]
        callee = _item(REGIONS, number)

        def enter(*old):
            arguments = [*(name_of(n, ast.Load()) for n in ins), *old]
            return _bind(TAKEN, ast.Call(copy.deepcopy(callee), arguments, []))

        def own():  # an exception of the region's function
            return ast.If(ast.Call(ast.Attribute(copy.deepcopy(callee), "raised", ast.Load()), [], []), [ast.Raise()], [])

        def enter_with(names):
            return enter(*(name_of(n, ast.Load()) for n in names))
        each, together, bound = old
        none = _bind(TAKEN, ast.Constant(None))
        entered = [enter_with([*each, *together, *bound])]
        if each:
            more = [ast.BinOp(name_of(OLD, ast.Load()), ast.Add(), tuple_of(n, ast.Load())) for n in (*([n] for n in each), together)]
            twice = [ast.Starred(name_of(OLD, ast.Load()), ast.Load()) for _ in range(2)]  # as it holds them, too
            some = [_bind(OLD, tuple_of(bound, ast.Load())), *(_unless_unbound(_bind(OLD, m), ast.Pass()) for m in more),
                    _unless_unbound(enter(*twice), own(), none), _bind(OLD, ast.Constant(None))]
        else:
            some = [_unless_unbound(enter_with(bound), own(), none)]
        if each or together:  # not in the handler: what is raised would have its exception as its context
            is_unbound = ast.Compare(name_of(TAKEN, ast.Load()), [ast.Is()], [ast.Constant(True)])
            entered = [_unless_unbound(*entered, own(), _bind(TAKEN, ast.Constant(True))), ast.If(is_unbound, some, [])]
        elif ins or bound:
            entered = [_unless_unbound(*entered, own(), none)]

        def unpack():
            value = _item(TAKEN, 1)
            s = [ast.Assign([tuple_of(outs, ast.Store())], value)] if outs else []
            return s + [_bind(n, ast.Constant(None)) for n in [TAKEN] + dead]

        def take():
            """What the function or graph has left in its variables, but for those that it has not bound."""
            for i, n in enumerate(dead):
                held = ast.Subscript(_item(TAKEN, 2), ast.Constant(i), ast.Load())
                bound = ast.Compare(held, [ast.IsNot()], [_item(REGIONS, -1)])
                yield ast.If(bound, [_bind(n, copy.deepcopy(held))], [])

        def leave(way):
            if way == RETURN:
                return [ast.Return(_item(TAKEN, 1))]
            if way == RETURN + NESTED:  # the variables die in their order
                value = _bind(RETURNED, _item(TAKEN, 1))
                return [value, *take(), _bind(TAKEN, ast.Constant(None)), ast.Return(name_of(RETURNED, ast.Load()))]
            taken = [*take(), *unpack()[:bool(outs) + 1]] if way >= NESTED else unpack()
            return taken + {FALL: [], BREAK: [ast.Break()], CONTINUE: [ast.Continue()]}[way % NESTED]

        def by_way(ways):
            done = leave(ways[0])
            for way in ways[1:]:
                which = _item(TAKEN, 0)
                done = [ast.If(ast.Compare(which, [ast.Eq()], [ast.Constant(way)]), leave(way), done)]
            return done

        hit, falls = by_way(sorted(ways)), sorted(way + NESTED for way in ways)
        if dead:
            which = _item(TAKEN, 0)
            hit = [ast.If(ast.Compare(which, [ast.GtE()], [ast.Constant(NESTED)]), by_way(falls), hit)]
        missed = ast.UnaryOp(ast.Not(), name_of(TAKEN, ast.Load()))
        sure = Names(group).surely.issuperset(outs)
        told = Told(lambda way: self.tell(callee, way, outs, False))
        group = [x for s in group for x in listed(told.visit(s))]
        if not isinstance(group[-1], ast.Return):
            group.append(placed(self.tell(callee, FALL, outs, sure), group[-1]))
        both = ast.If(missed, group, hit)
        return [placed(x, first) for x in (*entered, both)]

    def tell(self, callee, way, outs, sure):
        """The region is told how its statements were left.  sure: what they leave is bound."""
        value = name_of(RETURNED, ast.Load()) if way == RETURN else tuple_of(outs, ast.Load())

        def call(*args):
            return ast.Expr(ast.Call(ast.Attribute(copy.deepcopy(callee), "leave", ast.Load()), list(args), []))
        told = call(ast.Tuple([ast.Constant(way), value], ast.Load()))
        if outs and way != RETURN and not sure:
            told = _unless_unbound(told, call())
        asked = ast.Compare(name_of(TAKEN, ast.Load()), [ast.IsNot()], [ast.Constant(None)])
        return ast.If(asked, [told], [])


def dress(function, plan, regions, make, callee, first):
    """The skeleton of a function, None: it has no region and calls nothing.  regions: those it had, by place, is
    brought up to date; make(function of a region, its places, whether it may run that, whether it is partial): a new one; callee(f): what is
    called for f; first: it is the first one."""
    code, texts = plan.make(first)
    for gone in set(regions) - {t.key for t in texts}:
        del regions[gone]
    if not code:
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for t in texts:
        if t.key not in regions:
            _C._give_source(t.code, t.node, t.in_class)
            _regions[t.code] = t.node, t.in_class, [*plan.path[:-1], t.name], plan.named
            closure = tuple(cells[n] for n in t.code.co_freevars)
            f = types.FunctionType(t.code, function.__globals__, function.__name__, None, closure)
            f.__qualname__, f.__module__ = function.__qualname__, function.__module__
            regions[t.key] = make(f, t.within, t.nests, t.partial)
    if plan.code in _regions:  # as its frames are called
        names = {"co_name": function.__name__, "co_qualname": function.__qualname__}
        code = code.replace(**{n: v for n, v in names.items() if hasattr(code, n)})
    skeleton = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                                  function.__closure__)
    skeleton.__qualname__, skeleton.__module__ = function.__qualname__, function.__module__
    skeleton.__kwdefaults__ = dict(function.__kwdefaults__ or {})
    skeleton.__kwdefaults__[REGIONS] = (*(regions[t.key] for t in texts), callee, UnboundLocalError)
    return skeleton
