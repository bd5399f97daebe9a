"""Writes the recorded steps that tests read everywhere, with the figures of PyTorch's trackers: `python write_fixtures.py FOLDER SHARDED_FOLDER FLOPS_FOLDER`."""

import gzip
import json
import sys
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import awkward_programs as programs
import torch
from recorded_files import held_at_most, tracked_peak
from small_models import transformer_step
from torch._subclasses.fake_tensor import FakeTensorMode

import remat


def peak_of(build):
    with FakeTensorMode():
        return tracked_peak(*build())


def write(folder):
    torch.manual_seed(0)
    remat.export(transformer_step, folder / "step.json", name="transformer", allocation_unit=1)
    save(folder / "transformer-step.json.gz", folder / "step.json", {"peak": peak_of(transformer_step)})
    for name in ("lbfgs", "gan", "gradient_penalty", "sparse", "encoder"):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, optimizer, step = getattr(programs, f"{name}_step")()
        step()
        with remat.record(folder / "step.json", model, optimizer, name=name, allocation_unit=1):
            step()
        save(folder / f"{name.replace('_', '-')}-step.json.gz", folder / "step.json", {"peak": {"Total": held_at_most(json.loads((folder / "step.json").read_text()))}})


def save(path, recorded, results):
    file = json.loads(recorded.read_text()) | {"results": results}
    recorded.unlink()
    path.write_bytes(gzip.compress(json.dumps(file, separators=(",", ":")).encode(), 9, mtime=0))


if __name__ == "__main__":
    from flop_cases import write_flop_cases
    from sharded_fixture import write_sharded

    write(Path(sys.argv[1]))
    write_sharded(Path(sys.argv[2]))
    write_flop_cases(Path(sys.argv[3]))
