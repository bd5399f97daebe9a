"""Records a training step as it runs, optionally with the time of each op."""

from __future__ import annotations

import contextlib
import statistics
import time

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from .bookkeeping import measure_bookkeeping
from .clocks import CudaClock, HostClock, wait_for_cuda
from .files import write_file
from .models import as_one_model
from .recorder import Recorder
from .restoring import generators_restorer


@contextlib.contextmanager
def record(path, model=None, optimizer=None, inputs=None, name=None, allocation_unit=512):
    """A context that records the training step run inside it, and writes it to `path` at the end.

    `path`: compressed if it ends in .gz. `model`, `optimizer`: their parameters, buffers, gradients and state count as
    allocated before the step. Run one step before recording, so that the optimizer has created its state. For several
    models or optimizers, give a list, or models by name. `inputs`: tensors of the batch, to distinguish them from other
    storages. `allocation_unit`: allocations are rounded up to this many bytes. The default, 512, is CUDA's, so a step
    recorded on the CPU is planned as for a GPU.
    """
    recorder = Recorder(model, optimizer, inputs)
    with recorder:
        yield recorder
    write_file(path, recorder.content(name, allocation_unit))


def record_step(step, path, model=None, optimizer=None, inputs=None, *, repeats=5, name=None, allocation_unit=512):
    """Runs and records `step()` with the time of each op, so that plans use this machine's times. Returns the step's
    time without measurement, in milliseconds.

    `step()` runs once to warm up, `repeats` times alone, and `repeats` times with a clock at each op. Medians are used
    for the step and for each op. Noise hits different ops in each run, so the medians of the ops add up to less than a
    run. They are scaled up to the time of a run. Python's time between ops is distributed among the ops.

    If a single thread computes, thread time is used, which other programs affect least. On CUDA, events on the stream
    time each op. For other asynchronous devices no times are recorded: give the device's name to `remat plan` with
    `--device`.
    """
    return record_timed_step(step, path, model, optimizer, inputs, repeats=repeats, name=name, allocation_unit=allocation_unit)[0]


def record_timed_step(step, path, model, optimizer, inputs, *, repeats, name, allocation_unit, draws_again=False):
    """Like `record_step`. Also returns whether op times were recorded, and whether every step called the same modules.

    `draws_again`: the recorded steps draw the random numbers of the second step, so that all of them take the same path
    through a model that skips modules at random.
    """
    step()
    draw = generators_restorer() if draws_again else lambda: None
    called = []
    whole = as_one_model(model)
    device = None if whole is None else next((parameter.device for parameter in whole.parameters() if parameter.is_cuda), None)
    is_beside = torch.cuda.is_initialized() and (whole is None or device is not None)
    now = time.thread_time if torch.get_num_threads() == 1 and not is_beside else time.perf_counter
    walls, alone, hosts, runs = [], [], [], []
    for _ in range(repeats):
        wait_for_cuda(device)
        began, began_alone = time.perf_counter(), now()
        with _called_modules(called):
            step()
        hosts.append((time.perf_counter() - began) * 1e3)
        wait_for_cuda(device)
        walls.append((time.perf_counter() - began) * 1e3)
        alone.append((now() - began_alone) * 1e3)
    for _ in range(repeats):
        recorder = Recorder(whole, optimizer, inputs)
        recorder.clock = CudaClock() if is_beside else HostClock(now)
        draw()
        with recorder:
            step()
        recorder.clock.finish()
        runs.append(recorder)
    ops = [[event for event in run.events if event["e"] == "op"] for run in runs]
    names = [[run.tables.funcs[event["f"]]["name"] for event in of] for run, of in zip(runs, ops)]
    last = runs[-1]
    if is_beside:
        # This includes waiting for the device when its queue is full.
        last.host_ms = min(hosts)
    is_timed = last.tables.device().split(":")[0] == ("cuda" if is_beside else "cpu") and all(of == names[-1] for of in names)
    if is_timed:
        last.checkpoint_ms = measure_bookkeeping(last.tables.device(), now)
        medians = [statistics.median(event["ms"] for event in same) for same in zip(*ops)]
        of_step = statistics.median(alone)
        of_ops = min(of_step, statistics.median(sum(event["ms"] for event in of) for of in ops))
        share, rest = of_ops / max(sum(medians), 1e-9), (of_step - of_ops) / max(1, len(medians))
        for event, ms in zip(ops[-1], medians):
            event["ms"] = round(ms * share + rest, 6)
            event["runs"] = repeats
    else:
        for event in ops[-1]:
            del event["ms"]
    write_file(path, last.content(name, allocation_unit))
    return statistics.median(walls), is_timed, all(one == called[0] for one in called)


@contextlib.contextmanager
def _called_modules(called):
    """Appends a list of the modules that are called in this context, in order."""
    called.append([])
    handle = register_module_forward_pre_hook(lambda module, args, of=called[-1]: of.append(id(module)))
    try:
        yield
    finally:
        handle.remove()
