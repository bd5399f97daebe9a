"""Watches, while a step is recorded, for state that modules change besides what ops write into: a second run of their code would change it again."""

from __future__ import annotations

import weakref

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .plain_state import attributes, bits_of, global_generators, reached, token_of_leaf, walk


class StateWatch:
    """Looks at the attributes of the modules that run, and at Python's and NumPy's generators, whenever a module begins or ends."""

    def __init__(self, tables, events, model=None):
        self._tables, self._events = tables, events
        self._own = set() if model is None else {id(one) for one in model.modules()}
        self._running = []
        self._seen = weakref.WeakKeyDictionary()  # by module: its attributes as it ended last, or as the outermost call began
        self._hooked = []  # modules with hooks that ran since they ended
        self._generators = global_generators()

    def changed(self, entering=None):
        """What changed since this was asked last, in a way that a second run of the modules that run now would repeat: the state in words, or a module with the path of one of its attributes. `entering`: a module that begins, whose hooks may have run already."""
        generators = global_generators()
        changed = [f"the state of {of}'s random generator" for of, before, now in zip(("Python", "NumPy"), self._generators, generators) if before != now]
        self._generators = generators
        if self._running:
            # What hooks change beside the call of their module belongs to the calls around it.
            for module in [*self._hooked, *([entering] if entering in self._seen else [])]:
                now = self._look(module)
                changed += self._differing(_Running(module, self._seen[module], self._running[-1].since), now)
                self._seen[module] = now
        self._hooked = []
        for one in self._running:
            now = self._look(one.module)
            # Each is looked at, so that none is told of twice.
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
            # Calls that raised are left over.
            one = self._running.pop()
            if one.module is module:
                self._seen[module] = one.attributes
                if module._forward_hooks:
                    self._hooked.append(module)
                return

    def _look(self, module):
        """What is in the attributes of a module, and in the modules there that are not registered, which nothing else looks at."""
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
        """The attribute that differs, if one does: the innermost of those that first do."""
        before = running.attributes
        paths = [path for path in {**before, **now} if path not in before or path not in now or self._is_repeated(running, before[path], now[path])]
        # A list that grew differs by its length and by what is new in it.
        return [(running.module, paths[0])] if paths else []

    def _is_repeated(self, running, before, now):
        if not (isinstance(before, _TensorToken) and isinstance(now, _TensorToken)):
            return before != now
        # A tensor that takes the place of another is the same if it is computed again, unless it follows from the other.
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
    """A tensor as it was, without keeping it alive."""

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
    """The bits of buffers and of tensors in attributes before a step, by which writes are found that no op declares."""

    def __init__(self, model):
        self._tensors = {}  # by address: the tensor, its module, its bits

        named = dict(model.named_modules())

        def keep(owner, module):
            def visit(path, value, children):
                if isinstance(value, torch.Tensor):
                    self._tensors.setdefault(id(value), (value, owner, bits_of(value)))

            for buffer in module.buffers(recurse=False):
                visit((), buffer, None)
            # An optimizer changes the weights of the model itself, so only the others' are looked at.
            for parameter in () if owner is module else module.parameters(recurse=False):
                visit((), parameter, None)
            walk(attributes(module), visit)

        for one in reached(model).modules:
            if one.owner is not None:
                keep(named[one.owner], one.module)

    def changed(self):
        """Each tensor whose values are others than before, with its module."""
        return [(tensor, module) for tensor, module, bits in self._tensors.values() if bits_of(tensor) != bits]
