"""Snapshots of the CUDA allocator, as torch.cuda.memory._dump_snapshot documents them: read without running anything, and shown by the command line."""

import json
import os
import pickle
import random
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import remat

MIB = 2**20
CLI = os.environ.get("REMAT_CLI")


class Allocator:
    """Each request in a segment of its own of whole 2 MiB: an allocator in the words of a snapshot, with the peaks that it reached."""

    def __init__(self):
        self.segments, self.trace, self.at = {}, [], 2**40
        self.allocated = self.reserved = self.peak = self.reserved_peak = 0

    def alloc(self, size, line):
        frames = [{"filename": "/home/a/model.py", "line": line, "name": "forward"}]
        whole = -(-size // (2 * MIB)) * 2 * MIB
        self.at += whole
        event = {"addr": self.at, "stream": 0, "frames": frames, "time_us": len(self.trace), "pool_id": (0, 0)}
        self.trace += [{"action": "segment_alloc", "size": whole, **event}, {"action": "alloc", "size": size, **event}]
        self.segments[self.at] = (whole, size, frames)
        self.allocated += -(-size // 512) * 512
        self.reserved += whole
        self.peak, self.reserved_peak = max(self.peak, self.allocated), max(self.reserved_peak, self.reserved)
        return self.at

    def free(self, at):
        whole, size, _ = self.segments.pop(at)
        event = {"addr": at, "stream": 0, "frames": []}
        self.trace += [{"action": action, "size": size, **event} for action in ("free_requested", "free_completed")]
        self.trace.append({"action": "segment_free", "size": whole, **event})
        self.allocated -= -(-size // 512) * 512
        self.reserved -= whole

    def snapshot(self):
        segments = [
            {
                "device": 0, "address": at, "total_size": whole, "allocated_size": size, "active_size": size, "requested_size": size, "stream": 0,
                "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames,
                "blocks": [{"address": at, "size": whole, "requested_size": size, "state": "active_allocated", "frames": frames}],
            }
            for at, (whole, size, frames) in self.segments.items()
        ]  # fmt: skip
        oom = {"action": "oom", "addr": 0, "size": 1, "stream": 0, "frames": [], "device_free": 3}
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False}
        return {"segments": segments, "device_traces": [[*self.trace, oom]], "allocator_settings": settings, "external_annotations": []}


def grown(seed):
    allocator, rng = Allocator(), random.Random(seed)
    live = []
    for line in range(60):
        if live and rng.random() < 0.4:
            allocator.free(live.pop(rng.randrange(len(live))))
        else:
            live.append(allocator.alloc(rng.randrange(1, 30 * MIB), line))
    return allocator


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


class Snapshots(unittest.TestCase):
    def test_a_snapshot_is_told_with_its_stacks(self):
        allocator = grown(0)
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/snapshot.pickle", "wb") as file:
                pickle.dump(allocator.snapshot(), file)
            remat.export_snapshot(f"{folder}/snapshot.pickle", f"{folder}/snapshot.json")
            told = json.loads(Path(f"{folder}/snapshot.json").read_text())
        [device] = told["devices"]
        self.assertEqual(len(device["trace"]), len(allocator.trace))
        self.assertEqual(sum(segment["bytes"] for segment in device["segments"]), allocator.reserved)
        _, _, _, _, stack = next(event for event in device["trace"] if event[0] == "alloc")
        self.assertEqual([told["frames"][frame] for frame in told["stacks"][stack]], [["/home/a/model.py", 0, "forward"]])

    def test_a_pickle_that_would_run_something_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, content in enumerate(({"segments": [Touch(f"{folder}/touched")]}, Touch(f"{folder}/touched"), {"segments": [os.getcwd]})):
                with open(f"{folder}/{number}.pickle", "wb") as file:
                    pickle.dump(content, file)
                with self.assertRaisesRegex(remat.SnapshotRefused, "holds plain data only"):
                    remat.export_snapshot(f"{folder}/{number}.pickle", f"{folder}/out.json")
            self.assertFalse(os.path.exists(f"{folder}/touched"))
            self.assertFalse(os.path.exists(f"{folder}/out.json"))

    def test_what_is_no_snapshot_is_refused(self):
        whole = pickle.dumps(grown(1).snapshot())
        wrong = {
            "half": whole[: len(whole) // 2],
            "text": b"no pickle at all",
            "empty": b"",
            "list": pickle.dumps([1, 2]),
            "segments": pickle.dumps({"segments": [{"address": "x", "blocks": []}]}),
            "blocks": pickle.dumps({"segments": [{"address": 1, "total_size": 1, "blocks": [3]}]}),
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, content in wrong.items():
                with self.subTest(name):
                    Path(f"{folder}/{name}.pickle").write_bytes(content)
                    with self.assertRaisesRegex(remat.SnapshotRefused, f"{name}.pickle: no "):
                        remat.export_snapshot(f"{folder}/{name}.pickle", f"{folder}/out.json")
            command = [sys.executable, "-m", "remat", "snapshot", f"{folder}/half.pickle", f"{folder}/out.json"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)

    @unittest.skipUnless(CLI, "the command line is not built")
    def test_the_command_line_shows_the_peaks_that_the_allocator_reached(self):
        for seed in range(3):
            allocator = grown(seed)
            with tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/snapshot.pickle", "wb") as file:
                    pickle.dump(allocator.snapshot(), file)
                remat.export_snapshot(f"{folder}/snapshot.pickle", f"{folder}/snapshot.json.gz")
                done = subprocess.run([*shlex.split(CLI), "memory", f"{folder}/snapshot.json.gz", "--format", "json"], capture_output=True, text=True, check=True)
            answer = json.loads(done.stdout)
            self.assertEqual(answer["peakBytes"], allocator.peak)
            self.assertEqual(answer["measured"], {"allocatedPeakBytes": allocator.peak, "reservedPeakBytes": allocator.reserved_peak})
            # Segments that are kept and shared take more than what is in use, and never less.
            self.assertGreaterEqual(answer["reserved"]["reservedPeakBytes"], allocator.peak)


if __name__ == "__main__":
    unittest.main()
