"""Policies that are functions, as rules: against what selective checkpointing runs again."""

import json
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from recorded_files import CLI, Folder, remat_cli
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import remat


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return torch.dropout(self.b(nn.functional.gelu(self.a(x))), 0.5, True)


class Ran(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def every_second_product():
    count = 0

    def policy(ctx, op, *args, **kwargs):
        nonlocal count
        if op is not torch.ops.aten.addmm.default:
            return CheckpointPolicy.PREFER_RECOMPUTE
        count += 1
        return CheckpointPolicy.MUST_SAVE if count % 2 else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


class Rules(Folder):
    def test_rules_are_what_selective_checkpointing_does_not_run_again(self):
        addmm, gelu = torch.ops.aten.addmm.default, torch.ops.aten.gelu.default
        for policy, expected in (
            (lambda: [addmm], ["aten.addmm.default#0", "aten.addmm.default#1"]),
            (lambda: lambda ctx, op, *args, **kwargs: op is gelu, ["aten.gelu.default#0"]),
            (every_second_product, ["aten.addmm.default#0"]),
        ):
            with self.subTest(expected=expected):
                block, x = Block(), torch.randn(2, 4, requires_grad=True)
                before = torch.get_rng_state()
                rules = remat.save_rules(policy(), lambda: block(x))
                self.assertEqual(rules, expected)
                self.assertTrue(torch.equal(before, torch.get_rng_state()))
                chosen = policy()
                out = checkpoint(block, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(chosen))
                with Ran() as ran:
                    out.sum().backward()
                again = [ran.names.count(name) for name in ("aten.addmm.default", "aten.gelu.default")]
                saved = [sum(rule.startswith(name) for rule in rules) for name in ("aten.addmm", "aten.gelu")]
                # The last product need not run again at all: nothing of it is asked for but its inputs.
                self.assertIn(again[1], (1 - saved[1],))
                self.assertLessEqual(again[0], 2 - saved[0])

    @unittest.skipUnless(CLI, "needs REMAT_CLI")
    def test_a_file_of_rules_is_compared(self):
        model = nn.Sequential(Block(), Block())
        optimizer = torch.optim.SGD(model.parameters())
        x = torch.randn(2, 4)

        def step():
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        with remat.record(self.folder / "run.json", model, optimizer):
            step()
        path = self.folder / "rules.json"
        remat.checkpoint_file(path, {"0": remat.save_rules([torch.ops.aten.addmm.default], lambda: model[0](x)), "1": None})
        self.assertEqual(json.loads(path.read_text())["checkpoint"][1], {"modules": ["1"]})
        told = remat_cli("compare", self.folder / "run.json", "--checkpoint", path)
        plain, checkpointed = told["plans"]
        self.assertLess(checkpointed["bytesByCategory"].get("activation", 0), plain["bytesByCategory"]["activation"])


if __name__ == "__main__":
    unittest.main()
