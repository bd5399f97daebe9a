"""Records a training step of a PyTorch model for remat, and follows the checkpointing policy that remat writes back.

One file, needing nothing but PyTorch 2.4 or newer; copy it next to your code, or put its folder on the path.

    import remat_export

    with remat_export.record("step.json", model=model, optimizer=optimizer):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

Then `remat memory step.json`, `remat estimate step.json`, `remat plan step.json --budget 60% --pytorch-policy policy.json`, and

    remat_export.apply_policy(model, "policy.json")

before training: the modules that the policy names run under `torch.utils.checkpoint` with selective checkpointing from then on.

`export` does the recording on fake tensors: nothing is computed and nothing allocated, so that a model of any size can be recorded anywhere.
What is recorded is observed, not estimated: ops with their arguments, modules, saved tensors, and when each storage comes and goes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import time
import warnings
import weakref
from collections import defaultdict

import torch
from torch.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

__all__ = ["apply_policy", "context_fn", "export", "record", "record_step"]

SCHEMA = "mem-oracle/1"
POLICY_FORMATS = ("remat-pytorch-policy/1", "remat-pytorch-policy/2")

# Dispatched, but they neither compute nor allocate: what they are asked of a tensor, and autograd's own handing on of one.
_QUERIES = {
    "aten.detach", "aten.dim", "aten.is_contiguous", "aten.is_non_overlapping_and_dense", "aten.is_strides_like_format", "aten.numel",
    "aten.size", "aten.storage_offset", "aten.stride", "aten.sym_numel", "aten.sym_size", "aten.sym_storage_offset", "aten.sym_stride", "prim.device",
    "prim.layout",
}  # fmt: skip


@contextlib.contextmanager
def record(path, model=None, optimizer=None, inputs=None, name=None, allocation_unit=512):
    """Records what runs inside, a training step, and writes it to `path` at the end.

    `model`, `optimizer`: whose parameters, buffers, gradients and state there are from the start; run one step before, so that an optimizer has
    made its state. `inputs`: tensors of the batch, by which they are told from other storages. `allocation_unit`: bytes that allocations are rounded up to;
    512 is CUDA's, so a step recorded on the CPU is planned as for a GPU.
    """
    if type(model).__name__ == "OptimizedModule":
        raise TypeError("remat_export: the model is compiled, so its ops cannot be seen; record the module that was given to torch.compile")
    recorder = _Recorder(model, optimizer, inputs)
    with recorder:
        yield recorder
    recorder.write(path, name or (type(model).__name__ if model is not None else "step"), allocation_unit)


def export(build, path, *, name=None, allocation_unit=512):
    """Records a step without computing it. `build()` returns `(model, step)` or `(model, optimizer, step)`; it and `step()` run on fake tensors.

    >>> def build():
    ...     model = Transformer(); optimizer = torch.optim.Adam(model.parameters()); x = torch.randint(0, 8192, (8, 1024))
    ...     def step():
    ...         model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()
    ...     return model, optimizer, step
    >>> remat_export.export(build, "step.json")
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model, *optimizers, step = build()
        if len(optimizers) > 1:
            raise TypeError(f"remat_export: build() gave {len(optimizers) + 2} things; expected (model, step) or (model, optimizer, step)")
        # The first step makes the optimizer's state; the second is one like all others.
        step()
        with record(path, model, *optimizers, name=name, allocation_unit=allocation_unit):
            step()


def record_step(step, path, model=None, optimizer=None, inputs=None, *, repeats=5, name=None, allocation_unit=512):
    """Records `step()`, which really runs, with what each op takes on this machine, so that a plan's time is that of this machine.

    It runs once to warm up, `repeats` times by itself, whose median is what the step takes, and `repeats` times with a clock at each op, of which medians are
    taken, too; what Python takes between ops is shared out among them. On a GPU, whose ops run beside the program, no times are told: give `remat plan` its
    name by `--device`.
    """
    step()
    walls, runs = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        step()
        walls.append((time.perf_counter() - began) * 1e3)
    for _ in range(repeats):
        recorder = _Recorder(model, optimizer, inputs)
        recorder.clock = time.perf_counter
        with recorder:
            step()
        runs.append(recorder)
    ops = [[event for event in run.events if event["e"] == "op"] for run in runs]
    names = [[run.funcs[event["f"]]["name"] for event in of] for run, of in zip(runs, ops)]
    last = runs[-1]
    if last._device().startswith("cpu") and all(of == names[-1] for of in names):
        medians = [statistics.median(event["ms"] for event in same) for same in zip(*ops)]
        rest = max(0.0, statistics.median(walls) - sum(medians)) / max(1, len(medians))
        for event, ms in zip(ops[-1], medians):
            event["ms"] = round(ms + rest, 6)
            event["runs"] = repeats
    else:
        for event in ops[-1]:
            del event["ms"]
    last.write(path, name or (type(model).__name__ if model is not None else "step"), allocation_unit)


