# SPDX-License-Identifier: Apache-2.0
"""Module: registration, traversal, state dicts, modes, copies."""
import copy
import functools
import pickle

import janus
import janus.nn as nn
import pytest


def names(module):
    return [name for name, _ in module.named_parameters()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.scale = nn.Parameter(janus.ones(4))
        self.register_buffer("seen", janus.zeros(2))
        self.register_buffer("scratch", janus.zeros(2), persistent=False)
        self.blocks = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4)])

    def forward(self, x):
        for block in self.blocks:
            x = block(self.first(x) * self.scale)
        return x


def test_registration_order_and_names():
    net = Net()
    assert names(net) == ["scale", "first.weight", "first.bias", "blocks.0.weight", "blocks.1.weight",
                          "blocks.1.bias"]
    assert list(net.state_dict()) == [
        "scale", "seen", "first.weight", "first.bias", "blocks.0.weight", "blocks.1.weight", "blocks.1.bias",
        "blocks.1.running_mean", "blocks.1.running_var", "blocks.1.num_batches_tracked"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "blocks", "blocks.0", "blocks.1"]
    assert [name for name, _ in net.named_children()] == ["first", "blocks"]


def test_attribute_and_registry_are_one_object():
    net = Net()
    assert net.scale is net._parameters["scale"] and net.first is net._modules["first"]
    other = nn.Parameter(janus.zeros(4))
    net.scale = other
    assert net._parameters["scale"] is other and net.scale is other
    net.seen = janus.ones(2)
    assert net._buffers["seen"] is net.seen
    net.scale = None
    assert "scale" not in names(net) and net.scale is None
    del net.first
    assert not hasattr(net, "first") and "first" not in net._modules


def test_wrong_assignments():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'scale'"):
        net.scale = janus.ones(4)
    with pytest.raises(TypeError, match="as child module 'first'"):
        net.first = 3
    with pytest.raises(TypeError, match="as buffer 'seen'"):
        net.seen = 3

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) was called"):
        Early()
    with pytest.raises(KeyError):
        net.register_parameter("a.b", None)
    with pytest.raises(NotImplementedError):
        nn.Module()(1)


def test_shared_parameters_are_listed_once_but_saved_under_each_name():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    assert names(net) == ["0.weight"]
    assert list(net.state_dict()) == ["0.weight", "1.weight"]


def test_load_state_dict():
    a, b = Net(), Net()
    result = b.load_state_dict(a.state_dict())
    assert result.missing_keys == [] and result.unexpected_keys == []
    for key, value in b.state_dict().items():
        assert value.tolist() == a.state_dict()[key].tolist()
    assert b.first.weight is not a.first.weight
    state = a.state_dict()
    state["extra"] = state.pop("scale")
    with pytest.raises(RuntimeError, match='Missing key.*"scale"'):
        b.load_state_dict(state)
    result = b.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale"] and result.unexpected_keys == ["extra"]
    state = a.state_dict()
    state["first.bias"] = janus.zeros(5)
    with pytest.raises(RuntimeError, match="size mismatch for first.bias"):
        b.load_state_dict(state, strict=False)


def test_state_dict_shares_storage():
    net = nn.Linear(2, 2)
    net.state_dict()["bias"].fill_(7.0)
    assert net.bias.tolist() == [7.0, 7.0]


def test_train_eval_apply_requires_grad():
    net = Net()
    net.eval()
    assert not net.training and not net.blocks[1].training
    net.train()
    assert net.blocks[1].training
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Linear", "BatchNorm1d", "ModuleList", "Net"]
    net.requires_grad_(False)
    assert not any(param.requires_grad for param in net.parameters())


def test_double_keeps_objects_and_integer_buffers():
    net = Net()
    weight = net.first.weight
    assert net.double() is net
    assert net.first.weight is weight and weight.dtype == janus.float64
    assert net.blocks[1].num_batches_tracked.dtype == janus.int64
    assert net.float().seen.dtype == janus.float32


def test_deepcopy_is_independent():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.first.weight is not net.first.weight
    assert twin.first.weight is twin.first._parameters["weight"]
    before = net.scale.tolist()
    with janus.no_grad():
        twin.scale.mul_(3.0)
    assert net.scale.tolist() == before
    assert names(twin) == names(net)


def test_zero_grad():
    net = nn.Linear(2, 1)
    net(janus.ones(1, 2)).sum().backward()
    assert net.weight.grad is not None
    net.zero_grad(set_to_none=False)
    assert net.weight.grad.tolist() == [[0.0, 0.0]]
    net.zero_grad()
    assert net.weight.grad is None


