"""Compares the command line's saved bytes and peak of a compiled step under each activation budget with PyTorch."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from compiled_cases import BUDGETS, block_that_runs_twice, blocks_with_graphs_in_common, broken, exported, images, layers, measured, model_bytes, transformer

CLI = os.environ.get("REMAT_CLI")


@unittest.skipUnless(CLI, "the command line is not built")
class CompiledSteps(unittest.TestCase):
    def check(self, case, decompose):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graphs.json"
            path.write_text(json.dumps(exported(case, decompose)))
            done = subprocess.run([*shlex.split(CLI), "plan", str(path), "--budget", "100%", "--format", "json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        unread = model_bytes(case) - told["staticBytes"]
        self.assertEqual(unread, 0)
        points = [{"budget": one["activationMemoryBudget"], "savedBytes": one["savedBytes"], "peakBytes": one["peakBytes"]} for one in told["points"]]
        self.assertEqual(points, [measured(case, decompose, budget) for budget in BUDGETS])

    def test_layers_with_dropout_as_inductor_partitions(self):
        self.check(layers, decompose=True)

    def test_a_transformer_as_aot_eager_partitions(self):
        self.check(transformer, decompose=False)

    def test_convolutions_with_running_statistics(self):
        self.check(images, decompose=True)

    def test_several_graphs(self):
        self.check(broken, decompose=True)

    def test_graphs_that_run_several_times(self):
        self.check(blocks_with_graphs_in_common, decompose=False)

    def test_weights_whose_gradients_are_of_several_graphs(self):
        self.check(block_that_runs_twice, decompose=True)


if __name__ == "__main__":
    unittest.main()
