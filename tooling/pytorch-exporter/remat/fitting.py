"""Fits a model's training step into a budget, in one line."""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .clocks import wait_for_cuda
from .exporting import export_step
from .files import write_file
from .models import as_one_model, warn_of_compiled
from .planner import BudgetNotMet, budget_text, plan_step, planner_command
from .printing import tell
from .policy import apply, remove, without_policy
from .ranks import Ranks
from .recorder import STATE_CHANGED, STATE_REPLACED, mark_calls
from .recording import record, record_timed_step
from .restoring import as_before, generators_restorer
from .verifying import TrainingDiffers, Verifier

_MIB = 2**20
_ATTEMPTS = 4
_GPUS = ("h200", "h100", "a100")


@dataclass(frozen=True)
class Fitted:
    """Memory and time of a step: unmodified (`stock_bytes`), as planned, and as measured. Unknown figures are None. For
    example, no overhead is measured if the unmodified step does not fit.
    """

    name: str
    budget: int
    stock_bytes: int
    planned_bytes: int
    measured_bytes: int
    """Peak of a step under the policy, as counted by PyTorch's allocator on a GPU, or by its storages elsewhere."""
    planned_overhead: float
    """Extra time as a share of the unmodified step's."""
    measured_overhead: float | None
    """The median of `measured_overheads`."""
    measured_overheads: tuple[float, ...]
    """Overheads of single steps under the policy, each compared with an unmodified step right before it."""
    policy: dict
    verified: bool = False
    """True if steps under the policy were checked to be bitwise identical with unmodified steps."""
    left_out: tuple[str, ...] = ()
    """Modules that would change training if recomputed, with the reason. The plan does not checkpoint them."""
    parts: tuple[str, ...] = ()
    """Recomputed parts, each with the modules in which it begins and ends: "from layers.2.mlp to layers.3.norm"."""
    paths_differ: bool = False
    """True if steps call different modules, as with LayerDrop. Plan and measurements are then for the recorded path."""

    def __str__(self):
        # If nothing is checkpointed, a difference is noise.
        measured = ""
        if self.policy["modules"] and self.measured_overheads:
            least, most = min(self.measured_overheads), max(self.measured_overheads)
            measured = f", {self.measured_overhead:+.1%} time ({least:+.1%} to {most:+.1%})"
        return (
            f"{self.name}: {_mib(self.stock_bytes)} as it is, budget {_mib(self.budget)}; "
            f"planned {_mib(self.planned_bytes)}, {self.planned_overhead:+.1%} time; measured {_mib(self.measured_bytes)}{measured}; "
            + (_what_runs_again(self.policy) or "it fits, and nothing is checkpointed")
            + "".join(f"\n  runs again: {one}" for one in self.parts)
            + ("\n  steps call different modules, and these figures are for the recorded path: other steps may use more memory" if self.paths_differ else "")
            + "".join(f"\n  left as it is: {one}" for one in self.left_out)
        )


def fit(model, step, budget, *, inputs=None, planner=None, seconds=10, repeats=3, verbose=True, verify=True):
    """Makes the training step `step()` of `model` keep to `budget`. Records a step, plans, applies the policy, and
    measures a step to compare with the prediction.

    >>> remat.fit(model, step, budget="20GiB")

    `model`: a model, a list of models, or models by name. `budget`: "20GiB", "60%" of the step's peak, a share as a
    float, or a number of bytes. `inputs`: tensors of the batch, as in `record`. `planner`: the planning command, if it
    is not `remat`. `seconds`: search time. `repeats`: timed runs per measurement. Returns the plan
    and the measurements, and prints them unless `verbose` is false.

    `step` really runs, about thirty times. On return, weights, optimizer state, gradients, random generators and plain
    attributes of modules are restored. It also restores schedulers, weight averages, generators, lists and counters
    that the code of `step` and of the modules refers to. A step that does not fit into the memory of its device is
    recorded on fake tensors.

    Before it keeps a policy, `fit` compares steps with and without it: losses, gradients, weights, buffers, optimizer
    state, random generators and attributes must be bitwise identical. If recomputing a module changes training, `fit`
    names the module, leaves it out and plans again. If two runs of the unmodified step differ, it raises
    `StepNotRepeatable`. `verify=False` turns the comparison off. `fit` cannot compare if the unmodified step does not
    fit into memory.

    The measured peak can be above the budget, because the device has memory in use that was not recorded. The step is
    then planned again with a smaller budget. If no policy meets the budget, `BudgetNotMet` names the lowest peak, and
    the model is restored, including any earlier policy. `remat.remove(model)` undoes the policy.
    """
    command = planner_command(planner)
    whole = as_one_model(model)
    budget_text(budget)
    warn_of_compiled(whole, step)
    with without_policy(whole):
        fitted = _fit(command, whole, step, budget, inputs=inputs, seconds=seconds, repeats=repeats, verbose=verbose, verify=verify)
    if verbose:
        tell(f"remat: {fitted}")
    return fitted


