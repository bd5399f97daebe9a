"""State that is neither a parameter nor a buffer: numbers, tensors, lists and objects in attributes, and random
generators.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import inspect
import io
import itertools
import os
import random
import struct
import sys
import sysconfig
import types
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass

#: Attributes of every module that belong to torch itself and to remat. `training` is state.
_INTERNAL = set(vars(torch.nn.Module())) - {"training"} | {"_remat_unit", "_remat_contexts"}
_DEEPEST = 6
#: Maximum number of items for one module or function, so that a replay buffer or a data set is not examined as a whole.
_MOST_ITEMS = 5_000
_NOTHING_IN_IT = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType, torch.dtype, torch.device, torch.Size)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


def attributes(module):
    """Returns the plain attributes of a module, by name."""
    return {name: value for name, value in vars(module).items() if name not in _INTERNAL}


def walk(value, visit):
    """Calls `visit(path, value, children)` for `value` and everything in it, each object once. `children` maps the next
    step of a path to a value, and is None for a value that contains none. Modules inside are not entered, since they
    are visited separately.
    """
    seen = set()
    left = _MOST_ITEMS

    def go(path, value, depth):
        nonlocal left
        if left <= 0:
            return
        left -= 1
        children = None
        if not isinstance(value, (*_NUMBERS, torch.Tensor)):
            if id(value) in seen:
                return
            seen.add(id(value))
            children = children_of(value) if depth < _DEEPEST else None
        visit(path, value, children)
        for step, child in (children or {}).items():
            go((*path, step), child, depth + 1)

    go((), value, 0)


def children_of(value):
    """Returns the parts of a collection or a plain object by index, key or name, or None if it is neither."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, (str, int)) else f"{type(key).__name__} {place}": item for place, (key, item) in enumerate(list(value.items()))}
    if isinstance(value, (list, tuple, deque)):
        return dict(enumerate(value))
    if is_plain_object(value):
        return fields_of(value)
    return None


class Found(NamedTuple):
    """A module whose state matters: a module of the model, or one that an attribute, a list or a variable refers to."""

    owner: str | None
    """The module of the model that owns this one: itself, or the module whose attribute refers to it. None if there is
    none.
    """
    path: tuple
    """Path from the owner to this module. Empty for a module of the model."""
    module: torch.nn.Module


class Reached(NamedTuple):
    """Everything with state that a step can reach through a model, through attributes, or through names in its code."""

    modules: list[Found]
    others: list
    """Optimizers, schedules and gradient scalers, each with its path."""
    stuck: list[str]
    """Paths of generators and iterators that cannot be copied."""


def reached(model, step=None, also=()):
    """Finds optimizers, and modules that are not registered with the model: in attributes, lists, dicts, objects, closures
    and globals. `also`: further modules to include.
    """
    found = {id(module): Found(name, (), module) for name, module in model.named_modules()}
    others, stuck = {}, {}

    def add(owner, path, value, children):
        if isinstance(value, torch.nn.Module):
            if id(value) not in found:
                for name, module in value.named_modules():
                    if id(module) not in found:
                        found[id(module)] = waiting[id(module)] = Found(owner, (*path, *name.split(".")) if name else path, module)
        elif isinstance(value, _WITH_STATE):
            others.setdefault(id(value), (owner, path, value))
        elif children is None and callable(getattr(value, "__next__", None)) and not isinstance(value, io.IOBase) and copy_of(value) is None:
            stuck.setdefault(id(value), _place(owner, path, value))

    waiting = dict(found)
    for one in also:
        add(None, (), one, None)
    for binding in bindings_of(functions_of(model, step), classes_of(model)):
        value = binding.get()
        walk(value, lambda path, one, children, binding=binding: add(None, (binding.label, *path), one, children))
    while waiting:
        owner, prefix, module = waiting.pop(next(iter(waiting)))
        walk(attributes(module), lambda path, one, children, owner=owner, prefix=prefix: add(owner, (*prefix, *path), one, children))
    return Reached(list(found.values()), list(others.values()), list(stuck.values()))


def _place(owner, path, value):
    where = ".".join([*([owner] if owner else []), *map(str, path)])
    return f"the {'generator' if isinstance(value, types.GeneratorType) else 'iterator'} in {where}"


