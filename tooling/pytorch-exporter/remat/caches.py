"""Caches of keys and values, which every call of a layer adds to, so that one that runs again would add twice."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.utils._python_dispatch import _disable_current_modes


class GivenCaches:
    """Arguments of a call, the caches among them as they were when it began: those of transformers, objects that hold tensors, or others that do.

    When the call runs again it is given stand-ins, so that what is in the caches stays as it is. They hold what the call replaced, and of the rest shapes
    only: a call that waits to run again keeps no layer's keys and values alive.
    """

    def __init__(self, fixed):
        self.fixed = fixed
        self.before = {place: _Before(one) for place, one in enumerate(fixed) if _is_cache(one)}
        self.is_again = False

    def given(self):
        """The arguments of the first run, and, once that is over, of one that runs again."""
        if not self.is_again or not self.before:
            return self.fixed
        return [self.before[place].stand_in() if place in self.before else one for place, one in enumerate(self.fixed)]

    def end_first_run(self):
        self.is_again = True
        for place, before in self.before.items():
            before.let_go()
            self.fixed[place] = None


def _is_cache(one):
    return hasattr(one, "update") and hasattr(one, "__dict__") and not isinstance(one, (Mapping, torch.nn.Module, type))


class _Before:
    """An object as it was: its fields, and what it holds that is such an object, too."""

    def __init__(self, one):
        self.one, self.type = one, type(one)
        self.fields = {key: _held(value) for key, value in vars(one).items()}

    def let_go(self):
        """Keeps of tensors that are still there only what they look like."""
        now = vars(self.one)
        is_same = all(now.get(key) is value for key, value in self.fields.items() if value is None or isinstance(value, torch.Tensor))
        for key, value in self.fields.items():
            self.fields[key] = _let_go(value, is_same)
        self.one = None

    def stand_in(self):
        one = self.type.__new__(self.type)
        vars(one).update({key: _again(value) for key, value in self.fields.items()})
        return one


class _Look:
    """What a tensor looks like."""

    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape, tensor.dtype

    def tensor(self):
        with _disable_current_modes():  # Selective checkpointing takes it for an op of the module.
            return torch.empty(self.shape, dtype=self.dtype, device="meta")


def _held(value):
    if isinstance(value, list):
        return [_held(item) for item in value]
    if isinstance(value, dict):
        return {key: _held(item) for key, item in value.items()}
    return _Before(value) if _is_cache(value) else value


def _let_go(value, is_same):
    if isinstance(value, list):
        return [_let_go(item, is_same) for item in value]
    if isinstance(value, dict):
        return {key: _let_go(item, is_same) for key, item in value.items()}
    if isinstance(value, _Before):
        value.let_go()
    return _Look(value) if is_same and isinstance(value, torch.Tensor) else value


def _again(value):
    if isinstance(value, list):
        return [_again(item) for item in value]
    if isinstance(value, dict):
        return {key: _again(item) for key, item in value.items()}
    if isinstance(value, _Before):
        return value.stand_in()
    return value.tensor() if isinstance(value, _Look) else value
