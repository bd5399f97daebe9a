"""A model fitted into a budget in one line: what is planned is what is measured, and training is the same to the bit."""

import copy
import importlib.util
import os
import random
import sys
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import numpy as np
import torch
from daily import at_night
from missing_ops import define_missing_torchvision_ops
from recorded_files import CLI, Folder, held_at_most, ops_of
from small_models import Transformer, transformer_step
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

import remat
from remat.models import warn_of_compiled
from remat.planner import planner_command

define_missing_torchvision_ops()


class Planner(Folder):
    def test_a_planner_is_found_in_this_order(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}, clear=True):
            with self.assertRaisesRegex(remat.PlannerMissing, "`remat` is not on the path.*Install Node.js.*REMAT_PLANNER"):
                planner_command()
            # npx would download whatever package has this name.
            (self.folder / "npx").touch(0o755)
            with self.assertRaises(remat.PlannerMissing):
                planner_command()
            for name in ("remat", "node", "mine"):
                (self.folder / name).touch(0o755)
                self.assertEqual(planner_command(), ["remat"])
            with mock.patch.dict(os.environ, {"REMAT_PLANNER": f"{self.folder}/mine --color never"}):
                self.assertEqual(planner_command(), [f"{self.folder}/mine", "--color", "never"])
                self.assertEqual(planner_command("main.js"), ["node", "main.js"])
            with self.assertRaisesRegex(remat.PlannerMissing, "the planner 'nowhere' was not found"):
                planner_command("nowhere")

    def test_a_planner_of_the_nearest_node_modules_is_found(self):
        planner = self.folder / "node_modules" / ".bin" / "remat"
        planner.parent.mkdir(parents=True)
        planner.touch(0o755)
        project = self.folder / "project"
        project.mkdir()
        with mock.patch.dict(os.environ, {"PATH": ""}, clear=True), mock.patch("remat.planner.Path.cwd", return_value=project):
            self.assertEqual(planner_command(), [str(planner)])

    def test_the_model_is_untouched_without_a_planner(self):
        model, optimizer, step = transformer_step()
        with mock.patch.dict(os.environ, {"PATH": ""}, clear=True), self.assertRaises(remat.PlannerMissing):
            remat.fit(model, step, "50%")
        self.assertFalse(optimizer.state)


