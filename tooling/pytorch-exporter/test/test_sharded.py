"""Tests that a step under FSDP is recorded with what FSDP does; run by test.js, or by `python -m unittest` in this folder."""

import sys
import unittest
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from remat.recorder import Recorder


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()

    def build(self):
        torch.manual_seed(0)
        mesh = init_device_mesh("cpu", (4,))
        model = nn.Sequential(Block(), Block(), nn.Linear(64, 10))
        for block in model[:2]:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer, x = torch.optim.Adam(model.parameters(), foreach=True), torch.randn(32, 64)

        def step():
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        return model, optimizer, x, step

    def test_the_peak_and_the_hooks_are_those_of_torchs_tracker(self):
        model, optimizer, x, step = self.build()
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((x,))
        with tracker:
            step()
        expected = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]
        model, optimizer, x, step = self.build()
        with Recorder(model, optimizer, (x,)) as recorder:
            step()
        # A scalar that no tensor of the step is.
        self.assertLessEqual(abs(recorder.peak_bytes(1) - expected), 8)
        hooks = Counter((event["k"], event["ph"]) for event in recorder.events if event["e"] == "hook")
        # Each of the three units is gathered, resharded and reduced once.
        begun = {kind: hooks[kind, "begin"] for kind in ("pre_fw", "post_fw", "pre_bw", "post_bw")}
        self.assertEqual(begun, dict.fromkeys(begun, 3))
        self.assertEqual({kind: hooks[kind, "end"] for kind in begun}, begun)
        known = {event["r"] for event in recorder.first + recorder.events if event["e"] == "ref"}
        self.assertLessEqual({"Sharded Param", "Unsharded Param", "Sharded Grad", "Unsharded Grad", "All Gather", "Reduce Scatter"}, known)
        self.assertNotIn("Parameter", known)

    def test_the_model_is_as_it_was_afterwards(self):
        model, optimizer, x, step = self.build()

        def hooks():
            groups = [module._get_fsdp_state()._fsdp_param_group for module in model.modules() if hasattr(module, "_get_fsdp_state")]
            on_modules = [list({**module._forward_pre_hooks, **module._forward_hooks}.values()) for module in model.modules()]
            return on_modules, [group.pre_backward for group in groups], [group.post_backward for group in groups]

        before = hooks()
        with Recorder(model, optimizer, (x,)):
            step()
        self.assertEqual(hooks(), before)
        step()


if __name__ == "__main__":
    unittest.main()
