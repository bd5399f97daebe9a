"""Steps as public programs have them: recorded as they run, planned, and followed to the bit."""

import copy
import gc
import json
import sys
import types
import unittest
import unittest.mock
import warnings
import weakref
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import awkward_programs as programs
import torch
from recorded_files import CLI, Folder, held_at_most, ops_of, remat_cli
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

import remat
from remat.restoring import as_before


def phase_of(op):
    _, is_backward, is_optimizer, _ = op
    return "optimizer" if is_optimizer else "backward" if is_backward else "forward"


def phases_of(file):
    """The phases of a step in their order, each named once."""
    phases = [phase_of(op) for op in ops_of(file)]
    return [phase for i, phase in enumerate(phases) if i == 0 or phases[i - 1] != phase]


class Programs(Folder):
    def record(self, build, name="step.json", seed=0):
        torch.manual_seed(seed)
        model, optimizer, step = build()
        step()
        with remat.record(self.folder / name, model, optimizer, allocation_unit=1):
            step()
        return json.loads((self.folder / name).read_text())

    def test_a_closure_is_no_part_of_the_optimizer(self):
        file = self.record(programs.lbfgs_step)
        self.assertEqual(phases_of(file)[:8], ["forward", "backward", "optimizer"] * 2 + ["forward", "backward"])
        names = {"forward": set(), "backward": set(), "optimizer": set()}
        for name, phase in zip((name for name, *_ in ops_of(file)), map(phase_of, ops_of(file))):
            names[phase].add(name)
        self.assertIn("aten.mse_loss.default", names["forward"])
        self.assertIn("aten.mse_loss_backward.default", names["backward"])
        self.assertIn("aten.dot.default", names["optimizer"])
        self.assertFalse(names["optimizer"] & {"aten.mse_loss.default", "aten.mse_loss_backward.default"})

    def test_several_models_and_passes_are_told_apart(self):
        file = self.record(programs.gan_step)
        forward = [file["fqns"][e["m"]] for e in file["events"] if e["e"] == "pre_fw" and file["fqns"][e["m"]].count(".") == 1]
        self.assertEqual(forward, [f"ModuleDict.{name}" for name in "dgdd"])
        backward = [file["fqns"][e["m"]] for e in file["events"] if e["e"] == "pre_bw" and file["fqns"][e["m"]].count(".") == 1]
        self.assertEqual(backward, [f"ModuleDict.{name}" for name in "dddg"])
        # A list of models, and models by name, are one module that has them.
        def by_name():
            model, optimizers, step = programs.gan_step()
            return {"d": model["d"], "g": model["g"]}, optimizers, step

        self.assertEqual(self.record(by_name)["events"], file["events"])

    def test_a_gradient_in_a_gradient_is_recorded(self):
        file = self.record(programs.gradient_penalty_step)
        begun = [file["fqns"][e["m"]] for e in file["events"] if e["e"] == "pre_bw"]
        ended = [file["fqns"][e["m"]] for e in file["events"] if e["e"] == "post_bw"]
        self.assertLessEqual(Counter(begun), Counter(ended))
        # Three calls, one of which has a backward pass of its own before that of the whole.
        self.assertGreaterEqual(begun.count("Sequential.0"), 4)

    def test_a_sparse_tensor_is_what_it_holds(self):
        torch.manual_seed(0)
        programs.GraphNetwork()
        count = int(((torch.rand(40, 40) < 0.1).float() + torch.eye(40)).count_nonzero())
        for layout, bytes in ((torch.sparse_coo, [4 * count, 16 * count]), (torch.sparse_csr, [8 * 41, 4 * count, 8 * count])):
            with self.subTest(layout):
                file = self.record(lambda: programs.sparse_step(layout))
                adjacency = next(t for t in file["tensors"] if t["sh"] == [40, 40] and t["st"] is None)
                self.assertEqual(sorted(file["storages"][s]["bytes"] for s in adjacency["s"]), sorted(bytes))

    def test_fake_steps_are_the_real_ones(self):
        for build in (programs.gan_step, programs.gradient_penalty_step, programs.encoder_step, programs.sampling_step):
            with self.subTest(build.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                real = self.record(build, "real.json")
                torch.manual_seed(0)
                remat.export(build, self.folder / "fake.json", assume={"item": 1}, allocation_unit=1)
                fake = json.loads((self.folder / "fake.json").read_text())
                # Distributions check their arguments in a real step, and norms are taken of lists of tensors.
                if build not in (programs.encoder_step, programs.sampling_step):
                    self.assertEqual(ops_of(fake), ops_of(real))
                self.assertEqual(held_at_most(fake), held_at_most(real))

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_plans_are_followed_to_the_bit_and_hold_what_they_say(self):
        for build in (getattr(programs, name) for name in dir(programs) if name.endswith("_step")):
            with self.subTest(build.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plain = held_at_most(self.record(build))
                arguments = ("--max-overhead", "100000000%", "--time", "2s", "--pytorch-policy", self.folder / "policy.json")
                plan = remat_cli("plan", self.folder / "step.json", *arguments)
                policy = json.loads((self.folder / "policy.json").read_text())
                states, peak = [], 0
                for policy_of in (None, policy):
                    torch.manual_seed(0)
                    model, optimizer, step = build()
                    if policy_of is not None:
                        remat.apply(model, policy_of)
                    step()
                    with remat.record(self.folder / "followed.json", model, optimizer, allocation_unit=1):
                        step()
                    states.append([value.to_dense() for value in model.state_dict().values()])
                    peak = held_at_most(json.loads((self.folder / "followed.json").read_text()))
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(*states)))
                self.assertLessEqual(peak, plain)
                self.assertLess(abs(peak - plan["peakBytes"]), 0.005 * plan["peakBytes"])


    def test_hooks_of_the_program_are_outside_of_the_module_and_ours_add_no_op(self):
        class Product(nn.Module):
            def forward(self, x, weight):
                return x @ weight

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.product = nn.Parameter(torch.randn(4, 4)), Product()
                self.product.register_forward_pre_hook(lambda _, args: (args[0].sin(), args[1]))
                self.product.register_forward_hook(lambda _, args, out: out.cos())

            def forward(self, x):
                return self.product(x, self.weight)

        def build():
            model, x = Model(), torch.randn(2, 4)
            return model, None, lambda: model(x).sum().backward()

        file = self.record(build)
        inside, found = False, []
        for event in file["events"]:
            if event["e"] in ("pre_fw", "post_fw") and file["fqns"][event["m"]].endswith("product"):
                inside = event["e"] == "pre_fw"
            elif event["e"] == "op" and inside:
                found.append(file["funcs"][event["f"]]["name"])
        self.assertEqual(found, ["aten.mm.default"])

    def test_modules_inside_an_autograd_function_are_recorded(self):
        """As programs checkpoint that do so by a function of their own, which runs modules without gradients on views of what wants one."""
        layer = nn.Linear(4, 4)

        class Again(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return layer(x.view(2, 4))

            @staticmethod
            def backward(ctx, gradient):
                with torch.enable_grad():
                    x = ctx.saved_tensors[0].detach().requires_grad_()
                    return torch.autograd.grad(layer(x), x, gradient)[0]

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.layer = nn.Parameter(torch.randn(2, 4)), layer

            def forward(self):
                return Again.apply(self.weight)

        def build():
            model = Model()
            return model, None, lambda: model().sum().backward()

        file = self.record(build)
        calls = [(event["e"], event.get("bw")) for event in file["events"] if event["e"].endswith("_fw") and file["fqns"][event["m"]] == "Model.layer"]
        self.assertEqual(calls, [("pre_fw", None), ("post_fw", None), ("pre_fw", 1), ("post_fw", 1)])

    def test_the_weights_of_a_module_are_those_that_it_had_before_the_step(self):
        class Replacing(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.scale = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.ones(4), requires_grad=False)

            def forward(self, x):
                self.scale.data = self.scale.data * 0.9
                return x @ self.weight * self.scale

        def build():
            model, x = Replacing(), torch.randn(2, 4)
            return model, None, lambda: model(x).sum().backward()

        file = self.record(build)
        owned = {s for event in file["events"] if event["e"] == "ref" and event["r"] == "Parameter" for s in event["s"]}
        [module] = file["module_tree"]
        self.assertEqual([file["tensors"][tensor]["sh"] for _, tensor in module["params"]], [[4, 4], [4]])
        self.assertLessEqual({file["tensors"][tensor]["s"] for _, tensor in module["params"]}, owned)

    def test_modules_that_replace_their_state_are_told(self):
        file = self.record(programs.states_step)
        at = [i for i, event in enumerate(file["events"]) if event["e"] == "mark" and event["name"] == "stateReplaced"]
        self.assertTrue(at)
        ends = [next(event for event in file["events"][i:] if event["e"] == "post_fw") for i in at]
        # And those around them.
        self.assertEqual([file["fqns"][event["m"]] for event in ends], ["Sequential.1.centred", "Sequential.1", "Sequential.2.centred", "Sequential.2", "Sequential"])


def _is_drawn_high():
    """Unknown for fake tensors."""
    return bool((torch.rand(2) > 0.5).all())


class Export(Folder):
    def export(self, step, model=None, **options):
        remat.export(lambda: (model or nn.Linear(2, 2), step), self.folder / "step.json", **options)

    def test_a_number_that_is_read_is_told_of_once_with_its_line(self):
        def build():
            model = nn.Linear(2, 2)

            def step():
                loss = model(torch.ones(3, 2)).sum()
                loss.backward()
                return loss.item() + 1

            return model, step

        with self.assertWarnsRegex(UserWarning, r"test_programs.py:\d+ \(return loss.item\(\) \+ 1\) reads a number") as caught:
            remat.export(build, self.folder / "step.json")
        self.assertEqual(len([w for w in caught.warnings if "reads a number" in str(w.message)]), 1)

    def test_a_value_that_decides_is_asked_for_with_its_line(self):
        def step():
            action = torch.distributions.Categorical(torch.rand(4)).sample()
            return 1 if action.item() == 2 else 0

        with self.assertRaisesRegex(RuntimeError, r"test_programs.py:\d+ \(return 1 if action.item\(\) == 2 else 0\) reads a value .*torch.int64.*assume="):
            self.export(step)
        self.export(step, assume={"item": 2})
        with self.assertRaisesRegex(ValueError, "unknown key 'items' in assume; use 'item' or 'nonzero'"):
            self.export(step, assume={"items": 2})

    def test_experts_take_the_share_that_is_given(self):
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

            def forward(self, x):
                out, chosen = torch.zeros_like(x), self.gate(x).argmax(-1)
                for i, expert in enumerate(self.experts):
                    (rows,) = torch.where(chosen == i)
                    out = out.index_add(0, rows, expert(x[rows]))
                return out + x[chosen == 0].sum()

        def build():
            model = Experts()
            x = torch.randn(32, 8)
            return model, lambda: model(x).sum().backward()

        with self.assertRaisesRegex(RuntimeError, r"torch.where\(chosen == i\)\).*whose size depends on values.*nonzero"):
            remat.export(build, self.folder / "step.json")
        remat.export(build, self.folder / "step.json", assume={"nonzero": 0.25})
        file = json.loads((self.folder / "step.json").read_text())
        inputs = [file["tensors"][int(e["x"][0][1:])]["sh"] for e in file["events"] if e["e"] == "pre_fw" and "experts." in file["fqns"][e["m"]]]
        self.assertEqual(inputs, [[8, 8]] * 4)

    def test_values_that_follow_from_no_weight_are_computed(self):
        read = []

        def step():
            mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
            read.append((bool((mask == mask).all()), mask.isinf().sum().item(), torch.arange(5).nonzero().shape[0], [x.item() for x in torch.linspace(0, 1, 3)]))

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.export(step)
        # Two steps, in float32 and in bfloat16.
        self.assertEqual(read, [(True, 6, 4, [0.0, 0.5, 1.0])] * 4)

    def test_transformers_looks_at_masks_whose_values_are_known(self):
        # As its utils.import_utils has it: masks that hide nothing are left out of tensors that are not fake.
        utils = types.ModuleType("transformers.utils.import_utils")
        utils.is_fake_tensor = is_fake_tensor = lambda tensor: isinstance(tensor, FakeTensor)
        left_out = []

        def step():
            for mask in (torch.arange(4) >= 0, torch.tril(torch.ones(4, 4)).bool(), torch.rand(4) < 2):
                left_out.append(not utils.is_fake_tensor(mask) and bool(mask.all()))

        with unittest.mock.patch.dict(sys.modules, {utils.__name__: utils}):
            self.export(step)
            remat.export_step(step, self.folder / "step.json")
        # Two steps of each, and of the first two in bfloat16.
        self.assertEqual(left_out, [True, False, False] * 6)
        self.assertIs(utils.is_fake_tensor, is_fake_tensor)

    def test_steps_that_foreach_optimizers_count_are_numbers(self):
        for of in (torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax, torch.optim.ASGD):
            with self.subTest(of=of.__name__):
                def build():
                    model = nn.Linear(2, 3)
                    optimizer = of(model.parameters(), foreach=True)

                    def step():
                        model(torch.ones(4, 2)).sum().backward()
                        optimizer.step()
                        optimizer.zero_grad()

                    return model, optimizer, step

                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    remat.export(build, self.folder / "step.json")
                file = json.loads((self.folder / "step.json").read_text())
                self.assertTrue(any(op[0].startswith("aten._foreach_") for op in ops_of(file)))

    def test_a_model_that_cannot_be_built_on_fake_tensors_is_built_on_the_cpu(self):
        def build():
            model = nn.LSTMCell(2, 3).double()
            _is_drawn_high()
            x = torch.randn(4, 2, dtype=torch.double)
            optimizer = torch.optim.Adam(model.parameters())

            def step():
                model(x)[0].sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            build.model = model
            return model, optimizer, step

        with self.assertWarnsRegex(UserWarning, "built on the CPU, because .*reads a value"):
            remat.export(build, self.folder / "step.json", allocation_unit=1)
        self.assertEqual(type(build.model.weight_ih), nn.Parameter)
        torch.manual_seed(0)
        model, optimizer, step = build()
        step()
        with remat.record(self.folder / "real.json", model, optimizer, allocation_unit=1):
            step()
        fake, real = (json.loads((self.folder / name).read_text()) for name in ("step.json", "real.json"))
        self.assertEqual(ops_of(fake), ops_of(real))
        self.assertEqual(held_at_most(fake), held_at_most(real))

    def test_what_a_program_puts_on_cuda_is_recorded_where_there_is_none(self):
        def build(to_device, device=None):
            model = to_device(nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.1)))
            nn.init.trunc_normal_(model[0].weight, std=0.02)
            optimizer = torch.optim.Adam(model.parameters())
            x = to_device(torch.randn(4, 8)) if device is None else torch.randn(4, 8, device=device)

            def step():
                with torch.autocast("cuda" if device else "cpu", dtype=torch.bfloat16):
                    loss = model(x).float().square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if device:
                    torch.cuda.synchronize()

            return model, optimizer, step

        remat.export(lambda: build(lambda one: one), self.folder / "cpu.json")
        expected = json.loads((self.folder / "cpu.json").read_text())
        ways = ((lambda one: one.cuda(), "cuda"), (lambda one: one.to("cuda", non_blocking=True), torch.device("cuda:0")), (lambda one: one.to(device="cuda:0"), "cuda"))
        for to_device, device in ways:
            with self.subTest(device=device), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                remat.export(lambda: build(to_device, device), self.folder / "step.json")
                file = json.loads((self.folder / "step.json").read_text())
                if not torch.cuda.is_available():
                    self.assertEqual(ops_of(file), ops_of(expected))
                self.assertEqual(held_at_most(file), held_at_most(expected))

    def test_models_that_are_converted_and_drawn_within_bounds_need_no_cpu(self):
        def build():
            model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16)).to(torch.bfloat16)
            nn.init.trunc_normal_(model[0].weight, std=0.02)
            x = torch.randn(4, 8, dtype=torch.bfloat16)
            return model, lambda: model(x).square().mean().backward()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            remat.export(build, self.folder / "step.json")

    def test_what_fake_tensors_cannot_do_is_told_with_its_line(self):
        def step():
            torch.zeros(2, 3).mm(torch.zeros(2, 3))

        with self.assertRaises(RuntimeError) as raised:
            self.export(step)
        self.assertRegex("\n".join(getattr(raised.exception, "__notes__", ["test_programs.py, record_step"])), "test_programs.py.*record_step")

    def test_products_of_groups_are_recorded_in_any_dtype(self):
        if not hasattr(torch, "_grouped_mm"):
            self.skipTest("this PyTorch has none")
        weight = nn.Parameter(torch.zeros(2, 8, 16))
        model = nn.ParameterList([weight])

        def step():
            rows, ends = torch.zeros(6, 8, requires_grad=True), torch.tensor([2, 6], dtype=torch.int32)
            out = torch._grouped_mm(rows, model[0], offs=ends)
            assert out.shape == (6, 16) and out.dtype == torch.float32
            out.sum().backward()
            assert model[0].grad.shape == (2, 8, 16) and rows.grad.shape == (6, 8)

        self.export(step, model)

    def test_workspaces_that_fake_tensors_do_not_tell_of_are_told_of_once(self):
        model, x = nn.LSTM(4, 8, 2), torch.randn(3, 2, 4)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            remat.export_step(lambda: model(x)[0].sum().backward(), self.folder / "step.json", model=model)
        [text] = {str(one.message) for one in told if str(one.message).startswith("remat: ")}
        self.assertRegex(text, r"test_programs\.py:\d+ .* runs aten\.mkldnn_rnn_layer\.default, which keeps a workspace")

    def test_what_a_step_replaces_is_as_before_when_it_was_recorded(self):
        class Replacing(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 4))
                self.register_buffer("mean", torch.zeros(4))
                self.register_buffer("last", torch.ones(4))

            def forward(self, x):
                y = x @ self.weight
                self.mean = 0.9 * self.mean + y.detach().mean(0)
                self.last.data = self.mean * 2
                return (y - self.mean).sum()

        model, x = Replacing(), torch.randn(3, 4)
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            model(x).backward()
            optimizer.step()
            optimizer.zero_grad()

        before = {name: (id(value), value.clone()) for name, value in [*model.named_parameters(), *model.named_buffers()]}
        last_at = model.last.data_ptr()
        remat.export_step(step, self.folder / "step.json", model=model, optimizer=optimizer)
        with as_before(model):
            step()
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            self.assertEqual(id(value), before[name][0])
            self.assertTrue(torch.equal(value, before[name][1]))
        self.assertEqual((type(model.last.data), model.last.data_ptr()), (torch.Tensor, last_at))

    def test_an_export_leaves_what_was_built_on_the_cpu_as_it_was(self):
        def build():
            model = nn.ModuleList([nn.LSTMCell(2, 3).double(), nn.BatchNorm1d(3).double()])
            _is_drawn_high()
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            build.model, build.before = model, copy.deepcopy(model.state_dict())

            def step():
                model[1](model[0](torch.randn(4, 2, dtype=torch.double))[0]).square().sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return model, optimizer, step

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            remat.export(build, self.folder / "step.json")
        for name, value in build.model.state_dict().items():
            self.assertTrue(torch.equal(value, build.before[name]), name)


