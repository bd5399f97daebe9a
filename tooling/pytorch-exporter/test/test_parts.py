"""Parts of modules that run again: the same bits, whatever is in them, and an error where that cannot be."""

import contextlib
import copy
import random
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from small_models import Convolutions, Transformer, convolution_step, transformer_step
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import remat
from remat.parts import PartsOfCall, _Part
from remat.queries import QUERIES


def policy_of(model, parts):
    """`parts`: by module."""
    modules = {}
    for name, pairs in parts.items():
        module = model.get_submodule(name)
        modules[name] = {"type": type(module).__name__, "parameters": [list(p.shape) for p in module.parameters()], "save": []} | ({"parts": pairs} if pairs else {})
    return {"format": "remat-pytorch-policy/4", "model": "m", "torch": torch.__version__, "modules": modules}


def state_after(make, parts, steps=2):
    torch.manual_seed(0)
    model, _, step = make()
    remat.apply(model, policy_of(model, parts))
    torch.manual_seed(1)
    for _ in range(steps):
        step()
    return [*(value.clone() for value in model.state_dict().values()), torch.rand(1)]


class Functions(nn.Module):
    """All of its work is in functions of one forward: in-place ops, dropout, a loop, a result that is several, a view that is saved."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(16, 48) / 4), nn.Parameter(torch.randn(16, 16) / 4)

    def forward(self, x):
        for _ in range(3):
            q, k, v = (x @ self.a).chunk(3, -1)
            x = x + F.dropout(torch.softmax(q @ k.transpose(-1, -2), -1), 0.2) @ v
            values, _ = (x @ self.b).mul_(0.5).relu_().topk(8, -1)
            x = x * torch.sigmoid(values).repeat(1, 1, 2)
        return x.square().mean()


def functions_step():
    model = Functions()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(2, 8, 16)

    def step():
        model(x).backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


class SkipsLayers(nn.Module):
    """As LayerDrop does; each layer draws numbers, works in place, and counts in a buffer of the model."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.2), nn.ReLU(inplace=True)) if i % 2 else nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Tanh()) for i in range(6))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, runs):
        for layer, is_run in zip(self.layers, runs):
            x = layer(x) + x if is_run else x
            if is_run:
                torch.sigmoid_(x)
        return x * 2


def names_of(make, *given):
    """The ops that a call dispatches."""
    model, names = make(), []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if str(func).rsplit(".", 1)[0] not in QUERIES:
                names.append(str(func))
            return func(*args, **(kwargs or {}))

    with Names():
        model(torch.randn(4, 8), *given)
    return names[1:]