def copy_of(iterator):
    """Returns a copy of an iterator that continues from the same position over the same items, or None if it cannot be
    copied, such as a generator.
    """
    if isinstance(iterator, _COPIED_AS_A_WHOLE):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make, given, *state = iterator.__reduce__()
            copied = make(*map(_copy_of_part, given))
            if state and state[0] is not None:
                # A cycle extends its list while it runs.
                is_of_parts = isinstance(state[0], tuple)
                copied.__setstate__(tuple(list(one) if isinstance(one, list) else _copy_of_part(one) for one in state[0]) if is_of_parts else state[0])
            return copied
    return None


def _copy_of_part(part):
    if not callable(getattr(part, "__next__", None)):
        return part
    copied = copy_of(part)
    if copied is None:
        raise TypeError("it takes its items from an iterator that cannot be copied")
    return copied


_COPIED_AS_A_WHOLE = (
    *(type(iter(one)) for one in ([], (), "", b"", range(0), range(2**70))), zip, map, filter, enumerate, reversed,
    itertools.count, itertools.cycle, itertools.repeat, itertools.chain, itertools.islice, itertools.accumulate, itertools.product, itertools.permutations, itertools.combinations,
)  # fmt: skip
_WITH_STATE = (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)


def is_plain_object(value):
    """Returns whether an object's class belongs to the program's own code. Objects of libraries may have internal state
    that cannot be restored here.
    """
    if isinstance(value, types.SimpleNamespace):
        return True
    if isinstance(value, (*_NOTHING_IN_IT, *_NUMBERS, torch.Tensor, torch.nn.Module, torch.Generator, random.Random, Exception)) or callable(getattr(value, "__next__", None)):
        return False
    return _is_of_program(type(value)) and (hasattr(value, "__dict__") or _slots(type(value)) != [])


@functools.cache
def _is_of_program(of):
    """Returns whether a class or a function belongs to the program, not to a library."""
    file = getattr(sys.modules.get(of.__module__), "__file__", None)
    if file is None:
        # `__main__` of an interactive session has no file, like built-in modules.
        return of.__module__ == "__main__"
    return not os.path.abspath(file).startswith(_LIBRARIES)


def _folders(*paths):
    return tuple({os.path.join(form(path), "") for path in paths for form in (os.path.abspath, os.path.realpath)})


_LIBRARIES = _folders(
    os.path.dirname(__file__), os.path.dirname(os.path.dirname(torch.__file__)), os.path.dirname(os.__file__),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)  # fmt: skip


def fields_of(value):
    return {**{name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}, **getattr(value, "__dict__", {})}


def _slots(of):
    named = [getattr(one, "__slots__", ()) for one in of.__mro__]
    return [name for names in named for name in ((names,) if isinstance(names, str) else names) if name not in ("__dict__", "__weakref__")]


def token_of_leaf(value):
    """Returns a token that is equal for equal values of numbers, texts, generators, arrays and sets. Other objects are
    compared by class.
    """
    if isinstance(value, float):
        return "float", struct.pack("d", value)
    if isinstance(value, complex):
        return "complex", struct.pack("dd", value.real, value.imag)
    if isinstance(value, _NUMBERS):
        return type(value).__name__, value
    if isinstance(value, (bytearray, memoryview)):
        return "bytes", bytes(value)
    if isinstance(value, torch.Generator):
        return "generator", _bytes_of(value.get_state())
    if isinstance(value, random.Random):
        return "random", hash(value.getstate())
    if isinstance(value, (set, frozenset)):
        return "set", frozenset(one if isinstance(one, _NUMBERS) else id(one) for one in value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.random.Generator):
            return "numpy generator", repr(value.bit_generator.state)
        if isinstance(value, numpy.random.RandomState):
            return "numpy generator", _legacy_state(value)
        if isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype != object:
            return "array", str(value.dtype), value.shape, value.tobytes() if value.nbytes < 2**26 else None
    if callable(getattr(value, "__next__", None)):
        # Position of an iterator.
        with contextlib.suppress(Exception):
            return "iterator", type(value).__name__, _progress_of(value)
    return "object", type(value).__name__


