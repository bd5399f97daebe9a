"""Queries of recorded files and of the command line, for tests."""

import contextlib
import gzip
import json
import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from torch.distributed._tools.mem_tracker import MemTracker
from torch.distributed._tools.mod_tracker import ModTracker

import remat

CLI = shlex.split(os.environ.get("REMAT_CLI", ""))
CATEGORIES = {"Parameter": "parameter", "Buffer": "buffer", "Gradient": "gradient", "Activation": "activation", "Temp": "temporary", "Optstate": "optimizerState"}  # fmt: skip


def remat_cli(*args):
    """Runs the command line, and returns the JSON that it prints."""
    done = subprocess.run([*CLI, *map(str, args), "--format", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"remat {' '.join(map(str, args))}: {done.stderr}")
    return json.loads(done.stdout)


def ops_of(file):
    return [(file["funcs"][event["f"]]["name"], event.get("bw"), event.get("opt"), event.get("ac")) for event in file["events"] if event["e"] == "op"]


def held_at_most(file):
    """The peak as anyone can reckon it from the file: storages come when they are first named, and go when they are deleted."""
    held, peak, seen = 0, 0, set()
    for event in file["events"]:
        named = event.get("s", []) if event["e"] == "ref" else []
        if event["e"] == "op":
            named = [s for t in tensors_in(event["o"]) for s in storages_of(file, t)]
        for storage in named:
            if storage not in seen:
                seen.add(storage)
                held += file["storages"][storage]["bytes"]
        peak = max(peak, held)
        if event["e"] == "del" and event["s"] in seen:
            held -= file["storages"][event["s"]]["bytes"]
    return peak


def tracked_peak(model, optimizer, step, by_module=True):
    """Returns the result of PyTorch's `MemTracker` for the second step, when the optimizer has its state: bytes at the
    peak by category, and in total. By module it does not support one that is called twice, nor gradients of weights by
    `autograd.grad`.
    """
    step()
    tracker = MemTracker()
    tracker.track_external(model, optimizer, step.inputs)
    hooks = dict.fromkeys(("_fw_pre_hook", "_fw_post_hook"), lambda *_: None)
    with contextlib.nullcontext() if by_module else mock.patch.multiple(ModTracker, **hooks), tracker:
        step()
    [snapshot] = tracker.get_tracker_snapshot("peak").values()
    return {getattr(key, "value", key): value for key, value in snapshot.items()}


def tensors_in(value):
    if isinstance(value, str):
        return [int(value[1:])] if value.startswith("%") else []
    if isinstance(value, (list, dict)):
        return [t for item in (value.values() if isinstance(value, dict) else value) for t in tensors_in(item)]
    return []


def storages_of(file, tensor):
    storages = file["tensors"][tensor]["s"]
    return storages if isinstance(storages, list) else [storages]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def export(self, build, name="step.json"):
        remat.export(build, self.folder / name, allocation_unit=1)
        return self.read(name)

    def read(self, name):
        content = (self.folder / name).read_bytes()
        return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
