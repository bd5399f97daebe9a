"""Handles steps with one or several models and one or several optimizers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .used_by import used_by


def as_one_model(model) -> nn.Module | None:
    """Returns `model` itself, or the model that it wraps. Several models, in a list or by name, become one module."""
    if isinstance(model, Mapping):
        model = nn.ModuleDict(model)
    elif isinstance(model, (list, tuple)):
        model = nn.ModuleList(model)
    if isinstance(model, DistributedDataParallel):
        model = model.module
    if model is not None and not isinstance(model, nn.Module):
        raise TypeError(f"remat: the model must be a torch.nn.Module, a list of them or a dict, found {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise TypeError("remat: the model is a TorchScript module, which is not supported; use the model that was given to torch.jit.script or torch.jit.trace")
    for fqn, module in [] if model is None else model.named_modules():
        if type(module).__name__ == "OptimizedModule":
            of = f" ({fqn})" if fqn else ""
            raise TypeError(f"remat: the model is compiled{of}, so its ops are not visible; record the module that was given to torch.compile")
    return model


def warn_of_compiled(model, step):
    """Warns if a step runs a compiled form of the model, whose ops cannot be recorded."""
    own = set(model.modules())
    if any(type(one).__name__ == "OptimizedModule" and getattr(one, "_orig_mod", None) in own for one in used_by(step)):
        warnings.warn(
            "remat: step() uses torch.compile. remat records, plans and measures it without torch.compile. For the memory of the compiled model, use remat.export_graphs(model, …).",
            stacklevel=3,
        )


def as_optimizers(optimizer) -> list:
    """Returns all optimizers in `optimizer`: one, several in a list or by name, or none."""
    if optimizer is None:
        return []
    if isinstance(optimizer, Mapping):
        return list(optimizer.values())
    return list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
