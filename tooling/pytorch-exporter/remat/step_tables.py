"""Tables that a recorded step refers to by number: storages, tensors, ops, module names, lines of the program."""

from __future__ import annotations

import math
import weakref
from collections import defaultdict

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .schemas import declared
from .source_lines import line_of_program
from .tensors import untyped_storages, without_transforms


class StepTables:
    """Assigns the numbers. `on_given(number)` is called for a storage that no op created, `on_freed(number)` for one that
    was freed.
    """

    def __init__(self, on_given, on_freed):
        self.funcs, self.fqns, self.storages, self.tensors, self.lines = [], [], [], [], []
        self._numbers = {name: {} for name in ("funcs", "fqns", "tensors", "lines")}  # for each table except the one of storages, the numbers of its rows
        self._live = {}  # address of a storage -> (weak reference to it, its number); addresses are reused
        self._given = {}  # address of a storage that no op created -> numbers
        self._on_given, self._on_freed = on_given, on_freed
        self.is_fake = False

    def device(self):
        """Returns the device with the most memory in use."""
        held = defaultdict(int)
        for storage in self.storages:
            held[storage["dev"]] += storage["bytes"]
        return max(held, key=held.get, default="cpu")

    def knows(self, storage):
        known = self._live.get(storage._cdata)
        return known is not None and known[0]() is storage

    def storage(self, storage, device):
        if self.knows(storage):
            return self._live[storage._cdata][1]
        number = len(self.storages)
        self.storages.append({"bytes": int(storage.nbytes()), "dev": str(device)})
        self._live[storage._cdata] = (weakref.ref(storage, lambda _: self._on_freed(number)), number)
        return number

    def storages_of(self, tensor):
        self.is_fake = self.is_fake or type(tensor).__name__ == "FakeTensor"
        return [self.storage(storage, tensor.device) for storage in untyped_storages(tensor)]

    def storages_given(self, tensor):
        """Returns the storages of a tensor that no op has just created. If one of them is new to the tables, it existed
        before.
        """
        count = len(self.storages)
        storages = self.storages_of(tensor)
        for storage, of in zip(storages, untyped_storages(tensor)):
            if storage >= count:
                self._given.setdefault(of._cdata, []).append(storage)
                self._on_given(storage)
        return storages

    def number_of(self, storage):
        """Returns the number of a storage, or None if it has none yet."""
        return self._live[storage._cdata][1] if self.knows(storage) else None

    def given_at(self, address):
        """Returns the numbers of the storages at an address that no op created."""
        return self._given.get(address, ())

    def tensor(self, tensor, given=False):
        tensor = without_transforms(tensor)
        storages = self.storages_given(tensor) if given else self.storages_of(tensor)
        plain = not is_traceable_wrapper_subclass(tensor) and tensor.layout == torch.strided
        stride = [int(n) for n in tensor.stride()] if plain else None
        offset = int(tensor.storage_offset()) if plain else 0
        shape = [int(n) for n in tensor.shape]
        dtype = str(tensor.dtype).removeprefix("torch.")
        entry = {"s": storages[0] if len(storages) == 1 else storages, "dt": dtype, "sh": shape, "st": stride} | ({"off": offset} if offset else {})
        key = (tuple(storages), dtype, tuple(shape), None if stride is None else tuple(stride), offset)
        return self._number("tensors", key, entry)

    def func(self, op):
        name = str(op)
        return self._number("funcs", name, {"name": name, "declares": declared(op).told()})

    def fqn(self, fqn):
        return self._number("fqns", fqn, fqn)

    def line(self):
        """Returns an event's entry for the running line of the program, if known."""
        line = line_of_program()
        return {} if line is None else {"l": self._number("lines", line, line)}

    def _number(self, table, key, row):
        numbers, rows = self._numbers[table], getattr(self, table)
        number = numbers.setdefault(key, len(rows))
        if number == len(rows):
            rows.append(row)
        return number

    def encode(self, value, given=False):
        """Returns `value` as JSON: a tensor as "%" and its number, a value that JSON lacks as "str:" and its text."""
        if isinstance(value, torch.Tensor):
            return f"%{self.tensor(value, given)}"
        if isinstance(value, (list, tuple)):
            return [self.encode(item, given) for item in value]
        if isinstance(value, dict):
            return {str(key): self.encode(item, given) for key, item in value.items()}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else f"float:{value!r}"
        if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
            # The text of a storage would be its whole content.
            return f"str:storage of {value.nbytes()} bytes"
        if isinstance(value, torch.SymInt):
            return int(value)
        return f"str:{value}"

    def storages_in(self, encoded):
        """Returns the storages of all tensors in a result of `encode`."""
        if isinstance(encoded, str) and encoded.startswith("%"):
            storages = self.tensors[int(encoded[1:])]["s"]
            return storages if isinstance(storages, list) else [storages]
        items = encoded.values() if isinstance(encoded, dict) else encoded if isinstance(encoded, list) else ()
        return [storage for item in items for storage in self.storages_in(item)]
