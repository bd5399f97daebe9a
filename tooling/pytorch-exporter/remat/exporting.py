"""Records a training step without computing it."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from types import SimpleNamespace

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_map

from .cuda_kernels import cuda_kernels
from .devices import cpu_for_cuda, replaced
from .fake_values import FakeValues, line_in
from .files import write_file
from .models import as_one_model
from .recorder import Recorder
from .restoring import as_before
from .tensors import forget_stand_ins
from .transforms import refusing_transforms


def export(build, path, *, assume=None, name=None, allocation_unit=512, kernels=None, precision=None, also_in=torch.bfloat16):
    """Records a step without computing it. `build()` returns `(model, step)` or `(model, optimizer, step)`. Both
    `build()` and `step()` run on fake tensors.

    >>> def build():
    ...     model = Transformer(); optimizer = torch.optim.Adam(model.parameters()); x = torch.randint(0, 8192, (8, 1024))
    ...     def step():
    ...         model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()
    ...     return model, optimizer, step
    >>> remat.export(build, "step.json")

    A model that cannot be built on fake tensors is built on the CPU, with a warning, and its step runs on fake ones. If
    there is no CUDA, requests for it (`.cuda()`, `device="cuda"`, autocast) use the CPU.

    If the program reads a value, remat computes masks, sizes and the like. A floating-point number that depends on
    weights is taken as 0, with a warning. `assume` gives other values. With `{"item": 1}`, all other `.item()`, `bool()`
    and `int()` return 1. `{"nonzero": 0.25}` is the share of a tensor's elements that `nonzero`, `where(mask)` and
    `x[mask]` find. A value missing from `assume` raises an error with the line of the program.

    Tensors on the CPU stand for those on a GPU, whose allocator rounds up to 512 bytes. Attention and dropout use
    CUDA's kernels. For a step that will train on the CPU, set `allocation_unit` to 1. `kernels`, "cpu" or "cuda",
    overrides the choice of kernels.

    If all weights are float32, the step is recorded a second time, as FSDP2 computes it with
    `MixedPrecisionPolicy(param_dtype=also_in)`. The second recording uses a newly built model, with weights and inputs
    in that dtype. It shows the casts of the model's own code and the attention kernels in that dtype. The file contains
    both recordings, the second as `recorded_in`, and sharding plans in that dtype are simulated with the second.
    `also_in=None` turns it off. If the model does not compute in that dtype, remat warns and leaves the second
    recording out. `precision=torch.bfloat16` records the step in that dtype only.
    """
    asked = SimpleNamespace(assume=assume or {}, name=name, allocation_unit=allocation_unit, kernels=_kernels(kernels, allocation_unit))
    with _saying_where():
        content, is_wide = _content_in(precision, build, asked)
    if precision is None and also_in is not None and is_wide:
        other = _content_also_in(also_in, build, asked)
        if other is not None:
            content["recorded_in"] = {str(also_in).removeprefix("torch."): other}
    write_file(path, content)


def _content_in(precision, build, asked):
    """Returns the file's content for the step in `precision`, and whether its weights were all float32."""
    mode = _FakeMode()
    values = FakeValues(mode, asked.assume)
    with _on_fake_tensors(), _stand_in(asked.kernels):
        model, *optimizers, step = _built(build, mode, values)
        is_wide = {parameter.dtype for parameter in as_one_model(model).parameters()} == {torch.float32}
        with mode, values, _known_to_transformers(values), _computing_in(precision, model):
            return _content_of_second(step, asked, model, *optimizers), is_wide


def _content_also_in(precision, build, asked):
    """Like `_content_in`. Returns None, with a warning, if the step cannot run in this dtype."""
    try:
        # Warnings about the program were already given for the first recording.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _content_in(precision, build, asked)[0]
    except Exception as error:
        failure = f"{type(error).__name__}: {error}".splitlines()[0]
    warnings.warn(f"remat: recording the step a second time in {precision} failed: {failure}. Plans in that dtype will use the float32 recording. Pass also_in=None to skip the second recording", stacklevel=3)
    return None


def export_step(step, path, model=None, optimizer=None, inputs=None, *, assume=None, name=None, allocation_unit=512, kernels=None):
    """Records `step()` of an existing model without computing it. Fake tensors stand for the model's own, which do not
    change. Use it for a step that does not fit into memory. `assume` and `kernels` as in `export`.
    """
    asked = SimpleNamespace(name=name, allocation_unit=allocation_unit, kernels=_kernels(kernels, allocation_unit))
    mode = _FakeMode()
    values = FakeValues(mode, assume or {})
    whole = as_one_model(model) or torch.nn.Module()
    with _saying_where(), _on_fake_tensors(), _stand_in(asked.kernels), as_before(whole, values=False) as met, mode, values, _known_to_transformers(values):
        content = _content_of_second(step, asked, model, optimizer or met, inputs)
    write_file(path, content)


