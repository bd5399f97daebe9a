"""Records what a training step does: ops, modules, saved tensors, and when each storage comes and goes."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
import weakref
from collections import defaultdict

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

from .backward_hooks import in_backward, on_first_gradient, on_last_gradient
from .bookkeeping import measure_bookkeeping
from .checkpointed_regions import watch_regions
from .clocks import CudaClock, HostClock, wait_for_cuda
from .cuda_memory import CudaMemory
from .files import write_file
from .models import as_one_model, as_optimizers
from .queries import QUERIES
from .source_lines import line_of_program
from .tensors import needing_gradient, tensors_in, untyped_storages

SCHEMA = "mem-oracle/1"
#: Told inside the call of a module that has given its weights or buffers other storages by its end: it cannot run twice.
STATE_REPLACED = "stateReplaced"


@contextlib.contextmanager
def record(path, model=None, optimizer=None, inputs=None, name=None, allocation_unit=512):
    """Records what runs inside, a training step, and writes it to `path` at the end.

    `path`: one that ends in .gz is compressed. `model`, `optimizer`: whose parameters, buffers, gradients and state there are from the start; run one step before, so that an
    optimizer has made its state; of several a list, or models by name. `inputs`: tensors of the batch, by which they are told from other storages. `allocation_unit`: bytes that allocations are rounded up to;
    512 is CUDA's, so a step recorded on the CPU is planned as for a GPU.
    """
    recorder = Recorder(model, optimizer, inputs)
    with recorder:
        yield recorder
    write_file(path, recorder.content(name, allocation_unit))


def record_step(step, path, model=None, optimizer=None, inputs=None, *, repeats=5, name=None, allocation_unit=512):
    """Records `step()`, which really runs, with what each op takes on this machine, so that a plan's time is that of this machine.

    It runs once to warm up, `repeats` times by itself, whose median is what the step takes, and `repeats` times with a clock at each op, of which medians are
    taken, too. Medians leave out what disturbs now one op and now another, so that they are raised in proportion to what all ops of a run take; what Python takes between ops is
    shared out among them. Where one thread computes, its own time is taken, which other programs on the machine disturb least. On CUDA ops are timed where they run, by events on their stream. On other
    devices that work beside the program no times are told: give `remat plan` its name by `--device`. Returns what the step takes by itself, in milliseconds.
    """
    return record_timed_step(step, path, model, optimizer, inputs, repeats=repeats, name=name, allocation_unit=allocation_unit)[0]


def record_timed_step(step, path, model, optimizer, inputs, *, repeats, name, allocation_unit):
    """As `record_step`; returns besides whether the times of ops are told."""
    step()
    whole = as_one_model(model)
    device = None if whole is None else next((parameter.device for parameter in whole.parameters() if parameter.is_cuda), None)
    is_beside = torch.cuda.is_initialized() and (whole is None or device is not None)
    now = time.thread_time if torch.get_num_threads() == 1 and not is_beside else time.perf_counter
    walls, alone, hosts, runs = [], [], [], []
    for _ in range(repeats):
        wait_for_cuda(device)
        began, began_alone = time.perf_counter(), now()
        step()
        hosts.append((time.perf_counter() - began) * 1e3)
        wait_for_cuda(device)
        walls.append((time.perf_counter() - began) * 1e3)
        alone.append((now() - began_alone) * 1e3)
    for _ in range(repeats):
        recorder = Recorder(whole, optimizer, inputs)
        recorder.clock = CudaClock() if is_beside else HostClock(now)
        with recorder:
            step()
        recorder.clock.finish()
        runs.append(recorder)
    ops = [[event for event in run.events if event["e"] == "op"] for run in runs]
    names = [[run.funcs[event["f"]]["name"] for event in of] for run, of in zip(runs, ops)]
    last = runs[-1]
    if is_beside:
        # Where the device lets it wait, when too much is in its queue, that is counted, too.
        last.host_ms = min(hosts)
    is_timed = last._device().split(":")[0] == ("cuda" if is_beside else "cpu") and all(of == names[-1] for of in names)
    if is_timed:
        last.checkpoint_ms = measure_bookkeeping(last._device(), now)
        medians = [statistics.median(event["ms"] for event in same) for same in zip(*ops)]
        of_step = statistics.median(alone)
        of_ops = min(of_step, statistics.median(sum(event["ms"] for event in of) for of in ops))
        share, rest = of_ops / max(sum(medians), 1e-9), (of_step - of_ops) / max(1, len(medians))
        for event, ms in zip(ops[-1], medians):
            event["ms"] = round(ms * share + rest, 6)
            event["runs"] = repeats
    else:
        for event in ops[-1]:
            del event["ms"]
    write_file(path, last.content(name, allocation_unit))
    return statistics.median(walls), is_timed


class Recorder(TorchDispatchMode):
    """Sees every op, module call, saved tensor and storage between `__enter__` and `__exit__`."""

    def __init__(self, model=None, optimizer=None, inputs=None):
        #: Whose stand in for those of the device.
        self.kernels = None
        super().__init__()
        self.model, self.optimizers, self.inputs = as_one_model(model), as_optimizers(optimizer), inputs
        self.clock = None  # where ops are timed
        self.host_ms = None  # what the host takes for all ops, where they run beside it
        self.checkpoint_ms = None  # what checkpointing takes of the host, where ops are timed
        self._cuda = None  # CudaMemory, where the step runs on CUDA
        self._made = set()  # storages that an op returned before anything else was known of them
        self.first, self.events = [], []  # what was there before, what happened
        self.funcs, self.fqns, self.storages, self.tensors, self.lines = [], [], [], [], []
        self._func_ids, self._fqn_ids, self._tensor_ids, self._line_ids = {}, {}, {}, {}
        self._regions = 0
        self._live = {}  # address of a storage -> (weak reference to it, its number); an address is used again
        self._referring = {}  # address of a tensor that an op returned -> weak reference to it
        self._references = defaultdict(int)  # storage -> how many of those there are, saved ones not counted
        self._saves = 0
        self._saved = defaultdict(int)  # storage -> how often it is saved now
        self._is_saving = False
        self._names = weakref.WeakKeyDictionary()
        self._told = set()  # modules whose weights were told
        self._tree = None  # what modules there are, with their weights
        self._hooked = weakref.WeakSet()  # modules that have hooks of their own before their forward pass, which are no part of it
        self._states = []  # of each module that runs now: the module, and the storages that its weights and buffers are on
        self._running = []  # modules whose forward pass is recomputed in the backward pass
        self._in_optimizer = False
        self._stack = contextlib.ExitStack()
        self._ended = False
        self._is_fake = False

    # Life cycle

    def __enter__(self):
        if self.model is not None:
            root = type(self.model).__name__
            for fqn, module in self.model.named_modules():
                self._names[module] = f"{root}.{fqn}" if fqn else root
                if module._forward_pre_hooks:
                    self._hooked.add(module)
                    self._own(module.register_forward_pre_hook(self._before_forward).remove)
            self._tell_weights(self.model, self.first)
            # As it is before the step, which may give weights other data.
            if not any(torch.nn.parameter.is_lazy(one) for one in [*self.model.parameters(), *self.model.buffers()]):
                self._tree = [self._describe(module) for module in self.model.modules()]
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    self._ref(parameter.grad, "Gradient", self.first)
                if parameter.requires_grad:
                    self._own(parameter.register_post_accumulate_grad_hook(lambda p: self._ref(p.grad, "Gradient")).remove)
        for optimizer in self.optimizers:
            self._tell_state(optimizer, self.first)
        for tensor in tensors_in(self.inputs):
            self._ref(tensor, "Inputs", self.first)
        self._own(register_module_forward_pre_hook(self._before_any_forward).remove)
        self._own(register_module_forward_hook(self._after_forward, always_call=True).remove)
        self._own(register_optimizer_step_pre_hook(self._before_optimizer).remove)
        self._own(register_optimizer_step_post_hook(self._after_optimizer).remove)
        self._watch_resizes()
        watch_regions(self, self._own)
        if self._device().startswith("cuda") and not self._is_fake and torch.cuda.is_initialized():
            self._cuda = CudaMemory()
        self._stack.enter_context(saved_tensors_hooks(self._pack, self._unpack))
        return super().__enter__()

    def __exit__(self, *error):
        try:
            return super().__exit__(*error)
        finally:
            self._stack.close()
            self._ended = True

    def _own(self, undo):
        self._stack.callback(undo)

    def _watch_resizes(self):
        """Sharded models free a storage by giving it no bytes, which is no op."""
        resize = torch.UntypedStorage.resize_

        def resize_and_tell(storage, size):
            known = self._live.get(storage._cdata)
            if (known is None or known[0]() is not storage) and not self._ended:
                # It was there before, with what it held until now.
                self.first.append({"e": "ref", "s": [self._storage(storage, storage.device)], "r": "Other"})
            resize(storage, size)
            self._tell({"e": "resize", "s": self._storage(storage, storage.device), "n": int(size)})

        torch.UntypedStorage.resize_ = resize_and_tell
        self._own(lambda: setattr(torch.UntypedStorage, "resize_", resize))

    def content(self, name, allocation_unit):
        """What a file of the step says."""
        model = self.model
        return {
            "schema": SCHEMA,
            "source": f"remat, torch {torch.__version__}",
            "case": name or ("step" if model is None else type(model).__name__),
            "config": {
                "device": self._device(),
                "mode": "fake" if self._is_fake else "real",
                "tflops": {},
                "dram_gbps": 0,
                "min_allocate": allocation_unit,
                "torch": torch.__version__,
                **({"kernels": self.kernels} if self.kernels else {}),
                **({"host_ms": round(self.host_ms, 6)} if self.host_ms is not None else {}),
                **({"checkpoint_ms": self.checkpoint_ms} if self.checkpoint_ms is not None else {}),
                **({"besides": besides} if (besides := self._besides()) else {}),
            },
            "module_tree": [] if model is None else self._tree or [self._describe(module) for module in model.modules()],
            "funcs": self.funcs,
            "fqns": self.fqns,
            "storages": self.storages,
            "tensors": self.tensors,
            "lines": self.lines,
            "events": self.first + self.events,
        }

    def _besides(self):
        """What was allocated on CUDA from the start and is in no storage that was seen, in bytes: workspaces that cuBLAS keeps, and whatever the step does not touch."""
        if self._cuda is None:
            return 0
        seen = (storage["bytes"] for number, storage in enumerate(self.storages) if number not in self._made and storage["dev"] == f"cuda:{self._cuda.device}")
        return max(0, self._cuda.before - sum(seen))

    def peak_bytes(self, allocation_unit=512):
        """What the recorded step held at most, on the device that holds most."""
        device = self._device()
        held = peak = self._besides()
        sizes = {}

        def resize(storage, size):
            nonlocal held, peak
            if self.storages[storage]["dev"] == device:
                size = -(-size // allocation_unit) * allocation_unit
                held += size - sizes.get(storage, 0)
                sizes[storage] = size
                peak = max(peak, held)

        for event in self.first + self.events:
            kind = event["e"]
            if kind == "del":
                resize(event["s"], 0)
            elif kind == "resize":
                resize(event["s"], event["n"])
            elif kind in ("ref", "op"):
                for storage in event["s"] if kind == "ref" else self._storages_in(event["o"]):
                    if storage not in sizes:
                        resize(storage, self.storages[storage]["bytes"])
                peak = max(peak, held + event.get("ws", 0))
        return peak

    def _storages_in(self, encoded):
        if isinstance(encoded, str) and encoded.startswith("%"):
            storages = self.tensors[int(encoded[1:])]["s"]
            return storages if isinstance(storages, list) else [storages]
        items = encoded.values() if isinstance(encoded, dict) else encoded if isinstance(encoded, list) else ()
        return [storage for item in items for storage in self._storages_in(item)]

    def _describe(self, module):
        return {
            "fqn": self._names[module],
            "type": type(module).__name__,
            "n_children": sum(1 for _ in module.children()),
            "params": [[k, self._tensor(p)] for k, p in module.named_parameters(recurse=False)],
            "buffers": [[k, self._tensor(b)] for k, b in module.named_buffers(recurse=False)],
        }

    def _device(self):
        """The device that holds most."""
        held = defaultdict(int)
        for storage in self.storages:
            held[storage["dev"]] += storage["bytes"]
        return max(held, key=held.get, default="cpu")

    # Ops

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func)
        if name.rsplit(".", 1)[0] in QUERIES:
            out = func(*args, **kwargs)
            if not self._is_saving:
                self._refer(out)
            return out
        event = {"e": "op", "f": self._func(name), "a": self._encode(args, given=True), **self._line()}
        if kwargs:
            event["k"] = {key: self._encode(value, given=True) for key, value in kwargs.items()}
        if self._in_optimizer:
            event["opt"] = 1
        elif in_backward():
            event["bw"] = 1
            if self._running:
                event["ac"] = 1
        if self._cuda is not None:
            self._cuda.begin_op()
        out = func(*args, **kwargs) if self.clock is None else self.clock.time(event, func, args, kwargs)
        if self._cuda is not None and (scratch := self._cuda.end_op()) > 0:
            event["ws"] = scratch
        known = len(self.storages)
        event["o"] = self._encode(out)
        self._made.update(range(known, len(self.storages)))
        self.events.append(event)
        self._refer(out)
        return out

    # What autograd saves: when it does, when the backward pass reads it, when it is given back; and when nothing else holds its storage any more

    def _pack(self, tensor):
        number = self._saves
        self._saves += 1
        storages = self._given(tensor)
        self.events.append({"e": "pack", "s": storages})
        for storage in storages:
            self._saved[storage] += 1
        self._is_saving = True
        try:
            # A tensor of its own, so that it can be seen when all others on the storage are gone.
            return _Saved(tensor.detach(), number, storages, self)
        finally:
            self._is_saving = False

    def _unpack(self, saved):
        self._tell({"e": "unpack", "n": saved.number})
        return saved.tensor

    # Checkpointed regions

    def begin_region(self, name, is_reentrant, given):
        number = self._regions
        self._regions += 1
        form = {"re": 1} if is_reentrant else {}
        self._tell({"e": "region", "n": number, "name": name, "x": self._encode_all(given), **form, **self._line()})
        return number

    def begin_again(self, number):
        self._tell({"e": "region", "n": number, "bw": 1})

    def end_region(self, number, returned):
        told = {} if returned is None else {"x": self._encode_all(returned)}
        self._tell({"e": "region_end", "n": number, **told})

    def save_by_policy(self, value):
        """What a policy saves is held until it is used, as what autograd saves is."""
        return self._pack(value) if isinstance(value, torch.Tensor) and not self._ended else None

    def _refer(self, out):
        if self._ended:
            return
        for tensor in tensors_in(out):
            address = id(tensor)
            known = self._referring.get(address)
            if known is not None and known() is tensor:
                continue
            for number in self._storages(tensor):
                self._references[number] += 1
                self._referring[address] = weakref.ref(tensor, lambda _, n=number, a=address: self._unreferred(n, a))

    def _unreferred(self, number, address):
        self._references[number] -= 1
        self._referring.pop(address, None)
        if self._references[number] == 0 and self._saved[number] > 0:
            self._tell({"e": "saved_only", "s": number})

    def _unsaved(self, saved):
        self._tell({"e": "unsave", "n": saved.number})
        for storage in saved.storages:
            self._saved[storage] -= 1

    def _tell(self, event):
        if not self._ended:
            self.events.append(event)

    # Modules

    def _before_any_forward(self, module, inputs):
        if module not in self._hooked:
            self._before_forward(module, inputs)

    def _before_forward(self, module, inputs):
        fqn = self._names.setdefault(module, type(module).__name__)
        recomputes = in_backward()
        if recomputes:
            self._running.append(fqn)
        self._module_event("pre_fw", fqn, self._encode_all(inputs), module)
        self._states.append((module, _state_of(module)))
        needing = [] if recomputes else needing_gradient(inputs)
        if needing:
            self._own(on_last_gradient(needing, self._encode_given, lambda told: self._module_event("post_bw", fqn, told)))

    def _after_forward(self, module, inputs, outputs):
        fqn = self._names.get(module)
        if fqn is None:
            return
        if self._has_replaced_state(module) and not in_backward():
            self._tell({"e": "mark", "name": STATE_REPLACED})
        self._module_event("post_fw", fqn, self._encode_all(outputs))
        if in_backward():
            if self._running:
                self._running.pop()
            return
        needing = needing_gradient(outputs)
        if needing:
            ends_with_pass = not needing_gradient(inputs)
            self._own(on_first_gradient(needing, lambda grad: self._begin_backward(fqn, grad, ends_with_pass)))

    def _has_replaced_state(self, module):
        while self._states:
            # Those of calls that raised are left over.
            began, state = self._states.pop()
            if began is module:
                now = _state_of(module)
                return any(now.get(name, before) != before for name, before in state.items())
        return False

    def _begin_backward(self, fqn, grad, ends_with_pass):
        self._module_event("pre_bw", fqn, [self._encode_given(grad)])
        # Nothing asks for the gradient of its inputs: its backward pass ends with the whole.
        if ends_with_pass:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._module_event("post_bw", fqn, []))

    def _encode_all(self, value):
        return [self._encode_given(tensor) for tensor in tensors_in(value)]

    def _encode_given(self, tensor):
        return None if self._ended else self._encode(tensor, given=True)

    def _module_event(self, kind, fqn, encoded, module=None):
        if self._ended:
            return
        event = {"e": kind, "m": self._fqn(fqn), "x": encoded}
        if kind.endswith("fw") and in_backward():
            event["bw"] = 1
        self.events.append(event)
        if module is not None and fqn not in self._told:
            self._told.add(fqn)
            self._tell_weights(module, self.events)
        self.events.append({"e": "hook_done"})

    def _tell_weights(self, module, into):
        for parameter in module.parameters():
            self._ref(parameter, "Parameter", into)
        for buffer in module.buffers():
            self._ref(buffer, "Buffer", into)

    # Optimizers

    def _before_optimizer(self, optimizer, args, kwargs):
        self._in_optimizer = True
        # What an optimizer calls to have the loss again is no part of its own work.
        args = [args[0], *(self._outside_optimizer(arg) if callable(arg) else arg for arg in args[1:])]
        return tuple(args), {key: self._outside_optimizer(arg) if callable(arg) else arg for key, arg in kwargs.items()}

    def _outside_optimizer(self, closure):
        def outside(*args, **kwargs):
            self._in_optimizer = False
            try:
                return closure(*args, **kwargs)
            finally:
                self._in_optimizer = True

        return outside

    def _after_optimizer(self, optimizer, args, kwargs):
        self._in_optimizer = False
        self._tell_state(optimizer, self.events)

    def _tell_state(self, optimizer, into):
        for state in optimizer.state.values():
            for tensor in tensors_in(state):
                self._ref(tensor, "Optstate", into)

    # Tables

    def _ref(self, tensor, category, into=None):
        if not self._ended and tensor is not None:
            (self.events if into is None else into).append({"e": "ref", "s": self._storages(tensor), "r": category})

    def _storages(self, tensor):
        self._is_fake = self._is_fake or type(tensor).__name__ == "FakeTensor"
        return [self._storage(storage, tensor.device) for storage in untyped_storages(tensor)]

    def _given(self, tensor):
        """The storages of a tensor that no op returned just now: one that is new was there before."""
        count = len(self.storages)
        storages = self._storages(tensor)
        for storage in storages:
            if storage >= count:
                self.first.append({"e": "ref", "s": [storage], "r": "Other"})
        return storages

    def _storage(self, storage, device):
        address = storage._cdata
        known = self._live.get(address)
        if known is not None and known[0]() is storage:
            return known[1]
        number = len(self.storages)
        self.storages.append({"bytes": int(storage.nbytes()), "dev": str(device)})
        self._live[address] = (weakref.ref(storage, lambda _: self._freed(number)), number)
        return number

    def _freed(self, number):
        self._tell({"e": "del", "s": number})

    def _tensor(self, tensor, given=False):
        storages = self._given(tensor) if given else self._storages(tensor)
        plain = not is_traceable_wrapper_subclass(tensor) and tensor.layout == torch.strided
        stride = [int(n) for n in tensor.stride()] if plain else None
        offset = int(tensor.storage_offset()) if plain else 0
        shape = [int(n) for n in tensor.shape]
        dtype = str(tensor.dtype).removeprefix("torch.")
        key = (tuple(storages), dtype, tuple(shape), None if stride is None else tuple(stride), offset)
        if key not in self._tensor_ids:
            self._tensor_ids[key] = len(self.tensors)
            entry = {"s": storages[0] if len(storages) == 1 else storages, "dt": dtype, "sh": shape, "st": stride}
            self.tensors.append(entry | ({"off": offset} if offset else {}))
        return self._tensor_ids[key]

    def _func(self, name):
        if name not in self._func_ids:
            self._func_ids[name] = len(self.funcs)
            self.funcs.append({"name": name})
        return self._func_ids[name]

    def _line(self):
        line = line_of_program()
        if line is None:
            return {}
        if line not in self._line_ids:
            self._line_ids[line] = len(self.lines)
            self.lines.append(line)
        return {"l": self._line_ids[line]}

    def _fqn(self, fqn):
        if fqn not in self._fqn_ids:
            self._fqn_ids[fqn] = len(self.fqns)
            self.fqns.append(fqn)
        return self._fqn_ids[fqn]

    def _encode(self, value, given=False):
        """`value` as JSON: a tensor is "%" and its number, what is no JSON "str:" and its text."""
        if isinstance(value, torch.Tensor):
            return f"%{self._tensor(value, given)}"
        if isinstance(value, (list, tuple)):
            return [self._encode(item, given) for item in value]
        if isinstance(value, dict):
            return {str(key): self._encode(item, given) for key, item in value.items()}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else f"float:{value!r}"
        if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
            # Its text is all that it holds.
            return f"str:storage of {value.nbytes()} bytes"
        if isinstance(value, torch.SymInt):
            return int(value)
        return f"str:{value}"


def _state_of(module):
    """By name, the storages that the weights and buffers in a module are on; not of sharded ones, whose weights come and go."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: one.untyped_storage()._cdata for name, one in named if one.layout == torch.strided and not is_traceable_wrapper_subclass(one)}


class _Saved:
    """What autograd holds of a tensor while a step is recorded."""

    __slots__ = ("tensor", "number", "storages", "recorder")

    def __init__(self, tensor, number, storages, recorder):
        self.tensor, self.number, self.storages, self.recorder = tensor, number, storages, recorder

    def __del__(self):
        self.recorder._unsaved(self)


