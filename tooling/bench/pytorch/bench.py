"""Compares remat's plans for torch.utils.checkpoint with manual checkpointing and PyTorch's own tools, on real steps:
peaks by PyTorch's MemTracker, times relative to the baseline. Prints a Markdown table with a row for each model and
budget, and the bounds that are missed. Run by `pnpm bench:pytorch`.
"""

import gc
import json
import os
import shlex
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

exporter = Path(__file__).parents[2] / "pytorch-exporter"
sys.path[:0] = [str(Path(__file__).parent), str(exporter), str(exporter / "test")]

import torch
from measure import begun, peak_of, times_of, track, tracked_peak
from models import MODELS, build
from ways import MixedIntegerPrograms, Way, activation_budgets, every_nth_block, first_blocks

import remat

CLI = shlex.split(os.environ["REMAT_CLI"])
BUDGETS = ("85%", "70%", "55%", "40%", None)
MIB = 2**20
# Settings of glibc: no allocation is a separate mapping, and the heap is never shrunk.
KEEPING_FREED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**26)}
COLUMNS = ("model", "budget", "predicted", "measured", "peak off by", "bitwise identical", "first k blocks", "every nth, HF", "activation_memory_budget", "sac_milp")


@dataclass
class Measured:
    """A strategy with the peak of its step and, if measured, its extra time over the baseline."""

    way: Way
    peak: int
    share: float | None = None

    def __str__(self):
        return cell(self.peak, self.share)


@dataclass
class Row:
    model: str
    budget: str | None
    wanted: float
    answer: dict | None
    """The planner's prediction, or None if it found no plan."""
    ours: Measured | None
    is_equal: bool
    others: list
    """For each kind of strategy the fastest within the budget, or None if there is none."""

    def __str__(self):
        cells = [self.model, self.budget or "least"]
        if self.ours is None:
            cells += ["none within it", "", "", ""]
        else:
            off = f"{(self.answer['peakBytes'] / self.ours.peak - 1):+.2%}"
            cells += [cell(self.answer["peakBytes"], self.answer["overhead"]), str(self.ours), off, "yes" if self.is_equal else "NO"]
        cells += ["none" if other is None else f"{other.way.name}: {other}" for other in self.others]
        return f"| {' | '.join(cells)} |"

    def broken(self):
        """Returns the bounds that it misses."""
        there = [other for other in self.others if other is not None]
        if self.ours is None:
            yield from (f"{other.way.name} keeps to a budget for which nothing was found" for other in there[:1])
            return
        if self.budget is not None and self.ours.peak > self.wanted:
            yield "its peak is above the budget"
        if abs(self.answer["peakBytes"] / self.ours.peak - 1) > 0.02:
            yield "its peak is predicted more than 2 % off"
        if not self.is_equal:
            yield "its losses or weights are not stock's"
        if self.ours.share is None:
            return
        for other in there:
            if self.ours.peak > 1.03 * other.peak and 1 + self.ours.share > 1.03 * (1 + other.share):
                yield f"{other.way.name} holds less and takes less"
        if abs((1 + self.answer["overhead"]) / (1 + self.ours.share) - 1) > 0.1:
            yield "its time is predicted more than 10 % off"

    def is_better(self):
        """Returns whether no other strategy within the budget comes within 10% of it in peak or time."""
        if self.ours is None:
            return False
        there = [other for other in self.others if other is not None]
        if self.ours.share is None:
            return all(self.ours.peak <= 0.9 * other.peak for other in there)
        return all(self.ours.peak <= 0.9 * other.peak or 1 + self.ours.share <= 0.9 * (1 + other.share) for other in there)


def cell(peak, share):
    return f"{peak / MIB:.1f} MiB" + ("" if share is None else f", {share * 100:+.1f}%")


def plan(step, budget, folder):
    """Returns the planner's answer and its policy, or None if there is none within the budget."""
    policy = folder / "policy.json"
    arguments = [*CLI, "plan", str(step), "--executor", "torch-checkpoint", "--format", "json", "--pytorch-policy", str(policy), "--time", "5s"]
    arguments += ["--max-overhead", "1000%"] if budget is None else ["--budget", budget]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        # The only acceptable failure is that no policy meets the budget.
        if "found nothing" not in done.stderr:
            raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return None, None
    return json.loads(done.stdout), json.loads(policy.read_text())


