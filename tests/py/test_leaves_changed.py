# SPDX-License-Identifier: Apache-2.0
"""What a program does to a tensor between two calls is seen by the second, whoever holds the tensor.

All in-place methods, operators and attributes of Tensor that can be set are found by looking at the class: one that this
file does not know how to call fails a test.
"""
import copy
import operator
import types

import janus
import pytest
from janus import Tensor, nn
from texts import names_of

SHAPE = (2, 3)


def values(*shape, step=0.25, dtype=janus.float32):
    n = 1
    for d in shape:
        n *= d
    return ((janus.arange(n) * step - 0.5).reshape(*shape)).to(dtype)


# ---- what can be done to a tensor ----------------------------------------------------------------------------------

METHODS = {"bernoulli_": (0.5,), "copy_": (values(*SHAPE, step=-1.0),), "detach_": (), "exponential_": (), "fill_": (7.0,),
           "index_copy_": (0, janus.tensor([1]), values(1, 3)), "index_fill_": (0, janus.tensor([1]), 2.0),
           "index_put_": ((janus.tensor([0, 1]), janus.tensor([2, 0])), janus.tensor([5.0, 6.0])),
           "masked_scatter_": (values(*SHAPE) > 0, values(*SHAPE)), "normal_": (), "random_": (0, 9),
           "requires_grad_": (False,), "share_memory_": (), "squeeze_": (), "t_": (), "transpose_": (0, 1),
           "swapdims_": (0, 1), "swapaxes_": (0, 1), "heaviside_": (values(*SHAPE),), "ldexp_": (values(*SHAPE),), "float_power_": None, "uniform_": (), "unsqueeze_": (0,), "zero_": (),
           "masked_fill_": (values(*SHAPE) > 0, 3.0), "scatter_": (1, janus.tensor([[0], [2]]), values(2, 1)),
           "scatter_add_": (1, janus.tensor([[0], [2]]), values(2, 1)), "cumprod_": (1,), "cumsum_": (1,),
           "scatter_reduce_": (1, janus.tensor([[0], [2]]), values(2, 1), "amax"),
           "index_add_": (0, janus.tensor([1]), values(1, 3)), "clamp_": (-0.1, 0.1), "clip_": (-0.1, 0.1),
           "addmm_": (values(2, 2), values(2, 3)), "lerp_": (values(*SHAPE, step=2.0), 0.5),
           "addcmul_": (values(*SHAPE), values(*SHAPE)),
           "addcdiv_": (values(*SHAPE), values(*SHAPE, step=3.0)),
           "addcdiv_sqrt_": (values(*SHAPE), values(*SHAPE).abs()),
           "clamp_min_": (0.1,), "clamp_max_": (0.1,), "where_": (values(*SHAPE) > 0, values(*SHAPE)),
           "_optimizer_step_": None}  # the optimizers' own: see `stepped`
OPERANDS = [(values(*SHAPE, step=0.5),), (), (0.5,)]  # of all other methods, tried in this order

ATTRIBUTES = {"data": [lambda p: values(*SHAPE, step=-0.5), lambda p: values(3, 2).t(), lambda p: values(1, 3),
                       lambda p: values(4, 3)[::2], lambda p: values(3).expand(2, 3), lambda p: values(*SHAPE, dtype=janus.float64),
                       lambda p: p.data, lambda p: p.data.clone(), lambda p: values(2, 6)[:, 1:4]],
              "requires_grad": [lambda p: not p.requires_grad, lambda p: p.requires_grad],
              "grad": [lambda p: values(*SHAPE), lambda p: None], "_grad": [lambda p: values(*SHAPE)],
              "__dict__": [lambda p: {}, lambda p: {"step": 3}],
              "__class__": [lambda p: nn.Parameter if type(p) is Tensor else Other]}


class Other(nn.Parameter):
    pass


def in_place():
    names = [n for n in dir(Tensor) if n.endswith("_") and not n.endswith("__")]
    return sorted(names), sorted(n for n in dir(Tensor) if n.startswith("__i") and hasattr(operator, n.strip("_")) and
                                 n not in ("__invert__", "__index__"))


def call_of(name, args):
    def change(p):
        getattr(p, name)(*args)
    change.__name__ = name
    return change


