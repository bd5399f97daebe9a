"""Writes the recorded step of a sharded model that tests of @remat/sharding read, with the figures of PyTorch's tracker."""

import gzip
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.distributed as dist
from test_sharded import Block
from test_wrapped import shard
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.testing._internal.distributed.fake_pg import FakeStore

import remat


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = torch.nn.ModuleList(Block() for _ in range(3)), torch.nn.Linear(64, 12)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def sharded_step():
    torch.manual_seed(0)
    model = Net()
    model = shard(model, model.blocks, world=4)
    optimizer, x = torch.optim.Adam(model.parameters(), foreach=True), torch.randn(32, 64)

    def step():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    return model, optimizer, x, step


def write_sharded(folder):
    """A step on rank 0 of 4, and the bytes in each state of each unit in PyTorch's tracker."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    model, optimizer, x, step = sharded_step()
    with remat.record(folder / "step.json", model, optimizer, x, name="net", allocation_unit=1):
        step()
    recorded = json.loads((folder / "step.json").read_text())
    # Without the folders of this machine.
    recorded["lines"] = [Path(line).name for line in recorded["lines"]]
    (folder / "step.json").unlink()
    model, optimizer, x, step = sharded_step()
    tracker = FSDPMemTracker(model, optimizer)
    tracker.track_inputs((x,))
    with tracker:
        step()
    upstream = {
        f"{stats.mod_fqn}|{state.value}|{call}|{device}": {getattr(key, "value", key): size for key, size in sizes.items() if size}
        for stats in tracker.memory_tracking.values()
        for state, calls in stats.snapshots.items()
        for call, devices in enumerate(calls, 1)
        for device, sizes in devices.items()
    }
    file = json.dumps({"recorded": recorded, "upstream": upstream}, separators=(",", ":"))
    dist.destroy_process_group()
    (folder / "recorded-fsdp.json.gz").write_bytes(gzip.compress(file.encode(), 9, mtime=0))