class ExportStep(Folder):
    def test_a_step_of_a_model_that_is_there_is_recorded_without_computing_it(self):
        model, optimizer, step = transformer_step()
        before = copy.deepcopy(model.state_dict())
        remat.export_step(step, self.folder / "fake.json.gz", model, allocation_unit=1)
        self.assertTrue(all(torch.equal(value, before[name]) for name, value in model.state_dict().items()))
        self.assertEqual((len(optimizer.state), [p.grad for p in model.parameters() if p.grad is not None]), (0, []))
        step()
        with remat.record(self.folder / "real.json", model, optimizer, allocation_unit=1) as recorder:
            step()
        fake, real = self.read("fake.json.gz"), self.read("real.json")
        self.assertEqual((fake["config"]["mode"], real["config"]["mode"]), ("fake", "real"))
        self.assertEqual(ops_of(fake), ops_of(real))
        self.assertEqual(held_at_most(fake), held_at_most(real))
        self.assertEqual(recorder.peak_bytes(1), held_at_most(real))


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class Fit(Folder):
    def test_the_measured_step_is_the_planned_one_and_training_is_the_same_to_the_bit(self):
        torch.manual_seed(0)
        model, optimizer, step = transformer_step()
        twin, of_twin, twin_step = transformer_step(copy.deepcopy(model))
        step.inputs.copy_(twin_step.inputs)
        torch.manual_seed(1)
        fitted = remat.fit(model, step, budget=0.8, planner=CLI, seconds=2, verbose=False)
        self.assertEqual((len(optimizer.state), model.embeddings.weight.grad), (0, None))
        self.assertEqual(fitted.budget, int(0.8 * fitted.stock_bytes))
        self.assertEqual(fitted.policy["moduleCount"], len(list(model.modules())))
        self.assertLessEqual(fitted.measured_bytes, fitted.budget)
        self.assertLess(abs(fitted.measured_bytes / fitted.planned_bytes - 1), 0.005)
        self.assertRegex(str(fitted), r"^Transformer: .* MiB as it is, budget .* MiB; planned .* MiB, \+.*% time; measured .* MiB, [+-].*% time \([+-].*% to [+-].*%\); (\d+ modules? under torch.utils.checkpoint|\d+ parts? of \d+ modules? runs? again|\d+ modules? under torch.utils.checkpoint and \d+ parts? of \d+ other modules? runs? again)(\n  runs again: (in|from) .+)*$")
        for one in (step, step):
            one()
        torch.manual_seed(1)
        for one in (twin_step, twin_step):
            one()
        for (name, a), b in zip(model.state_dict().items(), twin.state_dict().values()):
            self.assertTrue(torch.equal(a, b), name)
        remat.remove(model)
        self.assertTrue(all(type(a) is type(b) for a, b in zip(model.modules(), twin.modules())))

    def test_a_budget_that_is_not_met_is_explained(self):
        model, x = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)), torch.randn(64, 16, requires_grad=True)

        def plain():
            model(x).square().mean().backward()

        def with_penalty():
            (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            gradient.square().mean().backward()

        for step, expects_graph in ((plain, False), (with_penalty, True)):
            with self.assertRaisesRegex(remat.BudgetNotMet, "The smallest peak found is .* without checkpointing") as raised:
                remat.fit(model, step, 0.02, planner=CLI, seconds=1, repeats=1, verbose=False)
            self.assertEqual("create_graph=True" in str(raised.exception), expects_graph)

    @at_night
    def test_a_step_that_holds_more_than_was_recorded_is_planned_again(self):
        measure = remat.fitting._measure_peak
        told = []

        def with_others(besides):
            def measure_more(*args):
                told.append(measure(*args) + besides)
                return told[-1]

            return mock.patch("remat.fitting._measure_peak", measure_more)

        model, _, step = transformer_step()
        stock = remat.fit(model, step, budget=1.0, planner=CLI, seconds=1, verbose=False).stock_bytes
        besides = stock // 14
        with with_others(besides):
            fitted = remat.fit(model, step, budget=0.85, planner=CLI, seconds=2, verbose=False)
        self.assertEqual(fitted.budget, int(0.85 * stock))
        self.assertGreater(told[0], fitted.budget)
        self.assertEqual(fitted.measured_bytes, told[-1])
        self.assertLessEqual(told[-1], fitted.budget)
        self.assertLessEqual(len(told), 3)
        remat.remove(model)
        plain = [type(module) for module in model.modules()]
        with with_others(stock), self.assertRaisesRegex(remat.BudgetNotMet, "a step was measured at .*, above the budget of|no checkpointing fits within"):
            remat.fit(model, step, budget=0.85, planner=CLI, seconds=1, verbose=False)
        self.assertEqual([type(module) for module in model.modules()], plain)

    @at_night
    def test_a_step_that_leaves_layers_out_at_random_holds_what_is_planned(self):
        """The optimizer has states only of the layers that have run, so the measured step follows as many steps as the recorded one."""

        class Skipping(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(8))

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x) + x if torch.rand([]) > 0.5 else x
                return x

        torch.manual_seed(0)
        model, x = Skipping(), torch.randn(256, 64, requires_grad=True)
        optimizer = torch.optim.AdamW(model.parameters())

        def step():
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        fitted = remat.fit(model, step, "85%", planner=CLI, seconds=1, repeats=2, verbose=False)
        self.assertLess(abs(fitted.measured_bytes / fitted.planned_bytes - 1), 0.01)

    @at_night
    def test_state_that_an_optimizer_has_already_is_put_back(self):
        model, optimizer, step = transformer_step()
        step()
        before = copy.deepcopy(optimizer.state_dict())
        remat.fit(model, step, "80%", planner=CLI, seconds=1, verbose=False)
        after = optimizer.state_dict()
        self.assertEqual(before["param_groups"], after["param_groups"])
        for key, state in before["state"].items():
            for name, value in state.items():
                self.assertTrue(torch.equal(value, after["state"][key][name]), (key, name))

    def test_a_budget_that_nothing_keeps_to_is_an_error_and_the_model_is_as_before(self):
        model, _, step = transformer_step()
        with self.assertRaisesRegex(remat.BudgetNotMet, "no checkpointing fits within .*The smallest peak found is"):
            remat.fit(model, step, "1KiB", planner=CLI, seconds=1, verbose=False)
        self.assertTrue(all(type(a) is type(b) for a, b in zip(model.modules(), Transformer().modules())))
        with self.assertRaisesRegex(TypeError, "expected a budget"):
            remat.fit(model, step, None, planner=CLI)

    @at_night
    def test_a_fit_that_fails_leaves_the_policy_that_was_followed(self):
        model, _, step = transformer_step()
        remat.fit(model, step, "80%", planner=CLI, seconds=1, verbose=False)
        following = {name: module.__dict__["_remat_unit"] for name, module in model.named_modules() if "_remat_unit" in module.__dict__}
        self.assertTrue(following)
        with self.assertRaises(remat.BudgetNotMet):
            remat.fit(model, step, "1KiB", planner=CLI, seconds=1, verbose=False)
        with self.assertRaisesRegex(ValueError, "has no unit; write \"70%\", \"70GiB\""):
            remat.fit(model, step, "70", planner=CLI)
        self.assertEqual({name: module.__dict__["_remat_unit"] for name, module in model.named_modules() if "_remat_unit" in module.__dict__}, following)

    @at_night
    def test_what_a_step_changes_besides_the_model_is_as_before(self):
        model, optimizer, train = transformer_step()
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=1000)
        average = torch.optim.swa_utils.AveragedModel(model)
        generators = [torch.Generator().manual_seed(0), np.random.default_rng(0)]
        trainer = SimpleNamespace(parts=[schedule, generators])

        def step():
            train()
            trainer.parts[0].step()
            average.update_parameters(model)
            torch.rand(1, generator=generators[0])
            generators[1].random(), np.random.random(), random.random()

        def state():
            own, of_numpy = generators
            told = [schedule.last_epoch, optimizer.param_groups[0]["lr"], own.get_state().tolist(), of_numpy.bit_generator.state, np.random.random(), random.random(), torch.rand(1).item()]
            return told, [value.tolist() for value in average.state_dict().values()]

        step()
        for seed in (np.random.seed, random.seed, torch.manual_seed):
            seed(0)
        before = state()
        for seed in (np.random.seed, random.seed, torch.manual_seed):
            seed(0)
        remat.fit(model, step, "80%", planner=CLI, seconds=1, verbose=False)
        self.assertEqual(state(), before)

    @at_night
    def test_steps_with_other_passes_hold_what_is_planned_and_train_to_the_same_bit(self):
        def block():
            return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 64))

        def validates(model, x):
            model(x).square().mean().backward()
            with torch.no_grad():
                model(x[:8])

        def asks_an_older_one(model, x):
            with torch.inference_mode():
                model(x)
            model(x).square().mean().backward()

        def keeps_its_graph(model, x):
            self.kept = model(x).square().mean()
            self.kept.backward(retain_graph=True)

        def has_two_losses(model, x):
            y = model(x)
            y.square().mean().backward(retain_graph=True)
            y.abs().mean().backward()

        def calls_a_loss(model, x):
            loss = nn.CrossEntropyLoss()
            loss(model(x), torch.zeros(256, dtype=torch.long)).backward()

        def has_two_heads(model, x):
            trunk = model[:2](x)
            losses = model[2](trunk).square().mean(), model[3](trunk).abs().mean()
            losses[0].backward(retain_graph=True)
            losses[1].backward()

        every = (validates, asks_an_older_one, keeps_its_graph, has_two_losses, calls_a_loss, has_two_heads)
        for passes in every:
            with self.subTest(passes.__name__):
                torch.manual_seed(0)
                x = torch.randn(256, 64)
                model = nn.Sequential(*[block() for _ in range(4)])
                steps = []
                for one in (model, copy.deepcopy(model)):
                    optimizer = torch.optim.SGD(one.parameters(), lr=0.1)

                    def step(one=one, optimizer=optimizer):
                        passes(one, x)
                        optimizer.step()
                        optimizer.zero_grad()

                    steps.append((one, step))
                fitted = remat.fit(model, steps[0][1], "70%", planner=CLI, seconds=2, verbose=False)
                self.assertTrue(fitted.policy["modules"])
                self.assertLess(abs(fitted.measured_bytes / fitted.planned_bytes - 1), 0.005)
                for _, step in steps:
                    torch.manual_seed(1)
                    for _ in range(2):
                        step()
                for a, b in zip(*(one.parameters() for one, _ in steps)):
                    self.assertTrue(torch.equal(a, b))

    def test_a_compiled_model_in_a_step_is_told_of(self):
        model, _, _ = transformer_step()
        compiled = torch.compile(model)
        with self.assertWarnsRegex(UserWarning, "uses torch.compile"):
            warn_of_compiled(model, lambda: compiled(None))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_compiled(model, lambda: model(None))

    @at_night
    def test_what_does_not_fit_into_memory_is_recorded_on_fake_tensors(self):
        model, _, step = transformer_step()

        def too_large():
            is_plain = not any(hasattr(type(module), "_remat_plain") for module in model.modules())
            if is_plain and not isinstance(torch.empty(0), FakeTensor):
                raise torch.OutOfMemoryError("out of memory")
            step()

        fitted = remat.fit(model, too_large, "80%", planner=CLI, seconds=1, verbose=False)
        self.assertIsNone(fitted.measured_overhead)
        self.assertLessEqual(fitted.measured_bytes, fitted.budget)