def test_containers():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(net) == 3 and net[-1] is net[2] and len(net[:2]) == 2
    assert net(janus.ones(4, 2)).shape == (4, 1)
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(2))
    layers.append(nn.Linear(2, 2))
    layers.insert(0, nn.Identity())
    assert names(layers)[:2] == ["1.weight", "1.bias"] and len(layers) == 4
    with pytest.raises(IndexError):
        layers[4]
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    assert list(table.keys()) == ["a", "b"] and "a" in table
    del table["a"]
    assert names(table) == []
    params = nn.ParameterList([janus.zeros(1), janus.ones(1)])
    params.append(janus.ones(2))
    assert names(params) == ["0", "1", "2"] and params[-1].shape == (2,)


def test_containers_that_change():
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(2, 2)])
    longer = layers + nn.ModuleList([nn.Linear(3, 3)])
    assert type(longer) is nn.ModuleList and len(longer) == 3 and len(layers) == 2 and longer[0] is layers[0]
    layers += [nn.Identity()]
    first = layers[0]
    assert layers.pop(0) is first and names(layers) == ["0.weight", "0.bias"] and len(layers) == 2
    with pytest.raises(IndexError):
        layers.pop(2)
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU()) + nn.Sequential(nn.Linear(2, 1))
    assert type(net.pop(1)) is nn.ReLU and net(janus.ones(1, 1)).shape == (1, 1) and names(net)[-1] == "1.bias"
    table = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    assert type(table.pop("b")) is nn.ReLU and list(table) == ["a"] and not hasattr(table, "b")
    table.clear()
    assert len(table) == 0 and names(table) == [] and not hasattr(table, "a")
    of = nn.ParameterDict({"x": janus.ones(1)})
    assert of.setdefault("y", janus.ones(2)).shape == (2,) and of.setdefault("x").shape == (1,) and list(reversed(of)) == ["y", "x"]
    more = of | {"z": janus.ones(3)}
    assert names(more) == ["x", "y", "z"] and more["x"] is of["x"] and names(of.copy()) == ["x", "y"]
    assert of.popitem()[0] == "y" and not hasattr(of, "y")
    of |= {"w": janus.ones(1)}
    assert names(of) == ["x", "w"]
    of.clear()
    for missing in (of.popitem, lambda: of.pop("x"), lambda: table["a"], lambda: table.pop("a")):
        with pytest.raises(KeyError):
            missing()
    params = nn.ParameterList([janus.zeros(1)])
    params += [janus.ones(2)]
    assert names(params) == ["0", "1"]


def test_dict_of_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.ParameterDict({"a": janus.ones(2), "b": nn.Parameter(janus.ones(2) * 2)})

        def forward(self, x):
            return sum((x * self.of[k] for k in self.of), janus.zeros(2))
    for wrap in (lambda m: m, lambda m: janus.function(m, measure=False)):
        net = Scaled()
        assert [n for n, _ in net.named_parameters()] == ["of.a", "of.b"] == list(net.state_dict())
        optimizer, call = janus.optim.SGD(net.parameters(), lr=0.5), wrap(net)
        for _ in range(4):
            optimizer.zero_grad()
            call(janus.ones(2)).sum().backward()
            optimizer.step()
        assert net.of["a"].tolist() == [-1.0, -1.0] and net.of["b"].tolist() == [0.0, 0.0]
        other = Scaled()
        other.load_state_dict(net.state_dict())
        assert janus.equal(other(janus.ones(2)), call(janus.ones(2)))
        net.of["c"] = janus.ones(2)
        assert isinstance(net.of["c"], nn.Parameter) and len(net.of) == 3 and "c" in net.of and net.of.get("d") is None
        assert call(janus.ones(2)).tolist() == [0.0, 0.0]
        del net.of["a"]
        assert net.of.pop("b").tolist() == [0.0, 0.0] and [k for k, _ in net.of.items()] == ["c"]
        assert call(janus.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("stable", [None, False, True])
def test_equals_stay_in_order(stable):
    more = {} if stable is None else {"stable": stable}
    x = janus.tensor([2, 1, 2, 1, 1])

    def f(x):
        return (*x.sort(**more), *janus.sort(x, 0, True, **more), x.argsort(**more), janus.argsort(x, dim=-1, descending=True, **more))
    g = janus.function(f, measure=False)
    for _ in range(3):
        assert [t.tolist() for t in g(x)] == [t.tolist() for t in f(x)] == [
            [1, 1, 1, 2, 2], [1, 3, 4, 0, 2], [2, 2, 1, 1, 1], [0, 2, 1, 3, 4], [1, 3, 4, 0, 2], [0, 2, 1, 3, 4]]


def test_repr():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sequential(nn.Linear(4, 5, bias=False)))
    assert repr(net) == """Sequential(
  (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
  (1): Sequential(
    (0): Linear(in_features=4, out_features=5, bias=False)
  )
)"""


