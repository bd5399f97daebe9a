"""Leaves training as it was, whatever steps were run meanwhile."""

from __future__ import annotations

import contextlib
import copy
import functools
import random
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .plain_state import bindings_of, classes_of, functions_of, keep_attributes, keep_bindings
from .used_by import used_by


@contextlib.contextmanager
def as_before(model, step=None, *, values=True):
    """Puts back weights, gradients, optimizers' state and random generators in the end; yields the optimizers of the steps inside, a list that grows as they are met.

    Plain attributes of modules are put back, too: numbers, tensors, lists, objects. `step`: a function whose own generators, lists, counters, other modules (averages of weights) and schedules are put back as far as it or the modules' code names them. `values`: False where nothing is computed, so that only what refers to tensors has to be put back.
    """
    with contextlib.ExitStack() as stack:
        met = []

        def meet(optimizer, args, kwargs):
            if not any(one is optimizer for one in met):
                met.append(optimizer)
                stack.callback(_restore_optimizer(optimizer, values))

        if values:
            stack.callback(_restore_generators())
            stack.callback(_restore_tensors([*model.parameters(), *model.buffers()]))
            for restore in _restore_used(step, model):
                stack.callback(restore)
            for restore in _restore_plain(step, model):
                stack.callback(restore)
        stack.callback(_restore_references(model))
        stack.callback(_restore_gradients(model, values))
        stack.callback(register_optimizer_step_pre_hook(meet).remove)
        yield met


@contextlib.contextmanager
def generators_as_before():
    """Puts back the state of random generators in the end."""
    restore = _restore_generators()
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


def _restore_used(step, model):
    """What puts back what a step changes besides the model and its optimizers."""
    own = {id(tensor) for tensor in [*model.parameters(), *model.buffers()]}
    for used in used_by(step):
        if isinstance(used, torch.Generator):
            yield functools.partial(used.set_state, used.get_state())
        elif isinstance(used, torch.nn.Module):
            others = [tensor for tensor in [*used.parameters(), *used.buffers()] if id(tensor) not in own]
            own.update(map(id, others))
            yield _restore_tensors(others)
        elif isinstance(used, (torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)):
            yield functools.partial(used.load_state_dict, copy.deepcopy(used.state_dict()))
        elif "numpy" in sys.modules and isinstance(used, sys.modules["numpy"].random.Generator):
            yield functools.partial(setattr, used.bit_generator, "state", used.bit_generator.state)


def _restore_plain(step, model):
    """What puts back attributes of modules, and what names in the code of the step and of the modules refer to."""
    modules = {id(one): one for used in [model, *(one for one in used_by(step) if isinstance(one, torch.nn.Module))] for one in used.modules()}
    restorers = []
    for module in modules.values():
        keep_attributes(module, restorers)
    keep_bindings(bindings_of(functions_of(model, step), classes_of(model)), restorers)
    return restorers


def _restore_references(model):
    """The tensors that are a model's weights and buffers, and the storages that these are on: steps may replace both. Sharded weights come and go by themselves."""

    def plain(named):
        return {name: one for name, one in named.items() if one is not None and not is_traceable_wrapper_subclass(one)}

    own = [(of, plain(of)) for module in model.modules() for of in (module._parameters, module._buffers)]
    data = [(tensor, tensor.data) for _, named in own for tensor in named.values()]

    def restore():
        for of, named in own:
            of.update(named)
        for tensor, before in data:
            if tensor.device != before.device or tensor.data_ptr() != before.data_ptr():
                tensor.data = before

    return restore


def _restore_gradients(model, values):
    parameters = list(model.parameters())
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


def _restore_generators():
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
