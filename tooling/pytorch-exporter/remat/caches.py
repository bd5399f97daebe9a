"""Key-value caches. Every call of a layer adds to them, so recomputing a call would add twice."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.utils._python_dispatch import _disable_current_modes


class GivenCaches:
    """Arguments of a call, with copies of the caches among them, made when the call began. Caches are those of
    transformers, or other objects with an `update` method.

    A recomputed call gets stand-ins, so that the caches do not change. A stand-in keeps the tensors that the call
    replaced. It keeps only the shapes of other tensors, so that keys and values do not stay alive until the
    recomputation.
    """

    def __init__(self, fixed):
        self.fixed = fixed
        self.before = {place: _Before(one) for place, one in enumerate(fixed) if _is_cache(one)}
        self.is_again = False

    def given(self):
        """Returns the arguments for the first run, or in later calls, for a recomputation."""
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
    """A snapshot of an object: its fields, and snapshots of the caches in them."""

    def __init__(self, one):
        self.one, self.type = one, type(one)
        self.fields = {key: _held(value) for key, value in vars(one).items()}

    def let_go(self):
        """Replaces tensors that the object still has by their shape and dtype."""
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
    """Shape and dtype of a tensor."""

    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape, tensor.dtype

    def tensor(self):
        with _disable_current_modes():  # Selective checkpointing would count this as an op of the module.
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
