"""Runs the output of `remat memory --fsdp-code` on models of the oracle, on fake tensors under a fake process group, and
returns the peak that MemTracker sees.

Reads {"model": "tf" | "mlp", "code", "worldSize", "microBatches", "syncLast"} from standard input and prints
{"peakBytes"} or {"error"} for each. Needs the folder of the oracle's scripts as its argument, with its compiled guard
library, which allows tensors "on CUDA" without CUDA.
"""
import functools
import json
import sys

oracle = sys.argv[1]
sys.path.insert(0, oracle)
import dump_fsdp_knobs as knobs
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.testing._internal.distributed.fake_pg import FakeStore

MODELS = {"tf": knobs.tf, "mlp": knobs.mlp}


def sharder(code):
    """Returns the function `shard` of the code, with features replaced that fake tensors lack: pinned memory, the
    generator's state, a mesh made in fake mode.
    """
    code = code.replace("CPUOffloadPolicy()", "CPUOffloadPolicy(pin_memory=False)")
    scope = {}
    exec(code, scope)
    if "checkpoint_wrapper" in scope:
        scope["checkpoint_wrapper"] = functools.partial(scope["checkpoint_wrapper"], preserve_rng_state=False)
    [line] = [line for line in code.split("\n") if "init_device_mesh(" in line and "import" not in line]
    mesh = eval(line.split("=", 1)[1].strip(), {**scope})
    if len(mesh.shape) > 1:
        for name in mesh.mesh_dim_names:
            mesh[name].get_group()
    scope["init_device_mesh"] = lambda *args, **kwargs: mesh
    return scope["shard"]


def peak_of(asked):
    dist.init_process_group("fake", rank=0, world_size=asked["worldSize"], store=FakeStore())
    try:
        shard = sharder(asked["code"])
        with FakeTensorMode():
            model, x, _ = MODELS[asked["model"]]()
            model = shard(model)
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=True)
            tracker = MemTracker()
            tracker.track_external(model, optimizer, x)
            passes = asked.get("microBatches", 1)
            with tracker:
                for step in range(2):
                    for i in range(passes):
                        if i > 0:
                            # Its figures by module are for one pass. Those of the device continue.
                            tracker.reset_mod_stats()
                        if asked.get("syncLast"):
                            model.set_requires_gradient_sync(i == passes - 1)
                        loss = model(x).sum()
                        loss.backward()
                        del loss
                    optimizer.step()
                    optimizer.zero_grad()
                    if step == 0:
                        tracker.reset_mod_stats()
            snapshot = tracker.get_tracker_snapshot("peak")
            return next(sizes["Total"] for device, sizes in snapshot.items() if device.type == "cuda")
    finally:
        dist.destroy_process_group()


for line in sys.stdin:
    asked = json.loads(line)
    answer = {}
    try:
        # MemTracker counts some storages twice in the first run of a process.
        for _ in range(2):
            answer["peakBytes"] = peak_of(asked)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
