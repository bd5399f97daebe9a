"""Steps that call transforms of `torch.func`."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from checkpoint_cases import policy_of
from recorded_files import CLI, Folder
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap

import remat


def step_of(loss_of):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(6, 4)

    def step():
        loss = loss_of(lambda one: functional_call(model, dict(model.named_parameters()), (one,)), x)
        if loss.requires_grad:
            loss.backward()

    return model, step


RECORDED = {
    "vmap": lambda call, x: vmap(call)(x).square().mean(),
    "jvp": lambda call, x: jvp(call, (x,), (torch.ones_like(x),))[1].square().mean(),
    "functional_call": lambda call, x: call(x).square().mean(),
}
REFUSED = {
    "grad": lambda call, x: grad(lambda one: call(one).sum())(x).square().mean(),
    "vjp": lambda call, x: vjp(call, x)[1](torch.ones(6, 1))[0].square().mean(),
    "jacrev": lambda call, x: jacrev(call)(x[0]).square().mean(),
    "hessian": lambda call, x: hessian(lambda one: call(one).sum())(x[0]).square().mean(),
}


class Transforms(Folder):
    def test_those_whose_saved_tensors_are_seen_are_recorded(self):
        for name, loss_of in RECORDED.items():
            with self.subTest(name):
                model, step = step_of(loss_of)
                with remat.record(self.folder / "real.json", model):
                    step()
                remat.export_step(step, self.folder / "fake.json", model, allocation_unit=1)
                for file in (self.read("real.json"), self.read("fake.json")):
                    marks = [event["name"] for event in file["events"] if event["e"] == "mark"]
                    self.assertEqual(set(marks), set() if name == "functional_call" else {"transformed"})
                    self.assertTrue(any(event["e"] == "unpack" for event in file["events"]))

    def test_others_are_refused_by_name_and_the_model_is_as_before(self):
        for name, loss_of in REFUSED.items():
            for how in ("record", "export_step"):
                with self.subTest(name, how=how):
                    model, step = step_of(loss_of)
                    before = [one.clone() for one in model.parameters()]
                    expected = "jacrev" if name == "hessian" else name
                    with self.assertRaisesRegex(RuntimeError, rf"remat: the step calls torch\.func\.{expected}, .*torch\.autograd\.grad"):
                        if how == "record":
                            with remat.record(self.folder / "step.json", model):
                                step()
                        else:
                            remat.export_step(step, self.folder / "step.json", model)
                    self.assertFalse((self.folder / "step.json").exists())
                    self.assertTrue(all(map(torch.equal, before, model.parameters())))
                    self.assertTrue(all(one.grad is None for one in model.parameters()))
                    # Nothing of the recording is left.
                    step()

    def test_a_module_with_a_policy_runs_plainly_inside_a_transform(self):
        for name, loss_of in (RECORDED | REFUSED).items():
            for units, parts in (({"": []}, {}), ({"0": [], "1": []}, {}), ({}, {"": [[0, 3]]})):
                with self.subTest(name, units=units, parts=parts):
                    stock, stock_step = step_of(loss_of)
                    stock_step()
                    model, step = step_of(loss_of)
                    remat.apply(model, policy_of(model, units, parts))
                    step()
                    for a, b in zip(stock.parameters(), model.parameters()):
                        self.assertTrue(a.grad is b.grad or torch.equal(a.grad, b.grad))


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class Fitted(unittest.TestCase):
    """A step whose model runs under a transform is a training step: hooks on what its modules return do not run."""

    def test_steps_under_transforms_are_fitted(self):
        for name, run in {"vmap": lambda model, x: torch.func.vmap(model)(x), "jvp": lambda model, x: torch.func.jvp(model, (x,), (torch.ones_like(x),))[1]}.items():
            with self.subTest(name):
                model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 16))
                x = torch.randn(4, 8, 16)

                def step(run=run, model=model, x=x):
                    model.zero_grad()
                    run(model, x).square().mean().backward()

                # The whole peak is always enough.
                self.assertEqual(remat.fit(model, step, 1.0, planner=CLI, seconds=1, repeats=1, verbose=False).policy["modules"], {})

    def test_a_step_without_a_backward_pass_is_rejected(self):
        model = nn.Linear(4, 4)
        for step, did in ((lambda: model(torch.ones(2, 4)), "ran the model, but no backward pass"), (lambda: None, "did not run the model")):
            with self.assertRaisesRegex(ValueError, rf"step\(\) {did}\. It must be a training step"):
                remat.fit(model, step, 1.0, planner=CLI, seconds=1, repeats=1, verbose=False)


if __name__ == "__main__":
    unittest.main()
