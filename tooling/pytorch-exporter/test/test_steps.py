"""Tests of the exporter against PyTorch itself; run by test.js, or by `python -m unittest` in this folder."""

import copy
import gzip
import json
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from recorded_files import CATEGORIES, CLI, Folder, held_at_most, ops_of, remat_cli, storages_of, tensors_in
from small_models import Convolutions, Transformer, convolution_step, transformer_step
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.checkpoint import checkpoint
from write_fixtures import peak_of

import remat
from remat.policy import POLICY_FORMATS
from remat.recorder import Recorder


class Record(Folder):
    def test_the_peak_is_that_of_torchs_tracker(self):
        for build in (transformer_step, convolution_step):
            with self.subTest(build.__name__):
                self.assertEqual(held_at_most(self.export(build)), peak_of(build)["Total"])

    def test_the_peak_with_tensors_kept_across_steps_is_that_of_torchs_tracker(self):
        """A program keeps its results in a list, with their graphs and without, so that each step holds more than the one before."""
        for optimizer in (torch.optim.Adam, lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9)):

            def build():
                torch.manual_seed(0)
                model, kept, x = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)), [], torch.randn(128, 64)
                own = optimizer(model.parameters())

                def step():
                    out = model(x)
                    kept.extend((out, out.detach() * 2))
                    out.square().mean().backward()
                    own.step()
                    own.zero_grad()

                step()
                return model, own, step, [x, *kept]

            peaks = []
            for steps in (1, 3):
                model, own, step, there = build()
                tracker = MemTracker()
                tracker.track_external(model, own, *there)
                with tracker:
                    for _ in range(steps):
                        step()
                        tracker.reset_mod_stats()
                [snapshot] = tracker.get_tracker_snapshot("peak").values()
                expected = {getattr(key, "value", key): size for key, size in snapshot.items()}
                model, own, step, there = build()
                with remat.record(self.folder / "step.json", model, own, there, allocation_unit=1) as recorder:
                    for _ in range(steps):
                        step()
                peaks.append(expected["Total"])
                self.assertEqual(recorder.peak_bytes(1), expected["Total"])
                self.assertEqual(held_at_most(self.read("step.json")), expected["Total"])
                if CLI:
                    verdict = remat_cli("memory", self.folder / "step.json")["verdict"]
                    found = {one["category"]: one["bytes"] for one in verdict["categories"]}
                    self.assertEqual(verdict["peakBytes"], expected["Total"])
                    # PyTorch's tracker has no category for inputs.
                    self.assertEqual(found.get("input", 0) + found.get("other", 0), expected["Other"])
                    for theirs, ours in CATEGORIES.items():
                        self.assertEqual(found.get(ours, 0), expected[theirs], theirs)
            self.assertGreater(peaks[1], peaks[0])

    def test_a_step_whose_in_place_ops_overwrite_what_the_backward_pass_needs_is_recorded_with_a_warning(self):
        class Foo(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.relu1 = nn.Linear(5, 10), nn.ReLU(inplace=True)

            def forward(self, x):
                return torch.sin_(torch.cos_(self.relu1(self.fc1(x))))

        def build():
            model, x = Foo(), torch.rand(10, 5)

            def step():
                model(x).sum().backward()

            return model, step

        with self.assertWarnsRegex(UserWarning, "an in-place op overwrites a value that the backward pass needs"):
            file = self.export(build)
        forward = [file["funcs"][event["f"]]["name"] for event in file["events"] if event["e"] == "op" and not event.get("bw")]
        self.assertEqual([name for name in forward if name.split(".")[1].endswith("_")], ["aten.relu_.default", "aten.cos_.default", "aten.sin_.default"])
        self.assertTrue(any(event.get("bw") for event in file["events"]))
        # A step that fails for another reason still raises.
        with self.assertRaisesRegex(RuntimeError, "does not require grad"):
            self.export(lambda: (nn.ReLU(), lambda: nn.ReLU()(torch.rand(2)).sum().backward()))

    def test_a_fake_step_is_the_real_one(self):
        for build in (transformer_step, convolution_step):
            with self.subTest(build.__name__):
                fake = self.export(build)
                model, optimizer, step = build()
                step()
                with remat.record(self.folder / "real.json", model, optimizer, allocation_unit=1):
                    step()
                real = json.loads((self.folder / "real.json").read_text())
                self.assertEqual(ops_of(real), ops_of(fake))
                self.assertEqual(held_at_most(real), held_at_most(fake))
                self.assertEqual((real["config"].pop("mode"), fake["config"].pop("mode")), ("real", "fake"))
                for table in ("config", "funcs", "fqns", "module_tree"):
                    self.assertEqual(real[table], fake[table], table)

    def test_recording_changes_no_number_and_leaves_no_hook(self):
        torch.manual_seed(0)
        model = Transformer()
        twin = copy.deepcopy(model)
        x = torch.randint(0, 100, (4, 32))

        def gradients(of):
            torch.manual_seed(1)
            of(x).sum().backward()
            return [parameter.grad for parameter in of.parameters()]

        modules = torch.nn.modules.module
        before = len(modules._global_forward_pre_hooks), len(modules._global_forward_hooks)
        with remat.record(self.folder / "step.json", model):
            recorded = gradients(model)
        for one, other in zip(recorded, gradients(twin)):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(before, (len(modules._global_forward_pre_hooks), len(modules._global_forward_hooks)))
        self.assertFalse(any(parameter._post_accumulate_grad_hooks for parameter in model.parameters()))

    def test_every_module_that_begins_its_backward_pass_ends_it(self):
        file = self.export(convolution_step)
        for begin, end in (("pre_fw", "post_fw"), ("pre_bw", "post_bw")):
            counts = [sorted(file["fqns"][e["m"]] for e in file["events"] if e["e"] == kind) for kind in (begin, end)]
            self.assertEqual(*counts)
        self.assertEqual(counts[0].count("Convolutions.twice"), 2)

    def test_an_exception_passes_and_leaves_what_was_there(self):
        path = self.folder / "step.json"
        path.write_text("before")
        with self.assertRaisesRegex(ValueError, "in the step"), remat.record(path, Transformer()):
            raise ValueError("in the step")
        self.assertEqual(path.read_text(), "before")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["step.json"])

    def test_ops_that_checkpointing_runs_again_are_marked(self):
        class Checkpointed(Transformer):
            def forward(self, x):
                x = self.embeddings(x)
                for layer in self.layers:
                    x = checkpoint(layer, x, use_reentrant=False)
                return self.head(self.norm(x))

        file = self.export(lambda: transformer_step(Checkpointed()))
        again = [name for name, _, _, ac in ops_of(file) if ac]
        self.assertGreater(again.count("aten.addmm.default"), 6)
        self.assertEqual(held_at_most(file), peak_of(lambda: transformer_step(Checkpointed()))["Total"])
        self.assertLess(held_at_most(file), 0.8 * held_at_most(self.export(transformer_step)))

    def test_a_compiled_model_is_refused(self):
        compiled = torch.compile(torch.nn.Linear(2, 2), backend="eager")
        with self.assertRaisesRegex(TypeError, "record the module that was given to torch.compile"):
            with remat.record(self.folder / "step.json", compiled):
                pass

    def test_the_allocator_of_cuda_is_asked_of_real_steps_alone(self):
        with FakeTensorMode():
            weight = nn.Parameter(torch.empty(4, 4, device="cuda:0"), requires_grad=False)
            model = nn.ParameterList([weight])
        with mock.patch("torch.cuda.is_initialized", return_value=True), mock.patch("remat.recorder.CudaMemory") as memory:
            with remat.record(self.folder / "fake.json", model):
                weight * 2
            memory.assert_not_called()
        config = self.read("fake.json")["config"]
        self.assertEqual((config["device"], config["mode"], config.get("besides")), ("cuda:0", "fake", None))

    def test_what_the_allocator_of_cuda_holds_besides_tensors_is_told(self):
        class Memory:
            device, before = 0, 1000
            scratch = [64, 0]

            def begin_op(self):
                pass

            def end_op(self):
                return self.scratch.pop(0)

        model = nn.Linear(4, 4)
        with mock.patch("remat.recorder.CudaMemory", Memory), mock.patch("torch.cuda.is_initialized", return_value=True):
            recorder = Recorder(model)
            recorder.tables.storage = lambda storage, _, kept=recorder.tables.storage: kept(storage, "cuda:0")
            with recorder:
                model.weight.detach().mul(2).add(1)
        told = recorder.content("m", 1)
        self.assertEqual(told["config"]["besides"], 1000 - 4 * (4 * 4 + 4))
        self.assertEqual([event.get("ws") for event in told["events"] if event["e"] == "op"], [64, None])
        # Weights, what else there was, and both results; the scratch of the first beside its result is less.
        self.assertEqual(recorder.peak_bytes(1), 1000 + 64 + 64)

    def test_a_storage_that_an_op_is_given_is_told_by_its_size(self):
        with remat.record(self.folder / "step.json"):
            torch.empty(0).set_(torch.zeros(1 << 16).untyped_storage())
        given = [event["a"] for event in self.read("step.json")["events"] if event["e"] == "op"][-1]
        self.assertIn("str:storage of 262144 bytes", given)