class _Doubled(janus.nn.Module):
    def forward(self, x, times=2, *more, plus=0):
        return (x, times, more, plus)


def _calls(m):
    return [m(1), m(1, 3), m(1, 3, 4, 5), m(x=1), m(1, plus=7), m(1, 3, 4, plus=7), m(*range(12)), m.__call__(1, plus=2),
            type(m).__call__(m, 5), list(map(m, [1, 2])), functools.partial(m, 1, plus=3)(4), m(**{"x": 1, "times": 9})]


def test_calls_of_modules_are_calls_of_forward():
    m = _Doubled()
    for _ in range(3):  # the first one goes another way than those after it
        assert _calls(m) == _calls_of(m.forward)
    for copied in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert _calls(copied) == _calls_of(copied.forward)
    with pytest.raises(TypeError, match="positional"):
        m()
    with pytest.raises(TypeError, match="unexpected keyword"):
        m(1, other=2)
    with pytest.raises(NotImplementedError, match="forward"):
        janus.nn.Module()(1)
    m.forward = lambda *args, **kwargs: (args, kwargs)  # of the object
    assert m(1, b=2) == ((1,), {"b": 2})
    del m.forward
    assert m(1) == (1, 2, (), 0)
    m.forward = None
    with pytest.raises(TypeError, match="not callable"):
        m(1)


def _calls_of(f):
    return [f(1), f(1, 3), f(1, 3, 4, 5), f(x=1), f(1, plus=7), f(1, 3, 4, plus=7), f(*range(12)), f(1, plus=2), f(5),
            [f(1), f(2)], f(1, 4, plus=3), f(x=1, times=9)]


def test_another_call_of_a_class_of_modules_is_used():
    class Own(_Doubled):
        def __call__(self, *args, **kwargs):
            return "own", super().__call__(*args, **kwargs)

    class Static(_Doubled):
        __call__ = staticmethod(lambda *args: ("static", args))

    class Mixed(_Doubled):
        pass

    class Quiet(_Doubled):
        def __init_subclass__(cls):  # which does not tell the class below
            pass

    class Below(Quiet):
        pass

    m, below = Mixed(), Below()
    for _ in range(3):
        assert Own()(1) == ("own", (1, 2, (), 0)) and Static()(1, 2) == ("static", (1, 2))
        assert m(1) == (1, 2, (), 0) and below(1) == (1, 2, (), 0)
    before = janus.nn.Module.__call__
    try:
        for owner in (Mixed, janus.nn.Module):
            owner.__call__ = lambda self, *args, **kwargs: ("patched", args, kwargs)
            for _ in range(2):
                assert m(1, 2, a=3) == ("patched", (1, 2), {"a": 3}) and m(1) == ("patched", (1,), {})
        assert below(1) == ("patched", (1,), {}) and Own()(1) == ("own", ("patched", (1,), {}))
        Mixed.__call__ = staticmethod(lambda *args, **kwargs: (args, kwargs))
        assert m(1, b=2) == ((1,), {"b": 2})
    finally:
        janus.nn.Module.__call__ = before
        del Mixed.__call__
    assert m(1) == (1, 2, (), 0) == below(1)
    m.__class__ = Own
    assert m(1) == ("own", (1, 2, (), 0))
    m.__class__ = _Doubled
    assert m(1) == (1, 2, (), 0)


def test_hooks_of_a_module_that_was_called_without():
    m, seen = _Doubled(), []
    for _ in range(2):
        assert m(1, plus=1) == (1, 2, (), 1)
    handle = m.register_forward_hook(lambda module, args, result: seen.append((args, result)))
    assert m(1, plus=1) == (1, 2, (), 1) and m(5) == (5, 2, (), 0)
    handle.remove()
    assert m(7) == (7, 2, (), 0)
    assert seen == [((1,), (1, 2, (), 1)), ((5,), (5, 2, (), 0))]


def test_a_module_that_calls_itself_ends_as_ever():
    class Deep(janus.nn.Module):
        def forward(self, n):
            return n if n == 0 else self(n - 1)

    deep = Deep()
    assert deep(50) == 0 and deep(50) == 0
    for _ in range(2):
        with pytest.raises(RecursionError):
            deep(10**6)
    assert deep(50) == 0


def test_modules_without_init_say_so():
    class Never(janus.nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    assert Never()(3) == 3 and Never()(x=3) == 3
