# SPDX-License-Identifier: Apache-2.0
"""L-BFGS (Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 7.4 and 7.5): steps along the gradient times what the
last steps say of the inverse Hessian, with a fixed length or one that a line search finds."""
import collections
import math

from .. import _C
from .optimizer import Optimizer

_Point = collections.namedtuple("_Point", "t loss grad slope")  # along a direction: its length, what is there


class LBFGS(Optimizer):
    """One `step(closure)` makes up to `max_iter` steps and evaluates `closure` up to about `max_eval` times (5/4 of them by default).

    It ends where the largest gradient is at most `tolerance_grad`, or step and loss change by less than `tolerance_change`.
    `line_search_fn` is None (steps of length `lr`) or "strong_wolfe"; `history_size` steps are kept.
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def _params(self):
        return self.param_groups[0]["params"]

    def _flat_grad(self):
        return _C.cat([(_C.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params()])

    def _move(self, t, direction):
        start = 0
        for p in self._params():
            p.add_(direction[start:start + p.numel()].reshape(p.shape), alpha=t)
            start += p.numel()

    def step(self, closure):
        """Steps; `closure` clears the gradients, computes the loss and its gradients, and returns the loss: what it was at first is returned."""
        with _C.no_grad():
            return self._steps(closure)

    def _steps(self, closure):
        group, state = self.param_groups[0], self.state[self._params()[0]]
        if not state:
            state.update(func_evals=0, n_iter=0, d=None, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1.0, prev_flat_grad=None)

        def evaluate():
            with _C.enable_grad():
                loss = closure()
            state["func_evals"] += 1
            return loss

        def at(t, direction):
            """The point that lies `t` along the direction; the parameters are where they were again."""
            saved = [p.clone() for p in self._params()]
            self._move(t, direction)
            loss, grad = float(evaluate()), self._flat_grad()
            for p, old in zip(self._params(), saved):
                p.copy_(old)
            return _Point(t, loss, grad, float(grad.dot(direction)))

        first = evaluate()
        loss, grad = float(first), self._flat_grad()
        begun = state["func_evals"] - 1
        steps = 0
        while steps < group["max_iter"] and float(grad.abs().max()) > group["tolerance_grad"]:
            steps += 1
            state["n_iter"] += 1
            d = self._direction(state, grad, group["history_size"])
            before = loss
            state["prev_flat_grad"], state["d"] = grad, d
            t = min(1.0, 1.0 / float(grad.abs().sum())) * group["lr"] if state["n_iter"] == 1 else group["lr"]
            state["t"] = t
            slope = float(grad.dot(d))
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                found = _strong_wolfe(lambda t: at(t, d), _Point(0.0, loss, grad, slope), t, float(d.abs().max()))
                t, loss, grad = found.t, found.loss, found.grad
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                if steps < group["max_iter"]:  # the last point is evaluated by the next call
                    loss, grad = float(evaluate()), self._flat_grad()
            if (state["func_evals"] - begun >= group["max_eval"] or float((d * t).abs().max()) <= group["tolerance_change"]
                    or abs(loss - before) < group["tolerance_change"]):
                break
        return first

    @staticmethod
    def _direction(state, grad, size):
        """Minus the gradient times the estimate of the inverse Hessian, which takes in the step before."""
        changes, moves, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if state["d"] is None:
            return -grad
        y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = float(y.dot(s))
        if curvature > 1e-10:
            if len(changes) == size:
                for old in (changes, moves, ro):
                    old.pop(0)
            changes.append(y)
            moves.append(s)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / float(y.dot(y))
        q, alphas = -grad, []
        for y, s, r in zip(reversed(changes), reversed(moves), reversed(ro)):
            alphas.append(float(s.dot(q)) * r)
            q = q - alphas[-1] * y
        q = q * state["H_diag"]
        for y, s, r, alpha in zip(changes, moves, ro, reversed(alphas)):
            q = q + (alpha - float(y.dot(q)) * r) * s
        return q


def _cubic_least(a, b, low, high):
    """Where the cubic through two points with their slopes is least, cut to [low, high]; the middle of these where it has no minimum."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(least, low), high)


def _strong_wolfe(at, start, t, longest, c1=1e-4, c2=0.9, least_change=1e-9, most=25):
    """A point with enough less loss and a slope flat enough (algorithms 3.5 and 3.6): lengths grow till they bracket one, then brackets shrink."""
    def too_high(p):
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p):
        return abs(p.slope) <= -c2 * start.slope

    before, point, n, bracket = start, at(t), 0, None
    while n < most:
        if too_high(point) or (n > 1 and point.loss >= before.loss):
            bracket = before, point
        elif flat(point):
            return point
        elif point.slope >= 0:
            bracket = before, point
        if bracket:
            break
        low, high = point.t + 0.01 * (point.t - before.t), point.t * 10
        before, point = point, at(_cubic_least(before, point, low, high))
        n += 1
    a, b = bracket or (start, point)
    best, other = (a, b) if a.loss <= b.loss else (b, a)
    stuck = False
    while n < most and abs(best.t - other.t) * longest >= least_change:
        low, high = min(best.t, other.t), max(best.t, other.t)
        t, edge = _cubic_least(best, other, low, high), 0.1 * (high - low)
        near = min(high - t, t - low) < edge
        if near and (stuck or t >= high or t <= low):  # too near to an end, twice or altogether
            t, near = high - edge if abs(t - high) < abs(t - low) else low + edge, False
        stuck = near
        point = at(t)
        n += 1
        if too_high(point) or point.loss >= best.loss:
            other = point
            if other.loss < best.loss:
                best, other = other, best
            continue
        if flat(point):
            return point
        if point.slope * (other.t - best.t) >= 0:
            other = best
        best = point
    return best