def _fit(command, whole, step, budget, *, inputs, seconds, repeats, verbose, verify):
    device = next((parameter.device for parameter in whole.parameters()), torch.device("cpu"))
    # The weights of sharded models are freed before parts of modules run again.
    is_sharded = any(is_traceable_wrapper_subclass(one) for one in whole.parameters())
    unit = 512 if device.type == "cuda" else 1
    of = {"model": whole, "inputs": inputs, "allocation_unit": unit}
    ranks = Ranks(whole)
    with tempfile.TemporaryDirectory() as folder:
        recorded, policy_path = Path(folder) / "step.json.gz", Path(folder) / "policy.json"
        fits_as_it_is, is_timed, is_one_path = True, False, True
        try:
            with as_before(whole, step) as optimizers:
                _, is_timed, is_one_path = record_timed_step(step, recorded, optimizer=optimizers, repeats=repeats, name=None, draws_again=True, **of)
            recording = _Recording(recorded)
            recording.check_training()
        except torch.OutOfMemoryError:
            fits_as_it_is = False
            export_step(step, recorded, **of)
            recording = _Recording(recorded)
        comparison = _Comparison(whole, step, recording, ranks) if verify and fits_as_it_is else None
        is_timed = all(ranks.all(is_timed))
        limit, asked, attempts = None, budget, 0
        while True:
            try:
                planned, policy = ranks.of_first(lambda asked=asked: _plan(command, recorded, policy_path, asked, device=None if is_timed else _gpu_name(device), seconds=seconds, whole_modules=is_sharded))
            except BudgetNotMet as error:
                more = [f"The plan leaves out the following: {'; '.join(comparison.left_out)}."] if comparison is not None and comparison.left_out else []
                if recording.saves_in_backward:
                    more.append("The backward pass saves tensors for another backward pass (create_graph=True), which keeps some recomputed tensors in memory.")
                raise BudgetNotMet(" ".join([str(error), *more])) from None
            limit = limit or planned["budgetBytes"]
            if comparison is not None and comparison.leave_out(policy):
                if verbose:
                    tell(f"remat: {comparison.left_out[-1]}; planning without it")
                continue
            apply(whole, policy)
            with as_before(whole, step) as optimizers:
                measured_bytes = max(ranks.all(_measure_peak(step, Path(folder) / "measured.json.gz", device, {**of, "optimizer": optimizers}, repeats)))
            if measured_bytes <= limit:
                break
            remove(whole)
            attempts += 1
            # Unrecorded memory of the device must fit into the budget too.
            asked = min(limit, planned["peakBytes"]) - (measured_bytes - planned["peakBytes"])
            if verbose:
                tell(f"remat: planned {_mib(planned['peakBytes'])}, measured {_mib(measured_bytes)}, which is above {_mib(limit)}")
            if asked <= 0 or attempts == _ATTEMPTS:
                raise BudgetNotMet(_not_met(planned, measured_bytes, limit))
        overheads = _measure_overheads(whole, policy, step, device, repeats) if fits_as_it_is and policy["modules"] else ()
    return Fitted(
        name=planned["name"],
        budget=limit,
        stock_bytes=planned["plain"]["peakBytes"],
        planned_bytes=planned["peakBytes"],
        measured_bytes=measured_bytes,
        planned_overhead=planned["overhead"],
        measured_overhead=statistics.median(overheads) if overheads else None,
        measured_overheads=overheads,
        policy=policy,
        verified=comparison is not None,
        left_out=() if comparison is None else tuple(comparison.left_out),
        parts=tuple(_written_part(*place) for unit in planned.get("modules", ()) for place in unit.get("places", ())),
        paths_differ=not is_one_path,
    )


def _plan(command, recorded, policy_path, budget, **how):
    planned = plan_step(command, recorded, policy_path, budget, **how)
    return planned, json.loads(policy_path.read_text())


class _Comparison:
    """Compares steps with and without a policy, and makes the planner leave out modules that change training."""

    def __init__(self, model, step, recording, ranks):
        self._model, self._step, self._recording, self._ranks = model, step, recording, ranks
        self._verifier = None
        self._marks = set()
        self.left_out = []

    def leave_out(self, policy):
        """Returns whether a policy changes training. If so, marks the responsible modules in the recording as not
        recomputable.
        """
        if not policy["modules"]:
            return False
        self._verifier = self._verifier or Verifier(self._model, self._step, self._ranks)
        difference = self._verifier.difference(policy)
        if difference is None:
            return False
        guilty = self._verifier.guilty(policy, difference)
        marks = {self._mark(one, policy) for one in guilty} - self._marks
        if not marks:
            raise TrainingDiffers(f"remat: recomputing {guilty[0].unit!r} changes training ({guilty[0].difference} differs), but the plan still recomputes it. The model is unchanged; report this as a bug")
        self._marks |= marks
        self.left_out += list(dict.fromkeys(_why_left_out(one, policy) for one in guilty))
        self._recording.mark(self._model, marks)
        return True

    def _mark(self, one, policy):
        """The module that must not be recomputed, and whether this also applies to its ops."""
        if policy["modules"][one.unit].get("parts"):
            return one.unit, STATE_REPLACED
        return (one.owner if one.is_isolated and (one.owner, STATE_CHANGED) not in self._marks else one.unit), STATE_CHANGED


