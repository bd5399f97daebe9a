"""Snapshots of the CUDA allocator, as torch.cuda.memory._dump_snapshot documents them: read without running anything, and shown by the command line."""

import json
import os
import pickle
import random
import shlex
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import remat
from remat import printing

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

    def test_a_failure_and_private_pools_are_told(self):
        snapshot = grown(0).snapshot()
        snapshot["segments"][0]["segment_pool_id"] = (0, 1)
        [*_, oom] = snapshot["device_traces"][0]
        oom.update(size=64 * MIB, device_free=3 * MIB, frames=snapshot["segments"][0]["frames"])
        del oom["addr"]
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("snapshot", snapshot), ("segments", snapshot["segments"])):
                with open(f"{folder}/{name}.pickle", "wb") as file:
                    pickle.dump(content, file)
                remat.export_snapshot(f"{folder}/{name}.pickle", f"{folder}/{name}.json")
            [device] = json.loads(Path(f"{folder}/snapshot.json").read_text())["devices"]
            [alone] = json.loads(Path(f"{folder}/segments.json").read_text())["devices"]
        [[events, size, free, stream, stack]] = device["failures"]
        self.assertEqual((events, size, free, stream), (len(device["trace"]), 64 * MIB, 3 * MIB, 0))
        self.assertGreaterEqual(stack, 0)
        self.assertEqual([segment.get("isPrivate", 0) for segment in device["segments"][:2]], [1, 0])
        self.assertEqual(alone["trace"], [])
        self.assertEqual([segment["bytes"] for segment in alone["segments"]], [segment["bytes"] for segment in device["segments"]])
        self.assertNotIn("failures", alone)

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
                    with self.assertRaisesRegex(remat.SnapshotRefused, f"{name}.pickle: not a "):
                        remat.export_snapshot(f"{folder}/{name}.pickle", f"{folder}/out.json")
            command = [sys.executable, "-m", "remat", "snapshot", f"{folder}/half.pickle", f"{folder}/out.json"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)

    def test_every_protocol_is_read_as_pickle_reads_it(self):
        from remat.plain_pickle import load_plain

        values = [grown(seed).snapshot() for seed in range(3)]
        values += [{"a": [1, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**62, 1.5, None, True, False, "é" * 300, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "b": {}}]
        for value in values:
            for protocol in range(2, 6):
                self.assertEqual(load_plain(pickle.dumps(value, protocol)), value)

    def test_hostile_pickles_are_refused_at_once(self):
        tuples = [b"\x80\x04)\x94"]
        for _ in range(60):
            tuples.append(b"h\x00h\x00\x86q\x00")
        laughs = {
            "laugh": (Path(__file__).parent / "laugh.pickle").read_bytes(),
            "hashed": b"".join([*tuples, b"0}h\x00K\x01s."]).replace(b"0}", b"}"),
            "deep": b"\x80\x04" + b"]" * 10**6 + b"a" * (10**6 - 1) + b".",
            "memo": b"\x80\x04]r\xff\xff\xff\xff.",
            "long text": b"\x80\x04\x8d" + b"\xff" * 7 + b"\x00.",
            "long number": b"\x80\x04\x8b\xff\xff\xff\x7f.",
            "long digits": b"I" + b"9" * 10**6 + b"\n.",
            "global": b"cos\nsystem\n.",
            "extension": b"\x82\x01.",
            "frames": pickle.dumps({"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": 1, "frames": [{"filename": [[]], "line": 1, "name": "n"}]}]}]}),
            "state": pickle.dumps({"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": 1, "state": {}}]}]}),
            "negative": pickle.dumps({"segments": [{"address": 0, "total_size": -1, "blocks": []}]}),
            "nan": pickle.dumps({"segments": [{"address": 0, "total_size": float("nan"), "blocks": []}]}),
            "huge": pickle.dumps({"segments": [{"address": 2**80, "total_size": 1, "blocks": []}]}),
            "action": pickle.dumps({"segments": [], "device_traces": [[{"action": []}]]}),
            "events": pickle.dumps({"segments": [], "device_traces": [["alloc"]]}),
            "traces": pickle.dumps({"segments": [], "device_traces": 7}),
            "settings": pickle.dumps({"segments": [], "device_traces": [], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": [1]}}),
            "settings list": pickle.dumps({"segments": [], "device_traces": [], "allocator_settings": [1]}),
        }
        block = {"size": 1, "frames": []}
        blocks = [block] * 10_000
        laughs["shared"] = pickle.dumps({"segments": [{"address": 0, "total_size": 1, "blocks": blocks}] * 100_000})
        for protocol in (2, 4):
            frames = [{"filename": "f", "line": i, "name": "n"} for i in range(20_000)]
            shared = {"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": 1, "frames": frames} for _ in range(20_000)]}]}
            with tempfile.TemporaryDirectory() as folder:
                Path(f"{folder}/s.pickle").write_bytes(pickle.dumps(shared, protocol))
                remat.export_snapshot(f"{folder}/s.pickle", f"{folder}/out.json.gz")
        with tempfile.TemporaryDirectory() as folder:
            for name, content in laughs.items():
                with self.subTest(name):
                    Path(f"{folder}/{name}.pickle").write_bytes(content)
                    before = time.process_time()
                    if name == "memo":
                        with self.assertRaises(remat.SnapshotRefused):
                            remat.export_snapshot(f"{folder}/{name}.pickle", f"{folder}/out.json")
                    else:
                        with self.assertRaisesRegex(remat.SnapshotRefused, f"remat: .*{name}.pickle: not a snapshot") as caught:
                            remat.export_snapshot(f"{folder}/{name}.pickle", f"{folder}/out.json")
                        self.assertLess(len(str(caught.exception)), 600)
                    self.assertLess(time.process_time() - before, 10)

    def test_any_change_is_read_or_refused(self):
        rng = random.Random(5)
        wholes = [pickle.dumps(grown(seed).snapshot(), protocol) for seed, protocol in ((1, 2), (2, 4), (3, 5))]
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(1500):
                changed = bytearray(rng.choice(wholes))
                for _ in range(rng.randrange(1, 5)):
                    at = rng.randrange(len(changed))
                    changed[at : at + rng.choice((1, 1, 1, 4))] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 1, 1, 0, 4))))
                if rng.random() < 0.2:
                    del changed[rng.randrange(len(changed)) :]
                Path(f"{folder}/c.pickle").write_bytes(changed)
                try:
                    remat.export_snapshot(f"{folder}/c.pickle", f"{folder}/out.json")
                except remat.SnapshotRefused as refused:
                    self.assertLess(len(str(refused)), 600)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no named pipes here")
    def test_devices_and_pipes_are_refused_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/pipe.pickle")
            for path in (f"{folder}/pipe.pickle", "/dev/zero", "/dev/null"):
                with self.assertRaisesRegex(remat.SnapshotRefused, "not a regular file"):
                    remat.export_snapshot(path, f"{folder}/out.json")
            for path in (folder, f"{folder}/none.pickle"):
                with self.assertRaises(remat.SnapshotRefused):
                    remat.export_snapshot(path, f"{folder}/out.json")

    def test_what_is_printed_holds_nothing_that_a_terminal_obeys(self):
        hostile = "x\x1b[2J\x9b31m\u202e\u2028\r\x07\ufeff"
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{hostile}.pickle"
            for written in (None, pickle.dumps({"segments": hostile}), pickle.dumps({hostile: 1}), b"not a pickle"):
                if written is not None:
                    Path(path).write_bytes(written)
                done = subprocess.run([sys.executable, "-m", "remat", "snapshot", path, f"{folder}/{hostile}/out.json"], capture_output=True, text=True, cwd=Path(__file__).parent.parent)
                self.assertEqual(done.returncode, 1)
                self.assertEqual([c for c in done.stdout + done.stderr if not c.isprintable() and c != "\n"], [])
                self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(printing.displayed(hostile), "x\\x1b[2J\\x9b31m\\u202e\\u2028\\r\\x07\\ufeff")
        self.assertEqual(printing.displayed("a\n b"), "a\n b")
        # Every line that is printed goes through it.
        for source in Path(remat.__file__).parent.glob("*.py"):
            if source.name != "printing.py":
                self.assertNotRegex(source.read_text(), r"\bprint\(", source.name)

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
