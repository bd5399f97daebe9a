"""Small training steps, each recorded in every way, with the FLOPs that PyTorch's FlopCounterMode counts."""

import gzip
import json
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import flop_counter

import remat

aten = torch.ops.aten

# Attention on a CPU has no formula. FlopCounterMode takes formulas of its caller, and those for CUDA apply.
attention_on_cpu = {
    aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: flop_counter.sdpa_flop_count(q, k, v),
    aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda g, q, k, v, *_, **__: flop_counter.sdpa_backward_flop_count(g, q, k, v),
}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 3 * 16), nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Scores(nn.Module):
    """A matrix times a vector."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))

    def forward(self, x):
        return x @ self.scale


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.lstm(x)[0]


def mlp():
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4)), torch.randn(8, 6)


def convolutions():
    layers = nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, stride=2), nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Flatten(), nn.Linear(4 * 8 * 8, 5)
    return nn.Sequential(*layers), torch.randn(2, 3, 11, 11)


def attention():
    return Attention(), torch.randn(2, 7, 16)


def scores():
    return Scores(), torch.randn(9, 6)


def recurrent():
    return Recurrent(), torch.randn(3, 4, 6)


def flop_cases():
    """Returns each step's files and counts. `counted` has no holes, and `by_default` is what FlopCounterMode counts
    without help.
    """
    return [_case(build) for build in (mlp, convolutions, attention, scores, recurrent)]


def _case(build):
    torch.manual_seed(0)
    model, x = build()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.json"

        def written(write):
            write()
            return json.loads(path.read_text())

        def record():
            with remat.record(path, model, optimizer, name=build.__name__):
                step()

        files = {
            "record": written(record),
            "record_step": written(lambda: remat.record_step(step, path, model, optimizer, repeats=1, name=build.__name__)),
            "export_step": written(lambda: remat.export_step(step, path, model, optimizer, name=build.__name__)),
        }
    return {"name": build.__name__, "files": files, "by_default": _counted(model, x), "counted": _without_holes(build, model, x)}


def _counted(model, x, formulas=None):
    """Returns the FLOPs of the forward pass and of the backward pass."""
    with flop_counter.FlopCounterMode(display=False, custom_mapping=formulas) as forward:
        result = model(x).sum()
    with flop_counter.FlopCounterMode(display=False, custom_mapping=formulas) as backward:
        result.backward()
    return [forward.get_total_flops(), backward.get_total_flops()]


def _without_holes(build, model, x):
    if build is recurrent:
        # oneDNN computes a whole layer in one op. Without it, the layer consists of matrix products. Their backward pass
        # leaves out gradients that nobody reads, so only the forward pass is comparable.
        with torch.backends.mkldnn.flags(enabled=False):
            return [_counted(model, x)[0], None]
    if build is scores:
        # The same products, with the vector as a matrix of one column.
        return [2 * x.numel(), 2 * x.numel()]
    return _counted(model, x, attention_on_cpu)


def write_flop_cases(folder):
    text = json.dumps(flop_cases(), separators=(",", ":"))
    (folder / "flop-cases.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
