"""Modules that run under `torch.utils.checkpoint` according to a policy."""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections import defaultdict
from typing import NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .autocasting import below_modes
from .backward_hooks import in_backward
from .caches import GivenCaches
from .early_stop import EarlyStop
from .parts import PartsOfCall, around_checkpoint, inside_checkpoint, is_between_modules
from .running_statistics import statistics_of
from .transforms import is_transformed


class Unit(NamedTuple):
    """The treatment of a module. If it has parts, only these are recomputed. Otherwise everything is recomputed except
    the saved results.
    """

    save: list
    parts: list
    ops: int | None
    """Number of ops that a call dispatches, or None if unknown. Parts are positions among these ops."""
    path: list | None = None
    """Names of these ops up to the end of the last part, or None if unknown."""
    name: str = ""
    """The module's name in the model."""


def is_checkpointed(module) -> bool:
    return "_remat_unit" in module.__dict__


def make_checkpointed(module, unit):
    """Makes a module run as `unit` describes."""
    module.__dict__["_remat_unit"] = unit
    _make_contexts(module)
    # Other code may have subclassed the class of a checkpointed module, as `fully_shard` does.
    if not hasattr(type(module), "_remat_plain"):
        module.__class__ = _checkpointed_class(type(module))


def make_plain(module):
    module.__dict__.pop("_remat_unit", None)
    module.__dict__.pop("_remat_contexts", None)
    if type(module) in _checkpointed_classes.values():
        module.__class__ = type(module)._remat_plain


def _make_contexts(module):
    """Creates the contexts of selective checkpointing in advance, since torch.compile does not accept a function created
    by the compiled code.
    """
    saved = module.__dict__["_remat_unit"].save
    if saved:
        module.__dict__["_remat_contexts"] = context_fn(saved)


def context_fn(ops):
    """Returns a `context_fn` for `torch.utils.checkpoint.checkpoint` from the ops of one module in a policy.

    `ops`: a list of `{"op": "aten.mm.default", "ordinal": 0, "policy": "MUST_SAVE" | "PREFER_RECOMPUTE"}`. An op is
    identified by its name and the number of earlier ops with the same name in that call. Ops that are not listed are
    recomputed.
    """
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    policies = {(entry["op"], entry["ordinal"]): CheckpointPolicy[entry["policy"]] for entry in ops}

    def contexts():
        counts = (defaultdict(int), defaultdict(int))  # of the forward pass, of the recomputation

        def policy(ctx, func, *args, **kwargs):
            count = counts[ctx.is_recompute]
            name = str(func)
            ordinal = count[name]
            count[name] += 1
            return policies.get((name, ordinal), CheckpointPolicy.PREFER_RECOMPUTE)

        return create_selective_checkpoint_contexts(policy)

    return contexts


_checkpointed_classes = {}


def _checkpointed_class(plain):
    """Returns the subclass of a module class that runs under `torch.utils.checkpoint`, according to its instance's
    `_remat_unit`.
    """
    known = _checkpointed_classes.get(plain)
    if known is None:

        def forward(module, *args, **kwargs):
            # The result of torch.jit.trace cannot be recomputed. Neither can a call under a transform of torch.func,
            # since recomputation would be outside of the transform.
            if torch.jit.is_tracing():
                return plain.forward(module, *args, **kwargs)
            if "_remat_unit" not in module.__dict__ or not torch.is_grad_enabled() or (not torch.compiler.is_compiling() and is_transformed()):
                return plain.forward(module, *args, **kwargs)
            return _run_checkpointed(module, plain.forward, args, kwargs)

        def set_state(module, state):
            plain.__setstate__(module, state)
            if "_remat_unit" in module.__dict__:
                _make_contexts(module)

        def prepare_scriptable(module):
            raise RuntimeError("remat: torch.jit.script cannot capture a model with a checkpointing policy; call remat.remove(model) first")

        body = {
            "forward": forward,
            "__prepare_scriptable__": prepare_scriptable,
            "__reduce_ex__": _reduce_checkpointed,
            "__setstate__": set_state,
            "__module__": plain.__module__,
            "__doc__": plain.__doc__,
            "__qualname__": plain.__qualname__,
            "_remat_plain": plain,
        }
        known = _checkpointed_classes[plain] = type(plain)(plain.__name__, (plain,), body)
    return known


def _reduce_checkpointed(module, protocol):
    """Makes copies and pickles refer to the plain class, since the subclass cannot be imported."""
    state = module.__getstate__() if hasattr(module, "__getstate__") else module.__dict__
    if isinstance(state, dict):
        state = {name: value for name, value in state.items() if name != "_remat_contexts"}
    return _new_checkpointed, (type(module)._remat_plain,), state


def _new_checkpointed(plain):
    made = _checkpointed_class(plain)
    return made.__new__(made)


