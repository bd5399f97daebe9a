"""Records steps whose checkpointed regions keep more than necessary, with PyTorch's own memory after each region: `python region_cases.py FILE`."""

import gc
import gzip
import json
import sys
import tempfile
import weakref
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import remat

DIM, WIDE, ROWS = 16, 64, 8


class Block(nn.Module):
    """Rows of DIM in and out; makes one of WIDE on the way, which its backward pass needs."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, WIDE), nn.Linear(WIDE, DIM)

    def forward(self, x):
        return self.down(self.hidden(x))

    def hidden(self, x):
        return torch.tanh(self.up(x))


class Model(nn.Module):
    def __init__(self, blocks=2, block=Block):
        super().__init__()
        self.first = nn.Linear(DIM, DIM)
        self.blocks = nn.ModuleList(block() for _ in range(blocks))
        self.around = lambda block, x: checkpoint(block, x, use_reentrant=False)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = self.around(block, x)
        return x


def clean():
    return Model(), lambda model, x: model(x).sum()


def nested():
    model = Model()

    def outer(x):
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x

    return model, lambda model, x: checkpoint(outer, model.first(x), use_reentrant=False).sum()


def policy():
    model = Model()
    save = partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])
    model.around = lambda block, x: checkpoint(block, x, use_reentrant=False, context_fn=save)
    return model, lambda model, x: model(x).sum()


def reentrant():
    model = Model()
    model.around = lambda block, x: checkpoint(block, x, use_reentrant=True)
    return model, lambda model, x: model(x).sum()


class Remembering(Block):
    def forward(self, x):
        self.last = self.hidden(x)
        return self.down(self.last)


def saved_outside():
    def loss(model, x):
        y = model(x)
        return y.sum() + model.blocks[0].last.pow(2).sum() + model.blocks[1].last.cos().sum()

    return Model(block=Remembering), loss


def attribute():
    return Model(block=Remembering), lambda model, x: model(x).sum()


def in_list():
    kept = []

    class Listing(Block):
        def forward(self, x):
            h = self.hidden(x)
            if len(kept) < 2:
                kept.append(h.detach())
            return self.down(h)

    def loss(model, x):
        kept.clear()
        return model(x).sum()

    return Model(block=Listing), loss


def hook():
    model = Model()
    model.features = {}

    def remember(module, given, out):
        model.features["up"] = out.detach()

    model.blocks[1].up.register_forward_hook(remember)

    def loss(model, x):
        model.features.clear()
        return model(x).sum()

    return model, loss


def view_returned():
    class Part(Block):
        def forward(self, x):
            return self.hidden(x)[:, :DIM]

    return Model(blocks=1, block=Part), lambda model, x: model(x).sum()


def view_given():
    def loss(model, x):
        wide = model.first(x).repeat(1, 4) + 1
        part = wide[:, :DIM]
        del wide
        return model.around(model.blocks[0], part).sum()

    return Model(blocks=1), loss


def never_recomputed():
    def loss(model, x):
        x = model.first(x)
        model.around(model.blocks[0], x + 1)
        return x.sum()

    return Model(blocks=1), loss


CASES = [clean, nested, policy, reentrant, saved_outside, attribute, in_list, hook, view_returned, view_given, never_recomputed]


class Made(TorchDispatchMode):
    """All storages that ops make while it is on."""

    def __init__(self):
        super().__init__()
        self.storages = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        known = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata not in known:
                self.storages.append(weakref.ref(tensor.untyped_storage()))
        return out

    def held(self):
        return sum(storage.nbytes() for storage in {id(s): s for s in (ref() for ref in self.storages) if s is not None}.values())


def held_after_regions(case):
    """Returns the live tensors that each region made when it returns, found without the recorder."""
    torch.manual_seed(0)
    model, loss = case()
    x = torch.randn(ROWS, DIM)
    loss(model, x).backward()
    held, plain = [], torch.utils.checkpoint.checkpoint

    def watched(function, *args, **kwargs):
        place = len(held)
        held.append(None)
        with Made() as made:
            out = plain(function, *args, **kwargs)
        gc.collect()
        held[place] = made.held()
        return out

    globals()["checkpoint"] = watched
    try:
        value = loss(model, x)
        found = list(held)
        value.backward()
    finally:
        globals()["checkpoint"] = plain
    return found


def recorded(case):
    torch.manual_seed(0)
    model, loss = case()
    x = torch.randn(ROWS, DIM)

    def step():
        loss(model, x).backward()

    step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.json"
        with remat.record(path, model, inputs=x, name=case.__name__, allocation_unit=1):
            step()
        return json.loads(path.read_text())


if __name__ == "__main__":
    cases = [{"name": case.__name__, "file": recorded(case), "held": held_after_regions(case)} for case in CASES]
    with open(sys.argv[1], "wb") as file:
        file.write(gzip.compress(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).encode(), 9, mtime=0))
