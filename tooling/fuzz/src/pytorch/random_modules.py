"""Runs PyTorch's own tools on modules given as JSON, one per line, and writes what they observed and answered.

Reads {"name", "kind": "sac" | "mem", "module"} from standard input and prints {"file"} or {"error"} for each. Needs the
folder of the oracle's scripts as its argument. They write to a folder goldens next to them, so they are redirected.
"""
import contextlib
import io
import json
import os
import sys

oracle, folder = sys.argv[1:3]
sys.path.insert(0, oracle)
import dump
import dump_mem
import torch
from torch import nn
from torch.distributed._composable import checkpoint as composable_checkpoint

WIDTH = 16


def write_to(name, obj):
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(obj, file, separators=(",", ":"), allow_nan=False)
    return os.path.getsize(path)


dump.write = dump_mem.write = write_to

LAYERS = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "relu": lambda: nn.ReLU(),
    "relu_": lambda: nn.ReLU(inplace=True),
    "gelu": lambda: nn.GELU(),
    "norm": lambda: nn.LayerNorm(WIDTH),
    "dropout": lambda: nn.Dropout(0.1),
}
FUNCTIONS = {
    "cos": torch.cos,
    "tanh": torch.tanh,
    "double": lambda x: x + x,
    "square": lambda x: x * x,
    "add_": lambda x: x.add_(1.0),
    "mul_": lambda x: x.mul_(0.5),
    "view": lambda x: x.view(-1, 4).view(-1, WIDTH),
    "turn": lambda x: x.t().t(),
    "halves": lambda x: torch.cat(x.chunk(2, dim=1), dim=1),
    "detached": lambda x: x + x.detach() * 0.5,
    "attend": lambda x: torch.softmax(x @ x.t(), dim=-1) @ x,
}


class Random(nn.Module):
    """Layers and functions in a sequence, including nested modules, some called again."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        for i, step in enumerate(steps):
            if step["does"] in LAYERS:
                setattr(self, f"part{i}", LAYERS[step["does"]]())
            elif step["does"] in ("module", "checkpointed", "no_grad"):
                part = Random(step["steps"])
                setattr(self, f"part{i}", composable_checkpoint(part) if step["does"] == "checkpointed" else part)

    def forward(self, x):
        made = []
        for i, step in enumerate(self.steps):
            part = getattr(self, f"part{i}", None)
            if step["does"] == "no_grad":
                with torch.no_grad():
                    x = x + part(x)
            elif part is not None:
                made.append(part)
                x = part(x)
            elif step["does"] == "again":
                x = made[step["of"] % len(made)](x) if made else x
            else:
                x = FUNCTIONS[step["does"]](x)
        return x


for line in sys.stdin:
    asked = json.loads(line)
    name, kind, module = asked["name"], asked["kind"], asked["module"]
    build = lambda: Random([{"does": "linear"}, *module, {"does": "linear"}])
    inputs = lambda device: torch.randn(8, WIDTH, device=device)
    answer = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if kind == "sac":
                dump.CASES[name] = (build, inputs, "a random module")
                dump.do(name)
            else:
                dump_mem.MEM[name] = (build, inputs, "adam")
                dump_mem.do(name)
        answer["file"] = os.path.join(folder, name + ".json")
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(answer), flush=True)
