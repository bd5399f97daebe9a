"""Runs ops inside a dispatch mode under the same autocast as without it."""

from __future__ import annotations

import contextlib
import functools

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: Ops whose kernels call other ops to which autocast applies, each with the function that programs call. PyTorch
#: disables autocast inside a dispatch mode, so these ops would compute in a different dtype there.
CASTING_INSIDE = {"aten::_trilinear": "aten::bilinear", "aten::linalg_pinv.atol_rtol_tensor": "aten::linalg_pinv.atol_rtol_tensor"}
_KINDS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


@functools.cache
def casts_inside(func):
    """Returns the kinds of devices on which autocast stays on inside the kernel of an op. For most ops there are none:
    autocast casts the arguments of the calling function and is off inside it.
    """
    schema = getattr(func, "_schema", None)
    name = "" if schema is None else ".".join(filter(None, (schema.name, schema.overload_name)))
    called = CASTING_INSIDE.get(name)
    return () if called is None else tuple(kind for kind, key in _KINDS.items() if not torch._C._dispatch_has_kernel_for_dispatch_key(called, key))


def autocast_outside(func):
    """Returns the autocast dtype for each kind of device, outside of the current dispatch mode, if the kernel of `func`
    needs it. Empty for nearly all ops.
    """
    kinds = casts_inside(func)
    if not kinds:
        return {}
    with torch._C._RestorePythonTLSSnapshot():
        return {kind: torch.get_autocast_dtype(kind) for kind in kinds if torch.is_autocast_enabled(kind)}


@contextlib.contextmanager
def autocasting(kinds):
    with contextlib.ExitStack() as stack:
        for kind, dtype in kinds.items():
            # The cache of cast weights belongs to the program, so it is not used.
            stack.enter_context(torch.autocast(kind, dtype=dtype, cache_enabled=False))
        yield


def run_dispatched(func, args, kwargs):
    """Runs an op from inside a dispatch mode."""
    outside = autocast_outside(func)
    if not outside:
        return func(*args, **kwargs)
    with autocasting(outside):
        return func(*args, **kwargs)


class AsWithoutModes(TorchDispatchMode):
    """Runs below other dispatch modes, which do not restore autocast."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return run_dispatched(func, args, kwargs or {})


def below_modes():
    """Returns the context in which to run the modes of selective checkpointing: a null context if autocast is off."""
    return AsWithoutModes() if any(map(torch.is_autocast_enabled, _KINDS)) else contextlib.nullcontext()
