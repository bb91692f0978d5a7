# SPDX-License-Identifier: Apache-2.0
"""Statements of random programs about classes, containers, generators, exceptions, globals and what is not recorded;
generate_tables.py says what the signs mean."""
# In every program; each is observed where an object of it is.
CLASSES = """class Base:
    rate = 0.5

    def __init__(self, value):
        self.value, self.uses = value, 0

    def apply(self, x):
        self.uses += 1
        return x * self.rate

    def __call__(self, x, more=0.0):
        return self.apply(x) + self.value * more

    def __getitem__(self, i):
        return self.value * (i + 1)

    def __len__(self):
        return 2

    def __add__(self, other):
        return self.value + (other.value if isinstance(other, Base) else other)

    __radd__ = __add__


class Derived(Base):
    rate = 0.25

    def __init__(self, value, by):
        super().__init__(value)
        self.by = by

    @classmethod
    def of(cls, value):
        return cls(value, cls.rate)

    @property
    def both(self):
        return self.value * self.by

    @both.setter
    def both(self, value):
        self.value, self.by = value, self.by * 0.5

    def apply(self, x):
        return super().apply(x) + self.by

    def __iter__(self):
        yield self.value
        yield self.value * self.by

    def __mul__(self, other):
        return Derived(self.value * other, self.by)

    def __bool__(self):
        return self.by > 0.2

    def __contains__(self, word):
        return word == 'a' or word in ('b',) and self.by > 0.3

    def __enter__(self):
        self.uses += 1
        return self.value

    def __exit__(self, kind, error, traceback):
        self.uses -= 1
        return kind is Odd


class Slotted:
    __slots__ = ('a', 'b')

    def __init__(self, a, b=None):
        self.a, self.b = a, b


class Odd(ValueError):
    def __init__(self, word):
        super().__init__(f'odd {word}')
        self.word = word


COUNTED, MET, TOTAL = {'n': 0}, [], 0


def pieces(x, n):
    for i in range(n):
        yield x * (i + 1)
    return


def chained(x, n):
    yield x
    yield from pieces(x * 0.5, n)


def refused(node):
    if node.word % 3 == 1:
        raise Odd(node.word)
    return node.share


"""
# Blocks are separated by lines of one dot.
LANGUAGE = {
    "classes": """
$n = Base($v)($e)
.
$n = Derived($v, node.share)($e, more=0.5)
.
$k = Derived.of($v)
$n = $e + $k.both
.
$k = Derived($v, 0.3)
$k.both = $e
$n = $k.value * $k.by + $v
.
$k = Derived($e, node.share)
if $k:
    $n = $k[1]
else:
    $n = $k[0]
.
$n = sum(Derived($e, node.share), $v)
.
$n = (Derived($v, 0.3) * node.share).value + $e
.
$n = Base($v) + Derived($e, 0.1)
.
$n = $e + Base($v)
.
$n = $e * len(Base(node.word))
.
$k = Derived($v, node.share)
$n = $e if node.tag in $k else $v
.
with Derived($e, 0.4) as $k:
    $n = $k * 2
.
$k = Slotted($e, $v)
$k.a, $k.b = $k.b, $k.a
$n = $k.a - $k.b * 0.5
.
$k = Slotted($e)
$k.b = $k.a if $k.b is None else $k.b
$n = $k.b
.
$k = [Base($v), Derived($e, 0.2)]
$n = sum([m($e) for m in $k])
.
$k = (Base if node.tag == 'a' else Slotted)($v)
$n = $k.apply($e) if isinstance($k, Base) else $k.a
.
$k = Base($v)
$k.rate = node.share
$n = $k($e) * getattr($k, 'uses') + getattr($k, 'nothing', 0.5)
.
$k = type('Local', (Base,), {'rate': node.share})($v)
$n = $k($e)
.
node.kept = Derived($v.detach(), node.share)
$n = node.kept($e)
.
$k = Base($v)
$k.next = Base($e)
$n = $k.next.value * $k.next.rate + $k.value
.
$k = super(Derived, Derived($v, 0.1)).apply($e)
$n = $k * Derived.rate
.
$n = $e if Base.apply is Derived.apply else Base.apply(Base($v), $e)
""",
    "containers": """
$k = {c.tag: [$e, c.share] for c in node.children}
$n = $v
for $m in $k.values():
    $n = $n + $m[0] * $m[1]
.
$k = [(c.share, $e) for c in node.children if c.share > 0.3]
$n = sum([a * b for a, b in $k], $v)
.
$k = {}
for c in [node, *node.children]:
    $k.setdefault(c.tag, []).append(c.share)
$n = $e * sum(sum(x) for x in $k.values())
.
$k = {'x': {'y': [$e, ($v, $e)]}}
$k['x']['y'][0] = $k['x']['y'][1][0] + $v
$n = $k['x']['y'][0] * 0.5
.
$k = [[$e, $v], [$v, $e]]
$n = sum([a[0] * b for a, b in zip($k, (0.5, node.share))])
.
$n = sum([x * y for x in [$e, $v] for y in [0.5, node.share] if y > 0.2], $v)
.
$k = [$e, $v, $e, $v]
$k[1:3] = [$v]
$k += [$e]
$n = $k[-1] - $k[node.rounds]
.
$k = [$v, $e]
$k.reverse()
$k.extend([$v] * node.rounds)
$n = sum($k)
.
$k = sorted([(c.share, c.word) for c in node.children], reverse=True)
$n = $e * ($k[0][0] if $k else 0.5)
.
$k = list(enumerate([$e, $v], 1))
$n = $k[0][0] * $k[0][1] + $k[1][1]
.
$k = {i: $e * i for i in range(node.rounds + 1)}
$n = $k.pop(0) + sum($k.values())
.
$k = dict(a=$e, b=$v)
$k.update({node.tag: $e})
$n = sum($k.values())
.
$k = {**{'a': $e}, 'b': $v}
$n = $k.get(node.tag, $v) + len($k)
.
$k = tuple(x * 0.5 for x in ($e, $v))
$n = $k[0] if node.tag == 'a' else $k[-1]
.
$k = [None, $e, None, $v]
$n = sum([x for x in $k if x is not None])
.
$k = [$e for c in node.children if c.tag == node.tag or not c.children]
$n = janus.stack($k).mean(0) if $k else $v
.
$k = [$v]
$m = $k
$m.append($e)
$n = $k[-1] * len($k) if $k is $m else $v
.
$k = [[] for i in range(2)]
for i, c in enumerate(node.children):
    $k[i % 2].append($e * c.share)
$n = sum($k[0], $v) - sum($k[1], $v)
.
$k, ($m, *_) = $e, [$v, 1, 2]
$n = $k + $m
.
$k = {(c.tag, c.rounds): c for c in node.children}
$n = $e * $k[('a', 1)].share if ('a', 1) in $k else $e
.
$k = any(c.share > 0.5 for c in node.children), all(c.word > 2 for c in node.children)
$n = $e * $k[0] + $v * $k[1]
.
$k = [$e, $v][node.rounds % 2]
$n = $k if $k is not $v else $k * 2
.
log.append({'v': $v.detach(), 'n': [node.word]})
$n = $e + log[-1]['v']
""",
    "generators": """
$n = sum(pieces($e, node.rounds), $v)
.
$n = $v
for $k in chained($e, node.rounds):
    $n = $x + $k
.
$k = list(chained($e, 2))
$n = $k[1] * $k[-1]
.
$n = next(pieces($e, node.rounds), $v)
.
$k = pieces($e, 2)
next($k)
$n = next($k) + $v
.
$n = $v
for $k, c in zip(pieces($e, 3), node.children):
    $n = $n + $k * c.share
.
$n = sum((x * 0.5 for x in chained($v, node.rounds)), $e)
.
def $k():
    for c in node.children:
        if c.share > 0.5:
            yield $e * c.share
$n = sum($k(), $v)
.
$n = $v
for $k in pieces($e, 4):
    if $k.sum() > 0.5137:
        break
    $n = $x
.
$n, *$k = chained($e, 2)
$n = $n + $k[-1]
.
$n = max((c.share for c in walk(node) if c is not node), default=0.5) * $e
.
def $k(n):
    if n:
        yield $e * n
        yield from $k(n - 1)
$n = sum($k(node.rounds), $v)
.
$k = (c.share for c in node.children)
$n = $e * sum($k) + $v * len(list($k))
.
$n = functools.reduce(lambda a, b: a * 0.5 + b, pieces($e, 2), $v)
.
$n = dict(zip('ab', chained($e, 1)))['b']
""",
    "exceptions": """
try:
    $n = $e * refused(node)
except Odd as $k:
    $n = $e * $k.word
.
try:
    $n = $e * refused(node)
except (KeyError, ValueError):
    $n = $v
else:
    $n = $n + $v
finally:
    self.count += 1
.
$n = $v
for c in node.children:
    try:
        $n = $n + refused(c) * $e
    except Odd:
        continue
.
$n = $v
for c in node.children:
    try:
        $n = $n * refused(c)
    except Odd:
        break
    finally:
        $n = $n + 0.1
.
with Derived($v, 0.3) as $k:
    $n = $e
    $n = $n * refused(node)
.
try:
    try:
        $n = $e * refused(node)
    except Odd as $k:
        raise KeyError($k.word) from None
except KeyError as $k:
    $n = $v * $k.args[0]
.
def $k(x):
    try:
        return x * refused(node)
    except Odd:
        return x
    finally:
        self.count += 1
$n = $k($e)
.
try:
    $n = $e + self.nothing
except AttributeError:
    $n = $e
.
try:
    $n = $e @ janus.ones(node.rounds + 2, 3)
except RuntimeError:
    $n = $e
.
try:
    assert node.share > 0.3, 'low'
    $n = $e
except AssertionError as $k:
    $n = $v * len(str($k))
.
try:
    $n = $e * [1.0, 0.5][node.rounds]
except IndexError:
    $n = $e
.
try:
    $n = $e * int(node.tag)
except ValueError as $k:
    $n = $e + ('invalid' in str($k))
.
$k = iter(node.children)
try:
    $m = next($k)
    $n = $e * $m.share
except StopIteration:
    $n = $e
.
try:
    if $v.sum() > 0.2137:
        raise Odd(1)
    $n = $e
except Odd:
    $n = $v
""",
    "globals": """
def $k():
    global TOTAL
    TOTAL = TOTAL + node.rounds
    return TOTAL
$n = $e * ($k() % 4)
.
$n = $e * (TOTAL % 3)
.
COUNTED['n'] += 1
$n = $e * (COUNTED['n'] % 3 + 1)
.
MET.append(node.word)
$n = $e * (len(MET) % 5)
.
$n = $e + MET[-1] if MET else $e
.
COUNTED[node.tag] = COUNTED.get(node.tag, 0) + 1
.
Base.rate = node.share
$n = Base($v)($e)
.
Base.seen = getattr(Base, 'seen', 0) + 1
$n = $e * (Base.seen % 3)
.
SETTINGS['deep'] = node.rounds
$n = $e * SETTINGS['deep']
.
MET.append($v.detach())
.
MET[:] = MET[-3:]
.
def $k():
    global TOTAL
    if node.tag == 'a':
        TOTAL = 0
    else:
        TOTAL += 1
$k()
""",
    "silent": """
with janus.no_grad():
    $n = $e
$n = $n[:, node.rounds:node.rounds + 1] + $v
.
with janus.no_grad():
    $n = $v[:, :node.rounds + 1].sum(1, keepdim=True) * $v
.
with janus.no_grad():
    $k = $e
node.h = $k
$n = $e + $k
.
with janus.no_grad():
    $k = $e
log.append($k)
node.h = $k
.
with janus.no_grad():
    $k = $call(node.left) if node.children else $e
$n = $e * $k
.
with janus.no_grad():
    $k = $e
    with janus.enable_grad():
        $n = $e + $k
.
$k = $v.detach()
node.h, self.last = $k, $k
$n = $e + self.last
.
with janus.no_grad():
    $k = $v * 2
    $k.add_($v)
$n = $e * $k
.
with janus.no_grad():
    $n = $v
    for i in range(node.rounds):
        $n = $x
.
$k = node.vector
log.append($k)
$n = $e * $k
.
with janus.no_grad():
    $n = $v if $v.sum() > 0.0917 else $e
$n = $n * self.row
.
with janus.set_grad_enabled(node.tag == 'a'):
    $n = $e
.
$n = $e if $v.requires_grad else $v * 2
.
$n = $e
$n = $n if $n.is_leaf else $n * 0.5
""",
}
