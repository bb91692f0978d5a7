# SPDX-License-Identifier: Apache-2.0
"""The CUDA device: whether there is one and why not, its memory, and waiting for it."""
import functools
import glob
import os
import sys
import types

from . import _C
from . import amp as _amp
from ._compat import ByteTensor, FloatTensor, LongTensor  # noqa: F401


def _find_libraries():
    """Lets the module find cuBLAS and cuDNN where Python packages brought them."""
    if "JANUS_CUDA_PATH" in os.environ:
        return
    folders = [path for root in sys.path for path in sorted(glob.glob(os.path.join(root, "nvidia", "*", "lib")))]
    if folders:
        os.environ["JANUS_CUDA_PATH"] = ":".join(folders)


@functools.lru_cache(maxsize=None)
def why_unavailable():
    """The reason there is no CUDA device; None when there is one."""
    _find_libraries()
    return _C._cuda_reason()


def is_available():
    """Whether tensors can be moved to "cuda"."""
    return why_unavailable() is None


def device_count():
    """1 or 0: the first visible device is used (CUDA_VISIBLE_DEVICES chooses it)."""
    return int(is_available())


def current_device():
    """The number of the device."""
    _info()
    return 0


def _info():
    why_unavailable()
    return _C._cuda_info()


def get_device_name(device=None):
    """What the device calls itself."""
    return _info()["name"]


def get_device_capability(device=None):
    """(major, minor)"""
    return divmod(_info()["capability"], 10)


def mem_get_info(device=None):
    """Free and total bytes of the device."""
    info = _info()
    return info["free_memory"], info["total_memory"]


def is_bf16_supported():
    """Whether the device computes with bfloat16."""
    return is_available() and get_device_capability() >= (8, 0)


def memory_stats(device=None):
    """Counters of the memory pool: bytes in use and held, blocks, retries and failures."""
    return _C._cuda_stats() if is_available() else {}


def graph_stats():
    """Counters of captured runs: captures made and their replays, times that one was wanted while its results were
    held, runs that could not be captured, and of all captures the nodes, the waits and the most streams; captures of
    groups of rows and their replays; of all captures the branches and loops that the device decides."""
    return _C._cuda_graph_stats() if is_available() else {}


def memory_allocated(device=None):
    """Bytes in use by tensors."""
    return memory_stats().get("allocated_bytes.current", 0)


def max_memory_allocated(device=None):
    """The most bytes that were in use since reset_peak_memory_stats."""
    return memory_stats().get("allocated_bytes.peak", 0)


def memory_reserved(device=None):
    """Bytes held from the driver."""
    return memory_stats().get("reserved_bytes.current", 0)


def reset_peak_memory_stats(device=None):
    """Peaks start again at what is in use now."""
    if is_available():
        _C._cuda_reset_peaks()


def synchronize(device=None):
    """Waits for everything that was put on the device; raises what it did wrong."""
    if is_available():
        _C._cuda_synchronize()


def empty_cache():
    """Gives memory that no tensor uses back to the driver."""
    if is_available():
        _C._cuda_empty_cache()


def set_device(device):
    """Accepts the one device there is."""
    index = getattr(device, "index", device)
    if index not in (None, 0, -1, "cuda", "cuda:0"):
        raise RuntimeError(f"cuda device {device} is not used: CUDA_VISIBLE_DEVICES chooses the device")


def manual_seed(seed):
    """Seeds the generator, which all devices share: they draw the same numbers."""
    _C.default_generator.manual_seed(int(seed))


manual_seed_all = manual_seed


class _GradScaler(_amp.GradScaler):
    """janus.amp.GradScaler("cuda", ...)."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _autocast(enabled=True, dtype=_C.float16, cache_enabled=True):
    """autocast("cuda", ...)."""
    return _C.autocast("cuda", dtype, enabled, cache_enabled)


amp = types.ModuleType("janus.cuda.amp", "The names of janus.amp with the device given.")
amp.autocast, amp.GradScaler = _autocast, _GradScaler
sys.modules["janus.cuda.amp"] = amp
