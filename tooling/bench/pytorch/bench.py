"""Plans of remat for torch.utils.checkpoint beside what people write by hand, on real steps: peaks by PyTorch's MemTracker, times beside stock's.

Prints a Markdown table. Run by `pnpm bench:pytorch`.
"""

import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

exporter = Path(__file__).parents[2] / "pytorch-exporter"
sys.path[:0] = [str(Path(__file__).parent), str(exporter), str(exporter / "test")]

import remat
import torch
from models import MODELS, build
from torch.distributed._tools.mem_tracker import MemTracker

CLI = shlex.split(os.environ["REMAT_CLI"])
BUDGETS = ("85%", "70%", "55%", "40%", None)
MIB = 2**20


def plan(step, budget, folder):
    """The plan's answer, and its policy; undefined where there is none within the budget."""
    policy = folder / "policy.json"
    arguments = [*CLI, "plan", str(step), "--executor", "torch-checkpoint", "--format", "json", "--pytorch-policy", str(policy), "--time", "10s"]
    arguments += ["--max-overhead", "1000%"] if budget is None else ["--budget", budget]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        # Only that nothing keeps to the budget is an answer.
        if "found nothing" not in done.stderr:
            raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return None, None
    return json.loads(done.stdout), json.loads(policy.read_text())


def outermost_blocks(model):
    names = [name for name, _ in model.named_modules() if re.search(r"(^|\.)\d+$", name)]
    return [name for name in names if not any(name.startswith(f"{other}.") for other in names if other != name)]


def full(model, names):
    def entry(module):
        return {"type": type(module).__name__, "parameters": [list(p.shape) for p in module.parameters()], "save": []}

    return {"format": "remat-pytorch-policy/2", "model": "", "torch": torch.__version__, "modules": {name: entry(model.get_submodule(name)) for name in names}}


def peak_of(name, policy):
    """The peak of a second step, its losses and gradients' sums, by a tracker that knows nothing of us."""
    model, optimizer, step = build(name)
    if policy is not None:
        remat.apply(model, policy)
    torch.manual_seed(1)
    losses = [step()]
    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    with tracker:
        losses.append(step())
    [snapshot] = tracker.get_tracker_snapshot("peak").values()
    total = {getattr(key, "value", key): value for key, value in snapshot.items()}["Total"]
    return total, losses, [value.clone() for value in model.state_dict().values()]


def times_of(name, policies, rounds):
    """Medians of what a step takes beyond stock's, side by side, as a share of it."""
    runs = []
    for policy in [None, *policies]:
        model, _, step = build(name)
        if policy is not None:
            remat.apply(model, policy)
        step()
        runs.append(step)
    shares = [[] for _ in runs]
    for _ in range(rounds):
        took = []
        for step in runs:
            began = time.process_time()
            step()
            took.append(time.process_time() - began)
        for share, one in zip(shares, took):
            share.append(one / took[0] - 1)
    return [statistics.median(share) for share in shares[1:]]


def rows_of(name, rounds):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model, optimizer, step = build(name)
        remat.record_step(step, folder / "step.json", model, optimizer, allocation_unit=1, name=name)
        stock, losses, state = peak_of(name, None)
        blocks = outermost_blocks(model)
        hand = [(f"first {k}", full(model, blocks[:k])) for k in range(1, len(blocks) + 1)]
        hand = [(title, policy, peak_of(name, policy)[0]) for title, policy in hand]
        plans = [(budget, *plan(folder / "step.json", budget, folder)) for budget in BUDGETS]
    policies = [policy for _, _, policy in plans if policy is not None] + [policy for _, policy, _ in hand]
    times = times_of(name, policies, rounds)
    hand_times = times[len(policies) - len(hand) :]
    by_hand = [(title, peak, share) for (title, _, peak), share in zip(hand, hand_times)]
    at = 0
    for budget, answer, policy in plans:
        wanted = 0 if budget is None else float(budget[:-1]) / 100 * stock
        fitting = [one for one in by_hand if budget is None or one[1] <= wanted]
        best = min(fitting, key=(lambda one: one[1]) if budget is None else (lambda one: one[2]), default=None)
        hand_cells = "none" if best is None else f"{best[0]}: {best[1] / MIB:.1f} MiB, {best[2] * 100:+.1f} %"
        label = budget or "least"
        if policy is None:
            yield f"| {name} | {label} | none within it | | | {hand_cells} | |"
            continue
        peak, own_losses, own_state = peak_of(name, policy)
        equal = all(torch.equal(a, b) for a, b in zip(losses + state, own_losses + own_state))
        share = times[at]
        at += 1
        yield (
            f"| {name} | {label} | {answer['peakBytes'] / MIB:.1f} MiB, {answer['overhead'] * 100:+.1f} % | {peak / MIB:.1f} MiB, {share * 100:+.1f} % "
            f"| {(answer['peakBytes'] / peak - 1) * 100:+.2f} % | {hand_cells} | {'yes' if equal else 'NO'} |"
        )


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name in MODELS] or list(MODELS)
    torch.set_num_threads(1)
    print("| model | budget | predicted | measured | peak off by | best first k blocks, measured | bit-equal |\n|---|---|---|---|---|---|---|")
    for name in names:
        for row in rows_of(name, int(os.environ.get("REMAT_ROUNDS", "5"))):
            print(row, flush=True)
