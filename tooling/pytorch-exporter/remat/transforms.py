"""Rejects transforms of `torch.func` that hide saved tensors from autograd's hooks while a step is recorded."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import torch
from torch.autograd import graph

_FOLDER = str(Path(torch.__file__).parent / "_functorch")


class TransformNotRecorded(RuntimeError):
    """The step calls a transform of `torch.func` that cannot be recorded."""


def is_transformed() -> bool:
    """Returns whether the running code is inside a transform."""
    return torch._C._functorch.peek_interpreter_stack() is not None


@contextlib.contextmanager
def refusing_transforms():
    """A context that raises if the program calls `torch.func.grad`, `vjp` or functions built on them. Inside these,
    PyTorch disables the hooks that show saved tensors.
    """
    disable = graph.disable_saved_tensors_hooks

    def disable_or_refuse(message):
        if message.startswith("torch.func"):
            raise TransformNotRecorded(
                f"remat: the step calls torch.func.{_transform()}, which is not supported: PyTorch does not show the tensors that autograd saves inside it. "
                "Compute these gradients with torch.autograd.grad or loss.backward() (create_graph=True for higher derivatives). torch.func.vmap, jvp and functional_call are supported."
            )
        return disable(message)

    graph.disable_saved_tensors_hooks = disable_or_refuse
    try:
        yield
    finally:
        graph.disable_saved_tensors_hooks = disable


def _transform():
    """Returns the name of the outermost running transform that needs gradients."""
    frame, found = sys._getframe(1), "grad"
    while frame is not None:
        if frame.f_code.co_filename.startswith(_FOLDER):
            found = _NAMES.get(getattr(frame.f_code, "co_qualname", frame.f_code.co_name).split(".")[0], found)
        frame = frame.f_back
    return found


# PyTorch's internal functions by the public names that programs use.
_NAMES = {name: name for name in ("grad", "grad_and_value", "vjp", "jacrev", "hessian")} | {"_vjp_with_argnums": "vjp", "grad_impl": "grad", "grad_and_value_impl": "grad_and_value"}
