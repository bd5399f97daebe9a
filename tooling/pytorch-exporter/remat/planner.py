"""Runs `remat plan` to plan recorded steps."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

_NOT_FOUND = 3


class PlannerMissing(RuntimeError):
    """There is no planner on this machine."""


class BudgetNotMet(ValueError):
    """No policy was found that meets the budget."""


def planner_command(planner=None) -> list[str]:
    """Returns the planning command: the first that exists of `planner` (a path or a command), the environment variable
    REMAT_PLANNER, `remat` on the path, and `remat` of the nearest node_modules folder.
    """
    given = planner or os.environ.get("REMAT_PLANNER")
    if given:
        command = [os.fspath(part) for part in given] if isinstance(given, (list, tuple)) else _split(os.fspath(given))
        if command[0].endswith((".js", ".mjs")):
            command = ["node", *command]
        if shutil.which(command[0]) is None:
            raise PlannerMissing(f"remat: the planner {command[0]!r} was not found; set planner= or REMAT_PLANNER to a command or its path")
        return command
    if shutil.which("remat"):
        return ["remat"]
    # As npx finds it, but without the download of whatever package has this name.
    for folder in (Path.cwd(), *Path.cwd().parents):
        if found := shutil.which("remat", path=folder / "node_modules" / ".bin"):
            return [found]
    raise PlannerMissing(
        "remat: the planner, a Node.js program, was not found: the command `remat` is not on the path, and no node_modules folder has it. "
        "Install Node.js 20.19 or newer. In a clone of remat, set REMAT_PLANNER=\"node $PWD/apps/cli/dist/main.js\", or pass that command as planner=."
    )


def _split(command):
    return [command] if os.path.exists(command) else shlex.split(command)


def plan_step(command, recorded, policy, budget, *, device=None, seconds=10, whole_modules=False) -> dict:
    """Runs `remat plan` for a recorded step, writes the policy, and returns the command's JSON output.

    `budget`: an int in bytes, a float as a share of the step's peak, or a text for the command: "20GiB", "60%".
    `whole_modules`: checkpoint whole modules, no parts of them.
    """
    arguments = [*command, "plan", recorded, "--executor", "torch-checkpoint", "--budget", budget_text(budget), "--time", f"{seconds}s"]
    arguments += ["--pytorch-policy", policy, "--format", "json", *(("--device", device) if device else ()), *(["--whole-modules"] if whole_modules else ())]
    done = subprocess.run([os.fspath(part) for part in arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    said = done.stderr.strip().splitlines()
    reason = next((line for line in reversed(said) if line.startswith("remat: ")), said[-1] if said else f"exit code {done.returncode}")
    reason = reason.replace("allow more --time.", "allow more seconds.")
    raise (BudgetNotMet if done.returncode == _NOT_FOUND else RuntimeError)(reason if reason.startswith("remat: ") else f"remat: the planner failed: {reason}")


def budget_text(budget):
    """Formats a budget for the command."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float, str)):
        raise TypeError(f'remat: expected a budget such as "20GiB", "60%", a share between 0 and 1 or a number of bytes, found {budget!r}')
    if isinstance(budget, str) and re.fullmatch(r"\s*\d+(\.0*)?\s*", budget) and float(budget) > 1:
        raise ValueError(f'remat: the budget {budget!r} has no unit; write "{budget.strip()}%", "{budget.strip()}GiB", or a number of bytes as an int')
    return f"{budget}B" if isinstance(budget, int) else str(budget)