def _progress_of(iterator):
    """Returns the position of an iterator, including the iterators that it draws from."""
    if isinstance(iterator, itertools.count):
        return repr(iterator)
    if isinstance(iterator, _COPIED_AS_A_WHOLE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, parts, *state = iterator.__reduce__()
        return tuple(_part_token(one) for one in (*parts, *state))
    return iterator.__length_hint__()


def _part_token(value):
    if callable(getattr(value, "__next__", None)):
        return token_of_leaf(value)
    if isinstance(value, tuple) and len(value) < 10:
        return tuple(map(_part_token, value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, len(value)  # the list may have been created only for this comparison
    return value if isinstance(value, (*_NUMBERS, range)) else type(value).__name__


def _legacy_state(of):
    name, keys, place, has_gauss, gauss = of.get_state()
    return name, keys.tobytes(), place, has_gauss, struct.pack("d", gauss)


def global_generators():
    """Returns the state of Python's and NumPy's generators, which `torch.utils.checkpoint` does not restore."""
    numpy = sys.modules.get("numpy")
    return random.getstate(), None if numpy is None else _legacy_state(numpy.random)


# Bits


def _bytes_of(tensor):
    with _disable_current_modes():
        return _digest(tensor.detach().cpu().contiguous())


def _digest(tensor):
    """Digest of a contiguous tensor in host memory."""
    content = (ctypes.c_char * (tensor.numel() * tensor.element_size())).from_address(tensor.data_ptr())
    return hashlib.blake2b(content, digest_size=16).hexdigest()


_CHUNK = 2**22


def bits_of(tensor):
    """Digest of a tensor's type, shape and bits. It is computed on the tensor's device, so that a copy of the model need
    not fit into host memory.
    """
    with _disable_current_modes(), torch.no_grad():
        return _bits_of(tensor.detach())


def _bits_of(tensor):
    kind = (str(tensor.dtype), tuple(tensor.shape))
    if is_traceable_wrapper_subclass(tensor):
        names, _ = tensor.__tensor_flatten__()
        return (*kind, *(_bits_of(getattr(tensor, name)) for name in names if isinstance(getattr(tensor, name), torch.Tensor)))
    if tensor.layout == torch.sparse_coo:
        return (*kind, _bits_of(tensor._indices()), _bits_of(tensor._values()))
    if tensor.layout != torch.strided:
        return (*kind, *(_bits_of(getattr(tensor, name)()) for name in ("crow_indices", "ccol_indices", "col_indices", "row_indices", "values") if _has(tensor, name)))
    if tensor.is_meta or type(tensor).__name__ == "FakeTensor":
        return (*kind, "no values")
    if tensor.is_quantized:
        return (*kind, _bits_of(tensor.int_repr()), repr(tensor.qscheme()))
    if tensor.numel() == 0 or tensor.untyped_storage().nbytes() == 0:
        return (*kind, "nothing")
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.device.type == "cpu":
        return (*kind, _digest(tensor.contiguous()))
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)
    pad = -flat.numel() % 4
    if pad:
        flat = torch.cat([flat, flat.new_zeros(pad)])
    # A view as a larger type has to be aligned to its size.
    words = (flat if flat.data_ptr() % 4 == 0 and flat.storage_offset() % 4 == 0 else flat.clone()).view(torch.int32)
    total = torch.zeros((), dtype=torch.int64, device=words.device)
    for begin in range(0, words.numel(), _CHUNK):
        part = words[begin : begin + _CHUNK].to(torch.int64) + 0x5851F42D4C957F2D
        weights = torch.arange(begin + 1, begin + 1 + part.numel(), dtype=torch.int64, device=words.device)
        # Mixed by multiplication and shift, because differences could cancel in a plain sum.
        weights = (weights * -7046029254386353131) ^ (weights << 17)
        mixed = (part ^ weights) * -4417276706812531889
        total += ((mixed ^ (mixed >> 29)) * -4658895280553007687).sum()
    return (*kind, int(total))


def _has(tensor, name):
    try:
        getattr(tensor, name)()
        return True
    except RuntimeError:
        return False


# Names that code uses


class Binding(NamedTuple):
    """A name that refers to data: a global variable, a closure variable, a class attribute."""

    label: str
    get: Callable
    set: Callable


def bindings_of(functions, classes=()):
    """Returns the names that refer to data, in the given functions, in the functions that those use, and in classes."""
    seen, found = set(), {}

    def add(key, label, get, set_):
        with contextlib.suppress(ValueError, AttributeError):  # a closure variable that has no value yet
            if is_data(get()):
                found.setdefault(key, Binding(label, get, set_))

    def visit(function, depth):
        function = inspect.unwrap(function) if inspect.isfunction(function) else getattr(function, "__func__", getattr(function, "func", function))
        if not inspect.isfunction(function) or function in seen or depth > 3 or not _is_of_program(function):
            return
        seen.add(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            add(id(cell), f"the variable {name!r}", functools.partial(getattr, cell, "cell_contents"), functools.partial(setattr, cell, "cell_contents"))
            with contextlib.suppress(ValueError):
                visit(cell.cell_contents, depth + 1)
        for label, name in (("the defaults", "__defaults__"), ("the keyword defaults", "__kwdefaults__"), ("the attributes", "__dict__")):
            if getattr(function, name):
                setter = (lambda _: None) if name == "__dict__" else functools.partial(setattr, function, name)
                add((id(function), name), f"{label} of {function.__name__}", functools.partial(getattr, function, name), setter)
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            for name in code.co_names:
                if name in function.__globals__:
                    of = function.__globals__
                    add((id(of), name), f"the global {name!r}", functools.partial(of.__getitem__, name), functools.partial(of.__setitem__, name))
                    visit(of[name], depth + 1)
                    if isinstance(of[name], type):
                        visit_class(of[name], depth + 1)
            codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]

    def visit_class(of, depth):
        if of in seen or depth > 3 or not _is_of_program(of):
            return
        seen.add(of)
        for name, value in list(vars(of).items()):
            if not name.startswith("__") and is_data(value):
                add((id(of), name), f"{of.__name__}.{name}", functools.partial(getattr, of, name), functools.partial(setattr, of, name))
            elif isinstance(value, (types.FunctionType, staticmethod, classmethod)) and (name == "forward" or not name.startswith("__")):
                visit(value, depth + 1)

    for function in functions:
        visit(function, 0)
    for of in classes:
        visit_class(of, 0)
    return list(found.values())


def is_data(value):
    return (
        isinstance(value, (*_NUMBERS, torch.Tensor, torch.Generator, random.Random, list, tuple, dict, set, deque, bytearray))
        or type(value).__module__ == "numpy"
        or type(value).__module__.startswith("numpy.random")
        or isinstance(value, (torch.nn.Module, *_WITH_STATE))
        or callable(getattr(type(value), "__next__", None))
        or is_plain_object(value)
    )


def functions_of(model, step=None):
    """Returns the functions that a step runs, as far as they are known in advance: `step`, the forward passes of
    modules, and their hooks.
    """
    found = [] if step is None else [step]
    for module in model.modules():
        # TorchScript has no functions in Python.
        if not isinstance(module, torch.jit.ScriptModule):
            found.append(type(module).forward)
        walk(attributes(module), lambda path, value, children: found.append(value) if children is None and isinstance(value, _FUNCTIONS) else None)
        for hooks in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks):
            found += hooks.values()
    return found


def classes_of(model):
    return {of for module in model.modules() for of in type(module).__mro__}


# Restoring


def keep(value, restorers, tensors=True):
    """Adds to `restorers` functions that restore a value and everything in it in place: items of collections, fields of
    objects, values of tensors and arrays, generators.
    """
    numpy = sys.modules.get("numpy")

    def visit(path, one, children):
        if isinstance(one, torch.Tensor):
            if tensors:
                restorers.append(keep_tensor(one))
        elif isinstance(one, torch.Generator):
            restorers.append(functools.partial(one.set_state, one.get_state()))
        elif isinstance(one, random.Random):
            restorers.append(functools.partial(one.setstate, one.getstate()))
        elif isinstance(one, (list, deque)):
            restorers.append(functools.partial(_refill_list, one, list(map(_Kept, one))))
        elif isinstance(one, set):
            restorers.append(functools.partial(_refill_set, one, set(one)))
        elif isinstance(one, dict):
            restorers.append(functools.partial(_refill_dict, one, {key: _Kept(item) for key, item in one.items()}))
        elif isinstance(one, bytearray):
            restorers.append(functools.partial(one.__setitem__, slice(None), bytes(one)))
        elif numpy is not None and isinstance(one, numpy.ndarray):
            if one.flags.writeable and one.nbytes < 2**26:
                restorers.append(functools.partial(numpy.copyto, one, one.copy()))
        elif numpy is not None and isinstance(one, numpy.random.Generator):
            restorers.append(functools.partial(setattr, one.bit_generator, "state", one.bit_generator.state))
        elif numpy is not None and isinstance(one, numpy.random.RandomState):
            restorers.append(functools.partial(one.set_state, one.get_state()))
        elif is_plain_object(one):
            restorers.append(functools.partial(_refill_fields, one, {name: _Kept(item) for name, item in fields_of(one).items()}))

    walk(value, visit)


def keep_tensor(tensor):
    """Returns a function that restores the memory and the values of a tensor."""
    if is_traceable_wrapper_subclass(tensor) or tensor.layout != torch.strided or tensor.is_meta:
        return lambda: None
    data, version, before = tensor.detach(), tensor._version, None
    if not _is_large_on_device(tensor):
        before = data.to("cpu", copy=True)
    gradient = tensor.grad if tensor.is_leaf else None
    of_gradient = None if gradient is None else gradient.detach().to("cpu", copy=True)

    def restore():
        with torch.no_grad():
            if tensor.is_leaf and tensor.requires_grad:
                tensor.grad = gradient
                if gradient is not None:
                    gradient.copy_(of_gradient)
            if tensor.data_ptr() != data.data_ptr() or tensor.shape != data.shape:
                tensor.data = data
            if before is not None and (tensor._version != version or not torch.equal(data.cpu(), before)):
                data.copy_(before)

    return restore


def _is_large_on_device(tensor):
    return tensor.untyped_storage().nbytes() >= 2**28


class _Kept:
    """A value to restore: the object itself, or, since an iterator cannot go back, a copy of an iterator."""

    __slots__ = ("value", "copy", "token")

    def __init__(self, value):
        self.value = value
        self.copy = copy_of(value)
        self.token = None if self.copy is None else token_of_leaf(value)

    def get(self):
        return self.value if self.copy is None or token_of_leaf(self.value) == self.token else self.copy


def _refill_list(one, items):
    items = [item.get() for item in items]
    if len(one) != len(items) or any(a is not b for a, b in zip(one, items)):
        one.clear()
        one.extend(items)


def _refill_set(one, items):
    one.clear()
    one.update(items)


def _refill_dict(one, items):
    items = {key: item.get() for key, item in items.items()}
    if list(one) != list(items) or any(one[key] is not value for key, value in items.items()):
        one.clear()
        one.update(items)


def _refill_fields(one, fields):
    fields = {name: item.get() for name, item in fields.items()}
    for name in fields_of(one).keys() - fields.keys():
        with contextlib.suppress(AttributeError):
            delattr(one, name)
    for name, value in fields.items():
        if getattr(one, name, one) is not value:
            object.__setattr__(one, name, value)


def keep_attributes(module, restorers):
    """Adds functions that restore the plain attributes of a module and their contents."""
    before = attributes(module)
    kept = {name: _Kept(value) for name, value in before.items()}

    def restore():
        now = attributes(module)
        for name in now.keys() - before.keys():
            vars(module).pop(name, None)
        for name, one in kept.items():
            value = one.get()
            if now.get(name, restore) is not value:
                vars(module)[name] = value

    keep(before, restorers)
    restorers.append(restore)


def keep_bindings(bindings, restorers):
    """Adds functions that restore the values of names and their contents."""
    for binding in bindings:
        value = binding.get()
        keep(value, restorers)
        restorers.append(lambda binding=binding, kept=_Kept(value): None if binding.get() is kept.get() else binding.set(kept.get()))
