# SPDX-License-Identifier: Apache-2.0
"""What random programs (generate.py) are made of, by feature.

A form is an expression, a statement some lines.  $e stands for an expression of shape [1, 3], $v for a variable of that
shape, $i for an integer, $n for the variable that the statement makes, $x for an expression that may use it, $k and $m
for names of its own, $c for a condition, $r for what the function returns, $b for further statements, $call(n) for the
tensor that a recursive call with node n gives.
"""
try:
    from .generate_language import LANGUAGE
except ImportError:
    from generate_language import LANGUAGE

# Blocks are separated by lines of one dot.
STATEMENTS = {
    "base": """
if $c:
    $b
    $n = $e
else:
    $n = $e
.
$n = $v
for i in range(node.rounds):
    $n = $x
.
if node.share > 0.8:
    return $r
.
if node.rounds == 2 and node.tag == chr(99):
    return $r
.
with janus.no_grad():
    $n = $e
""",
    "reads": """
if float($v.sum()) > 0.1373:
    $b
    $n = $e
else:
    $n = $e
.
if $v.sum() > 0.1171:
    $n = $e
else:
    $b
    $n = $e
.
if $v.max() > $v.mean() + 0.4113:
    return $r
.
$k = $v.argmax().item()
$n = $e * ($k + 1)
.
$k = $v.argmax().item()
$n = $e + self.square[$k]
.
$k = int($v.abs().sum() * 3) % 3
$n = $v
for i in range($k):
    $n = $x
.
$n = $v
$k = 0
while $k < 4 and $n.abs().sum() > 0.7131:
    $n = $x * 0.5
    $k += 1
.
$k = $v.sum().item()
$n = $e * $k
.
$n = $v if $v.sum() > 0.0717 else $e
.
$n = $e if bool(($v > 0.0317).any()) else $v
.
$k = $v.tolist()[0]
$n = $e * max($k)
.
if $v[0, 1] > $i * 0.1117:
    $n = $e
else:
    $n = $e
.
$n = self.grow($e, 2)
.
$k, $m = $v.max(1)
$n = $e * $k.item() + $m.item()
.
$k = self.search($v, 0.0, 1.0)
$n = $e * $k
.
if node.children and $v.mean() < 0.0171:
    $n = $call(node.left)
else:
    $n = $e
""",
    "writes": """
node.h = $v
$n = node.h * 0.5
.
node.h = $v.detach()
$n = $e + node.h
.
node.h = $v
.
node.h = node.word + 1
.
if isinstance(node.h, janus.Tensor):
    $n = $e + node.h
else:
    $n = $e
.
self.count += 1
$n = $e * (1 + self.count % 3)
.
self.count += node.rounds
.
node.visits += 1
if node.visits > 1:
    $n = $e
else:
    $n = $e
.
log.append($v.sum())
$n = $e * log[-1]
.
log.append($v.sum())
.
log.append($v.detach())
.
log.append(node.word)
.
$n = $e * (len(log) % 3 + 1)
.
self.table[node.tag] = $v.detach()
$n = $e + self.table.get('a', 0.0)
.
self.counts[node.tag] = self.counts.get(node.tag, 0) + 1
$n = $e * self.counts[node.tag]
.
node.items.append($i)
$n = $e * len(node.items)
.
if node.items:
    $n = $e * node.items[-1]
else:
    $n = $e
.
if node.items:
    node.items.pop()
.
self.best = max(self.best, node.share)
$n = $e * self.best
.
self.last = $v.detach()
.
$n = $e + self.last
.
self.last, $k = $v.detach(), self.last
$n = $e - $k
.
for child in node.children:
    child.visits += node.rounds
.
if node.children and node.children[0].h is not None:
    $n = $e + node.children[0].h
else:
    $n = $e
.
with janus.no_grad():
    log.append($v.sum())
.
if node.word not in self.met:
    self.met.append(node.word)
$n = $e * len(self.met)
.
node.tag = node.tag + 'x'
.
node.word, node.rounds = (node.word + 1) % 12, (node.rounds + 1) % 3
.
node.vector = $v.detach()
.
$n = $e + node.vector
.
self.state['n'] = self.state['n'] + node.rounds
self.state['h'] = $v.detach()
.
$n = $e + self.state['h'] * self.state['n']
.
$k = self.path
self.path = $k + [node.word]
.
self.path.append(node.word)
$n = $call(node.left) if node.children else $e
self.path.pop()
.
$n = $e * (sum(self.path[-3:]) % 5)
.
setattr(node, 'seen', getattr(node, 'seen', 0) + 1)
$n = $e * node.seen
""",
    "loops": """
$n = $v
for i, c in enumerate(node.children):
    $n = $x * (i + c.share)
.
$n = $v
$k = node.word
while $k > 3:
    $k //= 2
    $n = $x
.
$n = $v
for c in node.children:
    if c.share > 0.6:
        break
    $n = $x
.
$n = $v
for c in node.children:
    if c.share > 0.6:
        continue
    $n = $x * c.share
else:
    $n = $n + 0.1
.
$n = sum([$e * c.share for c in node.children], janus.zeros(1, 3))
.
$n = $v
for a, b in zip(node.children, node.children[1:]):
    $n = $x * (a.share - b.share)
.
$n = $v
for i in range(2):
    for c in node.children:
        $n = $x + c.share
.
$n = $v
for c in node.children:
    $n = $n + 0.3 * $call(c)
.
$n = $v
for i in range(node.rounds):
    for c in node.children:
        $n = $x + $call(c) * 0.1
.
$k = [c.share for c in node.children if c.word > 3]
$n = $e * (sum($k) + 1)
.
$n = $v
for c in reversed(node.children):
    $n = $n * 0.5 + $call(c)
.
$n = $v
for c in sorted(node.children, key=lambda c: c.word):
    $n = $x * c.share
.
$k = 0
$n = $v
while True:
    $k += 1
    if $k > node.rounds:
        break
    $n = $x
.
$k = [$e for i in range(node.rounds + 1)]
$n = $k[-1] + $k[0]
.
$k = []
for c in node.children:
    $k.append($call(c))
$n = sum($k, $v)
.
$k = [$call(c) for c in node.children]
$n = janus.cat($k).max(0, keepdim=True).values if $k else $e
.
$k = False
for c in node.children:
    $k = $k or c.tag == 'a'
$n = $e if $k else $e
.
$k = None
for c in node.children:
    $m = $call(c)
    $k = $m if $k is None else $k * 0.5 + $m
$n = $e if $k is None else $k
.
$n = $v
for c in node.children:
    for d in c.children:
        if d.share > 0.7:
            break
        $n = $x * d.share
.
$n = $v
for i in range(node.rounds):
    if i == 1:
        return $r
    $n = $x
.
$n, $k = $v, 1.0
for c in node.children:
    $n, $k = $n * $k + c.share, $k * 0.7
.
$k = node
$n = $v
while $k.children:
    $k = $k.children[0]
    $n = $x + $k.share
.
$n = $v
for word, c in {c.word: c for c in node.children}.items():
    $n = $n + self.words(janus.tensor([word])) * c.share
.
$n = max((c.share for c in node.children), default=0.5) * $e
.
$n = $v
for i in range(3, 0, -1):
    $n = $x / i
.
$n = $v
for $k in janus.cat([$e, $e]):
    $n = $n + $k
.
$n = $v
$k = iter(node.children)
for c in $k:
    $n = $x * next($k, c).share
""",
    "language": """
def $k(a, scale=0.5):
    return a * scale + $v
$n = $k($e)
.
$n = (lambda a, b=2.0: a * b - $v)($e)
.
$n = self.mix($e, other=$e)
.
$n = self.mix($e, $e, $e, power=node.rounds)
.
$n = self.mix(*[$e, $e], **{'other': $v})
.
$k, *$m = [$e, $e, $v]
$n = $k + $m[-1]
.
$n = combine([$e, $e], node.share)
.
$n = combine(values=($e, $v), by=$i)
.
$n = self.cell($e)
.
$n = self.cell.forward($e) + self.cell.shift
.
$k = self.one if node.tag == 'a' else self.out
$n = $k($e)
.
$n = {'a': self.one, 'b': janus.tanh, 'c': self.cell}[node.tag[0]]($e)
.
$k = {'x': $e, 'y': [$e, $v]}
$n = $k['x'] + $k['y'][1]
.
$k = ($e, ($e, $v))
$n = $k[1][0] - $k[0]
.
$n = Pair($e, $e).joined(node.share)
.
$k = Pair($e, $e)
$k.a = $k.a + $k.b
$n = $k.total
.
$n = functools.reduce(lambda a, b: a + 0.5 * b, [$e, $e, $v])
.
$n = sum(map(lambda c: c.share, node.children), 0.1) * $e
.
if ($k := node.rounds * 2) > 2:
    $n = $e * $k
else:
    $n = $e
.
$n = $e * (0.3 < node.share < 0.7)
.
$n = $e * (node.left is None or node.left.share)
.
$k = 0.0
def $m():
    nonlocal $k
    $k = $k + node.share
    return $k
$m()
$n = $e * $m()
.
def $k(c, depth):
    if depth == 0 or not c.children:
        return self.words(janus.tensor([c.word])) * depth
    return $k(c.children[0], depth - 1) + $v
$n = $k(node, 2)
.
print(f"{node.word} {node.tag} {node.share:.3f}")
.
print('at', node.word, [c.word for c in node.children], sep='-')
.
$n = $e * len(f"{node.tag}{node.word}")
.
$n = $e * (node.tag.upper() == 'A')
.
$k = [$e, $v]
$k[0], $k[1] = $k[1], $k[0]
$n = $k[0] - $k[1]
.
$k = [$e, $v, $v]
del $k[0]
$k.insert(0, $e)
$n = sum($k)
.
$n = Model.scaled($e, node.share)
.
$n = $e * self.twofold
.
$n = $e * node.weight()
.
$k = {c.tag for c in node.children}
$n = $e * len($k)
.
$n = $e
$n *= node.share
$n += $v
.
$k = functools.partial(self.mix, other=$e)
$n = $k($e)
.
match node.tag:
    case 'a':
        $n = $e
    case 'b' | 'c' if node.rounds > 0:
        $n = $e
    case _:
        $n = $e
.
$n = sum(c.share for c in walk(node)) * $e
.
$n = next((self.one($v) for c in node.children if c.share > 0.5), $e)
.
try:
    $n = $e * {'a': 1.0, 'b': 2.0}[node.tag]
except KeyError:
    $n = $e
.
try:
    $n = $e * (6 // (node.word - 5))
except ZeroDivisionError as error:
    $n = $e * len(str(error))
finally:
    self.count += 1
""",
    "errors": """
if node.word == 7 and node.rounds == 2:
    raise ValueError(f'bad {node.word}')
.
assert node.share < 0.96, node.tag
.
$n = $e * (10 // (node.word - 4)) if node.share > 0.8 else $e
.
if node.share > 0.9:
    $n = $e * [1.0, 2.0][node.rounds]
else:
    $n = $e
.
if node.share > 0.9:
    $n = $e * {'a': 1.0, 'b': 2.0}[node.tag]
else:
    $n = $e
.
if node.share < 0.1:
    $n = self.words(janus.tensor([node.word + 3]))
else:
    $n = $e
.
$n = $e[:, [node.rounds + 1]] if node.share < 0.1 else $e
.
if $v.sum() > 1.9131:
    raise RuntimeError('too large')
.
$n = $e + janus.ones(1, node.rounds + 2) if node.share < 0.07 else $e
.
$n = janus.cat([$v, $v], node.rounds).sum(0, keepdim=True)[:, :3] if node.share < 0.07 else $e
.
if node.word == 3:
    try:
        $n = $call(node.left) if node.children else $e
    except (ValueError, AssertionError):
        $n = $e
else:
    $n = $e
.
self.count += 1
if self.count > 9:
    self.count = 0
    raise StopIteration(node.tag)
.
$n = $e * (1.0 / (node.share - node.share) if node.share > 0.95 else 1.0)
.
$n = $e * math.sqrt(node.share - 0.05)
.
$n = $e + node.nothing if node.share > 0.96 else $e
.
$n = $e + None if node.share > 0.96 else $e
.
log.append(node.word)
if len(log) > 14:
    raise OverflowError(len(log))
""",
    "gradients": """
$k = node.vector.clone().requires_grad_()
$m, = janus.autograd.grad(self.one($k).tanh().sum(), [$k])
$n = $e + $m
.
with janus.no_grad():
    $n = $e
with janus.enable_grad():
    $n = $n + self.row
.
$n = $e.detach() * self.row
.
$n = $e + node.vector.requires_grad_()
.
$n = self.frozen($e)
""",
    "inplace": """
$n = $e.clone()
$n[0, node.rounds] = 0.5
.
$n = $e.clone()
$n.mul_(0.5).add_($v)
.
$n = $e * 1.0
$n += $v
$n *= node.share
.
$n = janus.zeros(1, 3)
$n[:, 1:] = $v[:, 1:]
.
$n = janus.zeros(2, 3)
$n[0] = $v[0]
$n = $n.sum(0, keepdim=True) + $e
.
self.total += $v.detach()
$n = $e + self.total
.
self.total[0, node.rounds] += 1.0
.
$n = $e.clone()
$k = $n[:, :2]
$k.add_(1.0)
.
with janus.no_grad():
    self.total.copy_($v)
.
$n = $e.clone().relu_()
.
$n = $e.clone()
$n[$v > 0.1] = 0.0
.
node.vector.add_(1.0)
$n = $e + node.vector
.
$n = node.vector.view(3)[None] + $e
node.vector.mul_(0.5)
.
self.seen[node.word] += 1
$n = $e * self.seen[node.word]
.
$n = $e.clone()
for i in range(node.rounds):
    $n[:, i] = $v[:, i] * 2
.
$n = janus.zeros(1, 3).index_add_(0, janus.tensor([0]), $e)
""",
    "changes": """
$n = $e * self.factor
.
$n = $e if self.mode == 'a' else $e
.
$n = $e * FACTOR
.
$n = $e + sum(NUMBERS) * 0.1
.
$n = self.drop($e) if self.training else $e
.
$n = self.bank[self.chosen]($e)
.
for $k in self.bank:
    $v = janus.tanh($k($v))
.
$n = $e if self.extra is None else $e + self.extra
.
$n = SETTINGS['act']($e)
.
if SETTINGS.get('deep') and node.children:
    $n = $call(node.left)
else:
    $n = $e
.
$n = $e * self.row if self.row.requires_grad else $e
.
$n = self.act($e)
""",
    "barriers": """
$n = $e * random.random()
.
$n = $e * (hash(node.word) % 3)
.
$n = $e * len(repr(node.word))
.
$k = numpy_like($v)
$n = $e * $k
""",
}

