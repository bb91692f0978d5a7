# SPDX-License-Identifier: Apache-2.0
"""Expressions of random programs, by feature; generate_tables.py says what the signs mean."""
BASE = """janus.tanh($e) | janus.sigmoid($e) | ($e + $e) | ($e * $e) | ($e - $e) | ($e @ self.square) | self.one($e)
self.two(janus.cat([$e, $e], 1)) | ($e + self.row) | ($e * self.scale) | $e.relu() | ($e * node.share)
$e.softmax(1) | janus.stack([$e, $e]).sum(0) | ($e if node.tag == 'a' else $e) | $e.detach() | $e.clone()
$e[:, [2, 0, 1]] | (-$e) | janus.where($e > 0.0131, $e, $e) | $e.abs() | ($e * self.factor) | ($e + $i * 0.1)
self.out($e)"""

FORMS = {
    "draws": """F.dropout($e, 0.3) | self.drop($e) | ($e * janus.rand(1, 3)) | ($e + 0.1 * janus.randn(3))
($e * janus.rand_like($v)) | ($e * janus.bernoulli($v.sigmoid()))
($e + self.words(janus.randint(0, 12, (1,)))) | $e[:, janus.randperm(3)] | janus.normal($e, 0.1)
F.dropout($e, 0.3, training=self.training) | ($e * janus.rand(node.rounds + 1, 3).sum(0))
(F.dropout($e, 0.5) if node.tag == 'b' else $e)""",
    "weights": """($e * self.square[0]) | ($e @ self.square.t()) | ($e + self.square[1:2]) | ($e @ self.square[:, [2, 0, 1]])
($e * self.words.weight[node.word]) | F.linear($e, self.one.weight) | F.linear($e, self.square, self.row)
($e * self.square.sum(0)) | ($e @ self.two.weight[:, :3].t()) | ($e + self.two.weight[:, 2])
($e @ (self.square * self.scale)) | ($e @ self.square.view(3, 3)) | ($e * self.square.diagonal())
($e * self.row.view(1, 3).expand(1, 3)) | F.linear($e, self.one.weight.t(), self.one.bias)
(self.row * self.row + $e) | F.embedding(janus.tensor([node.word]), self.words.weight)
($e + self.words.weight.mean(0)) | ($e @ janus.cat([self.square, self.square])[:3])
self.bank[node.word % 3]($e) | self.tags[node.tag]($e) | self.norm($e) | F.layer_norm($e, (3,), self.row)
F.linear($e, self.words.weight[3:6]) | ($e * self.square[node.rounds]) | ($e + self.square[:, node.rounds])
($e @ self.square.tril()) | self.bank[0](self.bank[1]($e)) | self.chain($e) | ($e * self.row[node.rounds])
($e * self.scale.exp()) | ($e @ self.square.unbind(1)[0].view(3, 1)) * $v
($e + janus.stack([self.row, self.row]).mean(0)) | ($e @ self.square @ self.square)
($e * self.one.bias + self.row)""",
    "shapes": """$e.sum(1, keepdim=True) * $v | $e.mean(1, keepdim=True) + $v | ($e - $e.max(1, keepdim=True).values)
janus.cat([$e, $e], 0).sum(0, keepdim=True) | janus.cat([$e[:, :1], $e[:, 1:]], 1)
janus.stack([$e, $e, $e], 1).mean(1) | janus.stack([$e, $e], 2).max(2).values
$e.split([1, 2], 1)[1].sum(1, keepdim=True) * $v | ($e.chunk(3, 1)[0] + $v)
$e.index_select(1, janus.tensor([2, 1, 0])) | $e.gather(1, janus.tensor([[0, 2, 2]]))
janus.where($v > 0.0513, $e, $e) | $e.t().reshape(1, 3) | $e.unsqueeze(0).permute(1, 0, 2).squeeze(1)
$e.expand(4, 3).mean(0, keepdim=True) | $e.flip(1) | ($e.unsqueeze(2) * $v.unsqueeze(1)).sum(2)
($e.reshape(3, 1) + $v).mean(0, keepdim=True) | $e.cumsum(1) | $e.roll(1, 1) | $e.sort(1).values
($e.topk(2, 1).values.sum(1, keepdim=True) + $v) | $e.clamp(-0.5, 0.5) | F.pad($e, (1, 1))[:, 1:4]
$e.masked_fill($v > 0.1013, 0.3) | ($e.prod(1, keepdim=True) + $v) | ($e.var(1, keepdim=True) + $v)
$e.log_softmax(1) | ($e.logsumexp(1, keepdim=True) * $v) | janus.einsum('bi,ij->bj', $e, self.square)
$e[0].unsqueeze(0) | $e.view(-1)[None] | (F.one_hot(janus.tensor([node.word % 3]), 3) * $e)
janus.maximum($e, $e) | $e.repeat(2, 1)[1:] | janus.outer($e[0], $v[0])[1:2]
($e[..., ::2].sum(1, keepdim=True) * $v) | ($e[:, $i % 3].unsqueeze(1) * $v) | $e.pow(2) | ((2.0 - $e) / 3)
F.gelu($e) | ($e.exp().clamp(max=3.0)) | F.softplus($e) | F.leaky_relu($e) | F.silu($e) | (($e @ $v.t()) * $v)
$e.movedim(0, 1).t() | $e.scatter(1, janus.tensor([[1]]), 0.5)
(janus.ones(node.rounds + 1, 3) * $e).sum(0, keepdim=True) | F.normalize($e, dim=1)
janus.cat([$v] * (node.rounds + 1)).sum(0, keepdim=True) | $e.expand(node.rounds + 1, 3).sum(0, keepdim=True)
($e[:, :node.rounds + 1].sum(1, keepdim=True) + $v) | ($e[:, node.rounds:].sum(1, keepdim=True) * $v)
($e[:, node.rounds:node.rounds + 1] + $v)
(self.words(janus.arange(node.rounds + 1)).sum(0, keepdim=True) + $e)
self.words(node.numbers).sum(0, keepdim=True) * $e | (self.square[:node.rounds + 1].mean(0) * $e)
janus.bmm($e.unsqueeze(0), self.square.unsqueeze(0)).squeeze(0)
(self.words(janus.tensor([node.word, node.rounds, 3])) @ $e.t()).t() | ($e.argmax(1) * $v)
($e - $e.mean()) / ($e.std() + 1.0)""",
    "empty": """($e[:0].sum(0, keepdim=True) + $v) | janus.cat([$e, janus.zeros(0, 3)]) | ($e[:, :0].sum(1, keepdim=True) + $v)
(janus.zeros(0, 3).sum(0, keepdim=True) + $e) | ($e.expand(node.rounds, 3).sum(0, keepdim=True) + $v)
janus.cat([$v] * node.rounds + [$e]).sum(0, keepdim=True) | ($e[$v[:, 0] > 0.0713].sum(0, keepdim=True) + $v)
(self.words(janus.tensor([c.word for c in node.children], dtype=janus.int64)).sum(0, keepdim=True) + $e)
(self.words(janus.arange(node.rounds)).sum(0, keepdim=True) + $e) | (self.square[:node.rounds].sum(0) + $e)
janus.stack([$e] + [$v * c.share for c in node.children]).sum(0)
(janus.tensor([c.share for c in node.children]).sum() * $e) | ($e[:, node.rounds:2].sum(1, keepdim=True) + $v)
(($e.expand(node.rounds, 3) @ self.square).sum(0, keepdim=True) + $v)
(F.dropout(janus.ones(node.rounds, 3), 0.3).sum(0, keepdim=True) + $e)
(janus.cat([janus.zeros(0, 3), $v, janus.zeros(0, 3)]) * $e)""",
    "special": """($e / ($v - $v)) | $v.log() | $v.sqrt() | (($e * 1e30) * 1e30) | janus.where($v > 0.0113, $v.log(), $e)
janus.where($v > 0.0213, $e / $v, $e) | ($e / $v.relu()) | $v.relu().sqrt() | $v.abs().pow(0.5)
($v.relu().norm() * $e) | $e.nan_to_num() | $e.clamp(min=-1.0) | (janus.isnan($e).float() + $v)
janus.where(janus.isnan($e), $v, $e) | $e.masked_fill($v > 0.1013, float('-inf')).softmax(1)
($e + janus.tensor([[0.0, float('inf'), 0.0]])).sigmoid()
($e * float('nan') if node.word == 3 and node.rounds == 1 else $e) | ($v.relu() * $v.relu().log())
janus.maximum($e, $v.log()) | janus.where(janus.isfinite($e), $e, janus.zeros(1, 3))
$e.max(1, keepdim=True).values * $v | $e.clamp(-2.0, 2.0)""",
    "ints": """($e * ($v > 0.0213)) | ($e * ($v > 0.0223).long()) | (janus.tensor([node.word, 3, node.rounds]) + $e)
(janus.tensor([[node.word]]) // 4 * $e) | (janus.arange(3) % 2 * $e) | $e.masked_fill(~($v > 0.0313), 0.5)
($e * (($v > 0.0117) & ($e < 0.5113)).sum()) | self.words(node.index % 5)
self.words((node.index * 7 + node.rounds) % 12) | $e * node.numbers | (node.numbers.sum() * $e)
janus.where(node.numbers > 5, $e, $e) | (node.numbers.float() / 12 * $e) | $e[:, node.numbers.argsort()]
($e * node.numbers.max()) | ($v.argmax(1) * $e) | self.words($v.argmax(1)) | ($e * node.mask)
($e * (node.numbers == node.word).any()) | ($e + (node.numbers << 1) * 0.01)
($e + (node.numbers ^ node.word) * 0.01) | ($e + -node.numbers // 5) | ($e + node.numbers % -5 * 0.1)
($e * (node.word // -4)) | ($e * (-node.word % 5)) | ($e + 7 % (node.rounds + 1))
($e + divmod(node.word, 5)[1]) | ($e * round(node.share, 1)) | ($e * int(node.share * 10 - 5))
($e * min(node.word, 4) * 0.2) | ($e + (node.mask ^ (node.numbers > 3)).float()) | ($e * (node.mask.sum() > 1))
($e + node.share ** 0.5) | ($e * 2 ** -node.rounds) | ($e * node.numbers.float().mean())
(janus.full((1, 3), node.word) * $e) | ($e * (node.word & 3)) | ($e * (node.share > 0.5))
self.words(janus.tensor(node.word)).unsqueeze(0) * $e | ($e + node.numbers.cumsum(0) * 0.01)
($e * max(node.share, 0.4))""",
}

CONDITIONS = """node.share > 0.4 | node.rounds == 1 | node.tag in ('a', 'b') | node.word > 5 | $v.sum() > 0.0137
node.share > 0.5 and $v.max() > 0.1137 | node.tag == self.mode | not node.children
len(node.children) == 2 or node.rounds"""


def cut(text):
    return [part.strip() for line in text.strip().split("\n") for part in line.split(" | ") if part.strip()]


FORMS = {"base": cut(BASE), **{name: cut(text) for name, text in FORMS.items()}}
CONDITIONS = cut(CONDITIONS)
