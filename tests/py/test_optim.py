# SPDX-License-Identifier: Apache-2.0
"""Optimisers against the same update rules written out in NumPy, and schedules."""
import collections
import math

import janus
import janus.optim as optim
import numpy as np
import pytest
from janus.nn import Parameter

TARGET = np.array([1.0, -2.0, 0.5])


def run(make, steps=8):
    """Minimises a quadratic; the parameter after each step."""
    param = Parameter(janus.tensor([0.3, 0.2, -0.4], dtype=janus.float64))
    optimizer = make([param])
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        gap = param - janus.tensor(TARGET.tolist(), dtype=janus.float64)
        (gap * gap).sum().backward()
        optimizer.step()
        path.append(np.array(param.tolist()))
    return np.array(path)


def expected(update, steps=8):
    """The same path by `update(p, g, state, t)`, which returns the new p."""
    p, state, path = np.array([0.3, 0.2, -0.4]), {}, []
    for t in range(1, steps + 1):
        p = update(p, 2 * (p - TARGET), state, t)
        path.append(p)
    return np.array(path)


def sgd(lr=0.1, momentum=0.0, dampening=0.0, decay=0.0, nesterov=False):
    def update(p, g, s, t):
        g = g + decay * p
        if momentum:
            s["v"] = g if t == 1 else momentum * s["v"] + (1 - dampening) * g
            g = g + momentum * s["v"] if nesterov else s["v"]
        return p - lr * g
    return update


def adam(lr=0.1, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, decoupled=False, amsgrad=False):
    def update(p, g, s, t):
        if decoupled:
            p = p * (1 - lr * decay)
        else:
            g = g + decay * p
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
        s["x"] = np.maximum(s.get("x", 0), s["v"]) if amsgrad else s["v"]
        return p - lr / (1 - b1 ** t) * s["m"] / (np.sqrt(s["x"]) / math.sqrt(1 - b2 ** t) + eps)
    return update


def adagrad(lr=0.1, lr_decay=0.0, start=0.0, eps=1e-10):
    def update(p, g, s, t):
        s["sum"] = s.get("sum", start) + g * g
        return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)
    return update


def rmsprop(lr=0.1, alpha=0.9, eps=1e-8, momentum=0.0, centered=False):
    def update(p, g, s, t):
        s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
        s["m"] = alpha * s.get("m", 0) + (1 - alpha) * g
        step = g / (np.sqrt(s["v"] - (s["m"] ** 2 if centered else 0)) + eps)
        s["b"] = momentum * s.get("b", 0) + step
        return p - lr * s["b"]
    return update


def adadelta(lr=1.0, rho=0.9, eps=1e-6, decay=0.0):
    def update(p, g, s, t):
        g = g + decay * p
        s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
        step = np.sqrt(s.get("d", 0) + eps) / np.sqrt(s["v"] + eps) * g
        s["d"] = rho * s.get("d", 0) + (1 - rho) * step * step
        return p - lr * step
    return update


def adamax(lr=2e-3, b1=0.9, b2=0.999, eps=1e-8, decay=0.0):
    def update(p, g, s, t):
        g = g + decay * p
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["u"] = np.maximum(b2 * s.get("u", 0), np.abs(g) + eps)
        return p - lr / (1 - b1 ** t) * s["m"] / s["u"]
    return update


def nadam(lr=2e-3, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, slower=4e-3, decoupled=False):
    def update(p, g, s, t):
        p, g = (p * (1 - lr * decay), g) if decoupled else (p, g + decay * p)
        now, ahead = (b1 * (1 - 0.5 * 0.96 ** (k * slower)) for k in (t, t + 1))
        s["product"] = np.float32(s.get("product", np.float32(1)) * np.float32(now))  # PyTorch keeps it in f32
        so_far = float(s["product"])
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
        root = np.sqrt(s["v"] / (1 - b2 ** t)) + eps
        return p - lr * (1 - now) / (1 - so_far) * g / root - lr * ahead / (1 - so_far * ahead) * s["m"] / root
    return update