# What happens between two calls.
BETWEEN = """
with janus.no_grad():
    model.row.mul_(0.9)
.
model.factor = model.factor + 0.25
.
model.mode = 'abc'[call % 3]
.
global FACTOR
FACTOR = FACTOR * 0.5
.
NUMBERS.append(call)
.
model.train(call % 2 == 0)
.
model.eval()
.
model.row.requires_grad_(call % 2 == 0)
.
model.one, model.out = model.out, model.one
.
model.row = nn.Parameter(model.row.detach() * 0.5)
.
model.double()
.
model.float()
.
for group in optimizer.param_groups:
    group['lr'] = 0.01 * (call + 1)
.
model.chosen = call % 3
.
model.bank.append(nn.Linear(3, 3))
.
model.extra = model.row.detach() if call % 2 else None
.
SETTINGS['act'] = janus.tanh if call % 2 else janus.sigmoid
.
SETTINGS['deep'] = call % 2
.
model.scale.data = model.scale.data * 1.5
.
optimizer.zero_grad()
.
model.act = janus.tanh if call % 2 else (lambda x: x * 0.5)
.
Model.cellular = call
.
model.one.weight = model.square
.
model.drop.p = 0.1 * call
.
model.mix = lambda x, *rest, other=None, power=1: x * call
.
model.words.weight.data[call] = 0.0
.
optimizer.step()
.
model.square.grad = None
.
model.load_state_dict({k: v * 0.9 for k, v in model.state_dict().items()})
.
for p in model.parameters():
    if p.grad is not None:
        p.grad.mul_(0.5)
"""


def blocks(text):
    return [part.strip("\n").split("\n") for part in text.split("\n.\n")]


STATEMENTS = {name: blocks(text.strip("\n")) for name, text in {**STATEMENTS, **LANGUAGE}.items()}
BETWEEN = blocks(BETWEEN.strip("\n"))
