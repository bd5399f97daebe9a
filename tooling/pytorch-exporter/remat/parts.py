"""Recomputes parts of a module's forward in the backward pass: ranges of its ops, as they were dispatched."""

from __future__ import annotations

import contextlib
import threading
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

from .autocasting import autocast_outside, autocasting, run_dispatched
from .queries import QUERIES
from .schemas import declared

class _Checkpointed(threading.local):
    """State of a thread: the number of modules currently running under `torch.utils.checkpoint`, whether dispatched ops
    belong to `torch.utils.checkpoint` itself, and the calls that have parts.
    """

    depth = 0
    is_between = False

    def __init__(self):
        self.calls = []

    def leave_ended_parts(self):
        """Ends parts that are complete, before a module runs that saves its own tensors. These parts have not yet seen
        another op that would end them.
        """
        for call in reversed(self.calls):
            call.leave_if_ended()


_checkpointed = _Checkpointed()


@contextlib.contextmanager
def around_checkpoint():
    """A context for a call of `torch.utils.checkpoint`. It creates tensors to hold the arguments, and the ops that
    create them do not count.
    """
    _checkpointed.leave_ended_parts()
    before, _checkpointed.is_between = _checkpointed.is_between, True
    try:
        yield
    finally:
        _checkpointed.is_between = before


def is_between_modules() -> bool:
    """Returns whether `torch.utils.checkpoint` itself is running, not a module's forward."""
    return _checkpointed.is_between


@contextlib.contextmanager
def inside_checkpoint():
    """A context for code that runs under `torch.utils.checkpoint`: its ops belong to the program."""
    before, _checkpointed.is_between = _checkpointed.is_between, False
    _checkpointed.depth += 1
    try:
        yield
    finally:
        _checkpointed.depth -= 1
        _checkpointed.is_between = before


class PartsOfCall(TorchDispatchMode):
    """Recomputes ranges of one module call's ops, given in `parts` by their positions: the first, the end (exclusive), and
    positions in between whose results are kept.

    `path`: the names of the ops as recorded. If a call dispatches a different op, it has no parts from there on,
    because later positions would refer to other ops.
    """

    def __init__(self, parts, path=None):
        super().__init__()
        self._path = path
        #: Position at which a call dispatched a different op than recorded, and that op.
        self.strayed_at = None
        self._begins = {begin: (end, frozenset(*kept)) for begin, end, *kept in parts}
        self._kept = ()
        self._place = 0
        self._end = None
        self._part = None
        self._hooks = None

    @property
    def count(self):
        """Number of ops dispatched so far."""
        return self._place

    def __enter__(self):
        _checkpointed.leave_ended_parts()
        _checkpointed.calls.append(self)
        self._outside = _checkpointed.depth
        return super().__enter__()

    def __exit__(self, *error):
        self._leave()
        _checkpointed.calls.remove(self)
        return super().__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        op = _op_of(func)
        kwargs = kwargs or {}
        if op.is_query or _checkpointed.is_between:
            return run_dispatched(func, args, kwargs)
        self.leave_if_ended()
        place = self._place
        self._place += 1
        if self._path is not None and place < len(self._path) and self.strayed_at is None and self._path[place] != str(func):
            self._stray(place, str(func))
        if place in self._begins and self._part is None:
            # Parts of outer modules may be complete without having seen a later op.
            _checkpointed.leave_ended_parts()
            if self._is_outside(place):
                self._end, self._kept = self._begins[place]
                self._part = _Part()
                self._hooks = saved_tensors_hooks(self._part.pack, _unpack)
                self._hooks.__enter__()
        # The result of a kept op counts as an input from outside the part.
        if self._part is None or (place in self._kept and self.strayed_at is None):
            return run_dispatched(func, args, kwargs)
        return self._part.run(op, func, args, kwargs)

    def _stray(self, place, op):
        self.strayed_at = place, op
        self._begins = {}
        if self._part is not None:
            # Ops dispatched so far can be recomputed. The hooks stay until the end of the call, since other code may
            # have entered its own hooks after them.
            self._part.stop()
            self._end = None

    def leave_if_ended(self):
        """Ends the current part after its last op."""
        if self._part is not None and self._place == self._end and self._is_outside(self._place):
            self._leave()

    def _is_outside(self, place):
        """Returns whether a part can begin or end here: not inside another module under `torch.utils.checkpoint`, which
        is recomputed by itself. If it cannot, the call has left the recorded path.
        """
        if _checkpointed.depth != self._outside:
            self._stray(place, "an op inside of another checkpointed module")
        return self.strayed_at is None

    def _leave(self):
        if self._part is not None:
            self._hooks.__exit__()
            self._part.end()
        self._part = self._hooks = self._end = None


