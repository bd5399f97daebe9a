"""What a step of a bench model holds, by a tracker that knows nothing of us, and takes, beside that of others in the same process."""

import gc
import statistics
import time

import torch
from models import build
from torch.distributed._tools.mem_tracker import MemTracker


class Tracker(MemTracker):
    """Sees what compiled code does, too, which by itself runs uncompiled while a tracker looks on."""

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
    """Medians of what a step takes beyond stock's, side by side, as a share of it: time of the processor, which other programs disturb least."""
    steps = [begun(name, begin)[2] for begin in [None, *begins]]
    shares = [[] for _ in steps]
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        took = []
        for step in steps:
            began = time.process_time()
            step()
            took.append(time.process_time() - began)
        for share, one in zip(shares, took):
            share.append(one / took[0] - 1)
    gc.enable()
    return [statistics.median(share) for share in shares[1:]]