class Inverse(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        # PyTorch cannot differentiate a pseudo-inverse under autocast.
        return torch.sigmoid(torch.linalg.pinv(x.detach()).float() * self.weight[:, :6])


def pairs_of(rng, count):
    bounds = sorted(rng.sample(range(count), rng.choice([2, 3, 5, 8])))
    return [list(pair) for pair in zip(bounds, bounds[1:]) if rng.random() < 0.8] or [[bounds[0], bounds[1]]]


def places_of(name):
    """The first place of a module of the transformer among the ops of the whole, and the one after its last."""
    model, _, _ = transformer_step()
    count, found = 0, []

    class Counting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal count
            count += str(func).rsplit(".", 1)[0] not in QUERIES
            return func(*args, **(kwargs or {}))

    model.get_submodule(name).register_forward_pre_hook(lambda *_: found.append(count))
    model.get_submodule(name).register_forward_hook(lambda *_: found.append(count))
    x = torch.randint(0, 100, (4, 32))
    with Counting():
        model(x)
    return found


class PartsTest(unittest.TestCase):
    def test_any_parts_give_the_bits_of_the_whole(self):
        rng = random.Random(3)
        for make, modules in ((transformer_step, {"": 130, "layers.1": 35}), (convolution_step, {"": 16}), (functions_step, {"": 60})):
            stock = state_after(make, {})
            for _ in range(12):
                name, count = rng.choice(list(modules.items()))
                parts = {name: pairs_of(rng, count)}
                with self.subTest(make=make.__name__, parts=parts):
                    self.assertTrue(all(torch.equal(a, b) for a, b in zip(stock, state_after(make, parts), strict=True)))

    def test_kernels_that_make_more_where_gradients_are_enabled_do_so_again(self):
        def lstm_step():
            model = nn.Sequential(nn.LSTM(16, 16, 2, dropout=0.2))
            optimizer = torch.optim.Adam(model.parameters())
            x = torch.randn(5, 4, 16)

            def step():
                model(x)[0].square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()

            return model, optimizer, step

        stock = state_after(lstm_step, {})
        for first in range(6):
            parts = {"": [[first, first + 6]]}
            with self.subTest(parts=parts):
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(stock, state_after(lstm_step, parts), strict=True)))

    def test_less_is_saved_and_again_only_what_is_asked_for(self):
        ran, saved = [], []

        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                ran.append(str(func))
                return func(*args, **(kwargs or {}))

        model = Functions()
        remat.apply(model, policy_of(model, {"": [[0, 14]]}))
        x = torch.randn(2, 8, 16)
        with Watch():
            with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.shape) or t, lambda t: t):
                loss = model(x)
            forward = len(ran)
            loss.backward()
        first, again = ran[:forward], ran[forward:]
        self.assertEqual(again.count("aten.bernoulli_.float"), 1)
        # Nothing saved follows from what only the next part reads.
        self.assertLess(again.count("aten.bmm.default") - 2 * 3 * 2, first.count("aten.bmm.default"))

    def test_places_are_those_of_the_program_whatever_is_checkpointed_before_them(self):
        first, end = places_of("layers.2")

        def ran_in_part(saved):
            torch.manual_seed(0)
            model, _, step = transformer_step()
            policy = policy_of(model, {"": [[first, end]]})
            policy["modules"] |= {name: policy_of(model, {name: None})["modules"][name] | {"save": save} for name, save in saved.items()}
            remat.apply(model, policy)
            ran = []
            run = _Part.run

            def run_and_tell(part, op, func, args, kwargs):
                ran.append(str(func))
                return run(part, op, func, args, kwargs)

            with mock.patch.object(_Part, "run", run_and_tell):
                step()
            return ran

        alone = ran_in_part({})
        self.assertEqual(len(alone), end - first)
        some = [{"op": "aten.addmm.default", "ordinal": 0, "policy": "MUST_SAVE"}]
        for saved in ({"layers.0": []}, {"layers.0": some}, {"layers.0.norm1": [], "layers.0": []}, {"embeddings": [], "layers.0": [], "layers.1": some}):
            with self.subTest(saved=saved):
                self.assertEqual(ran_in_part(saved), alone)

    def test_a_part_ends_before_what_begins_there(self):
        first, end = places_of("layers.2")
        stock = state_after(transformer_step, {})
        for outer, inner in ((first, None), (first, [[0, 6]]), (first + 4, [[4, 9]]), (first + 4, [[5, 9]])):
            for begin in (3, first - 5):
                ran = []

                def make():
                    made = transformer_step()
                    made[0].layers[2].norm1.register_forward_hook(lambda *_: ran.append(1))
                    return made

                with self.subTest(outer=outer, inner=inner, begin=begin):
                    after = state_after(make, {"": [[begin, outer], [end, end + 2]], "layers.2": inner})
                    self.assertTrue(all(torch.equal(a, b) for a, b in zip(stock, after, strict=True)))
                    # A module that runs again as a whole does so in both steps.
                    self.assertEqual(len(ran), 4 if inner is None else 2)

    def test_a_part_that_begins_or_ends_in_a_checkpointed_module_does_not_run_again(self):
        first, end = places_of("layers.2")
        expected = state_after(transformer_step, {})
        for part in ([first + 3, end], [first - 3, end - 3], [first + 3, end - 3]):
            torch.manual_seed(0)
            model, _, step = transformer_step()
            policy = policy_of(model, {"": [part]})
            policy["modules"] |= policy_of(model, {"layers.2": None})["modules"]
            remat.apply(model, policy)
            torch.manual_seed(1)
            with self.subTest(part=part), self.assertWarnsRegex(UserWarning, r"the model takes another path .*: op \d+ is an op inside of another checkpointed module here"):
                step()
                step()
            self.assertTrue(all(map(torch.equal, expected, [*model.state_dict().values(), torch.rand(1)])))

    def test_other_ops_than_those_that_were_recorded_are_told_of_once(self):
        model, _, step = transformer_step()
        policy = policy_of(model, {"": [[3, 20]]})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for ops in (None, places_of("head")[1]):
                policy["modules"][""]["ops"] = ops
                undo = remat.apply(model, policy)
                step()
                undo()
        policy["modules"][""]["ops"] = 7
        for _ in range(2):
            undo = remat.apply(model, policy)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                step()
                step()
            undo()
            # The same policy, applied again, is not told of again.
            self.assertEqual([], [str(one.message) for one in told] if _ else [])
            if not _:
                self.assertEqual(len(told), 1)
                self.assertRegex(str(told[0].message), r"the model takes another path .* dispatches \d+ ops here, and 7 in the recorded step")

    def test_a_call_on_another_path_runs_without_parts_and_trains_the_same(self):
        rng = random.Random(3)
        names = names_of(SkipsLayers, [True] * 6)
        for seed in range(12):
            parts = pairs_of(rng, len(names) - 2)
            end = max(pair[1] for pair in parts)
            results, told = [], []
            for policy_is_on in (False, True):
                torch.manual_seed(seed)
                model = SkipsLayers()
                if policy_is_on:
                    policy = policy_of(model, {"": parts, **({"layers.3": None} if seed % 2 else {})})
                    policy["modules"][""] |= {"ops": len(names), "path": list(range(end)), "names": names[:end]}
                    remat.apply(model, policy)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    random.seed(seed)
                    for step in range(6):
                        # The recorded path, and others.
                        runs = [step == 0 or place == 0 or random.random() < 0.6 for place in range(6)]
                        model(torch.randn(4, 8), runs).square().sum().backward()
                told = [str(one.message) for one in caught if "remat" in str(one.message)]
                results.append([one.grad for one in model.parameters()] + [model.count, torch.rand(1)])
            with self.subTest(seed=seed, parts=parts):
                self.assertTrue(all(map(torch.equal, *results)))
                self.assertEqual(len(told), 1)
                self.assertRegex(told[0], "the model takes another path than in the recorded step: .*memory may exceed the plan")

    def test_a_graph_that_is_kept_has_the_same_gradients_again(self):
        model = Functions()
        twin = copy.deepcopy(model)
        remat.apply(model, policy_of(model, {"": [[0, 14], [14, 30]]}))
        copied = copy.deepcopy(model)
        x = torch.randn(2, 8, 16)
        gradients = []
        for one in (twin, model, copied):
            torch.manual_seed(5)
            loss = one(x)
            loss.backward(retain_graph=True)
            loss.backward()
            gradients.append([p.grad for p in one.parameters()])
        for other in gradients[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(gradients[0], other)))

    def test_runs_as_before_without_gradients_and_when_compiled(self):
        model = Transformer()
        twin = copy.deepcopy(model)
        remat.apply(model, policy_of(model, {"": [[0, 40]]}))
        model.eval(), twin.eval()
        x = torch.randint(0, 100, (2, 8))
        with torch.no_grad():
            self.assertTrue(torch.equal(model(x), twin(x)))
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        self.assertTrue(torch.equal(compiled(x), twin(x)))

    def test_autocast_and_hooks_of_others_stay(self):
        results = []
        for parts in ({}, {"": [[0, 20], [30, 60]]}):
            torch.manual_seed(0)
            model = Transformer()
            remat.apply(model, policy_of(model, parts))
            torch.manual_seed(1)
            with torch.autograd.graph.save_on_cpu(), torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(torch.arange(64).remainder(100).view(2, 32)).float().square().mean()
            loss.backward()
            results.append([p.grad for p in model.parameters()])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(*results)))

    def test_ops_whose_kernels_are_cast_inside_compute_the_same_under_any_policy_and_while_they_are_recorded(self):
        for make, count in ((lambda: nn.Bilinear(8, 8, 4), 5), (Inverse, 3)):
            torch.manual_seed(0)
            stock, x = make(), torch.randn(6, 8)

            def gradients(model, recorded=False):
                model.zero_grad()
                given = x.clone().requires_grad_()
                with tempfile.TemporaryDirectory() as folder, remat.record(Path(folder) / "step.json", model) if recorded else contextlib.nullcontext():
                    with torch.autocast("cpu", torch.bfloat16):
                        out = model(given, given) if isinstance(model, nn.Bilinear) else model(given)
                        with torch.autocast("cpu", enabled=False):
                            out = (model(given, given) if isinstance(model, nn.Bilinear) else model(given)).float() + out
                    out.float().square().sum().backward()
                return [out.detach(), *(one.grad.clone() for one in (given, *model.parameters()) if one.grad is not None)]

            expected = gradients(stock)
            self.assertTrue(all(map(torch.equal, expected, gradients(copy.deepcopy(stock), recorded=True))))
            parts = [[[begin, end]] for begin in range(count) for end in range(begin + 1, count + 1)]
            selective = [{"op": "aten.view.default", "ordinal": 0, "policy": "MUST_SAVE"}]
            for unit in ({}, {"save": selective}, *({"parts": pairs} for pairs in parts)):
                model = copy.deepcopy(stock)
                policy = policy_of(model, {"": None})
                policy["modules"][""] |= unit
                remat.apply(model, policy)
                with self.subTest(type(stock).__name__, **unit):
                    self.assertTrue(all(map(torch.equal, expected, gradients(model))))

    def test_what_was_written_into_or_freed_since_is_an_error(self):
        def replace_data(weight):
            weight.data = weight.data + 1

        class Shifted(nn.Module):
            def __init__(self):
                super().__init__()
                self.shift = nn.Parameter(torch.randn(16))

            def forward(self, x):
                return torch.sigmoid(x + self.shift).sum()

        for change, message in ((lambda w: w.mul_(2), "was overwritten after"), (lambda w: w.untyped_storage().resize_(0), "was freed after"), (replace_data, "was assigned new data")):
            model = Shifted()
            remat.apply(model, policy_of(model, {"": [[0, 2]]}))
            loss = model(torch.randn(2, 8, 16))
            with torch.no_grad():
                change(model.shift)
            with self.assertRaisesRegex(RuntimeError, message):
                loss.backward()

    def test_running_statistics_count_a_batch_once(self):
        model = Convolutions()
        remat.apply(model, policy_of(model, {"": [[0, 12]]}))
        model(torch.randn(4, 3, 16, 16)).square().sum().backward()
        self.assertEqual(int(model.first[1].num_batches_tracked), 1)

    def test_what_a_part_made_goes_with_the_graph(self):
        # Other tests may keep graphs of their own, as a caught error does with its frames.
        others = {id(part) for part in _parts_alive()}
        model = Functions()
        with PartsOfCall([(0, 30)]):
            loss = model(torch.randn(2, 8, 16))
        saved = [part for part in _parts_alive() if id(part) not in others]
        del loss
        self.assertGreater(len(saved), 0)
        del saved
        self.assertLessEqual({id(part) for part in _parts_alive()}, others)


def _parts_alive():
    import gc

    from remat.parts import _Part

    return [one for one in gc.get_objects() if type(one) is _Part]


if __name__ == "__main__":
    unittest.main()