def radam(lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, decoupled=False):
    def update(p, g, s, t):
        p, g = (p * (1 - lr * decay), g) if decoupled else (p, g + decay * p)
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
        most = 2 / (1 - b2) - 1
        rho = most - 2 * t * b2 ** t / (1 - b2 ** t)
        by = 1.0
        if rho > 5:
            by = math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) * math.sqrt(1 - b2 ** t) / (np.sqrt(s["v"]) + eps)
        return p - lr * by * s["m"] / (1 - b1 ** t)
    return update


def rprop(lr=1e-2, shrinks=0.5, grows=1.2, least=1e-6, most=50.0):
    def update(p, g, s, t):
        turn = g * s.get("g", 0)
        s["size"] = np.clip(s.get("size", lr) * np.where(turn > 0, grows, np.where(turn < 0, shrinks, 1)), least, most)
        s["g"] = np.where(turn < 0, 0, g)
        return p - np.sign(s["g"]) * s["size"]
    return update


def asgd(lr=1e-2, lambd=1e-4, alpha=0.75, decay=0.0):
    def update(p, g, s, t):
        eta = s.get("eta", np.float32(lr)).astype(float)  # PyTorch keeps it in f32
        s["eta"] = np.float32(lr / (1 + lambd * lr * t) ** alpha)
        return p * (1 - lambd * eta) - eta * (g + decay * p)
    return update


@pytest.mark.parametrize("make, update", [
    (lambda p: optim.Adamax(p), adamax()),
    (lambda p: optim.Adamax(p, lr=0.1, betas=(0.5, 0.6), eps=1e-4, weight_decay=0.3), adamax(0.1, 0.5, 0.6, 1e-4, 0.3)),
    (lambda p: optim.NAdam(p), nadam()),
    (lambda p: optim.NAdam(p, lr=0.1, betas=(0.5, 0.6), weight_decay=0.3, momentum_decay=0.5), nadam(0.1, 0.5, 0.6, decay=0.3, slower=0.5)),
    (lambda p: optim.NAdam(p, lr=0.1, weight_decay=0.3, decoupled_weight_decay=True), nadam(0.1, decay=0.3, decoupled=True)),
    (lambda p: optim.RAdam(p), radam()),
    (lambda p: optim.RAdam(p, lr=0.1, betas=(0.5, 0.8), weight_decay=0.3), radam(0.1, 0.5, 0.8, decay=0.3)),
    (lambda p: optim.RAdam(p, lr=0.1, weight_decay=0.3, decoupled_weight_decay=True), radam(0.1, decay=0.3, decoupled=True)),
    (lambda p: optim.Rprop(p), rprop()),
    (lambda p: optim.Rprop(p, lr=0.5, etas=(0.3, 1.5), step_sizes=(0.1, 0.6)), rprop(0.5, 0.3, 1.5, 0.1, 0.6)),
    (lambda p: optim.ASGD(p), asgd()),
    (lambda p: optim.ASGD(p, lr=0.1, lambd=0.2, alpha=0.5, weight_decay=0.1), asgd(0.1, 0.2, 0.5, 0.1)),
    (lambda p: optim.Adadelta(p), adadelta()),
    (lambda p: optim.Adadelta(p, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1), adadelta(0.5, 0.8, 1e-4, 0.1)),
    (lambda p: optim.SGD(p, lr=0.1), sgd()),
    (lambda p: optim.SGD(p, lr=0.1, momentum=0.9), sgd(momentum=0.9)),
    (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.4, weight_decay=0.2),
     sgd(momentum=0.9, dampening=0.4, decay=0.2)),
    (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), sgd(momentum=0.9, nesterov=True)),
    (lambda p: optim.Adam(p, lr=0.1), adam()),
    (lambda p: optim.Adam(p, lr=0.1, betas=(0.5, 0.6), weight_decay=0.3, amsgrad=True),
     adam(b1=0.5, b2=0.6, decay=0.3, amsgrad=True)),
    (lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.3), adam(decay=0.3, decoupled=True)),
    (lambda p: optim.Adagrad(p, lr=0.1), adagrad()),
    (lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.2, initial_accumulator_value=0.5), adagrad(0.1, 0.2, 0.5)),
    (lambda p: optim.RMSprop(p, lr=0.1, alpha=0.9), rmsprop()),
    (lambda p: optim.RMSprop(p, lr=0.1, alpha=0.9, momentum=0.5, centered=True),
     rmsprop(momentum=0.5, centered=True)),
])
def test_update_rule(make, update):
    np.testing.assert_allclose(run(make), expected(update), rtol=1e-9, atol=1e-12)