def assignment(name, value, i):
    def change(p):
        setattr(p, name, value(p))
    change.__name__ = f"{name}={i}"
    return change


def augmented(name):
    def change(p):
        getattr(operator, name.strip("_"))(p, values(*SHAPE))
    change.__name__ = name
    return change


def element(p):
    p[0, 1] = 9.0


def row(p):
    p[1] += values(3)


def through_data(p):
    p.data.mul_(-1.0)


def through_detached(p):
    p.detach().add_(1.0)


def through_view(p):
    p.view(-1)[2] = 4.0


def through_numpy(p):
    p.detach().numpy()[0, 0] = 8.0


def hooked(p):
    p.register_hook(lambda g: g * 2)


def hooked_for_a_while(p):
    p.register_hook(lambda g: g * 2).remove()


def retaining(p):
    p.retain_grad()


def stepped(p):
    p.grad = janus.ones_like(p)
    janus.optim.SGD([p], lr=0.5).step()


def initialised(p):
    nn.init.constant_(p, 0.75)


def filled_from_vector(p):
    nn.utils.vector_to_parameters(values(6, step=-0.25), [p])


def unsqueezed_and_back(p):
    p.unsqueeze_(1)
    p.squeeze_(1)


def twice(p):
    p.unsqueeze_(0)
    p.unsqueeze_(0)


def changes():
    names, operators = in_place()
    found = [element, row, through_data, through_detached, through_view, through_numpy, hooked, hooked_for_a_while, retaining,
             stepped, initialised, filled_from_vector, unsqueezed_and_back, twice]
    found += [assignment(name, v, i) for name, all in ATTRIBUTES.items() for i, v in enumerate(all)]
    found += [augmented(name) for name in operators]
    for name in names:
        if name in METHODS:
            found += [call_of(name, METHODS[name])] if METHODS[name] is not None else []
            continue
        for args in OPERANDS:
            try:
                getattr(values(*SHAPE), name)(*args)
            except NotImplementedError:  # of floats: it raises on both sides
                found.append(call_of(name, args))
                break
            except (TypeError, RuntimeError):
                continue
            found.append(call_of(name, args))
            break
    return found


def of_a_module(net):
    """What is done to all of a model's tensors at once."""
    def loaded():
        net.load_state_dict({k: v * 2 + 1 for k, v in net.state_dict().items()})

    def loaded_otherwise():
        net.load_state_dict({k: v.double() for k, v in net.state_dict().items()})

    def assigned():
        net.p = nn.Parameter(values(*SHAPE, step=0.125))

    def in_dict():
        net._parameters["p"] = nn.Parameter(values(*SHAPE, step=0.375))

    def applied():
        net.apply(lambda m: [p.data.fill_(0.5) for p in m.parameters()])

    def deleted():
        del net.p
        net.p = values(*SHAPE)

    return [loaded, loaded_otherwise, assigned, in_dict, applied, deleted, net.double, net.half, net.bfloat16, net.float,
            lambda: net.to(janus.float64), lambda: net.requires_grad_(False), net.zero_grad, net.eval, net.train,
            lambda: [net.double(), net.float()]]


# ---- who holds it --------------------------------------------------------------------------------------------------

class Net(nn.Module):
    """Enough tensors for the short way through the guards."""

    def __init__(self, p):
        super().__init__()
        self.p = p
        self.a, self.b, self.c = [nn.Parameter(values(3, step=s)) for s in (0.5, -0.5, 1.0)]
        self.register_buffer("d", values(3, step=0.75))
        self.last = nn.Linear(3, 2)
        with janus.no_grad():
            self.last.weight.copy_(values(2, 3)), self.last.bias.copy_(values(2))


TEXT = """
def make(net, p):
    def rest(y):
        return net.last((y * net.a + net.b).tanh() * net.c + net.d)

    class Box:
        pass

    box, listed, named = Box(), [p], {"p": p}
    box.p = p

    def of_module(x): return rest(x * net.p)
    def of_cell(x): return rest(x * p)
    def of_global(x): return rest(x * held)
    def of_object(x): return rest(x * box.p)
    def of_list(x): return rest(x * listed[0])
    def of_dict(x): return rest(x * named["p"])
    def of_default(x, q=p): return rest(x * q)
    def of_argument(x, q): return rest(x * q)
    def of_two(x): return rest(x * net.p + p)

    def of_step(x):
        loss = (rest(x * net.p) ** 2).sum()
        if loss.requires_grad:
            loss.backward()
        return loss.detach()

    return {name: f for name, f in locals().items() if name.startswith("of_")}
"""
HOLDERS = ["of_module", "of_cell", "of_global", "of_object", "of_list", "of_dict", "of_default", "of_argument", "of_two", "of_step"]


