"""Observes a training step: ops, modules, saved tensors, and when each storage is allocated and freed."""

from __future__ import annotations

import contextlib
import weakref
from collections import defaultdict

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

from .autocasting import run_dispatched
from .backward_hooks import in_backward, on_first_gradient, on_last_gradient
from .checkpointed_regions import watch_regions
from .cuda_memory import CudaMemory
from .effects import StateWatch, ValuesBefore
from .models import as_one_model, as_optimizers
from .plain_state import attributes, walk
from .queries import QUERIES
from .running_statistics import StatisticsWritten
from .schemas import declared
from .sharded import ShardedModules
from .step_tables import StepTables
from .tensors import needing_gradient, tensors_in, untyped_storages
from .transforms import is_transformed, refusing_transforms

SCHEMA = "mem-oracle/1"
#: Mark inside the call of a module that cannot be recomputed, because its weights or buffers have other storages when
#: it ends.
STATE_REPLACED = "stateReplaced"
#: Mark inside the call of a module whose code changes state other than through ops that write into tensors.
STATE_CHANGED = "stateChanged"
#: Mark, with a name, right before an op that writes into a weight, a buffer or an attribute of the model.
STATE_WRITTEN = "stateWritten"
#: Mark inside the call of a module that runs under a transform of `torch.func`.
TRANSFORMED = "transformed"


