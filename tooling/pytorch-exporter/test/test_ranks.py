"""Models on two processes, replicated and sharded: recorded, planned, trained by a policy, and fitted, with the same bits and the planned peaks in both."""

import os
import socket
import sys
import traceback
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.distributed as dist
from recorded_files import CLI, Folder
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import remat
from remat.planner import plan_step

WORLD = 2
STEPS = 3
WIDTH = 64


class Block(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm, self.up, self.down = norm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def replicated():
    return DistributedDataParallel(nn.Sequential(*[Block(nn.BatchNorm1d) for _ in range(4)]))


def replicated_in_buckets():
    return DistributedDataParallel(nn.Sequential(*[Block(nn.LayerNorm) for _ in range(4)]), bucket_cap_mb=0.1, gradient_as_bucket_view=True, static_graph=True)


def sharded():
    model = nn.Sequential(*[Block(nn.LayerNorm) for _ in range(4)])
    mesh = init_device_mesh("cpu", (WORLD,))
    for block in model:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def made(build, rank):
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    x = torch.randn(512, WIDTH)

    def step():
        loss = (model(x) - x.flip(0)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    step()
    return model, optimizer, step


def trained(model, optimizer, step):
    """Losses and bits of all state after some steps."""
    losses = [step() for _ in range(STEPS)]
    state = [*model.state_dict().values(), *[value for of in optimizer.state.values() for value in of.values()]]
    return losses, [(one.to_local() if isinstance(one, DTensor) else one).detach().numpy().tobytes() for one in state]


def peak(model, optimizer, step, path):
    with remat.record(path, model, optimizer, allocation_unit=1) as recorder:
        step()
    return recorder.peak_bytes(1)


def planned_and_applied(build, rank, folder):
    expected = trained(*made(build, rank))
    model, optimizer, step = made(build, rank)
    path, policy = folder / f"{build.__name__}-{rank}.json.gz", folder / f"{build.__name__}.json"
    stock = peak(model, optimizer, step, path)
    if rank == 0:
        planned = plan_step(CLI, path, policy, "75%", seconds=2, whole_modules=build is sharded)
    dist.barrier()
    if rank != 0:
        planned = None
    told = [planned]
    dist.broadcast_object_list(told, src=0)
    model, optimizer, step = made(build, rank)
    remat.apply(model, policy)
    found = trained(model, optimizer, step)
    measured = peak(model, optimizer, step, folder / f"measured-{rank}.json.gz")
    return found == expected, stock, told[0]["peakBytes"], measured


def fitted(build, rank):
    expected = trained(*made(build, rank))
    model, optimizer, step = made(build, rank)
    # A step of one process that takes longer, or is planned otherwise, keeps no other waiting.
    fit = remat.fit(model, step, "75%" if rank == 0 else "80%", planner=CLI, seconds=1 + rank, repeats=2, verbose=False)
    return trained(model, optimizer, step) == expected, fit.stock_bytes, fit.planned_bytes, fit.measured_bytes, fit.verified, sorted(fit.policy["modules"])


def run(rank, port, folder, builds, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    try:
        for build in builds:
            results[build.__name__, rank] = planned_and_applied(build, rank, folder), fitted(build, rank)
    except Exception:
        results["error", rank] = traceback.format_exc()
        raise
    dist.destroy_process_group()


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class Ranks(Folder):
    def test_each_process_trains_the_same_bits_within_the_same_plan(self):
        builds = (replicated, replicated_in_buckets, sharded)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        with torch.multiprocessing.Manager() as manager:
            results = manager.dict()
            try:
                torch.multiprocessing.spawn(run, (port, self.folder, builds, results), nprocs=WORLD)
            finally:
                results = dict(results)
        for (name, rank), ((is_same, stock, planned, measured), fit) in results.items():
            with self.subTest(name, rank=rank):
                self.assertTrue(is_same)
                self.assertLess(planned, 0.76 * stock)
                self.assertLess(abs(measured / planned - 1), 0.01)
                is_same, stock, planned, measured, verified, modules = fit
                self.assertTrue(is_same and verified and modules)
                self.assertLessEqual(measured, 0.75 * stock)
                self.assertLess(abs(measured / planned - 1), 0.01)
                self.assertEqual(modules, results[name, 0][1][-1])
        self.assertEqual(len(results), WORLD * len(builds))


if __name__ == "__main__":
    unittest.main(verbosity=2)
