"""Finds module state that changes other than through ops while a step is recorded. Running the module's code again
would change such state again.
"""

from __future__ import annotations

import weakref

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .plain_state import attributes, bits_of, global_generators, reached, token_of_leaf, walk


class StateWatch:
    """Compares the attributes of the running modules, and Python's and NumPy's random generators, whenever a module begins
    or ends.
    """

    def __init__(self, tables, events, model=None):
        self._tables, self._events = tables, events
        self._own = set() if model is None else {id(one) for one in model.modules()}
        self._running = []
        self._seen = weakref.WeakKeyDictionary()  # by module: its attributes when it last ended, or when the outermost call began
        self._hooked = []  # modules with hooks that ran since they ended
        self._generators = global_generators()

    def changed(self, entering=None):
        """Returns the changes since the last call of this method that running the current modules again would repeat. A
        change is a description of the state, or a module with the path of one of its attributes. `entering`: a module
        that begins, whose hooks may already have run.
        """
        generators = global_generators()
        changed = [f"the state of {of}'s random generator" for of, before, now in zip(("Python", "NumPy"), self._generators, generators) if before != now]
        self._generators = generators
        if self._running:
            # Changes made by hooks outside of their module's call belong to the surrounding calls.
            for module in [*self._hooked, *([entering] if entering in self._seen else [])]:
                now = self._look(module)
                changed += self._differing(_Running(module, self._seen[module], self._running[-1].since), now)
                self._seen[module] = now
        self._hooked = []
        for one in self._running:
            now = self._look(one.module)
            # Each module is compared, so that a change is reported once.
            changed += self._differing(one, now)
            one.attributes = now
        return changed

    def enter(self, module):
        if not self._running:
            for one in module.modules():
                self._seen[one] = self._look(one)
        self._running.append(_Running(module, self._look(module), len(self._events)))

    def leave(self, module):
        while self._running:
            # Calls that raised are still on the stack.
            one = self._running.pop()
            if one.module is module:
                self._seen[module] = one.attributes
                if module._forward_hooks:
                    self._hooked.append(module)
                return

    def _look(self, module):
        """Returns the attributes of a module, including those of unregistered modules among its attributes, which are
        not compared anywhere else.
        """
        found, seen = {}, {id(module)}

        def visit(path, value, children):
            path = (*prefix, *path)
            if isinstance(value, torch.Tensor):
                found[path] = _TensorToken(value, self._tables)
            elif children is not None:
                found[path] = type(value).__name__, len(children)
            else:
                found[path] = token_of_leaf(value)
                if isinstance(value, torch.nn.Module) and id(value) not in self._own:
                    for name, one in value.named_modules():
                        if id(one) not in seen:
                            seen.add(id(one))
                            hidden.append(((*path, name), {**attributes(one), **one._parameters, **one._buffers}))

        hidden = [((), attributes(module))]
        while hidden:
            prefix, state = hidden.pop(0)
            walk(state, visit)
        return found

    def _differing(self, running, now):
        """Returns a list with the first attribute that differs, as its module and path, or an empty list."""
        before = running.attributes
        paths = [path for path in {**before, **now} if path not in before or path not in now or self._is_repeated(running, before[path], now[path])]
        # A longer list has another length, and also new items.
        return [(running.module, paths[0])] if paths else []

    def _is_repeated(self, running, before, now):
        if not (isinstance(before, _TensorToken) and isinstance(now, _TensorToken)):
            return before != now
        # Recomputation replaces a tensor by the same values, unless they are computed from the old tensor.
        return not before.is_same(now) and self._is_read(before, running.since)

    def _is_read(self, token, since):
        numbers = {token.number} if token.number is not None else set(self._tables.given_at(token.address))
        return any(
            not numbers.isdisjoint(self._tables.storages_in([event["a"], event.get("k")]))
            for event in self._events[since:]
            if event["e"] == "op"
        )


class _Running:
    __slots__ = ("module", "attributes", "since")

    def __init__(self, module, attributes, since):
        self.module, self.attributes, self.since = module, attributes, since


class _TensorToken:
    """Identifies a tensor's state without keeping the tensor alive."""

    __slots__ = ("tensor", "address", "number")

    def __init__(self, tensor, tables):
        self.tensor = weakref.ref(tensor)
        is_plain = tensor.layout == torch.strided and not is_traceable_wrapper_subclass(tensor)
        storage = tensor.untyped_storage() if is_plain else None
        self.address = None if storage is None else storage._cdata
        self.number = None if storage is None else tables.number_of(storage)

    def is_same(self, other):
        return self.tensor() is not None and self.tensor() is other.tensor() and self.address == other.address


class ValuesBefore:
    """The bits of buffers and attribute tensors before a step, used to find writes that no op declares."""

    def __init__(self, model):
        self._tensors = {}  # by address: the tensor, its module, its bits

        named = dict(model.named_modules())

        def keep(owner, module):
            def visit(path, value, children):
                if isinstance(value, torch.Tensor):
                    self._tensors.setdefault(id(value), (value, owner, bits_of(value)))

            for buffer in module.buffers(recurse=False):
                visit((), buffer, None)
            # An optimizer changes the weights of the model itself, so only those of other modules are compared.
            for parameter in () if owner is module else module.parameters(recurse=False):
                visit((), parameter, None)
            walk(attributes(module), visit)

        for one in reached(model).modules:
            if one.owner is not None:
                keep(named[one.owner], one.module)

    def changed(self):
        """Returns each tensor whose values have changed, with its module."""
        return [(tensor, module) for tensor, module, bits in self._tensors.values() if bits_of(tensor) != bits]