class Recorder(TorchDispatchMode):
    """Observes every op, module call, saved tensor and storage between `__enter__` and `__exit__`."""

    def __init__(self, model=None, optimizer=None, inputs=None):
        #: "cuda" if CUDA's kernels stand in for the device's own, otherwise None.
        self.kernels = None
        super().__init__()
        self.model, self.optimizers, self.inputs = as_one_model(model), as_optimizers(optimizer), inputs
        self.clock = None  # if ops are timed
        self.host_ms = None  # host time for all ops, if the device runs asynchronously
        self.checkpoint_ms = None  # host time for checkpointing, if ops are timed
        self._sharded = ShardedModules(self)
        self._cuda = None  # CudaMemory, if the step runs on CUDA
        self._made = set()  # storages that were first seen as the result of an op
        self.first, self.events = [], []  # what existed before, what happened
        self.tables = StepTables(self._was_there, on_freed=lambda storage: self._tell({"e": "del", "s": storage}))
        self._regions = 0
        self._referring = {}  # address of a tensor that an op returned -> weak reference to it
        self._references = defaultdict(int)  # storage -> number of those tensors, not counting saved ones
        self._saves = 0
        self._saved = defaultdict(int)  # storage -> how often it is currently saved
        self._is_saving = False
        self._names = weakref.WeakKeyDictionary()
        self._told = set()  # modules whose weights were reported
        self._named = {}  # names of storages that were written into, by number; None if they have none
        self._tree = None  # the modules with their weights
        self._hooked = weakref.WeakSet()  # modules with forward pre-hooks of their own, which are not part of the module
        self._watch = StateWatch(self.tables, self.events, self.model)
        self._values = None  # of buffers and attributes before the step
        self._statistics = StatisticsWritten(self.model, self.tables)
        self._averaging = set()  # ops of torch's own batch normalisation, by identity
        self._declared = set()  # storages that ops declared to write into
        self._states = []  # for each running module: the module, and the storages of its weights and buffers
        self._running = []  # modules whose forward pass is being recomputed in the backward pass
        self._in_optimizer = False
        self._stack = contextlib.ExitStack()
        self._ended = False

    # Life cycle

    def __enter__(self):
        if self.model is not None:
            root = type(self.model).__name__
            for fqn, module in self.model.named_modules():
                self._names[module] = f"{root}.{fqn}" if fqn else root
            self._sharded.watch(self.model)
            for module in self.model.modules():
                # A module is entered before FSDP gathers its weights.
                if module._forward_pre_hooks and module not in self._sharded.hooked:
                    self._hooked.add(module)
                    self._own(module.register_forward_pre_hook(self._before_forward).remove)
            self._tell_weights(self.model, self.first)
            # Records the state before the step, since the step may give weights other data.
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
        if self.model is not None:
            self._values = ValuesBefore(self.model)
        self._watch_resizes()
        watch_regions(self, self._own)
        if self.tables.device().startswith("cuda") and not self.tables.is_fake and torch.cuda.is_initialized():
            self._cuda = CudaMemory()
        self._stack.enter_context(refusing_transforms())
        self._stack.enter_context(saved_tensors_hooks(self._pack, self._unpack))
        return super().__enter__()

    def __exit__(self, *error):
        try:
            return super().__exit__(*error)
        finally:
            self._stack.close()
            self._ended = True
            self._tell_statistics()
            if self._values is not None:
                self._tell_undeclared()

    def _own(self, undo):
        self._stack.callback(undo)

    def _watch_resizes(self):
        """Observes that sharded models free a storage by resizing it to zero bytes, which is not an op."""
        resize = torch.UntypedStorage.resize_

        def resize_and_tell(storage, size):
            if not self.tables.knows(storage) and not self._ended:
                # The storage existed before, with its previous contents. An empty storage counts as created now, as
                # FSDP's gathered weights do in PyTorch's tracker.
                self._was_there(self.tables.storage(storage, storage.device), "Other" if storage.nbytes() > 0 else self._made_now())
            resize(storage, size)
            self._tell({"e": "resize", "s": self.tables.storage(storage, storage.device), "n": int(size)})

        torch.UntypedStorage.resize_ = resize_and_tell
        self._own(lambda: setattr(torch.UntypedStorage, "resize_", resize))

    def _was_there(self, storage, category="Other"):
        self.first.append({"e": "ref", "s": [storage], "r": category})

    def _made_now(self):
        """Returns the category of a storage that the step creates now."""
        if self._in_optimizer:
            return "Optstate"
        return "Temp" if in_backward() and not self._running else "Activation"

    def content(self, name, allocation_unit):
        """Returns the file's content for the step."""
        model = self.model
        return {
            "schema": SCHEMA,
            "source": f"remat, torch {torch.__version__}",
            "case": name or ("step" if model is None else type(model).__name__),
            "config": {
                "device": self.tables.device(),
                "mode": "fake" if self.tables.is_fake else "real",
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
            "funcs": self.tables.funcs,
            "fqns": self.tables.fqns,
            "storages": self.tables.storages,
            "tensors": self.tables.tensors,
            "lines": self.tables.lines,
            "events": self.first + self.events,
        }

    def _besides(self):
        """Returns the bytes allocated on CUDA at the start that belong to no recorded storage, such as workspaces that
        cuBLAS keeps and memory that the step does not touch.
        """
        if self._cuda is None:
            return 0
        seen = (storage["bytes"] for number, storage in enumerate(self.tables.storages) if number not in self._made and storage["dev"] == f"cuda:{self._cuda.device}")
        return max(0, self._cuda.before - sum(seen))

    def peak_bytes(self, allocation_unit=512):
        """Returns the peak of the recorded step on the device that uses the most."""
        device = self.tables.device()
        held = peak = self._besides()
        sizes = {}

        def resize(storage, size):
            nonlocal held, peak
            if self.tables.storages[storage]["dev"] == device:
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
                for storage in event["s"] if kind == "ref" else self.tables.storages_in(event["o"]):
                    if storage not in sizes:
                        resize(storage, self.tables.storages[storage]["bytes"])
                peak = max(peak, held + event.get("ws", 0))
        return peak

    def _describe(self, module):
        return {
            "fqn": self._names[module],
            "type": type(module).__name__,
            "n_children": sum(1 for _ in module.children()),
            "params": [[k, self.tables.tensor(p)] for k, p in module.named_parameters(recurse=False)],
            "buffers": [[k, self.tables.tensor(b)] for k, b in module.named_buffers(recurse=False)],
        }

    # Ops

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func)
        if name.rsplit(".", 1)[0] in QUERIES:
            out = func(*args, **kwargs)
            if not self._is_saving:
                self._refer(out)
            return out
        says = declared(func)
        event = {"e": "op", "f": self.tables.func(func), "a": self.tables.encode(args, given=True), **self.tables.line()}
        if kwargs:
            event["k"] = {key: self.tables.encode(value, given=True) for key, value in kwargs.items()}
        self._tell_writes(event, says, args, kwargs)
        if says.draws_from_own_generator(args, kwargs):
            event["g"] = 1
        if self._in_optimizer:
            event["opt"] = 1
        elif in_backward():
            event["bw"] = 1
            if self._running:
                event["ac"] = 1
        if self._cuda is not None:
            self._cuda.begin_op()
        out = run_dispatched(func, args, kwargs) if self.clock is None else self.clock.time(event, func, args, kwargs)
        if self._cuda is not None and (scratch := self._cuda.end_op()) > 0:
            event["ws"] = scratch
        known = len(self.tables.storages)
        event["o"] = self.tables.encode(out)
        if (buffer := self._sharded.buffer_of(name, args)) is not None:
            self._ref(*buffer)
        self._made.update(range(known, len(self.tables.storages)))
        self.events.append(event)
        self._refer(out)
        return out

    def _tell_writes(self, event, says, args, kwargs):
        """Returns the storages that an op writes into: in `w`, or in `c` for running statistics, which are restored if
        their module is recomputed.
        """
        numbers = {number for tensor in says.written(args, kwargs) for number in self.tables.storages_given(tensor)}
        running = [] if in_backward() or self._in_optimizer else [module for module, _ in self._states]
        counted = self._statistics.add(event, says, args, kwargs, numbers - self._made, running) if running else set()
        if running and _averages(running[-1]):
            self._averaging.add(id(event))
        self._declared |= numbers
        for key, of in (("w", numbers - counted), ("c", counted)):
            if of:
                event[key] = sorted(of)
        mark = self._mark_of_write(numbers - counted) if running else None
        if mark is not None:
            self._tell(mark)

    def _mark_of_write(self, numbers):
        """Marks before an op that it writes into a weight, a buffer or a tensor in an attribute of the model."""
        # Only storages that existed before any op.
        numbers = numbers - self._made
        if not numbers or self.model is None:
            return None
        if not numbers <= self._named.keys():
            self._named = dict.fromkeys(numbers) | self._names_of_state()
        told = sorted({self._named[number] for number in numbers if self._named.get(number) is not None})
        return {"e": "mark", "name": f"{STATE_WRITTEN} {' and '.join(told)}"} if told else None

    def _names_of_state(self):
        found = {}

        def name(kind, module, path, tensor):
            for storage in untyped_storages(tensor) if tensor.layout == torch.strided else ():
                if (number := self.tables.number_of(storage)) is not None:
                    found.setdefault(number, f"the {kind} {self._written(module, path)}")

        for module in self.model.modules():
            for kind, of in (("weight", module.named_parameters), ("buffer", module.named_buffers)):
                for path, tensor in of(recurse=False):
                    name(kind, module, [path], tensor)
        for module in self.model.modules():
            walk(attributes(module), lambda path, value, children, module=module: name("attribute", module, path, value) if isinstance(value, torch.Tensor) else None)
        return found

    def _tell_statistics(self):
        """Counts statistics as written if a recomputation computes with them, as in evaluation, since it would read
        other values.
        """
        read = self._statistics.computed_with(self.events, lambda event: id(event) in self._averaging)
        if not read:
            return
        told = []
        for event in self.events:
            written = read.intersection(event.get("c", ()))
            if written:
                event["w"] = sorted(written.union(event.get("w", ())))
                mark = self._mark_of_write(written)
                told += [] if mark is None else [mark]
            told.append(event)
        self.events[:] = told

    def _tell_undeclared(self):
        """Reports an undeclared write for every op that was given the tensor. If there is no such op, it reports the
        write for the calls of the module that owns the tensor.
        """
        for tensor, module in self._values.changed():
            storages = {number for storage in untyped_storages(tensor) if (number := self.tables.number_of(storage)) is not None}
            if not storages.isdisjoint(self._declared):
                continue
            ops = [event for event in self.events if event["e"] == "op" and not event.keys() & {"bw", "opt"} and not storages.isdisjoint(self._given_to(event))]
            self._named = {}
            name = next((name for number, name in self._names_of_state().items() if number in storages), None)
            for event in ops:
                if name is not None:
                    self.events.insert(next(place for place, one in enumerate(self.events) if one is event), {"e": "mark", "name": f"{STATE_WRITTEN} {name}"})
                event["w"] = sorted({*event.get("w", ()), *storages})
                # The op's schema does not say which tensors to copy before it runs.
                event["g"] = 1
            if not ops:
                mark_calls(self.events, {self.tables.fqn(self._names[module])}, STATE_CHANGED)

    def _given_to(self, event):
        return set(self.tables.storages_in([event["a"], event.get("k")]))

    # Tensors that autograd saves: when they are saved, read in the backward pass, and freed; and when nothing else
    # refers to their storage

    def _pack(self, tensor):
        number = self._saves
        self._saves += 1
        storages = self.tables.storages_given(tensor)
        self.events.append({"e": "pack", "s": storages})
        for storage in storages:
            self._saved[storage] += 1
        self._is_saving = True
        try:
            # Saves a separate tensor, which shows when all others on the storage are gone.
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
        self._tell({"e": "region", "n": number, "name": name, "x": self._encode_all(given), **form, **self.tables.line()})
        return number

    def begin_again(self, number):
        self._tell({"e": "region", "n": number, "bw": 1})

    def end_region(self, number, returned):
        told = {} if returned is None else {"x": self._encode_all(returned)}
        self._tell({"e": "region_end", "n": number, **told})

    def save_by_policy(self, value):
        """Keeps a tensor that a policy saves alive until it is used, like those that autograd saves."""
        return self._pack(value) if isinstance(value, torch.Tensor) and not self._ended else None

    def _refer(self, out):
        if self._ended:
            return
        for tensor in tensors_in(out):
            address = id(tensor)
            known = self._referring.get(address)
            if known is not None and known() is tensor:
                continue
            for number in self.tables.storages_of(tensor):
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
        fqn = self._names.get(module) or self._name_beside(module)
        recomputes = in_backward()
        if recomputes:
            self._running.append(fqn)
        self._look_at_state(module)
        self._sharded.end_pre_forward(module)
        self._module_event("pre_fw", fqn, self._encode_all(inputs), module)
        if is_transformed():
            self._tell({"e": "mark", "name": TRANSFORMED})
        self._states.append((module, _state_of(module)))
        self._watch.enter(module)
        needing = [] if recomputes else needing_gradient(inputs)
        if needing:
            self._own(on_last_gradient(needing, self._encode_given, lambda told: self._module_event("post_bw", fqn, told)))

    def _name_beside(self, module):
        """Returns the name of a module outside of the model: its class, with a mark if that is also the model's class.
        """
        name = type(module).__name__
        self._names[module] = f"{name} beside" if self.model is not None and name == type(self.model).__name__ else name
        return self._names[module]

    def _after_forward(self, module, inputs, outputs):
        fqn = self._names.get(module)
        if fqn is None:
            return
        self._look_at_state()
        self._watch.leave(module)
        replaced = self._replaced_state(module)
        if replaced is not None and not in_backward():
            self._tell({"e": "mark", "name": STATE_REPLACED})
            self._tell({"e": "mark", "name": f"{STATE_REPLACED} the {'weight' if replaced in dict(module.named_parameters()) else 'buffer'} {self._written(module, [replaced])}"})
        self._module_event("post_fw", fqn, self._encode_all(outputs))
        if in_backward():
            if self._running:
                self._running.pop()
            return
        needing = needing_gradient(outputs)
        if needing:
            ends_with_pass = not needing_gradient(inputs)
            self._own(on_first_gradient(needing, lambda grad: self._begin_backward(fqn, grad, ends_with_pass)))

    def _look_at_state(self, entering=None):
        # Reported before the next module begins or this one ends, for the calls whose code ran until now.
        changed = [] if self._ended else self._watch.changed(entering)
        if changed and not in_backward():
            self._tell({"e": "mark", "name": STATE_CHANGED})
            one = changed[0]
            self._tell({"e": "mark", "name": f"{STATE_CHANGED} {one if isinstance(one, str) else 'the attribute ' + self._written(*one)}"})

    def _written(self, module, path):
        """Returns the name of something in a module, as the program writes it. `model.encoder.count` becomes
        `encoder.count`.
        """
        name = self._names.get(module) or type(module).__name__
        inside = name.split(".")[1:] if self.model is not None and name.split(".")[0] == type(self.model).__name__ else [name]
        return ".".join([*inside, *map(str, path)])

    def _replaced_state(self, module):
        """Returns the name of a weight or buffer in a module whose storage differs from the one when the module began.
        """
        while self._states:
            # Calls that raised are still on the stack.
            began, state = self._states.pop()
            if began is module:
                now = _state_of(module)
                return next((name for name, before in state.items() if now.get(name, before) != before), None)
        return None

    def _begin_backward(self, fqn, grad, ends_with_pass):
        self._module_event("pre_bw", fqn, [self._encode_given(grad)])
        # No gradient of the module's inputs is computed, so its backward pass ends with the whole backward pass.
        if ends_with_pass:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._module_event("post_bw", fqn, []))

    def _encode_all(self, value):
        return [self._encode_given(tensor) for tensor in tensors_in(value)]

    def _encode_given(self, tensor):
        return None if self._ended else self.tables.encode(tensor, given=True)

    def _module_event(self, kind, fqn, encoded, module=None):
        if self._ended:
            return
        event = {"e": kind, "m": self.tables.fqn(fqn), "x": encoded}
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

    # FSDP

    def fsdp_event(self, kind, module, phase):
        event = {"e": "hook", "k": kind, "m": self.tables.fqn(self._names[module]), "ph": phase}
        if kind.endswith("fw") and in_backward():
            event["bw"] = 1
        self._tell(event)

    # Optimizers

    def _before_optimizer(self, optimizer, args, kwargs):
        self._in_optimizer = True
        # A closure that an optimizer calls to recompute the loss is not part of the optimizer's own work.
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

    # Weights, gradients, state, inputs

    def _ref(self, tensor, category, into=None):
        if self._ended or tensor is None:
            return
        storages = self.tables.storages_of(tensor)
        if category in ("Parameter", "Gradient"):
            storages = [storage for storage in storages if storage not in self._sharded.storages]
        if storages:
            (self.events if into is None else into).append({"e": "ref", "s": storages, "r": category})


