"""Synchronizes the processes that train one model together. They make the same plan and run the same steps, since each
step waits for all of them.
"""

from __future__ import annotations

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.tensor import DTensor
except ImportError:  # torch without torch.distributed
    DTensor = None


class Ranks:
    """The processes over which a model is replicated or sharded. For any other model, only this process."""

    def __init__(self, model=None):
        self._group = _group_of(model) if model is not None and dist.is_available() and dist.is_initialized() else None

    @property
    def are_several(self):
        return self._group is not None

    def of_first(self, make):
        """Runs `make()` in the first process, and returns its result in all processes. If it raises there, it raises
        everywhere.
        """
        if not self.are_several:
            return make()
        told = [None, None]
        if dist.get_rank(self._group) == 0:
            try:
                told[0] = make()
            except Exception as error:  # noqa: BLE001 - the others wait for an answer
                told[1] = error
        dist.broadcast_object_list(told, group=self._group, group_src=0)
        if told[1] is not None:
            raise told[1]
        return told[0]

    def all(self, value):
        """Returns the values of all processes, in order."""
        if not self.are_several:
            return [value]
        told = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(told, value, group=self._group)
        return told


def _group_of(model):
    for module in model.modules():
        if isinstance(module, DistributedDataParallel):
            return _of_several(module.process_group)
    for parameter in model.parameters():
        if DTensor is not None and isinstance(parameter, DTensor):
            mesh = parameter.device_mesh
            if mesh.ndim == 1:
                return _of_several(mesh.get_group())
            return _of_several(dist.group.WORLD) if mesh.size() == dist.get_world_size() else None
    return None


def _of_several(group):
    # A fake group answers for processes that do not exist.
    return group if dist.get_world_size(group) > 1 and dist.get_backend(group) != "fake" else None