def test_mean_of_parameters():
    """ASGD keeps the mean of what the parameters were from step `t0` on."""
    param = Parameter(janus.tensor([1.0, -2.0]))
    optimizer = optim.ASGD([param], lr=0.1, t0=2.0)
    past = []
    for _ in range(9):
        optimizer.zero_grad()
        (param * param).sum().backward()
        optimizer.step()
        past.append(param.tolist())
    kept = optimizer.state[param]
    np.testing.assert_allclose(kept["ax"].tolist(), np.mean(past[3:], 0), rtol=1e-5)
    assert kept["mu"].item() == pytest.approx(1 / 7)


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p),
                                  lambda p: optim.Adagrad(p), lambda p: optim.RMSprop(p, momentum=0.5),
                                  lambda p: optim.Adadelta(p), lambda p: optim.Adamax(p), lambda p: optim.NAdam(p, lr=0.1), lambda p: optim.RAdam(p),
                                  lambda p: optim.Rprop(p), lambda p: optim.ASGD(p, t0=2.0)])
def test_resumes_from_state_dict(make):
    a = Parameter(janus.ones(3))
    b = Parameter(janus.ones(3))
    first, second = make([a]), make([b])

    def step(param, optimizer):
        optimizer.zero_grad()
        (param * param * param).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(a, first)
    second.load_state_dict(first.state_dict())
    with janus.no_grad():
        b.copy_(a)
    for _ in range(3):
        step(a, first)
        step(b, second)
    assert a.tolist() == b.tolist() and a.tolist() != [1.0, 1.0, 1.0]


def test_groups_and_missing_gradients():
    a, b, c = (Parameter(janus.ones(1)) for _ in range(3))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}, {"params": [c]}], lr=0.5)
    (a + b).sum().backward()
    optimizer.step()
    assert (a.item(), b.item(), c.item()) == (0.5, 0.0, 1.0)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 1.0, 0.5]
    optimizer.zero_grad()
    assert a.grad is None
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [a]})