def _why_left_out(one, policy):
    differs = one.difference
    if one.is_isolated:
        return f"module {one.owner or '(the model itself)'!r} changes training if {_what_runs(one, policy)}: {differs} differs"
    what = f"module {one.unit or '(the model itself)'!r}"
    what = f"the parts of {what} that the plan names" if policy["modules"][one.unit].get("parts") else what
    return f"training changes if {what} runs again ({one.difference} differs), and remat did not find the module that causes it"


def _what_runs(one, policy):
    if policy["modules"][one.unit].get("parts"):
        return "parts of it run again" if one.unit == one.owner else f"parts of {one.unit!r} run again"
    return "it runs again"


class _Recording:
    """The file of a recorded step, which is read only once."""

    def __init__(self, path):
        self._path = path
        self._runs_model = self._has_backward = False
        self.saves_in_backward = False
        """True if gradients have a graph of their own. Recomputed ops save tensors even without such a graph."""
        last = {}
        for event in self._content()["events"]:
            if event["e"] == "op":
                last = event
                self._has_backward = self._has_backward or "bw" in event
            elif event["e"] == "pre_fw":
                self._runs_model = True
            elif event["e"] == "pack" and "bw" in last and "ac" not in last:
                self.saves_in_backward = True

    def check_training(self):
        """Raises an error if the recording is not a training step of the model. It checks the recording instead of
        using hooks on tensors, which do not run under transforms of `torch.func`.
        """
        if self._has_backward:
            return
        did = "ran the model, but no backward pass" if self._runs_model else "did not run the model"
        raise ValueError(f"remat: step() {did}. It must be a training step: the loss, loss.backward(), optimizer.step(), optimizer.zero_grad()")

    def mark(self, model, marks):
        """Marks modules in the file as not recomputable."""
        content = self._content()
        root = type(model).__name__
        numbers = {fqn: number for number, fqn in enumerate(content["fqns"])}
        for fqn, name in marks:
            number = numbers.get(f"{root}.{fqn}" if fqn else root)
            if number is not None:
                mark_calls(content["events"], {number}, name)
        write_file(self._path, content)

    def _content(self):
        return json.loads(gzip.decompress(self._path.read_bytes()))


def _not_met(planned, measured_bytes, limit):
    return (
        f"remat: {planned['name']}: planned for {_mib(planned['peakBytes'])}, but a step was measured at {_mib(measured_bytes)}, above the budget of {_mib(limit)}, "
        "and planning with a smaller budget did not help. The model is unchanged. Free other memory on the device, or raise the budget."
    )


def _measure_peak(step, path, device, of, more_steps):
    """Returns the peak of a step on the recorded path, after `more_steps`, the number of steps before the recording. If
    steps call different modules, the optimizer has state for the modules called so far.
    """
    step()
    draw = generators_restorer()
    for _ in range(more_steps):
        step()
    draw()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        step()
        return torch.cuda.max_memory_allocated(device)
    with record(path, **of) as recorder:
        step()
    return recorder.peak_bytes(of["allocation_unit"])


def _measure_overheads(model, policy, step, device, repeats):
    """Measures the overheads of steps under the policy, each next to an unmodified step, so that both see the same state
    of the machine.
    """

    def timed():
        # The first step may do one-time work, so only the second is timed.
        step()
        wait_for_cuda(device)
        began = time.perf_counter()
        step()
        wait_for_cuda(device)
        return time.perf_counter() - began

    overheads = []
    with as_before(model, step):
        for _ in range(repeats):
            remove(model)
            try:
                plain = timed()
            finally:
                apply(model, policy)
            overheads.append(timed() / plain - 1)
    return tuple(overheads)


def _gpu_name(device):
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device).lower()
    return next((gpu for gpu in _GPUS if gpu in name), None)


def _written_part(begin, end):
    return f"in {begin}" if begin == end else f"from {begin} to {end}"


def _what_runs_again(policy):
    units = policy["modules"].values()
    whole, parted = (sum(bool(unit.get("parts")) == has_parts for unit in units) for has_parts in (False, True))
    parts = sum(len(unit.get("parts", ())) for unit in units)
    told = [f"{_counted(whole, 'module')} under torch.utils.checkpoint"] if whole else []
    told += [f"{_counted(parts, 'part')} of {_counted(parted, 'other module' if whole else 'module')} {'runs' if parts == 1 else 'run'} again"] if parts else []
    return " and ".join(told)


def _counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def _mib(count):
    return f"{count / _MIB:,.1f} MiB" if count < 10 * 1024 * _MIB else f"{count / _MIB / 1024:,.2f} GiB"
