"""Records a training step without computing it."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from types import SimpleNamespace

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from .cuda_kernels import cuda_kernels
from .devices import cpu_for_cuda, replaced
from .fake_values import FakeValues, line_in
from .models import as_one_model
from .recording import record
from .restoring import as_before
from .tensors import forget_stand_ins


def export(build, path, *, assume=None, name=None, allocation_unit=512, kernels=None, precision=None):
    """Records a step without computing it. `build()` returns `(model, step)` or `(model, optimizer, step)`; it and `step()` run on fake tensors.

    >>> def build():
    ...     model = Transformer(); optimizer = torch.optim.Adam(model.parameters()); x = torch.randint(0, 8192, (8, 1024))
    ...     def step():
    ...         model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()
    ...     return model, optimizer, step
    >>> remat.export(build, "step.json")

    A model that cannot be built on fake tensors is built on the CPU, with a warning, and its step runs on fake ones. What is asked for on CUDA (`.cuda()`, `device="cuda"`, autocast) is on the CPU where there is no CUDA. Where the program reads a value: masks, sizes and
    the like are computed; a floating-point number that follows from weights is taken as 0, with a warning; others are as `assume` says, `{"item": 1}`, and
    `{"nonzero": 0.25}` is the share of a tensor's elements that `nonzero`, `where(mask)` and `x[mask]` find. What `assume` leaves out raises, with the line of the program.

    Tensors on the CPU stand for those on a GPU, whose allocator gives out units of 512 bytes: attention and dropout are those that CUDA has. Of a step that will train on the CPU `allocation_unit` is 1. `kernels="cpu"` or "cuda" says
    it where that says something else. `precision=torch.bfloat16`: as FSDP2 computes with `MixedPrecisionPolicy(param_dtype=torch.bfloat16)`: weights and what the model is given are in that dtype, which shows what its code casts by
    itself; `stored=float32` in a sharding plan then says what shards are kept in.
    """
    kernels = _kernels(kernels, allocation_unit)
    mode = _FakeMode()
    values = FakeValues(mode, assume or {})
    with _saying_where(), _on_fake_tensors(), _stand_in(kernels):
        model, *optimizers, step = _built(build, mode, values)
        with mode, values, _known_to_transformers(values), _computing_in(precision, model):
            _record_second(step, path, model, *optimizers, name=name, allocation_unit=allocation_unit, kernels=kernels)


def export_step(step, path, model=None, optimizer=None, inputs=None, *, assume=None, name=None, allocation_unit=512, kernels=None):
    """Records `step()` of a model that is there without computing it, on fake tensors that stand for its own, which stay as they are.

    For a step that does not fit into memory. `assume` and `kernels` as in `export`.
    """
    kernels = _kernels(kernels, allocation_unit)
    mode = _FakeMode()
    values = FakeValues(mode, assume or {})
    whole = as_one_model(model) or torch.nn.Module()
    with _saying_where(), _on_fake_tensors(), _stand_in(kernels), as_before(whole, values=False) as met, mode, values, _known_to_transformers(values):
        _record_second(step, path, model, optimizer or met, inputs, name=name, allocation_unit=allocation_unit, kernels=kernels)


def _record_second(step, path, *of, kernels, **options):
    # The first step makes the optimizer's state; the second is one like all others.
    step()
    with record(path, *of, **options) as recorder:
        recorder.kernels = kernels if kernels == "cuda" else None
        step()


@contextlib.contextmanager
def _known_to_transformers(values):
    """transformers leaves out masks that hide nothing, as attention is causal without one, but never looks at what is in fake tensors. Of these `values` knows it."""
    utils = sys.modules.get("transformers.utils.import_utils")
    if not hasattr(utils, "is_fake_tensor"):
        yield
        return
    is_fake_tensor = utils.is_fake_tensor
    with replaced(utils, "is_fake_tensor", lambda tensor: is_fake_tensor(tensor) and not values.knows(tensor)):
        yield


@contextlib.contextmanager
def _computing_in(precision, model):
    """Has the weights in `precision`, and casts to it what the model is given."""
    if precision is None:
        yield
        return

    def cast(value):
        return value.to(precision) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    whole = as_one_model(model)
    for parameter in whole.parameters():
        parameter.data = cast(parameter.data)
    roots = whole.children() if isinstance(model, (dict, list, tuple)) else [whole]
    hooks = [root.register_forward_pre_hook(lambda _, args, kwargs: tree_map(cast, (args, kwargs)), with_kwargs=True) for root in roots]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _kernels(name, allocation_unit):
    name = name or ("cuda" if allocation_unit > 1 else "cpu")
    if name not in ("cuda", "cpu"):
        raise ValueError(f'remat: kernels={name!r}; expected "cuda" or "cpu", whose kernels the step will run')
    return name


def _stand_in(kernels):
    return cuda_kernels() if kernels == "cuda" else contextlib.nullcontext()


@contextlib.contextmanager
def _on_fake_tensors():
    """Distributions do not look at the values of their arguments; what stands for a tensor does so in one recording."""
    validates = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        with cpu_for_cuda():
            yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validates)
        forget_stand_ins()


def _built(build, mode, values):
    """What `build()` gives: on fake tensors or, where that fails, on the CPU."""
    try:
        with mode, values, _without_values(values):
            return _checked(build())
    except _WrongParts:
        raise
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    parts = _checked(build())
    warnings.warn(f"remat: the model was built on the CPU, since on fake tensors that raised {failure.splitlines()[0]}", stacklevel=3)
    return parts


@contextlib.contextmanager
def _without_values(values):
    """Fake weights have no values: none have to be drawn again which lie too far from the mean, and a weight may be converted that others refer to weakly, who only look at what it was."""
    swap = torch.utils.swap_tensors

    def swap_tensors(*tensors):
        for one in tensors:
            values.forget(one)
        with replaced(torch.utils, "weakref", SimpleNamespace(getweakrefs=lambda _: [])):
            swap(*tensors)

    with replaced(torch.nn.init, "_no_grad_trunc_normal_", lambda tensor, *args, **kwargs: tensor), replaced(torch.utils, "swap_tensors", swap_tensors):
        yield


@contextlib.contextmanager
def _saying_where():
    """Adds to errors that are not ours which line of the program raised them, and what can be done."""
    try:
        yield
    except Exception as error:
        if not str(error).startswith("remat: ") and hasattr(error, "add_note"):
            line = line_in(traceback.extract_tb(error.__traceback__))
            error.add_note(f"remat: that was at {line}, on fake tensors, by which nothing is computed. If it is they that cannot do this, record a real step by record_step.")
        raise


class _FakeMode(FakeTensorMode):
    """One that stays the same where tensors in it are copied, as layers are that a model has several of."""

    def __deepcopy__(self, memo):
        return self


class _WrongParts(TypeError):
    pass


def _checked(parts):
    found = f"{len(parts)} things" if isinstance(parts, (tuple, list)) else type(parts).__name__
    if found not in ("2 things", "3 things"):
        raise _WrongParts(f"remat: build() gave {found}; expected (model, step) or (model, optimizer, step)")
    return parts