def test_closure():
    a = Parameter(janus.ones(1))
    optimizer = optim.SGD([a], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0 and a.item() == 0.0


def test_wrong_arguments():
    a = Parameter(janus.ones(1))
    with pytest.raises(ValueError, match="Invalid learning rate"):
        optim.SGD([a], lr=-1.0)
    with pytest.raises(ValueError, match="beta parameter at index 1"):
        optim.Adam([a], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError):
        optim.SGD(a, lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([a * 2], lr=0.1)


@pytest.mark.parametrize("make, rates", [
    (lambda o: optim.lr_scheduler.StepLR(o, 2, gamma=0.5), [1, 1, 0.5, 0.5, 0.25]),
    (lambda o: optim.lr_scheduler.MultiStepLR(o, [1, 3], gamma=0.1), [1, 0.1, 0.1, 0.01, 0.01]),
    (lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    (lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 4), [1, (1 + math.sqrt(0.5)) / 2, 0.5,
                                                            (1 - math.sqrt(0.5)) / 2, 0]),
])
def test_schedule(make, rates):
    optimizer = optim.SGD([Parameter(janus.ones(1))], lr=1.0)
    scheduler = make(optimizer)
    found = []
    for _ in rates:
        found.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    np.testing.assert_allclose(found, rates, atol=1e-12)


def test_reduce_on_plateau():
    optimizer = optim.SGD([Parameter(janus.ones(1))], lr=1.0)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    rates = []
    for value in (3.0, 2.0, 2.5, 2.4, 2.3, 2.2, 2.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        schedule.step(value)
        rates.append(schedule.get_last_lr()[0])
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2]
    again = optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max")
    again.load_state_dict(schedule.state_dict())
    assert again.best == 1.0 and again.mode == "min"
    with pytest.raises(ValueError):
        optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=1.0)


def test_more_than_a_window_holds():
    """Gradients and optimizer's steps of more bytes than start a flush (256 MB): they are what the run returns, so nothing
    is flushed, gradients are computed where the caller gets them and steps in place, by the commit."""
    w = janus.nn.Parameter(janus.ones(23_000_000))
    optimizer = janus.optim.SGD([w], lr=0.5, momentum=0.5)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
    g = janus.function(step, measure=False, verify="never")
    x = janus.full((1,), 2.0)
    for _ in range(3):
        g(x)
    with janus.profile() as p:
        g(x)
    commit, = [e for e in p.events if e["kind"] == "commit"]
    flush, = [e for e in p.events if e["kind"] == "flush"]
    stepped, = [e for e in p.events if e["name"] == "momentum_step"]
    assert commit["start"] <= stepped["start"] < commit["start"] + commit["ns"]
    assert flush["start"] + flush["ns"] <= commit["start"]
    assert g.stats()["graph"] == 3
    v, expected = 0.0, 1.0
    for _ in range(4):
        v = 0.5 * v + 2
        expected -= 0.5 * v
    assert w.amin().item() == w.amax().item() == expected and (w.grad == 2).all().item()


@pytest.mark.parametrize("name, n", [("momentum_step", 3), ("adam_step", 5)])
def test_steps_of_tensors_that_do_not_fit(name, n):
    """Each operand in turn of another dtype, rank or size than a step takes; what fits before and after is computed."""
    def row(changed=None, of=None):
        tensors = [janus.ones(2, 3) for _ in range(min(n, 4))] + [janus.zeros(())] * (n == 5)
        if changed is not None:
            tensors[changed] = of
        return tensors

    def right():
        tensors = row()
        janus._C.optimizer_step_(name, [tensors], 0.5)
        return [t.tolist() for t in tensors]

    wanted = right()
    for changed in range(n):
        wrong = [janus.ones(2, 3, dtype=janus.int64), janus.ones(5, dtype=janus.int64)]
        if changed < 4:
            wrong += [janus.ones(2, 4), janus.ones(3), janus.ones(2, 3, dtype=janus.float64), janus.ones(())]
        else:
            wrong += [janus.ones(1), janus.ones(2, 3)]
        for of in wrong:
            tensors = row(changed, of)
            before = [t.tolist() for t in tensors]
            with pytest.raises(RuntimeError):
                janus._C.optimizer_step_(name, [tensors], 0.5)
            assert [t.tolist() for t in tensors] == before
        assert right() == wanted
    with pytest.raises(TypeError):
        janus._C.optimizer_step_(name, [row()[:-1]], 0.5)


class Written(optim.Optimizer):
    """Momentum as programs write it: state that is asked for before there is any."""

    def __init__(self, params, lr=0.1, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @janus.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["velocity"] = 0, janus.zeros_like(p)
                state["step"] += 1
                state["velocity"].mul_(group["momentum"]).add_(p.grad)
                p.add_(state["velocity"], alpha=-group["lr"])


def test_optimizer_of_the_program():
    def run(decorate, steps=12, resume=None):
        p, unused = Parameter(janus.ones(3)), Parameter(janus.ones(2))
        written = Written([p, unused])
        own = optim.SGD([q := Parameter(janus.ones(3))], lr=0.1, momentum=0.9)

        def step():
            for x, o in ((p, written), (q, own)):
                o.zero_grad()
                ((x - 3) ** 2).sum().backward()
                o.step()

        step = decorate(step)
        for i in range(steps):
            step()
            if i == resume:
                saved = written.state_dict()
                assert list(saved["state"]) == [0] and saved["state"][0]["step"] == i + 1
                written.load_state_dict(saved)
        assert written.state[unused] == {} and written.state[p]["step"] == steps
        return p.tolist(), q.tolist(), step

    plain, decorated = run(lambda f: f, resume=5), run(janus.function(measure=False))
    assert plain[:2] == decorated[:2] and plain[0] == pytest.approx(plain[1], abs=1e-6)
    assert decorated[2].stats()["graph"] > 0


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def lbfgs(decorate=lambda f: f, resume=None, steps=8, **options):
    """Losses of some steps on Rosenbrock's function, and where they end."""
    x = janus.tensor([-1.5, 1.2, 0.7, 2.0], dtype=janus.float64, requires_grad=True)
    opt = optim.LBFGS([x], max_iter=8, history_size=3, **options)

    def closure():
        opt.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    losses, step = [], decorate(lambda: opt.step(closure))
    for i in range(steps):
        losses.append(step().item())
        if i == resume:
            saved = opt.state_dict()
            kept = [d.clone() for d in saved["state"][0]["old_dirs"]]
            opt = optim.LBFGS([x], max_iter=8, history_size=3, **options)
            opt.load_state_dict(saved)
            opt.step(closure)
            assert all(a.tolist() == b.tolist() for a, b in zip(kept, saved["state"][0]["old_dirs"]))
            opt.load_state_dict(saved)
    return losses, x.tolist(), opt.state[x]


def test_lbfgs():
    # what PyTorch 2's gives
    losses, x, state = lbfgs(line_search_fn="strong_wolfe")
    assert losses[:3] == pytest.approx([399.4, 4.37516, 4.12002], rel=1e-5)
    assert x == pytest.approx([-0.775661, 0.613095, 0.382065, 0.145973], abs=1e-5) and (state["func_evals"], state["n_iter"]) == (60, 45)
    losses, _, state = lbfgs(lr=0.02)
    assert losses[:3] == pytest.approx([399.4, 204.48, 112.815], rel=1e-5)
    assert losses[-1] < losses[0] and state["n_iter"] == 64
    assert lbfgs(janus.function, line_search_fn="strong_wolfe")[:2] == lbfgs(line_search_fn="strong_wolfe")[:2]
    assert lbfgs(lr=0.02, resume=2, steps=4)[0][:3] == losses[:3]


def test_lbfgs_solves_least_squares():
    a, b = np.random.RandomState(0).randn(20, 5), np.random.RandomState(1).randn(20)
    x, unused = Parameter(janus.zeros(5, dtype=janus.float64)), Parameter(janus.zeros(2, dtype=janus.float64))
    matrix, right = janus.tensor(a), janus.tensor(b)
    opt = optim.LBFGS([x, unused], max_iter=50, line_search_fn="strong_wolfe", tolerance_grad=1e-10)

    def closure():
        opt.zero_grad()
        loss = ((matrix @ x - right) ** 2).sum()
        loss.backward()
        return loss

    opt.step(closure)
    assert x.tolist() == pytest.approx(np.linalg.lstsq(a, b, rcond=None)[0].tolist(), abs=1e-6) and unused.tolist() == [0.0, 0.0]
    evaluations = opt.state[x]["func_evals"]
    opt.step(closure)  # nothing is left to do
    assert opt.state[x]["func_evals"] == evaluations + 1
    for options, error in (({"lr": -1}, ValueError), ({"line_search_fn": "armijo"}, RuntimeError)):
        with pytest.raises(error):
            optim.LBFGS([x], **options)
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [x]}, {"params": [unused]}])


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p), lambda p: optim.RMSprop(p), lambda p: optim.Adagrad(p)])
def test_states_are_made_when_asked_for(make):
    """As a defaultdict's: for reading alone, and where programs forget what there is."""
    def run(look):
        p = Parameter(janus.ones(3))
        opt = make([p])
        if look:
            assert p in opt.state or opt.state.get(p) is None and len(opt.state) == 0
            opt.state[p]
            assert p in opt.state and list(opt.state) == [p] and len(opt.state) == 1
        for i in range(6):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
            if i == 2 and not isinstance(opt, optim.Adagrad):
                opt.state = {} if look else collections.defaultdict(dict)
        assert sorted(opt.state_dict()["state"]) == [0] and repr(opt.state).startswith("{")
        opt.state.clear()
        assert not opt.state and "no" not in opt.state
        return p.tolist()

    assert run(True) == run(False)
