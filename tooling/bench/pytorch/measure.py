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
    """What the median step takes beyond stock's, side by side, as a share of it: time of the processor, which other programs disturb least. Stock's step, which all are
    compared with, is taken before and after the others of a round."""
    steps = [begun(name, begin)[2] for begin in [None, *begins]]
    took = [[] for _ in steps]
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for place in [*range(len(steps)), 0]:
            began = time.process_time()
            steps[place]()
            took[place].append(time.process_time() - began)
    gc.enable()
    stock, *others = [statistics.median(of) for of in took]
    return [of / stock - 1 for of in others]