class _Recorder(TorchDispatchMode):
    """Sees every op, module call, saved tensor and storage between `__enter__` and `__exit__`."""

    def __init__(self, model, optimizer, inputs):
        super().__init__()
        self.model, self.optimizer, self.inputs = model, optimizer, inputs
        self.clock = None  # in seconds, where ops are timed
        self.first, self.events = [], []  # what was there before, what happened
        self.funcs, self.fqns, self.storages, self.tensors = [], [], [], []
        self._func_ids, self._fqn_ids, self._tensor_ids = {}, {}, {}
        self._live = {}  # address of a storage -> (weak reference to it, its number); an address is used again
        self._referring = {}  # address of a tensor that an op returned -> weak reference to it
        self._references = defaultdict(int)  # storage -> how many of those there are, saved ones not counted
        self._saves = 0
        self._saved = defaultdict(int)  # storage -> how often it is saved now
        self._is_saving = False
        self._names = weakref.WeakKeyDictionary()
        self._told = set()  # modules whose weights were told
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
            self._tell_weights(self.model, self.first)
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    self._ref(parameter.grad, "Gradient", self.first)
                if parameter.requires_grad:
                    self._own(parameter.register_post_accumulate_grad_hook(lambda p: self._ref(p.grad, "Gradient")))
        if self.optimizer is not None:
            self._tell_state(self.optimizer, self.first)
        for tensor in _tensors(self.inputs):
            self._ref(tensor, "Inputs", self.first)
        self._own(register_module_forward_pre_hook(self._before_forward))
        self._own(register_module_forward_hook(self._after_forward, always_call=True))
        self._own(register_optimizer_step_pre_hook(self._before_optimizer))
        self._own(register_optimizer_step_post_hook(self._after_optimizer))
        self._stack.enter_context(saved_tensors_hooks(self._pack, self._unpack))
        return super().__enter__()

    def __exit__(self, *error):
        try:
            return super().__exit__(*error)
        finally:
            self._stack.close()
            self._ended = True

    def _own(self, handle):
        self._stack.callback(handle.remove)

    def write(self, path, name, allocation_unit):
        """Writes the file beside its place and renames it, so that there is never half of one."""
        model = self.model
        content = {
            "schema": SCHEMA,
            "source": f"remat_export.py, torch {torch.__version__}",
            "case": name,
            "config": {
                "device": self._device(),
                "mode": "fake" if self._is_fake else "real",
                "tflops": {},
                "dram_gbps": 0,
                "min_allocate": allocation_unit,
                "torch": torch.__version__,
            },
            "module_tree": [] if model is None else [self._describe(module) for module in model.modules()],
            "funcs": self.funcs,
            "fqns": self.fqns,
            "storages": self.storages,
            "tensors": self.tensors,
            "events": self.first + self.events,
        }
        partial = f"{os.fspath(path)}.{os.getpid()}.part"
        try:
            with open(partial, "w") as file:
                json.dump(content, file, separators=(",", ":"), allow_nan=False)
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.remove(partial)

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
        if name.rsplit(".", 1)[0] in _QUERIES:
            out = func(*args, **kwargs)
            if not self._is_saving:
                self._refer(out)
            return out
        event = {"e": "op", "f": self._func(name), "a": self._encode(args, given=True)}
        if kwargs:
            event["k"] = {key: self._encode(value, given=True) for key, value in kwargs.items()}
        if self._in_optimizer:
            event["opt"] = 1
        elif _in_backward():
            event["bw"] = 1
            if self._running:
                event["ac"] = 1
        if self.clock is None:
            out = func(*args, **kwargs)
        else:
            began = self.clock()
            out = func(*args, **kwargs)
            event["ms"] = (self.clock() - began) * 1e3
        event["o"] = self._encode(out)
        self.events.append(event)
        self._refer(out)
        return out

    # What autograd saves: when it does, when the backward pass reads it, when it is given back; and when nothing else holds its storage any more

    def _pack(self, tensor):
        number = self._saves
        self._saves += 1
        storages = self._storages(tensor)
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

    def _refer(self, out):
        if self._ended:
            return
        for tensor in _tensors(out):
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

    def _before_forward(self, module, inputs):
        fqn = self._names.setdefault(module, type(module).__name__)
        recomputes = _in_backward()
        if recomputes:
            self._running.append(fqn)
        self._module_event("pre_fw", fqn, inputs, module)
        needing = [] if recomputes else _needing_gradient(inputs)
        if needing:
            self._own(register_multi_grad_hook(needing, lambda grads: self._module_event("post_bw", fqn, grads)))

    def _after_forward(self, module, inputs, outputs):
        fqn = self._names.get(module)
        if fqn is None:
            return
        self._module_event("post_fw", fqn, outputs)
        if _in_backward():
            if self._running:
                self._running.pop()
            return
        needing = _needing_gradient(outputs)
        if needing:
            ends_with_pass = not _needing_gradient(inputs)
            self._own(
                register_multi_grad_hook(needing, lambda grad: self._begin_backward(fqn, grad, ends_with_pass), mode="any")
            )

    def _begin_backward(self, fqn, grad, ends_with_pass):
        self._module_event("pre_bw", fqn, grad)
        # Nothing asks for the gradient of its inputs: its backward pass ends with the whole.
        if ends_with_pass:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._module_event("post_bw", fqn, ()))

    def _module_event(self, kind, fqn, tensors, module=None):
        if self._ended:
            return
        event = {"e": kind, "m": self._fqn(fqn), "x": [self._encode(tensor, given=True) for tensor in _tensors(tensors)]}
        if kind.endswith("fw") and _in_backward():
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

    def _after_optimizer(self, optimizer, args, kwargs):
        self._in_optimizer = False
        self._tell_state(optimizer, self.events)

    def _tell_state(self, optimizer, into):
        for state in optimizer.state.values():
            for tensor in _tensors(state):
                self._ref(tensor, "Optstate", into)

    # Tables

    def _ref(self, tensor, category, into=None):
        if not self._ended and tensor is not None:
            (self.events if into is None else into).append({"e": "ref", "s": self._storages(tensor), "r": category})

    def _storages(self, tensor):
        return [self._storage(storage, tensor.device) for storage in _untyped_storages(tensor)]

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
        self._is_fake = self._is_fake or type(tensor).__name__ == "FakeTensor"
        count = len(self.storages)
        storages = self._storages(tensor)
        if given:
            # Nothing recorded made it: it was there before.
            for storage in storages:
                if storage >= count:
                    self.first.append({"e": "ref", "s": [storage], "r": "Other"})
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
        if isinstance(value, torch.SymInt):
            return int(value)
        return f"str:{value}"