def _averages(module):
    """Returns whether a module runs torch's own batch normalisation. It reads the number of batches in order to average
    statistics over all of them.
    """
    if isinstance(module, torch.jit.ScriptModule):
        return False
    return getattr(type(module), "_remat_plain", type(module)).forward in (_BatchNorm.forward, torch.nn.SyncBatchNorm.forward)


def _state_of(module):
    """Returns by name the storages of the weights and buffers in a module. Sharded ones are left out, since their storages
    change.
    """
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: one.untyped_storage()._cdata for name, one in named if one.layout == torch.strided and not is_traceable_wrapper_subclass(one)}


class _Saved:
    """Saved by autograd in place of a tensor while a step is recorded."""

    __slots__ = ("tensor", "number", "storages", "recorder")

    def __init__(self, tensor, number, storages, recorder):
        self.tensor, self.number, self.storages, self.recorder = tensor, number, storages, recorder

    def __del__(self):
        self.recorder._unsaved(self)


def mark_calls(events, modules, name):
    """Adds a mark inside each forward call of the given modules, right after the events at the beginning of the call.
    Modules are given by their numbers in a recording.
    """
    marked, is_beginning = [], False
    for event in events:
        marked.append(event)
        if event["e"] == "pre_fw":
            is_beginning = event["m"] in modules and not event.get("bw")
        elif event["e"] == "hook_done" and is_beginning:
            marked.append({"e": "mark", "name": name})
            is_beginning = False
    events[:] = marked