class Caches(unittest.TestCase):
    def test_a_cache_of_keys_and_values_gets_each_once(self):
        class Layer:
            def __init__(self):
                self.keys = None

            def update(self, keys):
                self.keys = keys if self.keys is None else torch.cat([self.keys, keys], 1)
                return self.keys

        class Cache:
            """As transformers has them."""

            def __init__(self):
                self.layers = []

            def update(self, keys, at):
                while len(self.layers) <= at:
                    self.layers.append(Layer())
                return self.layers[at].update(keys)

        class Block(nn.Module):
            def __init__(self, at):
                super().__init__()
                self.at, self.key, self.value = at, nn.Linear(8, 8), nn.Linear(8, 8)

            def forward(self, x, cache=None):
                return x + torch.softmax(x @ cache.update(self.key(x), self.at).transpose(1, 2), -1) @ self.value(x)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(0), Block(1)])

            def forward(self, x, cache):
                for block in self.blocks:
                    x = block(x, cache=cache)
                return x

        model = Model()
        twin = copy.deepcopy(model)
        shapes = [list(parameter.shape) for parameter in model.blocks[0].parameters()]
        unit = {"type": "Block", "parameters": shapes, "save": []}
        remat.apply(twin, {"format": "remat-pytorch-policy/2", "model": "Model", "torch": torch.__version__, "modules": {f"blocks.{i}": unit for i in (0, 1)}})
        x = torch.randn(2, 5, 8)
        caches = [Cache(), Cache()]
        for one, cache in zip((model, twin), caches):
            out = one(x, cache)
            # Nothing but the program holds a cache.
            gone = Cache()
            other = one(x, gone)
            keys = weakref.ref(gone.layers[0])
            del gone
            gc.collect()
            self.assertIsNone(keys())
            del other
            out.square().sum().backward()
        for a, b in zip(model.parameters(), twin.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))
        for a, b in zip(caches[0].layers, caches[1].layers, strict=True):
            self.assertTrue(torch.equal(a.keys, b.keys))


if __name__ == "__main__":
    unittest.main(verbosity=2)