class _Saved:
    """What autograd holds of a tensor while a step is recorded."""

    __slots__ = ("tensor", "number", "storages", "recorder")

    def __init__(self, tensor, number, storages, recorder):
        self.tensor, self.number, self.storages, self.recorder = tensor, number, storages, recorder

    def __del__(self):
        self.recorder._unsaved(self)


def _untyped_storages(tensor):
    """The storages of a tensor; of a subclass that wraps others (DTensor, a quantised one) those of all in it."""
    if is_traceable_wrapper_subclass(tensor):
        names, _ = tensor.__tensor_flatten__()
        inner = [getattr(tensor, name) for name in names]
        return [storage for one in inner if isinstance(one, torch.Tensor) for storage in _untyped_storages(one)]
    if tensor.layout != torch.strided:
        raise TypeError(f"remat_export: a tensor has layout {tensor.layout}, expected torch.strided. Record a dense model.")
    return [tensor.untyped_storage()]


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _needing_gradient(value):
    return [tensor for tensor in _tensors(value) if tensor.requires_grad]


def _in_backward():
    return torch._C._current_graph_task_id() != -1


# Policies


def context_fn(ops):
    """A `context_fn` for `torch.utils.checkpoint.checkpoint` from the ops of one module in a policy.

    `ops`: a list of `{"op": "aten.mm.default", "ordinal": 0, "policy": "MUST_SAVE" | "PREFER_RECOMPUTE"}`; an op is found by its name and how many of
    the same name came before in that call. One that is not listed is recomputed.
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


def apply_policy(model, policy):
    """Has the modules that `policy` names run under `torch.utils.checkpoint` from now on; returns a function that undoes it.

    `policy`: what `remat plan --pytorch-policy` or `toPyTorchPolicy` of @remat/pytorch wrote: a path, or the parsed JSON. Where no gradient is
    asked for, modules run as before. What is recomputed draws the same random numbers, and leaves running statistics alone. A module becomes one of a
    subclass of its class, so that copies (`copy.deepcopy`, `torch.save`) follow the policy by themselves, with weights of their own. A policy that was
    made for other modules is refused, and nothing is changed then.
    """
    if not isinstance(policy, dict):
        with open(policy) as file:
            policy = json.load(file)
    if policy.get("format") not in POLICY_FORMATS:
        raise ValueError(f"expected a policy of format {POLICY_FORMATS[-1]!r}, found {policy.get('format')!r}; write it with this version of remat")
    modules = dict(model.named_modules())
    units = {}
    for fqn, unit in policy["modules"].items():
        module = modules.get(fqn)
        if module is None:
            raise ValueError(f"the policy names module {fqn!r}, which the model has not; it was made for {policy.get('model')!r}")
        units[module] = _unit(fqn, module, unit, policy)
    for module, unit in units.items():
        module.__dict__["_remat_unit"] = unit
        module.__class__ = _checkpointed_class(type(module))

    def undo():
        for module in units:
            if module.__dict__.pop("_remat_unit", None) is not None:
                module.__class__ = type(module)._remat_plain

    return undo


def _unit(fqn, module, unit, policy):
    """What to save of a module, as `context_fn` takes it, once it is sure that the policy is of this module."""
    if getattr(type(module), "_remat_plain", None) is not None:
        raise ValueError(f"module {fqn!r} follows a policy already; undo that first")
    if "forward" in module.__dict__:
        raise ValueError(f"the forward of module {fqn!r} was replaced by another library, which would hide the policy's; apply the policy first")
    if isinstance(unit, list):  # remat-pytorch-policy/1, which tells nothing of the module
        return [entry for entry in unit if entry["policy"].endswith("_SAVE")]
    shapes = [list(parameter.shape) for parameter in module.parameters()]
    found = {"type": _plain_name(module), "parameters": sorted(shapes)}
    expected = {"type": unit["type"], "parameters": sorted(unit["parameters"])}
    for what in expected:
        if expected[what] != found[what]:
            raise ValueError(
                f"the policy is of another model: its module {fqn!r} has {what} {expected[what]}, and this one {found[what]}. Record this model, and plan it."
            )
    # Which ops a module dispatches may change from one release to the next.
    made, here = (_release(version) for version in (policy["torch"], torch.__version__))
    if unit["save"] and made != here:
        raise ValueError(f"the policy saves ops of PyTorch {made}, and this is {here}. Record the step with this PyTorch, and plan it.")
    return [{**entry, "policy": "MUST_SAVE"} for entry in unit["save"]]


def _plain_name(module):
    return type(module).__name__


def _release(version):
    return ".".join(version.split(".")[:2])


_checkpointed_classes = {}


def _checkpointed_class(plain):
    """The subclass of a module class that runs under `torch.utils.checkpoint` as its instance's `_remat_unit` says."""
    known = _checkpointed_classes.get(plain)
    if known is None:
        body = {
            "forward": _checkpointed_forward,
            "__reduce_ex__": _reduce_checkpointed,
            "__module__": plain.__module__,
            "__doc__": plain.__doc__,
            "__qualname__": plain.__qualname__,
            "_remat_plain": plain,
        }
        known = _checkpointed_classes[plain] = type(plain)(plain.__name__, (plain,), body)
    return known