@unittest.skipUnless(CLI and importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"), "transformers is not installed")
class HuggingFace(Folder):
    def test_a_trainer_trains_to_the_same_bit_within_its_budget(self):
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

        from remat.hugging_face import FitCallback

        data = [{"input_ids": row, "labels": row} for row in torch.randint(0, 100, (8, 32), generator=torch.Generator().manual_seed(0))]

        def train(callbacks):
            torch.manual_seed(0)
            model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=32, n_head=2, vocab_size=100, n_positions=32, bos_token_id=0, eos_token_id=0))
            arguments = TrainingArguments(str(self.folder), max_steps=3, per_device_train_batch_size=4, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no")
            Trainer(model, arguments, train_dataset=data, callbacks=callbacks).train()
            return model.state_dict()

        callback = FitCallback("80%", planner=CLI, seconds=2, verbose=False)
        stock, fitted = train([]), train([callback])
        self.assertLessEqual(callback.fitted.measured_bytes, callback.fitted.budget)
        self.assertTrue(callback.fitted.policy["modules"])
        for name, value in stock.items():
            self.assertTrue(torch.equal(value, fitted[name]), name)


@unittest.skipUnless(CLI and importlib.util.find_spec("lightning"), "lightning is not installed")
class Lightning(Folder):
    def test_a_trainer_trains_to_the_same_bit_within_its_budget(self):
        import lightning

        from remat.lightning import FitCallback

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = Transformer()

            def training_step(self, batch, at):
                loss = torch.nn.functional.cross_entropy(self.model(batch).flatten(0, 1), batch.flatten())
                self.log("loss", loss)
                return loss

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())

        rows = torch.randint(0, 100, (12, 32), generator=torch.Generator().manual_seed(0))

        def train(callbacks):
            torch.manual_seed(0)
            module = Module()
            trainer = lightning.Trainer(max_steps=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks)
            trainer.fit(module, torch.utils.data.DataLoader(rows, batch_size=4))
            return module.state_dict()

        callback = FitCallback("80%", planner=CLI, seconds=2, verbose=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stock, fitted = train([]), train([callback])
        self.assertLessEqual(callback.fitted.measured_bytes, callback.fitted.budget)
        self.assertTrue(callback.fitted.policy["modules"])
        for name, value in stock.items():
            self.assertTrue(torch.equal(value, fitted[name]), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
