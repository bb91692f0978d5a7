# SPDX-License-Identifier: Apache-2.0
"""Names that real programs ask for though there is nothing behind them here: typed constructors,
devices that are not there, backend switches."""
import types

from . import _C


class _TypedMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and obj.dtype is cls.dtype


def _typed(name, dtype):
    def new(cls, *args):
        if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
            return _C.tensor(args[0], dtype=dtype)
        return _C.empty(*(args or (0,)), dtype=dtype)
    return _TypedMeta(name, (), {"dtype": dtype, "__new__": new, "__doc__": f"Tensors of {dtype}.",
                                 "__module__": "janus"})


FloatTensor = _typed("FloatTensor", _C.float32)
DoubleTensor = _typed("DoubleTensor", _C.float64)
HalfTensor = _typed("HalfTensor", _C.float16)
IntTensor = _typed("IntTensor", _C.int32)
LongTensor = _typed("LongTensor", _C.int64)
ByteTensor = _typed("ByteTensor", _C.uint8)
BoolTensor = _typed("BoolTensor", _C.bool)


def Variable(data, requires_grad=False):
    """The tensor itself: tensors have been variables since PyTorch 0.4."""
    if requires_grad:
        data.requires_grad = True
    return data


def inference_mode(mode=True):
    """no_grad(): there is no separate inference mode."""
    return _C.no_grad(mode) if callable(mode) else _C.no_grad() if mode else _C.enable_grad()


def manual_seed(seed):
    """Sets the seed of the default generator."""
    return _C.default_generator.manual_seed(int(seed))


def seed():
    """Sets a seed nobody knows, and returns it."""
    return _C.default_generator.seed()


def initial_seed():
    """The seed of the default generator."""
    return _C.default_generator.initial_seed()


def get_rng_state():
    """State of the default generator."""
    return _C.default_generator.get_state()


def set_rng_state(state):
    """Takes back a state of the default generator."""
    _C.default_generator.set_state(state)


_default_dtype = _C.float32


def get_default_dtype():
    """float32, the dtype of floats without one."""
    return _default_dtype


def set_default_dtype(dtype):
    """Accepts float32 only."""
    if dtype is not _C.float32:
        raise NotImplementedError("the default dtype is float32: give dtype= where another one is meant")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Nothing to do: every algorithm here is deterministic."""


def _module(name, **members):
    module = types.ModuleType("janus." + name)
    module.__dict__.update(members)
    return module


def _nothing(*args, **kwargs):
    """Does nothing: there is no such device."""


def _no(*args, **kwargs):
    """False: there is no such device."""
    return False


_tf32 = {"janus.backends.cuda.matmul": False, "janus.backends.cudnn": False}


class _Precision(types.ModuleType):
    """Settings of a library whose products of float32 may be computed in TF32; they are not unless it is said."""

    @property
    def allow_tf32(self):
        return _tf32[self.__name__]

    @allow_tf32.setter
    def allow_tf32(self, on):
        _tf32[self.__name__] = bool(on)
        _C._cuda_allow_tf32(*_tf32.values())


class _Convolutions(_Precision):
    """Settings of convolutions on a device.  With `benchmark` the library's ways to do one are measured when its shape
    is first seen, and the fastest is taken from then on; without, the library's first proposal is taken."""

    _fastest = False

    @property
    def benchmark(self):
        return _Convolutions._fastest

    @benchmark.setter
    def benchmark(self, on):
        _Convolutions._fastest = bool(on)
        _C._cuda_fastest_convolutions(on)


def set_float32_matmul_precision(precision):
    """"highest": float32; "high" and "medium": TF32 on a device that has it."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high' or 'medium'")
    backends.cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision():
    """"high" where products of float32 may be computed in TF32, else "highest"."""
    return "high" if backends.cuda.matmul.allow_tf32 else "highest"


def _precise(name, kind=_Precision, **members):
    module = kind("janus." + name)
    module.__dict__.update(members)
    return module


accelerator = _module("accelerator", is_available=_no, device_count=lambda: 0, current_accelerator=lambda *a: None,
                      synchronize=_nothing, set_device_index=_nothing)
backends = _module("backends",
                   cudnn=_precise("backends.cudnn", _Convolutions, deterministic=True, enabled=False,
                                  is_available=_no),
                   mps=_module("backends.mps", is_available=_no, is_built=_no),
                   cuda=_module("backends.cuda", matmul=_precise("backends.cuda.matmul"),
                                is_built=_no))
