"""Tests the overhead of checkpointing on the host."""

import sys
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from recorded_files import Folder
from small_models import transformer_step

import remat
from remat import bookkeeping
from remat.bookkeeping import measure_bookkeeping


class Bookkeeping(Folder):
    def test_each_time_is_told_where_ops_are_timed_and_leaves_generators_alone(self):
        model, optimizer, step = transformer_step()
        remat.record_step(step, self.folder / "step.json", model, optimizer, repeats=1)
        told = self.read("step.json")["config"]["checkpoint_ms"]
        self.assertEqual(list(told), ["frame", "selective", "save", "dispatch", "count", "rerun"])
        with remat.record(self.folder / "untimed.json", model, optimizer):
            step()
        self.assertNotIn("checkpoint_ms", self.read("untimed.json")["config"])
        before = torch.get_rng_state()
        measure_bookkeeping("cpu", time.perf_counter)
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_what_calls_take_is_told_from_what_ops_take(self):
        seconds = [0.0]

        def way(call, op):
            def run(x, count):
                seconds[0] += (call + op * count) / 1e3
                return x * 1

            return run

        # In milliseconds, all of it in the forward pass: ops that take 1, and twice that where they run again.
        ways = {"plain": way(0, 1), "full": way(4, 2 + 6), "selective": way(10, 2 + 6 + 14), "parts": way(0, 1 + 3 + 5)}
        with mock.patch.dict(bookkeeping._WAYS, ways):
            told = measure_bookkeeping("cpu", lambda: seconds[0])
        in_a_loop = {"frame": 2.0, "selective": 3.0, "save": 3.0, "dispatch": 7.0, "count": 5.0, "rerun": 0.0}
        self.assertEqual(told, {name: 2 * ms for name, ms in in_a_loop.items()})


if __name__ == "__main__":
    unittest.main()
