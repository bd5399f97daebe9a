"""Records the programs of a folder, plans for 70% of their peak, and applies the plans. Prints a Markdown table. Run by
`pnpm bench:pytorch --programs FOLDER`.

A program is a Python file with `build()`, which returns `(model, step)` or `(model, optimizer, step)`, as for
`remat.export`; or one of the public ones of `public_programs.py` and `public_models.py` whose repository is in the
folder.
"""

import contextlib
import functools
import importlib.util
import json
import sys
import tempfile
import warnings
from pathlib import Path

exporter = Path(__file__).parents[2] / "pytorch-exporter"
sys.path[:0] = [str(Path(__file__).parent), str(exporter), str(exporter / "test")]

import torch
from bench import MIB, plan
from missing_ops import define_missing_torchvision_ops
from public_models import MODELS
from public_programs import PUBLIC

import remat
from remat.models import as_one_model


def program_in(path):
    """Returns the `build` function of a file, or None if it has none."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return getattr(module, "build", None)


def built(build):
    """Returns the model, its optimizers and a step, with the same random numbers each time."""
    torch.manual_seed(0)
    model, *optimizers, step = build()
    return as_one_model(model), optimizers[0] if optimizers else None, step


def followed(build, policy, folder):
    """Returns a program's peak in its second step, and its resulting state."""
    model, optimizer, step = built(build)
    if policy is not None:
        remat.apply(model, policy)
    step()
    with remat.record(folder / "step.json", model, optimizer, allocation_unit=1) as recorder:
        step()
    return recorder.peak_bytes(1), [value.to_dense() for value in model.state_dict().values()]


def row_of(name, build):
    at = "recorded"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            stock, state = followed(build, None, folder)
            at = "planned"
            answer, policy = plan(folder / "step.json", "70%", folder)
            if policy is None:
                answer, policy = plan(folder / "step.json", None, folder)
            at = "followed"
            peak, own = followed(build, policy, folder)
        except Exception as error:
            return f"| {name} | not {at}: {str(error).splitlines()[0] if str(error) else type(error).__name__} | | | | |"
    equal = all(torch.equal(a, b) for a, b in zip(state, own))
    share = answer["peakBytes"] / stock
    return (
        f"| {name} | {stock / MIB:.2f} MiB | {answer['peakBytes'] / MIB:.2f} MiB ({share:.0%}) | {peak / MIB:.2f} MiB "
        f"| {len(policy['modules'])} | {'yes' if equal else 'NO'} |"
    )


if __name__ == "__main__":
    define_missing_torchvision_ops()
    warnings.simplefilter("ignore")
    print("| program | unmodified peak | planned for 70%, or the lowest possible | measured | modules | bitwise identical |\n|---|---|---|---|---|---|")
    root = Path(sys.argv[1])
    public = {name: functools.partial(build, root) for name, (repository, build) in {**PUBLIC, **MODELS}.items() if (root / repository).is_dir()}
    own = {path.stem: program_in(path) for path in sorted(root.glob("*.py"))}
    for name, build in {**public, **own}.items():
        if build is not None:
            # Output of the program must not mix with the table.
            with contextlib.redirect_stdout(sys.stderr):
                row = row_of(name, build)
            print(row, flush=True)
