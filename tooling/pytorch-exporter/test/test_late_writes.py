"""Plans know the ops that write what is saved already: what holds a step under them is what PyTorch holds, and what cannot run again is refused by name."""

import dataclasses
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from checkpoint_cases import policy_of
from recorded_files import CLI, Folder
from torch import nn

import remat


class WritesData(nn.Module):
    """Writes into a tensor that was saved, behind autograd's back."""

    def forward(self, x):
        mask = torch.empty_like(x)
        y = x * mask
        mask.data.copy_(torch.rand(x.shape) < 0.5)
        return y


class DropsWhatSavedLast(nn.Module):
    """Saves last in an op whose result is unused, so that its autograd node is gone when the call ends. Later ops save
    nothing and allocate a lot.
    """

    def __init__(self, dropped):
        super().__init__()
        self.linear, self.dropped = nn.Linear(64, 64), dropped

    def forward(self, x):
        y = self.linear(x)
        self.dropped(y)
        return (torch.cat([y] * 8) + 1)[:512]


@dataclasses.dataclass
class Answer:
    """Which no pytree knows."""

    tensor: torch.Tensor


class AnswersInDataclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(64, 64), nn.Tanh())

    def forward(self, x):
        return Answer((torch.cat([self.inside(x)] * 8) + 1)[:512])


class Unpacks(nn.Module):
    def forward(self, answer):
        return answer.tensor


def step_of(make):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), make(), nn.Linear(64, 64), make(), nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(512, 64)

    def step():
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class LateWrites(Folder):
    def compare(self, make, names):
        model, optimizer, step = step_of(make)
        step()
        with remat.record(self.folder / "step.json", model, optimizer, allocation_unit=1):
            step()
        rules = [{"modules": [f"Sequential.{name}" for name in names]}]
        (self.folder / "rules.json").write_text(json.dumps({"schema": "checkpoint/1", "checkpoint": rules}))
        command = [*CLI, "compare", self.folder / "step.json", "--checkpoint", self.folder / "rules.json", "--format", "json"]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    def check(self, make, names):
        """The peak of a step under a policy is what the command line predicts."""
        done = self.compare(make, names)
        self.assertEqual(done.returncode, 0, done.stderr)
        model, optimizer, step = step_of(make)
        remat.apply(model, policy_of(model, {name: [] for name in names}, {}))
        step()
        with remat.record(self.folder / "again.json", model, optimizer, allocation_unit=1) as recorder:
            step()
        self.assertIn(recorder.peak_bytes(1), numbers_in(json.loads(done.stdout)))

    def test_a_call_that_ends_in_rrelu_holds_what_is_planned(self):
        def blocks():
            return nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.RReLU())

        for make, names in ((nn.RReLU, ["1", "3"]), (blocks, ["1", "3"]), (blocks, ["1.2", "3.2"])):
            with self.subTest(names=names):
                self.check(make, names)

    def test_a_call_whose_last_saving_op_has_no_use_holds_what_is_planned(self):
        for name, dropped in (("exp", torch.exp), ("rrelu", nn.RReLU())):
            with self.subTest(name):
                self.check(lambda: DropsWhatSavedLast(dropped), ["1", "3"])

    def test_a_call_that_returns_an_object_holds_what_is_planned(self):
        self.check(lambda: nn.Sequential(AnswersInDataclass(), Unpacks()), ["1.0", "3.0"])

    def test_a_module_that_writes_what_is_saved_is_refused_by_name(self):
        done = self.compare(WritesData, ["1"])
        self.assertIn("Sequential.1 cannot be checkpointed: aten.copy_.default writes into an already saved tensor", done.stderr)


def numbers_in(value):
    if isinstance(value, dict):
        return numbers_in(list(value.values()))
    return {number for one in value for number in numbers_in(one)} if isinstance(value, list) else {value} if isinstance(value, (int, float)) else set()


if __name__ == "__main__":
    unittest.main()
