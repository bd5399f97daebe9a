"""Values of fake tensors, for programs that read some."""

from __future__ import annotations

import os
import traceback
import warnings

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from .tensors import stand_for, tensors_in

# Elements of the largest tensor whose values are computed. Masks and positions are smaller.
_LARGEST = 2**22

# Their results are arbitrary or cannot be known in advance.
_UNKNOWN = {"aten.empty", "aten.empty_like", "aten.empty_strided", "aten.new_empty", "aten.new_empty_strided", "aten.resize_"}


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """The result shape of grouped products in any dtype. PyTorch's own stand-in accepts only bfloat16. Rows are aligned as
    its kernels require.
    """
    if a.dim() == 2:
        shape = [offs.size(0), a.size(0), b.size(1)] if b.dim() == 2 else [a.size(0), b.size(2)]
    else:
        shape = [a.size(1), b.size(1)] if b.dim() == 2 else [a.size(0), a.size(1), b.size(2)]
    dtype = out_dtype or a.dtype
    alignment = 16 // dtype.itemsize
    row = -(-shape[-1] // alignment) * alignment
    strides = [row, 1] if len(shape) == 2 else [shape[1] * row, row, 1]
    return torch.empty_strided(shape, strides, dtype=dtype, device=a.device)


_STAND_INS = {"aten._grouped_mm.default": _grouped_mm}

# Fake tensors do not know how many elements a sparse tensor has.
_COUNTING = {"aten._to_sparse", "aten._to_sparse_csr", "aten._to_sparse_csc", "aten._to_sparse_bsr", "aten._to_sparse_bsc", "aten._coalesce"}

# Only the kernel knows how much memory it keeps for the backward pass.
_WITH_WORKSPACE = {"aten.mkldnn_rnn_layer"}


class FakeValues(TorchDispatchMode):
    """Computes values alongside the fake tensors, so that programs can read them, if they depend on neither weights nor
    random numbers. The user gives other values by `assume`.

    It is entered after the `FakeTensorMode` `mode`, which handles everything else. `mode` gets real tensors as fake
    ones.
    """

    def __init__(self, mode, assume):
        super().__init__()
        for key in assume:
            if key not in ("item", "nonzero"):
                raise ValueError(f"remat: unknown key {key!r} in assume; use 'item' or 'nonzero'")
        if not 0 <= assume.get("nonzero", 0) <= 1:
            raise ValueError(f"remat: assume['nonzero'] must be a share between 0 and 1, found {assume['nonzero']}")
        self.mode, self.assume = mode, assume
        self._values = WeakTensorKeyDictionary()  # values of fake tensors, and of real tensors that were written to; None if unknown
        self._warned = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if str(func).rsplit(".", 1)[0] in _COUNTING:
            raise RuntimeError(f"remat: {_line()} creates a sparse tensor ({func}), whose size depends on values, and fake tensors have none. Record a real step with record_step.")
        given = tensors_in((args, kwargs))
        is_known = all(self._value(tensor) is not None for tensor in given) and torch.Tag.nondeterministic_seeded not in func.tags
        fake_args, fake_kwargs = self._fake(args), self._fake(kwargs)
        try:
            out = self._read(func, fake_args, fake_kwargs, args, kwargs, is_known)
        except DynamicOutputShapeException:
            out = self._found(func, fake_args, fake_kwargs) if not is_known else self._found_really(func, args, kwargs)
        # An op that writes to its arguments may return nothing, as foreach ops do.
        written = self._written(func, args, kwargs)
        if not written and not isinstance(out, (torch.Tensor, list, tuple)):
            return out
        if is_known and str(func).rsplit(".", 1)[0] not in _UNKNOWN and all(one.numel() <= _LARGEST for one in [*written, *tensors_in(out)]):
            self._compute(func, args, kwargs, out)
        else:
            for tensor in written:
                self.forget(tensor)
        return out

    def knows(self, tensor):
        """Returns whether a program can read the tensor's values."""
        return self._value(tensor) is not None

    def _value(self, tensor):
        if tensor in self._values:
            return self._values[tensor]
        # The values of an existing tensor are known, except for weights, which training changes.
        is_real = not isinstance(tensor, (FakeTensor, torch.nn.Parameter)) and type(tensor) is torch.Tensor and tensor.layout == torch.strided
        return tensor if is_real and not tensor.requires_grad and tensor.numel() <= _LARGEST else None

    def _compute(self, func, args, kwargs, out):
        # Real tensors are not written to, only copies.
        with _disable_current_modes(), torch.no_grad():
            for tensor in self._written(func, args, kwargs):
                if tensor not in self._values:
                    self._values[tensor] = tensor.clone()
            values = func(*self._real(args), **self._real(kwargs))
        for tensor, value in zip(tensors_in(out), tensors_in(values)):
            self._values[tensor] = value

    def _fake(self, value):
        def fake(tensor):
            if isinstance(tensor, FakeTensor):
                return tensor
            made = self.mode.from_tensor(tensor)
            stand_for(made, tensor)
            return made

        return tree_map_only(torch.Tensor, fake, value)

    def _real(self, value):
        def real(tensor):
            return self._value(tensor)

        value = tree_map_only(torch.Tensor, real, value)
        # Fake tensors may be on a device that this machine does not have.
        return tree_map_only(torch.device, lambda _: torch.device("cpu"), value)

    def _written(self, func, args, kwargs):
        written = []
        for place, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                written += tensors_in(args[place] if place < len(args) else kwargs.get(argument.name))
        return written

    def forget(self, tensor):
        """Marks the values of a tensor as unknown."""
        value = self._values.get(tensor)
        # The values of a fake tensor without an entry are unknown. The entry is removed, since a weight with weak
        # references cannot be converted by `.to(…)` and similar calls.
        if isinstance(tensor, FakeTensor):
            self._values.pop(tensor, None)
        else:
            self._values[tensor] = None
        if value is not None:
            of = value.untyped_storage()._cdata
            for other, known in list(self._values.items()):
                if known is not None and known.untyped_storage()._cdata == of:
                    self._values[other] = None

    # Values that a program reads

    def _read(self, func, fake_args, fake_kwargs, args, kwargs, is_known):
        if str(func).rsplit(".", 1)[0] in _WITH_WORKSPACE:
            self._warn_of(_line(), f"runs {func}, which keeps a workspace for the backward pass on a CPU. Fake tensors do not show it, so a real step uses more memory. Record it with record_step.")
        is_item = func is torch.ops.aten._local_scalar_dense.default
        try:
            # Fake tensors remember the values of some numbers.
            if not (is_item and is_known):
                stand_in = _STAND_INS.get(str(func), func)
                return stand_in(*fake_args, **fake_kwargs)
        except DataDependentOutputException:
            pass
        if is_known:
            with _disable_current_modes():
                return func(*self._real(args), **self._real(kwargs))
        kind = args[0].dtype if is_item else torch.bool
        if kind.is_floating_point:
            self._warn_of(_line(), "reads a number, which is assumed to be 0, because fake tensors have no values")
            return 0.0
        if "item" not in self.assume:
            raise RuntimeError(
                f"remat: {_line()} reads a value ({func}, {kind}), and fake tensors have none. "
                'Set it with export(…, assume={"item": 1}), or record a real step with record_step.'
            )
        return (bool if kind is torch.bool else int)(self.assume["item"])

    def _found_really(self, func, args, kwargs):
        with _disable_current_modes():
            values = func(*self._real(args), **self._real(kwargs))
        return tree_map_only(torch.Tensor, lambda value: torch.empty(value.shape, dtype=value.dtype, device=args[0].device), values)

    def _found(self, func, args, kwargs):
        """Returns the result of an op whose size depends on data."""
        name = str(func).rsplit(".", 1)[0]
        if "nonzero" in self.assume:
            if name == "aten.nonzero":
                return self._positions(args[0])
            if name == "aten.masked_select":
                return args[0].new_empty(self._count(args[1]))
            if name == "aten.index":
                return func(args[0], self._as_positions(args[1]), **kwargs)
        raise RuntimeError(
            f"remat: {_line()} has a result ({func}) whose size depends on values, and fake tensors have none. "
            'Set the share of elements that `torch.nonzero`, `torch.where` or a mask selects: export(…, assume={"nonzero": 0.25}). Otherwise record a real step with record_step.'
        )

    def _count(self, mask):
        return round(self.assume["nonzero"] * mask.numel())

    def _positions(self, mask):
        return torch.empty((self._count(mask), mask.dim()), dtype=torch.int64, device=mask.device)

    def _as_positions(self, indices):
        positions = []
        for index in indices:
            is_mask = index is not None and index.dtype in (torch.bool, torch.uint8)
            positions += self._positions(index).unbind(1) if is_mask else [index]
        return positions

    def _warn_of(self, line, what):
        if line not in self._warned:
            self._warned.add(line)
            warnings.warn(f"remat: {line} {what}", stacklevel=2)


_LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(__file__))


def _line():
    """Returns the line of the user's program that is running."""
    return line_in(traceback.extract_stack())


def line_in(stack):
    """Returns the innermost line of a stack that belongs to the user."""
    for frame in reversed(stack):
        if not frame.filename.startswith((*_LIBRARIES, "<")):
            return f"{frame.filename}:{frame.lineno} ({frame.line})"
    return "the program"
