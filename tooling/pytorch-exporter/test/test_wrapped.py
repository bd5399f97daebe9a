"""Policies under what else wraps modules: data parallelism, sharding, compilers, hooks on what is saved."""

import copy
import os
import socket
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.distributed as dist
import torch.nn.functional as F
from recorded_files import CLI, Folder
from small_models import Transformer
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore

import remat

WORLD = 2


def policy_of(model):
    """One block as a whole, one with an op saved, one inside another."""

    def unit(name, save=()):
        module = model.get_submodule(name)
        return {"type": type(module).__name__, "parameters": [list(p.shape) for p in module.parameters()], "save": [{"op": op, "ordinal": at} for op, at in save]}

    units = {"layers.0": unit("layers.0"), "layers.0.norm2": unit("layers.0.norm2"), "layers.1": unit("layers.1", [("aten.addmm.default", 0)])}
    return {"format": "remat-pytorch-policy/2", "model": "Transformer", "torch": torch.__version__, "modules": units}


def shard(model, layers=None, world=WORLD):
    """Shards each of `layers`, those of the model if none are given, and the model."""
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers if layers is None else layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def shard_then_apply(model, policy):
    model = shard(model)
    remat.apply(model, policy)
    return model


def apply_then_shard(model, policy):
    remat.apply(model, policy)
    return shard(model)


def wrap_then_apply(model, policy):
    model = DistributedDataParallel(model)
    remat.apply(model, policy)
    return model


def apply_then_wrap(model, policy):
    remat.apply(model, policy)
    return DistributedDataParallel(model)


def gradients_after(model, rank):
    x = (torch.arange(64) * (rank + 3)).remainder(100).view(2, 32)
    for _ in range(2):
        torch.manual_seed(rank)
        F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    return [p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad.clone() for p in model.parameters()]


def compare(rank, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain = Transformer()
    policy = policy_of(plain)
    for stock, ways in ((DistributedDataParallel, (wrap_then_apply, apply_then_wrap)), (shard, (shard_then_apply, apply_then_shard))):
        expected = gradients_after(stock(copy.deepcopy(plain)), rank)
        for way in ways:
            model = way(copy.deepcopy(plain), policy)
            kinds = {name: type(module).__name__ for name, module in model.named_modules()}
            same = all(torch.equal(a, b) for a, b in zip(expected, gradients_after(model, rank)))
            model.zero_grad()
            remat.remove(model)
            undone = all(torch.equal(a, b) for a, b in zip(expected, gradients_after(model, rank)))
            is_wrapped = {name: type(module).__name__ for name, module in model.named_modules()} == kinds
            results[f"{way.__name__} {rank}"] = (same, undone, is_wrapped)
    dist.destroy_process_group()


class Sharded(Folder):
    def test_a_sharded_step_holds_what_torchs_tracker_says(self):
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
        self.addCleanup(dist.destroy_process_group)

        def sharded():
            layers = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(6)]
            model = shard(nn.Sequential(*layers), layers, world=4)
            optimizer = torch.optim.Adam(model.parameters())
            x = torch.randn(32, 64)

            def step():
                model(x).sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return model, optimizer, step, x

        model, optimizer, step, x = sharded()
        step()
        with remat.record(self.folder / "step.json", model, optimizer, x, allocation_unit=1) as recorder:
            step()
        self.assertGreater(sum(event["e"] == "resize" for event in self.read("step.json")["events"]), 20)
        model, optimizer, step, x = sharded()
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((x,))
        with tracker:
            step()
            tracker.reset_mod_stats()
            step()
        [snapshot] = tracker.get_tracker_snapshot("peak").values()
        total = {getattr(key, "value", key): value for key, value in snapshot.items()}["Total"]
        # But for a scalar.
        self.assertLessEqual(abs(recorder.peak_bytes(1) - total), 8)

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_a_sharded_model_is_fitted(self):
        self.fit_sharded(lambda layer: None)

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_a_sharded_model_with_hooks_of_its_own_is_fitted(self):
        def hook(layer, inputs):
            layer.calls = getattr(layer, "calls", 0) + 1
            return (inputs[0] * 1,)

        self.fit_sharded(lambda layer: layer.register_forward_pre_hook(hook))

    def fit_sharded(self, prepare):
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        layers = [nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)]
        model = shard(nn.Sequential(*layers), layers, world=1)
        for layer in layers:
            prepare(layer)
        optimizer = torch.optim.Adam(model.parameters())
        x = torch.randn(256, 64)

        def step():
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        fitted = remat.fit(model, step, "80%", planner=CLI, seconds=1, verbose=False)
        self.assertTrue(fitted.policy["modules"])
        self.assertLessEqual(fitted.measured_bytes, fitted.budget)
        self.assertLess(abs(fitted.measured_bytes / fitted.planned_bytes - 1), 0.005)


