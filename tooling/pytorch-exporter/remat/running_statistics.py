"""Running statistics, such as those of normalisation. A module that writes into them can still be recomputed, because a
policy restores them.
"""

from __future__ import annotations

import weakref

import torch

from .tensors import untyped_storages

#: Buffers with these names are restored after recomputation of their module, whatever its class.
_NAMES = ("running_mean", "running_var", "num_batches_tracked")


def statistics_of(module):
    """Returns the running statistics of a module. TorchScript keeps its buffers elsewhere."""
    if isinstance(module, torch.jit.ScriptModule):
        return []
    return [one for name in _NAMES if (one := module._buffers.get(name)) is not None]


class StatisticsWritten:
    """Tracks the running statistics that ops write into during a step, and finds out whether a recomputation depends on
    their values.
    """

    def __init__(self, model, tables):
        self._model, self._tables = model, tables
        self._owners = {}  # by storage: the modules whose statistics are on it, by identity
        self._modules_in = weakref.WeakKeyDictionary()
        self._written = set()  # storages
        self._overwritten = {}  # by op, by identity: statistics that are arguments but not inputs of the computation
        self._inside = {}  # ops inside calls of modules, by identity

    def add(self, event, says, args, kwargs, numbers, running):
        """Returns those storages that an op writes into and that are restored whichever of the running modules is
        recomputed. They belong to statistics. The innermost module is last in `running`.
        """
        self._inside[id(event)] = event
        if says.statistics and not says.leaves_statistics(args, kwargs):
            given = [one.of(args, kwargs) for one in says.statistics if one in says.writes]
            self._overwritten[id(event)] = {number for one in given if isinstance(one, torch.Tensor) for number in self._tables.storages_given(one)}
        if not numbers or self._model is None:
            return set()
        if not numbers <= self._owners.keys():
            self._owners = dict.fromkeys(numbers, frozenset()) | self._owners | self._owners_now()
        found = {number for number in numbers if self._owners[number] and all(not self._owners[number].isdisjoint(self._inside_of(one)) for one in running)}
        self._written |= found
        return found

    def computed_with(self, events, is_averaging):
        """Returns the written statistics that a recomputation would compute with. Their values affect a tensor that is
        saved for the backward pass or outlives the call, or a number that the program reads. `is_averaging(event)`:
        whether an op returns a number that affects only statistics.
        """
        found, follows = set(), {}
        if not self._written:
            return found
        for event in events:
            if event["e"] == "pack":
                found.update(*(follows.get(storage, ()) for storage in event["s"]))
            elif event["e"] == "del":
                follows.pop(event["s"], None)
            elif event["e"] == "post_fw" and "bw" not in event:
                # An attribute or the result of the call may keep the tensor.
                found.update(*follows.values())
            if id(event) not in self._inside:
                continue
            given = set(self._tables.storages_in([event["a"], event.get("k")])) - self._overwritten.get(id(event), set())
            sources = {one for storage in given for one in ({storage} if storage in self._written else follows.get(storage, ()))}
            if not sources:
                continue
            if not is_averaging(event) and _has_numbers(event["o"]):
                found |= sources
            for storage in {*self._tables.storages_in(event["o"]), *event.get("w", ())} - self._written:
                follows.setdefault(storage, set()).update(sources)
        return found

    def _owners_now(self):
        found = {}
        for module in self._model.modules():
            for tensor in statistics_of(module):
                # A storage that contains more than the statistics is not restored as a whole.
                size = tensor.numel() * tensor.element_size()
                for storage in untyped_storages(tensor) if tensor.layout == torch.strided else ():
                    number = self._tables.number_of(storage)
                    if number is not None and storage.nbytes() == size:
                        found[number] = found.get(number, frozenset()) | {id(module)}
        return found

    def _inside_of(self, module):
        if module not in self._modules_in:
            self._modules_in[module] = frozenset(map(id, module.modules()))
        return self._modules_in[module]


def _has_numbers(encoded):
    """Returns whether an op returns anything other than tensors. The program may branch on such results."""
    if isinstance(encoded, list):
        return any(map(_has_numbers, encoded))
    return encoded is not None and not (isinstance(encoded, str) and encoded.startswith("%"))