def _run_checkpointed(module, plain, args, kwargs):
    from torch.utils._pytree import tree_flatten, tree_unflatten
    from torch.utils.checkpoint import checkpoint

    # Tensors are separate arguments, so that an outer checkpointed call handles the tensors that it also has. If a
    # tensor is passed several times, such as for queries and keys, the recomputation also passes a single tensor.
    unit = module.__dict__["_remat_unit"]
    saved = unit.save
    if unit.parts:
        return _run_in_parts(module, plain, args, kwargs)
    leaves, spec = tree_flatten((args, kwargs))
    own, places, fixed = [], [], []
    for leaf in leaves:
        is_tensor = isinstance(leaf, torch.Tensor)
        places.append(_place_among(own, leaf) if is_tensor else None)
        fixed.append(None if is_tensor else leaf)
    caches = GivenCaches(fixed)
    weights = _WeightsOfCall(module)
    is_compiling = torch.compiler.is_compiling()
    early_stop = EarlyStop()

    def run(*tensors):
        if is_compiling:
            return run_module(tensors)
        with inside_checkpoint():
            if caches.is_again:
                with weights.as_before(), early_stop.recomputation():
                    return run_module(tensors)
            with early_stop.first_run(is_between_modules) as end:
                out = run_module(tensors)
                end(out)
                return out

    def run_module(tensors):
        given = [leaf if place is None else tensors[place] for leaf, place in zip(caches.given(), places)]
        args, kwargs = tree_unflatten(given, spec)
        # Compiled code does its own counting.
        if saved or is_compiling:
            return plain(module, *args, **kwargs)
        with _counting_once(module):
            return plain(module, *args, **kwargs)

    def selective():
        first, again = module._remat_contexts()
        return _Around(first), _Around(again, module)

    # Contexts are passed only if needed, since torch.compile accepts only its own.
    given = {"context_fn": module._remat_contexts if is_compiling else selective} if saved else {}
    with contextlib.nullcontext() if is_compiling else around_checkpoint():
        out = checkpoint(run, *own, use_reentrant=False, **given)
    caches.end_first_run()
    return out


def _run_in_parts(module, plain, args, kwargs):
    # Compiled code decides for itself what to recompute.
    if torch.compiler.is_compiling():
        return plain(module, *args, **kwargs)
    unit = module.__dict__["_remat_unit"]
    with PartsOfCall(unit.parts, unit.path) as dispatched:
        out = plain(module, *args, **kwargs)
    if _told.get(module) != unit and (dispatched.strayed_at is not None or unit.ops not in (None, dispatched.count)):
        _told[module] = unit
        warnings.warn(_of_another_path(unit, dispatched), stacklevel=2)
    return out


#: Modules that have caused a warning about a different path, with their unit. Applying a policy again does not repeat
#: the warning.
_told = weakref.WeakKeyDictionary()


def _of_another_path(unit, dispatched):
    name = f"module {unit.name!r}" if unit.name else "the model"
    if dispatched.strayed_at is None:
        found = f"it dispatches {dispatched.count} ops here, and {unit.ops} in the recorded step"
    else:
        place, name_here = dispatched.strayed_at
        expected = unit.path[place] if unit.path is not None and place < len(unit.path) and unit.path[place] != name_here else "another op"
        found = f"op {place} is {name_here} here, and {expected} in the recorded step"
    kept = "From this op on, the call recomputes nothing" if dispatched.strayed_at is not None else "Its parts are recomputed as planned"
    return (
        f"remat: {name} takes another path than in the recorded step: {found}. {kept}. Training stays bitwise identical, but memory may exceed the plan. "
        "Likely causes: modules skipped at random (LayerDrop), other inputs, or another device. If every step takes this path, record such a step and plan it."
    )


class _WeightsOfCall:
    """The weights and buffers of a module at the time of its call. `torch.func.functional_call` replaces them for a single
    call.
    """

    def __init__(self, module):
        self._own = [(of, dict(of)) for one in module.modules() if not isinstance(one, torch.jit.ScriptModule) for of in (one._parameters, one._buffers) if of]

    @contextlib.contextmanager
    def as_before(self):
        now = [(of, name, of[name]) for of, before in self._own for name, tensor in before.items() if of.get(name, tensor) is not tensor and _has_data(tensor)]
        for of, before in self._own:
            of.update({name: before[name] for where, name, _ in now if where is of})
        try:
            yield
        finally:
            for of, name, tensor in now:
                of[name] = tensor


def _has_data(tensor):
    """Returns whether a tensor's data still exists. FSDP frees gathered weights."""
    is_plain = tensor is not None and tensor.layout == torch.strided and not is_traceable_wrapper_subclass(tensor)
    return not is_plain or tensor.numel() == 0 or tensor.untyped_storage().nbytes() > 0


def _place_among(tensors, tensor):
    """Returns the position of a tensor in a list, adding it if it is not there yet."""
    for place, one in enumerate(tensors):
        if one is tensor:
            return place
    tensors.append(tensor)
    return len(tensors) - 1


class _Around:
    """Wraps a context of selective checkpointing, so that several backward passes can go through one graph. Selective
    checkpointing alone rejects all but the first. `module` is recomputed once for each pass.
    """

    def __init__(self, context, module=None):
        self.context, self.module = context, module

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        # Entered outside of the context, which would count the ops of this one.
        if self.module is not None:
            self.stack.enter_context(_counting_once(self.module))
        self.stack.enter_context(below_modes())
        self.stack.enter_context(self.context)

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


@contextlib.contextmanager
def _counting_once(module):
    """Keeps running statistics of normalisation layers unchanged during recomputation of a module, since they already
    include this batch.
    """
    again = module.modules() if in_backward() else ()
    before = [(tensor, tensor.detach().clone()) for one in again for tensor in statistics_of(one)]
    try:
        yield
    finally:
        for tensor, was in before:
            # Bypasses autograd, which would report that a saved tensor has changed.
            tensor.data.copy_(was)
