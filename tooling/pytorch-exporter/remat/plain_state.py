"""State that is neither a parameter nor a buffer: numbers, tensors, lists and objects in attributes, and random generators."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import inspect
import os
import random
import struct
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass

#: What every module has for torch itself, and for remat. `training` is state.
_INTERNAL = set(vars(torch.nn.Module())) - {"training"} | {"_remat_unit", "_remat_contexts"}
_DEEPEST = 6
#: Of one module or function: a replay buffer or a dataset is not looked at as a whole.
_MOST_ITEMS = 5_000
_NOTHING_IN_IT = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType, torch.dtype, torch.device, torch.Size)
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


def attributes(module):
    """The plain attributes of a module, by name."""
    return {name: value for name, value in vars(module).items() if name not in _INTERNAL}


def walk(value, visit):
    """Calls `visit(path, value, children)` with `value` and what it is made of, each object once: `children` is a mapping from the path's next step, or None for one that is looked at as a whole.

    Modules are not gone into unless `value` itself is a mapping of attributes: they are looked at by themselves.
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
    """What a collection or a plain object is made of, by index, key or name; None if it is neither."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, (str, int)) else f"{type(key).__name__} {place}": item for place, (key, item) in enumerate(list(value.items()))}
    if isinstance(value, (list, tuple, deque)):
        return dict(enumerate(value))
    if is_plain_object(value):
        return fields_of(value)
    return None


def is_plain_object(value):
    """Whether an object is of a class of the program's own code. Objects of libraries have state of their own, which nobody here can put back."""
    if isinstance(value, types.SimpleNamespace):
        return True
    if isinstance(value, (*_NOTHING_IN_IT, *_NUMBERS, torch.Tensor, torch.nn.Module, torch.Generator, random.Random, Exception)) or callable(getattr(value, "__next__", None)):
        return False
    return _is_of_program(type(value)) and (hasattr(value, "__dict__") or _slots(type(value)) != [])


@functools.cache
def _is_of_program(of):
    """Whether a class or a function is of the program, and of no library."""
    file = getattr(sys.modules.get(of.__module__), "__file__", None)
    if file is None:
        # `__main__` of an interactive session has no file; neither have built-in modules.
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
    """Something that is equal for equal values: of numbers and texts, generators, arrays and sets. Objects of other kinds count by their class."""
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
        # How far an iterator has come.
        with contextlib.suppress(Exception):
            return "iterator", type(value).__name__, repr(value) if type(value).__module__ == "itertools" else value.__length_hint__()
    return "object", type(value).__name__


def _legacy_state(of):
    name, keys, place, has_gauss, gauss = of.get_state()
    return name, keys.tobytes(), place, has_gauss, struct.pack("d", gauss)


def global_generators():
    """The state of the generators of Python and NumPy, which `torch.utils.checkpoint` does not put back."""
    numpy = sys.modules.get("numpy")
    return random.getstate(), None if numpy is None else _legacy_state(numpy.random)


# Bits


def _bytes_of(tensor):
    with _disable_current_modes():
        return _digest(tensor.detach().cpu().contiguous())


def _digest(tensor):
    """Of a contiguous tensor in the memory of the host."""
    content = (ctypes.c_char * (tensor.numel() * tensor.element_size())).from_address(tensor.data_ptr())
    return hashlib.blake2b(content, digest_size=16).hexdigest()


_CHUNK = 2**22


def bits_of(tensor):
    """A digest of a tensor's type, shape and bits. It is computed on the device that holds the tensor, so that no copy of a model has to fit into the host's memory."""
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
    # A view of another type has to begin at a multiple of its size.
    words = (flat if flat.data_ptr() % 4 == 0 and flat.storage_offset() % 4 == 0 else flat.clone()).view(torch.int32)
    total = torch.zeros((), dtype=torch.int64, device=words.device)
    for begin in range(0, words.numel(), _CHUNK):
        part = words[begin : begin + _CHUNK].to(torch.int64) + 0x5851F42D4C957F2D
        weights = torch.arange(begin + 1, begin + 1 + part.numel(), dtype=torch.int64, device=words.device)
        # Mixed by multiplication and shift, so that differences that cancel in a plain sum do not cancel.
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
    """A name that refers to data: a global variable, one of a closure, an attribute of a class."""

    label: str
    get: Callable
    set: Callable