class Saves(Folder):
    def test_what_autograd_saves_is_told_until_it_is_given_back(self):
        file = self.export(transformer_step)
        events = file["events"]
        packs = [event for event in events if event["e"] == "pack"]
        self.assertGreater(len(packs), 50)
        for kind in ("unpack", "unsave"):
            self.assertEqual(sorted(event["n"] for event in events if event["e"] == kind), list(range(len(packs))))
        # The program no longer reads tensors that only autograd keeps.
        made, alone = set(), set()
        for event in events:
            if event["e"] == "saved_only":
                alone.add(event["s"])
            elif event["e"] == "op" and not event.get("bw") and not event.get("opt"):
                self.assertFalse(alone & made & {s for t in tensors_in(event["a"]) for s in storages_of(file, t)})
                made |= {s for t in tensors_in(event["o"]) for s in storages_of(file, t)}

    def test_recorded_times_add_up_to_a_step(self):
        model, optimizer, step = transformer_step()
        remat.record_step(step, self.folder / "step.json", model, optimizer, repeats=3)
        file = json.loads((self.folder / "step.json").read_text())
        ops = [event for event in file["events"] if event["e"] == "op"]
        self.assertTrue(all(event["ms"] > 0 and event["runs"] == 3 for event in ops))


class Policy(Folder):
    def policy(self, **changes):
        save = [{"op": "aten.addmm.default", "ordinal": 0, "policy": "MUST_SAVE"}]
        policy = {"format": "remat-pytorch-policy/1", "model": "Transformer", "modules": {f"layers.{i}": save for i in range(3)}}
        return policy | changes

    def step_of(self, model):
        x = torch.arange(128).remainder(100).view(4, 32)

        def step():
            torch.manual_seed(1)
            F.cross_entropy(model(x).view(-1, 100), x.view(-1)).backward()

        return step

    def peak_of(self, model, name):
        step = self.step_of(model)
        step()
        model.zero_grad()
        with remat.record(self.folder / name, model, allocation_unit=1):
            step()
        return held_at_most(json.loads((self.folder / name).read_text()))

    def assert_same_gradients(self, one, other):
        for (name, a), b in zip(one.named_parameters(), other.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad), name)

    def test_gradients_stay_and_memory_falls(self):
        model = Transformer()
        twin = copy.deepcopy(model)
        undo = remat.apply(twin, self.policy())
        stock, checkpointed = self.peak_of(model, "stock.json"), self.peak_of(twin, "checkpointed.json")
        self.assert_same_gradients(model, twin)
        self.assertLess(checkpointed, 0.8 * stock)
        file = json.loads((self.folder / "checkpointed.json").read_text())
        again = [name for name, _, _, ac in ops_of(file) if ac]
        # The first of each block's linear layers is saved; the last is not needed.
        self.assertEqual(again.count("aten.addmm.default"), 3 * 2)
        undo()
        self.assertEqual(self.peak_of(twin, "undone.json"), stock)

    def test_running_statistics_count_each_batch_once(self):
        for momentum in (0.1, None):
            with self.subTest(momentum=momentum):
                model = Convolutions()
                model.first[1].momentum = momentum
                twin = copy.deepcopy(model)
                remat.apply(twin, self.policy(modules={"first": [], "twice": []}))
                x = torch.randn(4, 3, 16, 16)
                for one in (model, twin):
                    for _ in range(2):
                        one.zero_grad()
                        one(x).square().sum().backward()
                self.assert_same_gradients(model, twin)
                for (name, a), b in zip(model.named_buffers(), twin.buffers()):
                    self.assertTrue(torch.equal(a, b), name)
                self.assertEqual(twin.first[1].momentum, momentum)

    def test_without_gradients_nothing_is_checkpointed(self):
        model = Transformer()
        remat.apply(model, self.policy())
        with torch.no_grad():
            self.assertEqual(model(torch.zeros(1, 4, dtype=torch.long)).shape, (1, 4, 100))

    def units(self, model, **save):
        """A policy of this version; a name's dots are written as two underscores."""
        modules = {}
        for name, entries in save.items():
            module = model.get_submodule(name.replace("__", "."))
            shapes = [list(parameter.shape) for parameter in module.parameters()]
            modules[name.replace("__", ".")] = {"type": type(module).__name__, "parameters": shapes, "save": entries}
        return {"format": "remat-pytorch-policy/2", "model": type(model).__name__, "torch": torch.__version__, "modules": modules}

    def test_modules_inside_modules_are_followed_to_the_bit(self):
        model = Transformer()
        twin = copy.deepcopy(model)
        undo = remat.apply(twin, self.units(twin, layers__0=[], layers__0__up=[], layers__0__dropout=[], layers__1=[{"op": "aten.addmm.default", "ordinal": 1}], norm=[]))
        for one in (model, twin):
            self.step_of(one)()
        self.assert_same_gradients(model, twin)
        undo()
        self.assertIs(type(twin.layers[0]), type(model.layers[0]))
        self.assertEqual(vars(twin.layers[0]).keys(), vars(model.layers[0]).keys())

    def test_batch_normalisation_in_modules_inside_modules_counts_once(self):
        model = Convolutions()
        twin = copy.deepcopy(model)
        remat.apply(twin, self.units(twin, first=[], first__1=[]))
        x = torch.randn(4, 3, 16, 16)
        for one in (model, twin):
            one(x).square().sum().backward()
        self.assert_same_gradients(model, twin)
        for (name, a), b in zip(model.named_buffers(), twin.buffers()):
            self.assertTrue(torch.equal(a, b), name)

    def test_copies_follow_the_policy_with_weights_of_their_own(self):
        model = Transformer()
        remat.apply(model, self.policy())
        path = self.folder / "model.pt"
        torch.save(model, path)
        for copied in (copy.deepcopy(model), torch.load(path, weights_only=False)):
            self.assertEqual(list(copied.state_dict()), list(Transformer().state_dict()))
            with torch.no_grad():
                for parameter in copied.parameters():
                    parameter.zero_()
            self.step_of(copied)()
            self.assertTrue(all(torch.equal(p, torch.zeros_like(p)) for p in copied.parameters()))
            self.assertEqual(copied(torch.zeros(1, 4, dtype=torch.long)).abs().max(), 0)
            self.assertNotEqual(model(torch.zeros(1, 4, dtype=torch.long)).abs().max(), 0)
            # It does follow: there is something that runs again.
            with remat.record(self.folder / "copied.json", copied):
                self.step_of(copied)()
            self.assertTrue(any(ac for *_, ac in ops_of(json.loads((self.folder / "copied.json").read_text()))))

    def test_averaged_models_and_compiled_ones_work(self):
        model = Transformer()
        twin = copy.deepcopy(model)
        remat.apply(twin, self.units(twin, layers__0=[], layers__1=[]))
        averaged = torch.optim.swa_utils.AveragedModel(twin)
        averaged.update_parameters(model)
        # The backend "eager" of PyTorch 2.13 runs checkpointed calls again without the generator's state, whoever checkpoints them.
        for one in (model, torch.compile(twin, backend="aot_eager")):
            self.step_of(one)()
        self.assert_same_gradients(model, twin)

    def test_a_policy_of_another_model_is_refused_with_both_sides_and_changes_nothing(self):
        policy = self.units(Transformer(), layers__0=[], layers__1=[{"op": "aten.addmm.default", "ordinal": 0}])
        wide = Transformer(dim=32)
        with self.assertRaisesRegex(ValueError, r"module 'layers.0' has parameters .*64.* in the policy and .*32"):
            remat.apply(wide, policy)
        with self.assertRaisesRegex(ValueError, r"names ops of PyTorch 1.0, but this is PyTorch 2"):
            remat.apply(Transformer(), policy | {"torch": "1.0.0"})
        shallow = Transformer()
        del shallow.layers[2:]
        count = len(list(Transformer().modules()))
        with self.assertRaisesRegex(ValueError, f"for a model with {count} modules, and this model has {len(list(shallow.modules()))}"):
            remat.apply(shallow, policy | {"moduleCount": count})
        other = Transformer()
        other.layers[1] = torch.nn.Linear(64, 64)
        with self.assertRaisesRegex(ValueError, "module 'layers.1' has type Block in the policy and Linear in this model"):
            remat.apply(other, policy)
        self.assertIs(type(other.layers[0]), type(Transformer().layers[0]))

    def test_a_policy_file_that_is_missing_is_refused_like_an_empty_one(self):
        with self.assertRaisesRegex(FileNotFoundError, r"none\.json: no such file$"):
            remat.apply(Transformer(), self.folder / "none.json")

    def test_a_file_that_is_no_policy_is_refused_by_its_name(self):
        path = self.folder / "p.json"
        whole = {"format": POLICY_FORMATS[-1], "modules": {"norm": {"type": "LayerNorm", "parameters": [], "save": []}}, "torch": torch.__version__}
        for content, expected in [
            (b"", "p.json is not a policy: not JSON"),
            (gzip.compress(b"{}"), "p.json is not a policy: not JSON"),
            (b"[]", "p.json is not a policy: it contains a list"),
            (b"{}", "p.json: expected a policy of format"),
            (json.dumps({"format": POLICY_FORMATS[-1]}).encode(), "p.json is incomplete: it lacks modules, torch"),
            (json.dumps(whole | {"modules": []}).encode(), "p.json: `modules` is a list"),
            (json.dumps(whole | {"modules": {"norm": {}}}).encode(), "lacks type of 'norm', parameters of 'norm', save of 'norm'"),
        ]:
            path.write_bytes(content)
            with self.assertRaisesRegex(ValueError, f"{expected}.*"):
                remat.apply(Transformer(), path)

    def test_what_does_not_fit_the_model_is_refused(self):
        with self.assertRaisesRegex(ValueError, "names module 'blocks.0', which is not in this model"):
            remat.apply(Transformer(), self.policy(modules={"blocks.0": []}))
        with self.assertRaisesRegex(ValueError, "expected a policy of format"):
            remat.apply(Transformer(), self.policy(format="other/1"))

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_a_plan_of_remat_is_followed(self):
        file = self.export(transformer_step)
        step = self.folder / "step.json"
        snapshot = peak_of(transformer_step)
        memory = remat_cli("memory", step)
        self.assertEqual(memory["peakBytes"], snapshot["Total"])
        known = {CATEGORIES[key]: value for key, value in snapshot.items() if key in CATEGORIES and value > 0}
        for category in ("parameter", "gradient", "temporary", "optimizerState"):
            self.assertEqual(memory["moment"]["bytesByCategory"].get(category, 0), known.get(category, 0), category)
        self.assertEqual({module["fqn"] for module in remat_cli("estimate", step, "--depth", 3)["modules"]}, {"Transformer", *(f"Transformer.layers.{i}" for i in range(3))})  # fmt: skip

        plan = remat_cli("plan", step, "--budget", "75%", "--pytorch-policy", self.folder / "policy.json")
        self.assertLessEqual(plan["peakBytes"], 0.75 * held_at_most(file))
        model, optimizer, _ = transformer_step()
        twin = copy.deepcopy(model)
        remat.apply(twin, self.folder / "policy.json")
        peaks = []
        for one in (model, twin):
            step = self.step_of(one)
            optimizer = torch.optim.Adam(one.parameters())
            step()
            optimizer.step()
            optimizer.zero_grad()
            with remat.record(self.folder / "followed.json", one, optimizer, allocation_unit=1):
                step()
                optimizer.step()
            peaks.append(held_at_most(json.loads((self.folder / "followed.json").read_text())))
        self.assert_same_gradients(model, twin)
        print(f"# stock {peaks[0]} B, planned {plan['peakBytes']} B, followed by PyTorch {peaks[1]} B", file=sys.stderr)
        # Remat's simulation for PyTorch under the plan is the actual peak, except for a scalar or two.
        self.assertLess(abs(peaks[1] - plan["peakBytes"]), 0.005 * plan["peakBytes"])
        self.assertLess(peaks[1], 0.8 * peaks[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