class Wrapped(Folder):
    def test_data_parallel_and_sharded_models_have_the_same_gradients_in_either_order(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        with torch.multiprocessing.Manager() as manager:
            results = manager.dict()
            torch.multiprocessing.spawn(compare, (port, results), nprocs=WORLD)
            ways = (wrap_then_apply, apply_then_wrap, shard_then_apply, apply_then_shard)
            self.assertEqual(dict(results), {f"{way.__name__} {rank}": (True, True, True) for way in ways for rank in range(WORLD)})

    def test_hooks_on_state_dicts_and_modules_stay(self):
        model = Transformer()
        calls = []
        model.layers[0].register_state_dict_post_hook(lambda *_: calls.append("saved"))
        model.layers[0].register_load_state_dict_pre_hook(lambda *_: calls.append("loaded"))
        model.layers[0].register_forward_hook(lambda *_: calls.append("forward"))
        names = list(model.state_dict())
        remat.apply(model, policy_of(model))
        calls.clear()
        state = model.state_dict()
        model.load_state_dict(state)
        model(torch.zeros(1, 4, dtype=torch.long)).sum().backward()
        self.assertEqual(list(state), names)
        self.assertEqual(calls, ["saved", "loaded", "forward"])
        torch.save(state, self.folder / "state.pt")
        Transformer().load_state_dict(torch.load(self.folder / "state.pt"))

    def test_a_policy_goes_when_it_is_removed_and_comes_again(self):
        model = Transformer()
        classes = [type(module) for module in model.modules()]
        for _ in range(2):
            remat.apply(model, policy_of(model))
            with self.assertRaisesRegex(ValueError, "already follows a policy"):
                remat.apply(model, policy_of(Transformer()))
            remat.remove(model)
            self.assertEqual([type(module) for module in model.modules()], classes)
        remat.remove(nn.Linear(1, 1))

    def test_torchscript_and_policies_are_told_apart(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
        stock, x = copy.deepcopy(model), torch.randn(2, 4)
        shapes = [list(one.shape) for one in model[1].parameters()]
        for parts in ({}, {"parts": [[0, 3]]}):
            unit = {"type": "Sequential", "parameters": shapes, "save": []} | parts
            policy = {"format": "remat-pytorch-policy/4", "model": "m", "torch": torch.__version__, "modules": {"1": unit}}
            undo = remat.apply(model, policy)
            with self.assertRaisesRegex(RuntimeError, r"torch.jit.script cannot capture .*; call remat.remove\(model\) first"):
                torch.jit.script(model)
            # A trace is of the ops alone, and trains as the model does.
            traced = torch.jit.trace(model, x)
            gradients = []
            for one in (stock, traced):
                one.zero_grad()
                one(x).sum().backward()
                gradients.append([weight.grad.clone() for weight in one.parameters()])
            self.assertTrue(all(map(torch.equal, *gradients)))
            undo()
            for scripted in (torch.jit.script(model), torch.jit.trace(model, x)):
                with self.assertRaisesRegex(TypeError, "^remat: the model is a TorchScript module, [^\n]*; use the model that was given to torch.jit.script or torch.jit.trace$"):
                    remat.apply(scripted, policy)
            for inner in (torch.jit.script(model[1]), torch.jit.trace(model[1], x)):
                with self.assertRaisesRegex(ValueError, "module '1' is a TorchScript module"):
                    remat.apply(nn.Sequential(nn.Linear(4, 4), inner), {**policy, "moduleCount": len(list(nn.Sequential(nn.Linear(4, 4), inner).modules()))})

    def test_a_module_around_torchscript_runs_again(self):
        # TorchScript optimizes a module after its first call, so bits may differ from call to call.
        stock = nn.Sequential(nn.Linear(4, 4), torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Tanh())))
        model = nn.Sequential(nn.Linear(4, 4), torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Tanh())))
        model.load_state_dict(stock.state_dict())
        policy = {"format": "remat-pytorch-policy/4", "model": "m", "torch": torch.__version__, "modules": {"": {"type": "Sequential", "parameters": [list(one.shape) for one in model.parameters()], "save": []}}}
        remat.apply(model, policy)
        x = torch.randn(2, 4)
        for one in (stock, model):
            one(x).sum().backward()
        self.assertTrue(all(torch.allclose(a.grad, b.grad) for a, b in zip(stock.parameters(), model.parameters())))


if __name__ == "__main__":
    unittest.main(verbosity=2)
