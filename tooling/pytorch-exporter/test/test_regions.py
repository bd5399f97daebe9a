"""Tests of what is recorded of checkpointed regions, against what PyTorch holds; run by test.js."""

import json
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import region_cases
import torch
import torch.utils.checkpoint as checkpointing
from recorded_files import CLI, Folder, remat_cli

import remat


class Regions(Folder):
    @unittest.skipUnless(CLI, "the command line is not built")
    def test_what_a_region_holds_is_what_pytorch_holds(self):
        for case in region_cases.CASES:
            with self.subTest(case.__name__):
                path = self.folder / "step.json"
                path.write_text(json.dumps(region_cases.recorded(case)))
                told = remat_cli("memory", path, "--regions")["regions"]
                self.assertEqual([region["heldBytes"] for region in told], region_cases.held_after_regions(case))

    def test_a_recording_of_regions_changes_no_gradient_and_leaves_torch_as_it_was(self):
        before = {**vars(checkpointing)}, checkpointing.CheckpointFunction.__dict__["forward"]
        for case in region_cases.CASES:
            with self.subTest(case.__name__):
                gradients = []
                for is_recorded in (False, True):
                    torch.manual_seed(0)
                    model, loss = case()
                    x = torch.randn(region_cases.ROWS, region_cases.DIM)
                    if is_recorded:
                        with remat.record(self.folder / "step.json", model):
                            loss(model, x).backward()
                    else:
                        loss(model, x).backward()
                    gradients.append([p.grad for p in model.parameters()])
                for one, other in zip(*gradients):
                    self.assertTrue(one is other or torch.equal(one, other))
        self.assertEqual(before, ({**vars(checkpointing)}, checkpointing.CheckpointFunction.__dict__["forward"]))

    def test_regions_on_fake_tensors_are_those_of_a_real_step(self):
        def build():
            model, loss = region_cases.clean()
            x = torch.randn(region_cases.ROWS, region_cases.DIM)
            return model, lambda: loss(model, x).backward()

        fake = [event for event in self.export(build)["events"] if event["e"].startswith("region")]
        real = [event for event in region_cases.recorded(region_cases.clean)["events"] if event["e"].startswith("region")]
        kinds = [[(event["e"], event["n"], event.get("bw")) for event in events] for events in (fake, real)]
        self.assertEqual(*kinds)
        self.assertEqual(len(fake), 8)


if __name__ == "__main__":
    unittest.main()