def bindings_of(functions, classes=()):
    """The names that refer to data in functions, in the functions that these use, and in classes."""
    seen, found = set(), {}

    def add(key, label, get, set_):
        with contextlib.suppress(ValueError, AttributeError):  # a closure's variable that nothing was given to yet
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
        for value in function.__defaults__ or ():
            if is_data(value):
                found.setdefault(id(value), Binding(f"a default of {function.__name__}", lambda value=value: value, lambda _: None))
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            for name in code.co_names:
                if name in function.__globals__:
                    of = function.__globals__
                    add((id(of), name), f"the global {name!r}", functools.partial(of.__getitem__, name), functools.partial(of.__setitem__, name))
                    visit(of[name], depth + 1)
            codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]

    for function in functions:
        visit(function, 0)
    for of in classes:
        for name, value in vars(of).items() if _is_of_program(of) else ():
            if not name.startswith("__") and is_data(value):
                add((id(of), name), f"{of.__name__}.{name}", functools.partial(getattr, of, name), functools.partial(setattr, of, name))
    return list(found.values())


def is_data(value):
    return (
        isinstance(value, (*_NUMBERS, torch.Tensor, torch.Generator, random.Random, list, tuple, dict, set, deque, bytearray))
        or type(value).__module__ == "numpy"
        or type(value).__module__.startswith("numpy.random")
        or is_plain_object(value)
    )


def functions_of(model, step=None):
    """The functions that a step runs, as far as they can be known ahead: its own, the forward passes of modules, their hooks."""
    found = [] if step is None else [step]
    for module in model.modules():
        found.append(type(module).forward)
        for hooks in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks):
            found += hooks.values()
    return found


def classes_of(model):
    return {of for module in model.modules() for of in type(module).__mro__}


# Putting it back


def keep(value, restorers, tensors=True):
    """Adds to `restorers` what puts back a value and everything in it in place: the items of collections, the fields of objects, the values of tensors and arrays, generators."""
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
            restorers.append(functools.partial(_refill_list, one, list(one)))
        elif isinstance(one, set):
            restorers.append(functools.partial(_refill_set, one, set(one)))
        elif isinstance(one, dict):
            restorers.append(functools.partial(_refill_dict, one, dict(one)))
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
            restorers.append(functools.partial(_refill_fields, one, fields_of(one)))

    walk(value, visit)


def keep_tensor(tensor):
    """Returns what puts back the memory and the values of a tensor."""
    if is_traceable_wrapper_subclass(tensor) or tensor.layout != torch.strided or tensor.is_meta:
        return lambda: None
    data, version, before = tensor.detach(), tensor._version, None
    if not _is_large_on_device(tensor):
        before = data.to("cpu", copy=True)

    def restore():
        with torch.no_grad():
            if tensor.data_ptr() != data.data_ptr() or tensor.shape != data.shape:
                tensor.data = data
            if before is not None and (tensor._version != version or not torch.equal(data.cpu(), before)):
                data.copy_(before)

    return restore


def _is_large_on_device(tensor):
    return tensor.untyped_storage().nbytes() >= 2**28


def _refill_list(one, items):
    if len(one) != len(items) or any(a is not b for a, b in zip(one, items)):
        one.clear()
        one.extend(items)


def _refill_set(one, items):
    one.clear()
    one.update(items)


def _refill_dict(one, items):
    if list(one) != list(items) or any(one[key] is not value for key, value in items.items()):
        one.clear()
        one.update(items)


def _refill_fields(one, fields):
    for name in fields_of(one).keys() - fields.keys():
        with contextlib.suppress(AttributeError):
            delattr(one, name)
    for name, value in fields.items():
        if getattr(one, name, one) is not value:
            object.__setattr__(one, name, value)


def keep_attributes(module, restorers):
    """Adds what puts back the plain attributes of a module, and what is in them."""
    before = attributes(module)

    def restore():
        now = attributes(module)
        for name in now.keys() - before.keys():
            vars(module).pop(name, None)
        for name, value in before.items():
            if now.get(name, restore) is not value:
                vars(module)[name] = value

    keep(before, restorers)
    restorers.append(restore)


def keep_bindings(bindings, restorers):
    """Adds what puts back what names refer to, and what is in that."""
    for binding in bindings:
        value = binding.get()
        keep(value, restorers)
        restorers.append(lambda binding=binding, value=value: None if binding.get() is value else binding.set(value))
