"""Hooks on gradients, in every kind of backward pass."""

from __future__ import annotations

import torch
from torch.autograd.graph import _get_grad_fn_or_grad_acc
from torch.utils._python_dispatch import _disable_current_modes


def in_backward() -> bool:
    return torch._C._current_graph_task_id() != -1


def on_first_gradient(tensors, call):
    """Calls `call(grad)` with the first gradient of `tensors` in each backward pass. Returns a function that removes the
    hooks.
    """
    passes = set()

    def hook(grad):
        task = torch._C._current_graph_task_id()
        if task not in passes:
            passes.add(task)
            call(grad)

    return _hook_each(tensors, [hook] * len(tensors))


def on_last_gradient(tensors, tell, call):
    """Calls `call(told)` when a backward pass has all gradients of `tensors`, where `told` is the list of `tell(grad)`
    for each. Returns a function that removes the hooks.

    `register_multi_grad_hook` is similar, but fails if `autograd.grad` asks for gradients of leaves, and keeps
    gradients alive until all are there.
    """
    # Finding the node of a leaf runs an op that is not part of the program.
    with _disable_current_modes():
        nodes = [_get_grad_fn_or_grad_acc(tensor) for tensor in tensors]
    passes = {}  # by backward pass: the results for gradients so far; None when all have arrived

    def hook_of(place):
        def hook(grad):
            task = torch._C._current_graph_task_id()
            told = passes.setdefault(task, {})
            if told is None:
                return
            told[place] = tell(grad)
            if not any(_is_awaited(node) for i, node in enumerate(nodes) if i not in told):
                passes[task] = None
                call(list(told.values()))

        return hook

    return _hook_each(tensors, [hook_of(place) for place in range(len(nodes))])


def _hook_each(tensors, hooks):
    handles = [tensor.register_hook(hook) for tensor, hook in zip(tensors, hooks)]

    def remove():
        for handle in handles:
            handle.remove()

    return remove


def _is_awaited(node) -> bool:
    try:
        return torch._C._will_engine_execute_node(node)
    except RuntimeError:
        # For a leaf in `autograd.grad`, it is unknown whether its gradient was requested.
        return False
