"""Measures memory that CUDA's allocator uses on the current device in addition to the tensors that a recorder sees."""

from __future__ import annotations

import torch


class CudaMemory:
    """Measures the peak memory of each op. Resets the peaks of `torch.cuda.max_memory_allocated` at each op."""

    def __init__(self):
        self.device = torch.cuda.current_device()
        #: In bytes, at creation.
        self.before = self._requested()["current"]

    def begin_op(self):
        torch.cuda.reset_peak_memory_stats(self.device)
        self._at_begin = self._requested()["current"]

    def end_op(self) -> int:
        """Returns the bytes that the op used while it ran, besides its inputs and outputs, such as a workspace or a
        copy of its inputs.
        """
        requested = self._requested()
        return max(0, requested["peak"] - max(requested["current"], self._at_begin))

    def _requested(self):
        return torch.cuda.memory_stats_as_nested_dict(self.device)["requested_bytes"]["all"]
