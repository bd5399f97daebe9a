"""Records programs that use CUDA on machines without it, with CPU tensors in place of CUDA tensors."""

from __future__ import annotations

import contextlib
import warnings

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device


@contextlib.contextmanager
def cpu_for_cuda():
    """A context in which requests for CUDA use the CPU if there is no CUDA. CUDA autocast then becomes CPU autocast
    with the same dtype.
    """
    if torch.cuda.is_available():
        yield
        return
    with _CpuForCuda(), replaced(torch.autocast, "__init__", _autocast_on_cpu(torch.autocast.__init__)), contextlib.ExitStack() as stack:
        for name, stand_in in _OF_THE_DEVICE.items():
            stack.enter_context(replaced(torch.cuda, name, stand_in))
        yield


class _CpuForCuda(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.cuda:
            return args[0].to("cpu")
        kwargs.pop("pin_memory", None)
        if func in _device._device_constructors() and kwargs.get("device") is None and _is_cuda(_device.CURRENT_DEVICE):
            kwargs["device"] = "cpu"
        return func(*map(_on_cpu, args), **{name: _on_cpu(value) for name, value in kwargs.items()})


def _on_cpu(value):
    return "cpu" if _is_cuda(value) else value


def _is_cuda(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _autocast_on_cpu(init):
    def begin(self, device_type, dtype=None, *args, **kwargs):
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
            warnings.warn(
                "remat: CUDA autocast is recorded as CPU autocast, because this machine has no CUDA: same dtype, but slightly different ops. Record on a GPU for exact ops",
                stacklevel=3,
            )
        init(self, device_type, dtype, *args, **kwargs)

    return begin


def _nothing(*args, **kwargs):
    return None


_OF_THE_DEVICE = {
    "synchronize": _nothing,
    "reset_peak_memory_stats": _nothing,
    "set_device": _nothing,
    "current_device": lambda: 0,
}


@contextlib.contextmanager
def replaced(of, name, stand_in):
    """Temporarily replaces an attribute."""
    before = getattr(of, name)
    setattr(of, name, stand_in)
    try:
        yield
    finally:
        setattr(of, name, before)
