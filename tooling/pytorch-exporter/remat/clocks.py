"""Measures the ops of a recorded step: `event["ms"]`, in milliseconds."""

from __future__ import annotations

import torch

from .autocasting import run_dispatched

# How long the GPU waits before each op: about 0.1 ms at current clock rates, longer than the host takes to launch the
# kernels of an op.
_CYCLES_BEFORE = 200_000


def wait_for_cuda(device=None):
    """Waits until a GPU, by default the current one, has finished all its work. Returns immediately for other devices,
    or if there is no GPU.
    """
    if torch.cuda.is_initialized() and (device is None or device.type == "cuda"):
        torch.cuda.synchronize(device)


class HostClock:
    """Measures ops that are finished when they return. `now` returns the time in seconds."""

    def __init__(self, now):
        self._now = now

    def time(self, event, func, args, kwargs):
        began = self._now()
        out = run_dispatched(func, args, kwargs)
        event["ms"] = (self._now() - began) * 1e3
        return out

    def finish(self):
        pass


class CudaClock:
    """Measures ops on the stream that they run on. The GPU waits a little before each op, until all kernels of the op
    are queued. The time thus does not include launching on the host.
    """

    def __init__(self):
        self._marks = []

    def time(self, event, func, args, kwargs):
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(_CYCLES_BEFORE)
        began.record()
        out = run_dispatched(func, args, kwargs)
        ended.record()
        self._marks.append((event, began, ended))
        return out

    def finish(self):
        """Waits for the ops and sets the time of each."""
        for event, began, ended in self._marks:
            ended.synchronize()
            event["ms"] = began.elapsed_time(ended)
