"""Measures a step's peak memory, by a tracker that is independent of remat, and its time, next to others in the same
process.
"""

import gc
import statistics
import time

import torch
from models import build
from torch.distributed._tools.mem_tracker import MemTracker


class Tracker(MemTracker):
    """Also observes compiled code, which otherwise runs uncompiled under a tracker. Its random ops are higher-order."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True


def begun(name, begin):
    """Returns a benchmark model that follows a strategy, after its first step. The loss is returned last."""
    model, optimizer, step = build(name)
    if begin is not None:
        begin(model)
    torch.manual_seed(1)
    return model, optimizer, step, step()


def peak_of(name, begin):
    """Returns the peak of the second step in bytes, with the losses and the state after both."""
    model, optimizer, step, loss = begun(name, begin)
    tracker, second = track(model, optimizer, step)
    return tracked_peak(tracker), [loss, second, *(value.clone() for value in model.state_dict().values())]


def track(model, optimizer, step):
    tracker = Tracker()
    tracker.track_external(model, optimizer)
    with tracker:
        loss = step()
    return tracker, loss


def tracked_peak(tracker):
    [snapshot] = tracker.get_tracker_snapshot("peak").values()
    return {getattr(key, "value", key): value for key, value in snapshot.items()}["Total"]


def times_of(name, begins, rounds):
    """Returns the extra time of steps over the baseline, as a share: the median of rounds, each compared with baseline
    steps before and after it, because load on the machine varies. Uses CPU time, which other programs affect least.
    """
    stock, *steps = [begun(name, begin)[2] for begin in [None, *begins]]
    shares = [[] for _ in steps]
    gc.collect()
    gc.disable()
    before = _time_of(stock)
    for _ in range(rounds):
        for step, of in zip(steps, shares):
            took, after = _time_of(step), _time_of(stock)
            of.append(2 * took / (before + after) - 1)
            before = after
    gc.enable()
    return [statistics.median(of) for of in shares]


def _time_of(step):
    began = time.process_time()
    step()
    return time.process_time() - began