class Side:
    """A tensor and its holder: decorated, or not."""

    def __init__(self, holder, tracked, decorated):
        janus.manual_seed(0)
        self.p = nn.Parameter(values(*SHAPE)) if tracked else values(*SHAPE)
        self.net = Net(self.p) if tracked else Net(nn.Parameter(values(*SHAPE)))
        if not tracked:
            del self.net.p
            self.net.register_buffer("p", self.p)
        f = names_of(TEXT, held=self.p)["make"](self.net, self.p)[holder]
        self.f = janus.function(f, verify="never") if decorated else f
        self.args = (self.p,) if holder == "of_argument" else ()
        self.backward = tracked

    def told(self):
        """All that a call gives, or what it raises."""
        tensors = [self.p, *self.net.parameters()]
        for t in tensors:
            t.grad = None
        try:
            y = self.f(values(*SHAPE, step=0.125), *self.args)
            if self.backward and y.requires_grad:
                (y * y).sum().backward()
        except (RuntimeError, TypeError, ValueError) as e:
            return type(e).__name__
        return [y.double().tolist(), str(y.dtype), tuple(y.shape), y.requires_grad,
                [t.grad if t.grad is None else t.grad.double().tolist() for t in tensors]]

    def change(self, how):
        janus.manual_seed(1)
        try:
            with janus.no_grad():
                how(self.p)
        except (RuntimeError, TypeError, ValueError) as e:
            return type(e).__name__


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b or abs(a - b) <= 1e-3 * max(1.0, abs(a), abs(b))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def agree(sides, calls):
    for _ in range(calls):
        got, expected = sides[0].told(), sides[1].told()
        assert same(got, expected), (got, expected)


CHANGES = changes()


def test_all_that_can_be_done_is_known():
    names, operators = in_place()
    known = {f.__name__ for f in CHANGES}
    assert not [n for n in names + operators if n not in known and METHODS.get(n, ()) is not None]
    settable = set()
    for name, d in vars(Tensor).items():
        if isinstance(d, (types.GetSetDescriptorType, types.MemberDescriptorType, property)):
            t = values(*SHAPE)
            try:
                setattr(t, name, getattr(t, name))
            except AttributeError:
                continue
            settable.add(name)
    assert settable <= set(ATTRIBUTES)


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("tracked", [True, False])
def test_what_is_done_to_a_tensor_is_seen(holder, tracked):
    done = 0
    for i, how in list(enumerate(CHANGES))[(HOLDERS.index(holder) + tracked) % 2::2]:  # each in one of two ways
        sides = [Side(holder, tracked, True), Side(holder, tracked, False)]
        agree(sides, 5)
        assert sides[0].f.stats()["graph"] > 1
        errors = [s.change(how) for s in sides]
        assert errors[0] == errors[1]
        done += errors[0] is None
        try:
            agree(sides, 2)
            more = CHANGES[(7 * i + 3) % len(CHANGES)]
            assert sides[0].change(more) == sides[1].change(more)
            agree(sides, 2)
        except AssertionError as e:
            raise AssertionError(f"{how.__name__}, then {CHANGES[(7 * i + 3) % len(CHANGES)].__name__}") from e
    assert done > len(CHANGES) // 4


@pytest.mark.parametrize("which", range(16))
def test_what_is_done_to_a_model_is_seen(which):
    sides = [Side("of_module", True, True), Side("of_module", True, False)]
    agree(sides, 5)
    for s in sides:
        of_a_module(s.net)[which]()
    agree(sides, 3)
    for s in sides:
        of_a_module(s.net)[(5 * which + 3) % 16]()
    agree(sides, 3)


def test_a_copy_of_a_model_is_another_one():
    sides = [Side("of_module", True, True), Side("of_module", True, False)]
    agree(sides, 5)
    for s in sides:
        s.net.p.data = copy.deepcopy(s.net).p.data.unsqueeze(0)
    agree(sides, 3)
