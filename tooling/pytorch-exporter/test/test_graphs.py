"""Graphs of compiled models, as Inductor's estimator of memory sees them, and what it says of them beside what the command line says."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from small_models import Transformer
from torch import nn
from torch._inductor.fx_passes.memory_estimator import build_memory_profile

import remat
from remat.graphs import _Graphs

CLI = os.environ.get("REMAT_CLI")


class TwoGraphs(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        x = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return self.second(x.sigmoid())


def exported(model, *args):
    """The file of a model's graphs, and the graphs."""
    seen = []
    add = _Graphs.add

    def keep(graphs, forward, backward):
        seen.append((forward.graph, backward and backward.graph))
        add(graphs, forward, backward)

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(_Graphs, "add", keep):
        remat.export_graphs(model, f"{folder}/graphs.json", *args)
        told = json.loads(Path(f"{folder}/graphs.json").read_text())
        answer = None
        if CLI:
            done = subprocess.run([*shlex.split(CLI), "memory", f"{folder}/graphs.json", "--format", "json"], capture_output=True, text=True)
            answer = json.loads(done.stdout) if done.returncode == 0 else done.stderr
    return told, seen, answer


class CompiledGraphs(unittest.TestCase):
    def check(self, model, *args, graphs):
        told, seen, answer = exported(model, *args)
        self.assertEqual(len(told["graphs"]), graphs)
        for pair, (forward, backward) in zip(told["graphs"], seen):
            self.assertEqual([node["n"] for node in pair["forward"]], [node.name for node in forward.nodes])
            self.assertEqual(pair["backward"] is None, backward is None)
        if answer is None:
            self.skipTest("the command line is not built")
        self.assertIsInstance(answer, dict, answer)
        peaks = [one["peakBytes"] for one in answer["graphs"] if one["pass"] == "forward"]
        with mock.patch("torch._inductor.fx_passes.memory_estimator.device_filter", lambda device: True):
            expected = [max(build_memory_profile(forward, lambda node: not node.name.startswith("primals"), size_of=int)) for forward, _ in seen]
        self.assertEqual(peaks, expected)

    def test_a_transformer(self):
        model = Transformer()
        self.check(model, torch.randint(0, 10, (2, 8)), graphs=1)

    def test_a_model_that_breaks_into_several_graphs(self):
        self.check(TwoGraphs(), torch.randn(16, 32), graphs=2)

    def test_a_function_without_gradients(self):
        self.check(lambda x: (x * 2).relu().sum(), torch.randn(64, 64), graphs=1)

    def test_what_is_not_compiled_is_told(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "nothing of the model was compiled"):
            remat.export_graphs(lambda x: x * 2, f"{folder}/graphs.json", 2)


if __name__ == "__main__":
    unittest.main()