def _content_of_second(step, asked, *of):
    # The first step creates the optimizer's state. The second is representative.
    _take_first(step)
    with Recorder(*of) as recorder:
        recorder.kernels = asked.kernels if asked.kernels == "cuda" else None
        step()
    return recorder.content(asked.name, asked.allocation_unit)


def _take_first(step):
    """Runs a step even if its backward pass reads a tensor that an in-place op has overwritten. Fake tensors have no
    values that could be wrong, and PyTorch's SACEstimator also runs such a step.
    """
    try:
        step()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        warnings.warn(
            f"remat: PyTorch will reject this step in a real run, because an in-place op overwrites a value that the backward pass needs ({str(error).splitlines()[0]}). "
            "The file shows the memory that the step would use. Replace that op, such as `torch.cos_(x)`, with one that returns a new tensor",
            stacklevel=4,
        )
        # PyTorch checks versions only of tensors that it saves without hooks.
        with saved_tensors_hooks(_as_it_is, _as_it_is):
            step()


def _as_it_is(value):
    return value


@contextlib.contextmanager
def _known_to_transformers(values):
    """A context in which transformers can omit masks that hide nothing, because attention is causal without one.
    transformers never looks at the values of fake tensors. This context lets it use those that `values` knows.
    """
    utils = sys.modules.get("transformers.utils.import_utils")
    if not hasattr(utils, "is_fake_tensor"):
        yield
        return
    is_fake_tensor = utils.is_fake_tensor
    with replaced(utils, "is_fake_tensor", lambda tensor: is_fake_tensor(tensor) and not values.knows(tensor)):
        yield


@contextlib.contextmanager
def _computing_in(precision, model):
    """A context in which weights are in `precision` and inputs of the model are cast to it."""
    if precision is None:
        yield
        return

    def cast(value):
        return value.to(precision) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    whole = as_one_model(model)
    own = [(parameter, parameter.data) for parameter in whole.parameters()]
    for parameter, data in own:
        parameter.data = cast(data)
    roots = whole.children() if isinstance(model, (dict, list, tuple)) else [whole]
    hooks = [root.register_forward_pre_hook(lambda _, args, kwargs: tree_map(cast, (args, kwargs)), with_kwargs=True) for root in roots]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for parameter, data in own:
            parameter.grad, parameter.data = None, data


def _kernels(name, allocation_unit):
    name = name or ("cuda" if allocation_unit > 1 else "cpu")
    if name not in ("cuda", "cpu"):
        raise ValueError(f'remat: kernels={name!r} is not supported; pass "cuda" or "cpu", the device of the real step')
    return name


def _stand_in(kernels):
    return cuda_kernels() if kernels == "cuda" else contextlib.nullcontext()


@contextlib.contextmanager
def _on_fake_tensors():
    """A context in which distributions do not validate their arguments, which would read values of fake tensors."""
    validates = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        with cpu_for_cuda(), refusing_transforms():
            yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validates)
        forget_stand_ins()


def _built(build, mode, values):
    """Returns the result of `build()`, on fake tensors or, if that fails, on the CPU."""
    try:
        with mode, values, _without_values(values):
            return _checked(build())
    except _WrongParts:
        raise
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    parts = _checked(build())
    warnings.warn(f"remat: the model was built on the CPU, because building it on fake tensors raised {failure.splitlines()[0]}", stacklevel=3)
    return parts


@contextlib.contextmanager
def _without_values(values):
    """A context for building on fake tensors, which have no values. Initializers do not redraw values outside of their
    limits, and a weight may be converted even if weak references to it exist.
    """
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
    """Adds the line of the program and a suggestion to errors that are not remat's own."""
    try:
        yield
    except Exception as error:
        if not str(error).startswith("remat: ") and hasattr(error, "add_note"):
            line = line_in(traceback.extract_tb(error.__traceback__))
            error.add_note(f"remat: this happened at {line}, on fake tensors, which do not compute values. If your code needs values, record a real step with record_step.")
        raise


class _FakeMode(FakeTensorMode):
    """A mode that stays the same object when tensors that refer to it are copied, as for repeated layers of a model."""

    def __deepcopy__(self, memo):
        return self


class _WrongParts(TypeError):
    pass


def _checked(parts):
    found = f"{len(parts)} things" if isinstance(parts, (tuple, list)) else type(parts).__name__
    if found not in ("2 things", "3 things"):
        raise _WrongParts(f"remat: build() returned {found}; return (model, step) or (model, optimizer, step)")
    return parts