class _Op:
    """Properties of an op that do not depend on its arguments."""

    __slots__ = ("is_query", "is_random", "written", "statistics", "leaves_statistics")

    def __init__(self, func):
        says = declared(func)
        self.is_query = str(func).rsplit(".", 1)[0] in QUERIES
        self.is_random = says.is_random
        self.written = says.writes
        self.statistics = {one.place for one in says.statistics}
        self.leaves_statistics = says.leaves_statistics


_ops = {}


def _op_of(func):
    known = _ops.get(func)
    if known is None:
        known = _ops[func] = _Op(func)
    return known


class _Made:
    """A tensor made by an op of the part, by its number."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class _Saved:
    """Saved by autograd in place of a tensor that a part made. It has the information to recompute that tensor."""

    __slots__ = ("part", "value", "shape", "stride", "offset", "tensor", "__weakref__")

    def __init__(self, part, value, tensor):
        self.part, self.value, self.tensor = part, value, None
        self.shape, self.stride, self.offset = tensor.shape, tensor.stride(), tensor.storage_offset()


class _Entry:
    """An op with its arguments. Arguments from outside have their version and storage, and those made in the part have
    the storages that the op reads and writes.
    """

    __slots__ = ("op", "func", "args", "kwargs", "outs", "given", "reads", "touches", "copied", "autocast")

    def __init__(self, op, func):
        self.op, self.func = op, func
        self.outs, self.given, self.reads, self.touches, self.copied = [], [], set(), set(), set()

    def check(self):
        """Raises an error if an argument of an op has changed."""
        for tensor, version, storage in self.given:
            if storage is not None and tensor.untyped_storage()._cdata != storage._cdata:
                raise RuntimeError(
                    f"remat: {self.func} cannot be recomputed: its input of shape {list(tensor.shape)} was assigned new data (`.data = …`) after the forward pass. "
                    "Plan whole modules only: remat plan --whole-modules."
                )
            if tensor._version != version:
                raise RuntimeError(
                    f"remat: {self.func} cannot be recomputed: its input of shape {list(tensor.shape)} was overwritten after the forward pass: version {tensor._version}, "
                    f"expected {version}. Record the current model and plan again."
                )
            if _is_plain(tensor) and tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0:
                raise RuntimeError(
                    f"remat: {self.func} cannot be recomputed: its input of shape {list(tensor.shape)} was freed after the forward pass, as weights of sharded models are. "
                    "Plan whole modules only: remat plan --whole-modules."
                )


def _unpack(packed):
    if not isinstance(packed, _Saved):
        return packed
    if packed.tensor is None:
        packed.part.run_again()
    return packed.tensor


class _Part:
    """The ops of a part with their arguments from outside. Their results are freed after their last use."""

    def __init__(self):
        self._entries = []
        self._storages = {}  # address -> (weak reference, which keeps the address from being reused; number among the storages made here)
        self._values = []  # of each tensor made here: the number of its storage, and its dtype
        self._values_at = {}  # storage, dtype, shape, stride, offset -> the latest value
        self._saved = weakref.WeakSet()
        self._generators = None
        self._is_broken = False

    # In the forward pass

    def run(self, op, func, args, kwargs):
        if self._is_broken:
            return run_dispatched(func, args, kwargs)
        entry = _Entry(op, func)
        entry.autocast = autocast_outside(func)
        entry.copied = self._written_outside(op, args, kwargs)
        entry.args = self._kept(args, entry)
        entry.kwargs = self._kept(kwargs, entry) if kwargs else {}
        if op.statistics and not op.leaves_statistics(args, kwargs):
            # The op is recomputed with copies of the statistics, and its result does not depend on their values.
            written = [args[at] for at in op.statistics if at < len(args)]
            entry.given = [given for given in entry.given if not any(given[0] is one for one in written)]
        if op.is_random and self._generators is None:
            self._generators = _generator_states(entry.args)
        out = run_dispatched(func, args, kwargs)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if any(isinstance(one, torch.Tensor) and not _is_plain(one) for one in outs):
            # It would be unknown what its storages contain.
            self._is_broken = True
            return out
        for argument in op.written:
            written = argument.of(args, kwargs)
            for one in written if isinstance(written, (tuple, list)) else (written,):
                if isinstance(one, torch.Tensor) and _is_plain(one):
                    entry.touches.add(self._storage(one))
        given = None
        for one in outs:
            if not isinstance(one, torch.Tensor):
                entry.outs.append(None)
                continue
            number = self._storage(one)
            if number is None:
                # Some ops return a view without declaring it.
                given = given or {each.untyped_storage()._cdata for each in _tensors([*args, *kwargs.values()]) if _is_plain(each)}
                storage = one.untyped_storage()
                if storage._cdata not in given:
                    number = len(self._storages)
                    self._storages[storage._cdata] = StorageWeakRef(storage), number
            if number is None:
                entry.outs.append(None)
                continue
            entry.touches.add(number)
            entry.outs.append(len(self._values))
            self._values_at[number, one.dtype, one.shape, one.stride(), one.storage_offset()] = len(self._values)
            self._values.append((number, one.dtype))
        entry.touches.discard(None)
        self._entries.append(entry)
        return out

    def stop(self):
        """Accepts no more ops, and from here on saves tensors themselves."""
        self._is_broken = True

    def pack(self, tensor):
        # Returns a separate tensor, since saving an op's own result would keep the op alive.
        if self._is_broken or not _is_plain(tensor):
            return tensor.detach()
        value = self._value(tensor)
        if value is None:
            return tensor.detach()
        saved = _Saved(self, value, tensor)
        self._saved.add(saved)
        return saved

    def end(self):
        """Keeps only the ops that a saved tensor depends on."""
        needed = {self._values[saved.value][0] for saved in self._saved}
        if not needed:
            self._entries = []
            return
        kept = []
        for entry in reversed(self._entries):
            if entry.op.is_random or not entry.touches.isdisjoint(needed):
                needed |= entry.reads
                kept.append(entry)
        self._entries = kept[::-1]
        self._storages = self._values_at = None

    def _written_outside(self, op, args, kwargs):
        """Addresses of storages from outside that an op writes into, except statistics. Its result may depend on their
        previous values, so it is recomputed with copies.
        """
        written = [one.of(args, kwargs) for one in op.written if one.place not in op.statistics]
        return {one.untyped_storage()._cdata for one in _tensors(written) if _is_plain(one) and self._storage(one) is None}

    def _storage(self, tensor):
        known = self._storages.get(tensor.untyped_storage()._cdata)
        return None if known is None else known[1]

    def _value(self, tensor):
        """Returns the number of a tensor made here, or of one on the same storage, or None if there is neither."""
        number = self._storage(tensor)
        if number is None:
            return None
        known = self._values_at.get((number, tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()))
        if known is not None:
            return known
        return next((value for value, of in enumerate(self._values) if of == (number, tensor.dtype)), None)

    def _kept(self, given, entry):
        """Returns an argument in the form in which it is kept: a tensor made here by its number."""
        if isinstance(given, torch.Tensor):
            value = self._value(given) if _is_plain(given) else None
            if value is None and entry.copied and _is_plain(given) and given.untyped_storage()._cdata in entry.copied:
                return _Copy(given)
            if value is None:
                # The tensor itself, since a later write would not change the version of any other.
                if not given.is_inference():
                    entry.given.append((given, given._version, given.untyped_storage() if _is_plain(given) else None))
                return given
            entry.reads.add(self._values[value][0])
            key = (self._values[value][0], given.dtype, given.shape, given.stride(), given.storage_offset())
            return _Made(value) if self._values_at.get(key) == value else _View(value, given)
        if isinstance(given, (tuple, list)):
            return [self._kept(one, entry) for one in given]
        if isinstance(given, dict):
            return {name: self._kept(one, entry) for name, one in given.items()}
        return given

    # In the backward pass

    def run_again(self):
        asked = {}
        for saved in self._saved:
            asked.setdefault(saved.value, []).append(saved)
        last = self._last_uses()
        values = {}
        on_storage = {}
        # Runs below autograd, with gradients enabled as in the forward pass. Some kernels compute results for a
        # backward pass only if gradients are enabled.
        with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd(), _without_autocast(), self._generators_as_before():
            for place, entry in enumerate(self._entries):
                entry.check()
                args = self._given_again(entry.args, values)
                for at in entry.op.statistics:
                    if at < len(args) and isinstance(args[at], torch.Tensor):
                        args[at] = args[at].clone()
                with autocasting(entry.autocast) if entry.autocast else contextlib.nullcontext():
                    out = entry.func(*args, **self._given_again(entry.kwargs, values))
                del args
                for value, one in zip(entry.outs, out if isinstance(out, (tuple, list)) else (out,)):
                    if value is None:
                        continue
                    values[value] = one
                    on_storage.setdefault(self._values[value][0], []).append(value)
                    for saved in asked.get(value, ()):
                        saved.tensor = one if _is_at(one, saved) else one.as_strided(saved.shape, saved.stride, saved.offset)
                out = one = None
                for number in last.get(place, ()):
                    for value in on_storage.pop(number, ()):
                        del values[value]

    def _last_uses(self):
        last = {}
        for place, entry in enumerate(self._entries):
            for number in entry.reads | entry.touches:
                last[number] = place
        at = {}
        for number, place in last.items():
            at.setdefault(place, []).append(number)
        return at

    def _given_again(self, kept, values):
        if isinstance(kept, _Made):
            return values[kept.value]
        if isinstance(kept, _Copy):
            return kept.tensor.clone()
        if isinstance(kept, _View):
            return values[kept.value].as_strided(kept.shape, kept.stride, kept.offset)
        if isinstance(kept, torch.Tensor):
            return kept
        if isinstance(kept, list):
            return [self._given_again(one, values) for one in kept]
        if isinstance(kept, dict):
            return {name: self._given_again(one, values) for name, one in kept.items()}
        return kept

    @contextlib.contextmanager
    def _generators_as_before(self):
        if self._generators is None:
            yield
            return
        cpu, devices = self._generators
        kinds = {device.type for device, _ in devices}
        with contextlib.ExitStack() as stack:
            for kind in kinds or {"cuda"}:
                of = [device for device, _ in devices if device.type == kind]
                stack.enter_context(torch.random.fork_rng(of, device_type=kind))
            torch.set_rng_state(cpu)
            for device, state in devices:
                getattr(torch, device.type).set_rng_state(state, device)
            yield


class _Copy:
    """A copy of a tensor from outside, made before an op writes into it."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        # Not an op of the program.
        before, _checkpointed.is_between = _checkpointed.is_between, True
        try:
            self.tensor = tensor.clone()
        finally:
            _checkpointed.is_between = before


class _View:
    """A view of a tensor made here that was not created by an op."""

    __slots__ = ("value", "shape", "stride", "offset")

    def __init__(self, value, tensor):
        self.value, self.shape, self.stride, self.offset = value, tensor.shape, tensor.stride(), tensor.storage_offset()


def _is_plain(tensor):
    return tensor.layout == torch.strided and not is_traceable_wrapper_subclass(tensor)


def _is_at(tensor, saved):
    return tensor.shape == saved.shape and tensor.stride() == saved.stride and tensor.storage_offset() == saved.offset


def _tensors(given):
    for one in given:
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, (tuple, list)):
            yield from _tensors(one)


def _generator_states(args):
    devices = {one.device for one in _tensors(args) if one.device.type not in ("cpu", "meta")}
    return torch.get_rng_state(), [(device, getattr(torch, device.type).get_rng_state(device)) for device in devices]


@contextlib.contextmanager
def _without_autocast():
    kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(torch.autocast(kind, enabled=False))
        yield