def _reduce_checkpointed(module, protocol):
    """Copies and pickles name the plain class, since nobody can import the other."""
    return _new_checkpointed, (type(module)._remat_plain,), module.__getstate__() if hasattr(module, "__getstate__") else module.__dict__


def _new_checkpointed(plain):
    made = _checkpointed_class(plain)
    return made.__new__(made)


def _checkpointed_forward(module, *args, **kwargs):
    from torch.utils._pytree import tree_flatten, tree_unflatten
    from torch.utils.checkpoint import checkpoint

    plain = type(module)._remat_plain.forward
    if not torch.is_grad_enabled():
        return plain(module, *args, **kwargs)
    # Tensors are arguments of their own, so that a call inside another one that is checkpointed leaves them to that.
    leaves, spec = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    fixed = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

    def run(*tensors):
        given = list(fixed)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        args, kwargs = tree_unflatten(given, spec)
        if saved:
            return plain(module, *args, **kwargs)
        with _counting_once(module):
            return plain(module, *args, **kwargs)

    saved = module.__dict__["_remat_unit"]

    def selective():
        first, again = context_fn(saved)()
        return first, _around(again, module)

    # Without contexts where none are needed, since torch.compile takes no others than its own.
    given = {"context_fn": selective} if saved else {}
    return checkpoint(run, *[leaves[i] for i in places], use_reentrant=False, **given)


@contextlib.contextmanager
def _around(again, module):
    # Outside of `again`, which would count the ops of this.
    with _counting_once(module), again:
        yield


@contextlib.contextmanager
def _counting_once(module):
    """While a module runs again, batch normalisation in it, which has seen this batch already, leaves its running statistics as they are."""
    counting = []
    if _in_backward():
        counting = [one for one in module.modules() if isinstance(one, _BatchNorm) and one.track_running_stats]
    before = [(one.momentum, one.num_batches_tracked.clone()) for one in counting]
    for one in counting:
        one.momentum = 0.0
    try:
        yield
    finally:
        for one, (momentum, count) in zip(counting, before):
            one.momentum = momentum
            one.num_batches_tracked.copy_(count)


if __name__ == "__main__":
    warnings.warn("remat_export.py is a library: import it, and record a step with remat_export.record", stacklevel=1)
