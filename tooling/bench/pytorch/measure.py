"""What a step of a bench model holds, by a tracker that knows nothing of us, and takes, beside that of others in the same process."""

import gc
import statistics
import time

import torch
from models import build
from torch.distributed._tools.mem_tracker import MemTracker


class Tracker(MemTracker):
    """Sees what compiled code does, too, which by itself runs uncompiled while a tracker looks on; its random ops are of higher order."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True


def begun(name, begin):
    """A model of the bench that has begun to follow a way, after its first step, whose loss comes last."""
    model, optimizer, step = build(name)
    if begin is not None:
        begin(model)
    torch.manual_seed(1)
    return model, optimizer, step, step()


def peak_of(name, begin):
    """The peak of the second step, in bytes, and the losses and the state that both come to."""
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
    """What a step takes beyond stock's, as a share of it, by the median of rounds: each beside stock's steps before and after it, since what else a machine does comes and goes. Time of the processor, which other
    programs disturb least."""
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
