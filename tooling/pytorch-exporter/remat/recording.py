"""Records what a training step does, as it is or with what each of its ops takes."""

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
    """Records what runs inside, a training step, and writes it to `path` at the end.

    `path`: one that ends in .gz is compressed. `model`, `optimizer`: whose parameters, buffers, gradients and state there are from the start; run one step before, so that an
    optimizer has made its state; of several a list, or models by name. `inputs`: tensors of the batch, by which they are told from other storages. `allocation_unit`: bytes that allocations are rounded up to;
    512 is CUDA's, so a step recorded on the CPU is planned as for a GPU.
    """
    recorder = Recorder(model, optimizer, inputs)
    with recorder:
        yield recorder
    write_file(path, recorder.content(name, allocation_unit))


def record_step(step, path, model=None, optimizer=None, inputs=None, *, repeats=5, name=None, allocation_unit=512):
    """Records `step()`, which really runs, with what each op takes on this machine, so that a plan's time is that of this machine.

    It runs once to warm up, `repeats` times by itself, whose median is what the step takes, and `repeats` times with a clock at each op, of which medians are
    taken, too. Medians leave out what disturbs now one op and now another, so that they are raised in proportion to what all ops of a run take; what Python takes between ops is
    shared out among them. Where one thread computes, its own time is taken, which other programs on the machine disturb least. On CUDA ops are timed where they run, by events on their stream. On other
    devices that work beside the program no times are told: give `remat plan` its name by `--device`. Returns what the step takes by itself, in milliseconds.
    """
    return record_timed_step(step, path, model, optimizer, inputs, repeats=repeats, name=name, allocation_unit=allocation_unit)[0]


def record_timed_step(step, path, model, optimizer, inputs, *, repeats, name, allocation_unit, draws_again=False):
    """As `record_step`; returns besides whether the times of ops are told, and whether every step called the same modules.

    `draws_again`: the recorded steps draw the random numbers of the second step, so that all of them take the same path through a model that skips modules at random.
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
        # Where the device lets it wait, when too much is in its queue, that is counted, too.
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
    """Adds a list of the modules that are called inside, in order."""
    called.append([])
    handle = register_module_forward_pre_hook(lambda module, args, of=called[-1]: of.append(id(module)))
    try:
        yield
    finally:
        handle.remove()
