"""Steps whose gradients have gradients: the same results under any policy, and a plan for a gradient penalty."""

import random
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from checkpoint_cases import policy_of, random_policy
from daily import AT_NIGHT
from recorded_files import CLI, Folder
from torch import nn
from torch.func import functional_call
from twice_cases import LOSSES, MODELS, build

import remat


def results_of(seed, units, parts):
    model, _, step = build(seed)
    if units or parts:
        remat.apply(model, policy_of(model, units, parts))
    torch.manual_seed(1)
    for _ in range(2):
        step()
    return [*(one.clone() for one in model.state_dict().values()), torch.rand(1)]


def penalty_step(norm):
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Conv2d(3 if i == 0 else 8, 8, 3, padding=1), nn.LeakyReLU(0.2), norm()) for i in range(4)]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    real = torch.randn(8, 3, 32, 32)

    def step():
        loss = F.softplus(-model(real)).mean()
        between = real.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(model(between).sum(), between, create_graph=True)
        (loss + 10 * (gradient.flatten(1).norm(dim=1) - 1).square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, step


#: A change tries a sample of these; the nightly run tries all.


class Twice(Folder):
    def test_training_is_the_same_to_the_bit_under_random_policies(self):
        rng = random.Random(0)
        for seed in range(0, len(MODELS) * len(LOSSES), 3 if AT_NIGHT else 7):
            stock = results_of(seed, {}, {})
            begin = rng.randint(0, 10)
            for units, parts in ((random_policy(rng, build(seed)[0], {}), {}), ({}, {"": [[begin, begin + rng.randint(1, 20)]]})):
                with self.subTest(seed=seed, units=units, parts=parts):
                    self.assertTrue(all(map(torch.equal, stock, results_of(seed, units, parts))))

    def test_a_call_with_other_weights_runs_again_with_those(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.BatchNorm1d(4, momentum=None))
        x = torch.randn(8, 4)
        weights = {name: torch.randn_like(one).requires_grad_() for name, one in model.named_parameters()}

        def gradients():
            buffers = {name: torch.zeros_like(one) for name, one in model.named_buffers()}
            loss = functional_call(model, {**weights, **buffers}, (x,)).square().sum()
            return torch.autograd.grad(loss, list(weights.values())), buffers

        stock, of_stock = gradients()
        remat.apply(model, policy_of(model, {"": []}, {}))
        found, buffers = gradients()
        self.assertTrue(all(map(torch.equal, [*stock, *of_stock.values()], [*found, *buffers.values()])))
        self.assertTrue(all(isinstance(one, nn.Parameter) for one in model[0]._parameters.values()))

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_gradient_penalties_fit_into_less(self):
        norms = [
            ("instance", lambda: nn.InstanceNorm2d(8)),
            ("batch", lambda: nn.BatchNorm2d(8)),
            ("group", lambda: nn.GroupNorm(2, 8)),
            ("layer", lambda: nn.LayerNorm([32, 32])),
        ]
        for name, norm in norms if AT_NIGHT else norms[:1]:
            with self.subTest(name):
                stock, of_stock = penalty_step(norm)
                model, step = penalty_step(norm)
                fitted = remat.fit(model, step, "75%", planner=CLI, seconds=4, repeats=1, verbose=False)
                self.assertTrue(fitted.policy["modules"])
                self.assertLess(abs(fitted.measured_bytes / fitted.planned_bytes - 1), 0.005)
                for _ in range(3):
                    step()
                    of_stock()
                self.assertTrue(all(map(torch.equal, stock.state_dict().values(), model.state_dict().values())))


if __name__ == "__main__":
    unittest.main()
