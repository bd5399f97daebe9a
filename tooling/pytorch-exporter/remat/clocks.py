"""Times the ops of a recorded step: `event["ms"]`, in milliseconds."""

from __future__ import annotations

import torch

from .autocasting import run_dispatched

# That the GPU is kept waiting before each op: some 0.1 ms at the clock of today's, longer than it takes to give it the kernels of an op.
_CYCLES_BEFORE = 200_000


def wait_for_cuda(device=None):
    """Until a GPU has done all that it was given: the current one where none is named. At once where there is none, and for other devices."""
    if torch.cuda.is_initialized() and (device is None or device.type == "cuda"):
        torch.cuda.synchronize(device)


class HostClock:
    """Times ops that are done when they return; `now` tells the time, in seconds."""

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
    """Times ops on the stream that they run on. The GPU waits a little before each, so that it has the whole op when it begins: what the host takes to give it the kernels is no part of them."""

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
        """Waits for the ops, and tells each what it took."""
        for event, began, ended in self._marks:
            ended.synchronize()
            event["ms"] = began.elapsed_time(ended)
