"""Graphs of compiled models, as Inductor's estimator of memory sees them, and what it says of them beside what the command line says."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
import warnings
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

    def keep(graphs, pairs, *static):
        seen.append([graph and graph.graph for graph in pairs[0]])
        add(graphs, pairs, *static)

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
        [partition] = told["partitions"]
        self.assertEqual(partition["budget"], 1)
        self.assertEqual(len(partition["graphs"]), graphs)
        for pair, (forward, backward) in zip(partition["graphs"], seen):
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

    def test_budgets_are_from_1_down_each_once_and_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graphs.json"
            remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8), budgets=[0, 0.5, 0.5])
            self.assertEqual([one["budget"] for one in json.loads(path.read_text())["partitions"]], [1, 0.5, 0])
            remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8), budgets=(share / 4 for share in range(4)))
            self.assertEqual([one["budget"] for one in json.loads(path.read_text())["partitions"]], [1, 0.75, 0.5, 0.25, 0])
            remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8), budgets=0.5)
            self.assertEqual([one["budget"] for one in json.loads(path.read_text())["partitions"]], [1, 0.5])
            for wrong in (1.5, -1, "70%", True):
                with self.assertRaisesRegex(ValueError, "numbers from 0 to 1"):
                    remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8), budgets=[wrong])

    def test_the_setting_of_the_program_stays_and_holds_where_no_budget_is_given(self):
        with tempfile.TemporaryDirectory() as folder, torch._functorch.config.patch(activation_memory_budget=0.25):
            path = Path(folder) / "graphs.json"
            remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8))
            self.assertEqual([one["budget"] for one in json.loads(path.read_text())["partitions"]], [0.25])
            remat.export_graphs(nn.Linear(8, 8), path, torch.randn(4, 8), budgets=[0.5])
            self.assertEqual(torch._functorch.config.activation_memory_budget, 0.25)

    @unittest.skipUnless(hasattr(torch.autograd.graph, "region_activation_memory_budget"), "torch has no budgets of regions")
    def test_a_budget_that_the_model_sets_is_told(self):
        layer = nn.Sequential(nn.Linear(8, 8), nn.GELU())

        def within(x):
            with torch.autograd.graph.region_activation_memory_budget(0.5):
                return layer(x)

        with tempfile.TemporaryDirectory() as folder:
            with self.assertWarnsRegex(UserWarning, "sets its own budgets"):
                remat.export_graphs(within, f"{folder}/graphs.json", torch.randn(4, 8), budgets=[0.5])
            with warnings.catch_warnings(record=True) as others:
                warnings.simplefilter("always")
                remat.export_graphs(layer, f"{folder}/graphs.json", torch.randn(4, 8), budgets=[0.5])
        self.assertFalse([one for one in others if "by itself" in str(one.message)])

    def test_a_model_goes_by_its_name_when_it_is_compiled_before(self):
        names = [exported(model, torch.randn(4, 32))[0]["name"] for model in (TwoGraphs(), torch.compile(TwoGraphs()))]
        self.assertEqual(names, ["TwoGraphs", "TwoGraphs"])

    def test_a_layer_tells_its_weights_its_flops_and_what_it_returns(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graphs.json"
            remat.export_graphs(nn.Linear(8, 16), path, torch.randn(4, 8))
            told = json.loads(path.read_text())
        [[pair]] = [one["graphs"] for one in told["partitions"]]
        stays = [told["storages"][node["out"][0]][0] for node in pair["forward"] if node.get("static")]
        self.assertEqual(sorted(stays), [4 * 16, 4 * 8 * 16])
        self.assertEqual([node["flops"] for node in pair["forward"] if "flops" in node], [2 * 4 * 8 * 16])
        self.assertEqual([told["storages"][storage][0] for storage in told["results"]], [4 * 4 * 16])

    def test_what_is_not_compiled_is_told(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "torch.compile compiled no part of the model"):
            remat.export_graphs(lambda x: x * 2, f"{folder}/graphs.json", 2)


if __name__ == "__main__":
    unittest.main()
