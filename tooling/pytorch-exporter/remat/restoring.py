"""Restores the state of training after steps were run."""

from __future__ import annotations

import contextlib
import copy
import functools
import random
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .plain_state import bindings_of, classes_of, functions_of, keep_attributes, keep_bindings, reached
from .used_by import used_by


@contextlib.contextmanager
def as_before(model, step=None, *, values=True):
    """A context that restores weights, gradients, optimizer state, random generators and plain attributes of modules
    (numbers, tensors, lists, objects) at its end. Yields a list of the optimizers that steps in the context use. It
    grows as they are found.

    `step`: a training step. The context also restores generators, lists, counters, schedules and other modules (such as
    averages of weights) that the code of `step` or of the modules refers to. `values`: False if nothing is computed, so
    that only references to tensors have to be restored.
    """
    with contextlib.ExitStack() as stack:
        met = []
        everything = reached(model, step, (one for one in used_by(step) if isinstance(one, torch.nn.Module))) if values else None
        modules = list(model.modules()) if everything is None else [one.module for one in everything.modules]
        parameters = list({id(one): one for module in modules for one in module.parameters(recurse=False)}.values())
        buffers = list({id(one): one for module in modules for one in module.buffers(recurse=False)}.values())
        own = {id(one) for one in [*parameters, *buffers]}

        def meet(optimizer, args, kwargs):
            if not any(one is optimizer for one in met):
                met.append(optimizer)
                # A module may call an optimizer of its own, for weights that do not belong to any module.
                if values:
                    stack.callback(_restore_tensors([one for group in optimizer.param_groups for one in group["params"] if id(one) not in own]))
                stack.callback(_restore_optimizer(optimizer, values))

        if values:
            stack.callback(generators_restorer())
            stack.callback(_restore_tensors([*parameters, *buffers]))
            for restore in _restore_used(step, everything):
                stack.callback(restore)
            for restore in _restore_plain(step, model, modules):
                stack.callback(restore)
        stack.callback(_restore_references(modules))
        stack.callback(_restore_gradients(parameters, values))
        for optimizer in () if everything is None else (one for _, _, one in everything.others if isinstance(one, torch.optim.Optimizer)):
            stack.callback(_restore_optimizer(optimizer, values))
        stack.callback(register_optimizer_step_pre_hook(meet).remove)
        yield met


@contextlib.contextmanager
def generators_as_before():
    """A context that restores the state of random generators at its end."""
    restore = generators_restorer()
    try:
        yield
    finally:
        restore()


def _restore_tensors(tensors):
    copies = [_on_cpu(tensor) for tensor in tensors]

    def restore():
        with torch.no_grad():
            for tensor, before in zip(tensors, copies):
                tensor.copy_(before)

    return restore


def _restore_used(step, everything):
    """Returns functions that restore other state that a step changes."""
    for used in {id(one): one for one in [*used_by(step), *(one for _, _, one in everything.others)]}.values():
        if isinstance(used, torch.Generator):
            yield functools.partial(used.set_state, used.get_state())
        elif isinstance(used, (torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)):
            yield functools.partial(used.load_state_dict, copy.deepcopy(used.state_dict()))
        elif "numpy" in sys.modules and isinstance(used, sys.modules["numpy"].random.Generator):
            yield functools.partial(setattr, used.bit_generator, "state", used.bit_generator.state)


def _restore_plain(step, model, modules):
    """Returns functions that restore attributes of modules, and data that the code of the step or of the modules refers
    to by name.
    """
    restorers = []
    for module in modules:
        keep_attributes(module, restorers)
    keep_bindings(bindings_of(functions_of(model, step), classes_of(model)), restorers)
    return restorers


def _restore_references(modules):
    """Returns a function that restores the tensors of the modules' weights and buffers and their storages, since steps
    may replace both. Sharded weights are left out, since they change by themselves.
    """

    def plain(named):
        return {name: one for name, one in named.items() if one is not None and not is_traceable_wrapper_subclass(one)}

    own = [(of, plain(of)) for module in modules for of in (module._parameters, module._buffers) if isinstance(of, dict)]
    data = [(tensor, tensor.data) for _, named in own for tensor in named.values()]

    def restore():
        for of, named in own:
            of.update(named)
        for tensor, before in data:
            if tensor.device != before.device or tensor.data_ptr() != before.data_ptr():
                tensor.data = before

    return restore


def _restore_gradients(parameters, values):
    gradients = [parameter.grad for parameter in parameters]
    restore_values = _restore_tensors([one for one in gradients if one is not None]) if values else lambda: None

    def restore():
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        restore_values()

    return restore


def _restore_optimizer(optimizer, values):
    before = {key: copy.copy(of) for key, of in optimizer.state.items()}
    saved = _on_cpu(optimizer.state_dict()) if values and optimizer.state else None
    groups = [(group, {key: value for key, value in group.items() if key != "params"}) for group in optimizer.param_groups]

    def restore():
        optimizer.state.clear()
        optimizer.state.update(before)
        for group, of in groups:
            group.update(of)
        if saved is not None:
            optimizer.load_state_dict(saved)

    return restore


def generators_restorer():
    """Returns a function that restores the state of random generators."""
    python, cpu = random.getstate(), torch.get_rng_state()
    numpy = sys.modules.get("numpy")
    of_numpy = None if numpy is None else numpy.random.get_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore():
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)
        torch.set_rng_state(cpu)
        for place, state in enumerate(gpus):
            torch.cuda.set_rng_state(state, place)

    return restore


def _on_cpu(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: _on_cpu(item) for key, item in value.items()}
    return [_on_cpu(item) for item in value] if isinstance(value, list) else copy.copy(value)