def measured(name, way):
    """Returns None if the strategy does not run, as for models that cannot be compiled."""
    try:
        return Measured(way, peak_of(name, way.begin)[0])
    except Exception as error:
        print(f"{name}, {way.name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)
        return None
    finally:
        gc.collect()


class Kind:
    """Strategies of one kind, each with a lower peak than the one before. Only those needed to find the first within a
    budget are measured.
    """

    def __init__(self, name, ways):
        self.name, self.ways, self.known = name, ways, {}

    def within(self, wanted):
        found, low, high = None, 0, len(self.ways) - 1
        while low <= high:
            middle = (low + high) // 2
            one = self._at(middle)
            if one is not None and one.peak <= wanted:
                found, high = one, middle - 1
            else:
                low = middle + 1
        return found

    def least(self):
        if self.ways:
            self._at(len(self.ways) - 1)
        return min(filter(None, self.known.values()), key=lambda one: one.peak, default=None)

    def _at(self, place):
        if place not in self.known:
            self.known[place] = measured(self.name, self.ways[place])
        return self.known[place]


def rows_of(name, rounds):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        in_own_process("record", name, {"path": str(folder / "step.json")})
        plans = [(budget, *plan(folder / "step.json", budget, folder)) for budget in BUDGETS]
    stock, outcome = peak_of(name, None)
    model = build(name)[0]
    kinds = [Kind(name, ways(model)) for ways in (first_blocks, every_nth_block, activation_budgets)]
    del model
    rows = []
    programs = mixed_integer_programs(name)
    for budget, answer, policy in plans:
        wanted = None if budget is None else float(budget[:-1]) / 100 * stock
        others = [kind.least() if wanted is None else kind.within(wanted) for kind in kinds]
        found = programs and (programs.least(stock) if wanted is None else programs.within(wanted))
        solved = found and measured(name, found)
        # A smallest-peak solution that does not fit does not count.
        others.append(solved if solved and (wanted is None or solved.peak <= wanted) else None)
        ours, is_equal = None, False
        if policy is not None:
            way = Way("remat", "policy", policy)
            peak, own = peak_of(name, way.begin)
            is_equal = all(torch.equal(a, b) for a, b in zip(outcome, own, strict=True))
            ours = Measured(way, peak)
        rows.append(Row(name, budget, wanted, answer, ours, is_equal, others))
    if rounds > 0:
        timed = {id(one): one for row in rows for one in [row.ours, *row.others] if one is not None}
        for one, share in zip(timed.values(), in_own_process("times", name, {"rounds": rounds, "ways": [asdict(one.way) for one in timed.values()]})):
            one.share = share
    return rows


def in_own_process(what, name, given):
    """Runs the measurement in a new process, behind the command in REMAT_TIMED if set, such as `taskset -c 1`. Its
    allocator keeps freed memory, as GPU allocators do. Otherwise the system would fill pages with zeros again in each
    step, the more the higher the peak: a tenth of the time of unmodified GPT-2, nothing for a checkpointed one.
    """
    command = [*shlex.split(os.environ.get("REMAT_TIMED", "")), sys.executable, __file__, f"--{what}", name]
    done = subprocess.run(command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **KEEPING_FREED})
    return json.loads(done.stdout.splitlines()[-1])


def record_timed(name, path):
    model, optimizer, step = build(name)
    return remat.record_step(step, path, model, optimizer, allocation_unit=1, name=name)


def times_by_name(name, rounds, ways):
    return times_of(name, [Way(**way).begin for way in ways], rounds)


IN_OWN_PROCESS = {"--record": record_timed, "--times": times_by_name}


def mixed_integer_programs(name):
    """Returns None if its package `pulp` is missing, or if it does not support a model."""
    try:
        model, optimizer, step, _ = begun(name, None)
        return MixedIntegerPrograms(model, optimizer, step, track(model, optimizer, step)[0])
    except Exception as error:
        print(f"{name}, sac_milp: {error}", file=sys.stderr)
        return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names = [name for name in sys.argv[1:] if name in MODELS] or list(MODELS)
    torch.set_num_threads(1)
    if sys.argv[1:] and sys.argv[1] in IN_OWN_PROCESS:
        answer = IN_OWN_PROCESS[sys.argv[1]](sys.argv[2], **json.load(sys.stdin))
        print(json.dumps(answer))
        sys.exit()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    rows = []
    for name in names:
        for row in rows_of(name, int(os.environ.get("REMAT_ROUNDS", "5"))):
            rows.append(row)
            print(row, flush=True)
    for row in rows:
        for bound in row.broken():
            print(f"bound: {row.model} at {row.budget or 'least'}: {bound}", file=sys.stderr)
    print(f"{sum(row.is_better() for row in rows)} of {len(rows)} rows are better than all else by 10 % in peak or time", file=sys.stderr)
    sys.exit(1 if any(True for row in rows for _ in row.broken()) else 0)
