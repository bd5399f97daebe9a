"""Recorded steps of random small models, each with what PyTorch really holds under random checkpointing policies: by `MemTracker`, which is PyTorch's own."""

import gzip
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from recorded_files import storages_of, tensors_in, tracked_peak
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import remat


class Residual(nn.Module):
    def __init__(self, inner, drop):
        super().__init__()
        self.inner, self.drop = inner, nn.Dropout(drop)

    def forward(self, x):
        return x + self.drop(self.inner(x))


class Gate(nn.Module):
    """Elementwise results that are saved, and one that is not."""

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return torch.tanh(a) * torch.sigmoid(b) + 0.5 * a


class Attention(nn.Module):
    def __init__(self, dim, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        batch, length, dim = x.shape
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) * (dim // self.heads) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        return self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, dim))


class Block(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Model(nn.Module):
    def __init__(self, blocks, dim, classes):
        super().__init__()
        self.embed = nn.Linear(dim, dim)
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Pictures(nn.Module):
    def __init__(self, blocks, channels, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = F.relu(x + block(x), inplace=True)
        return self.head(x.mean((2, 3)))


def sequence_part(rng, dim):
    kind = rng.choice(["feedforward", "gate", "attention", "deep", "shared"])
    if kind == "attention":
        return Residual(Attention(dim, rng.choice([1, 2, 4]), False), rng.choice([0.0, 0.1]))
    if kind == "gate":
        return Residual(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), Gate()), rng.choice([0.0, 0.2]))
    if kind == "deep":
        return nn.Sequential(nn.Linear(dim, dim), nn.ReLU(inplace=rng.random() < 0.5), nn.Linear(dim, dim), nn.SiLU())
    if kind == "shared":
        layer = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        return nn.Sequential(layer, layer)
    width = rng.choice([2, 4]) * dim
    return Residual(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, width), nn.GELU(), nn.Linear(width, dim)), rng.choice([0.0, 0.1]))


def picture_part(rng, channels):
    layers = []
    for _ in range(rng.randint(1, 3)):
        layers += [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=rng.random() < 0.7)]
    return nn.Sequential(*layers)


def reads_twice(seed):
    """Returns whether two backward passes go through one graph; selective checkpointing supports only one."""
    return seed % 5 == 4


def build(seed):
    """A random model with its optimizer and step."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    if seed % 3 == 2:
        channels = rng.choice([4, 8])
        model = Pictures([picture_part(rng, channels) for _ in range(rng.randint(1, 4))], channels, 10)
        x = torch.randn(rng.choice([2, 4]), 3, 12, 12)
    else:
        dim = rng.choice([16, 32])
        blocks = [Block([sequence_part(rng, dim) for _ in range(rng.randint(1, 3))]) for _ in range(rng.randint(1, 4))]
        model = Model(blocks, dim, rng.choice([10, 200]))
        x = torch.randn(rng.choice([1, 4]), rng.choice([8, 32]), dim)
    make = rng.choice([lambda p: torch.optim.Adam(p, lr=1e-3), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)])
    optimizer = make(model.parameters())

    def step():
        out = model(x)
        loss = F.cross_entropy(out.flatten(0, -2), torch.zeros(out.numel() // out.shape[-1], dtype=torch.long))
        if reads_twice(seed):
            loss.backward(retain_graph=True)
            loss = out.abs().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    step.inputs = x
    return model, optimizer, step


def random_policy(rng, model, ops):
    """Some modules, at any depth; those without others above or below them at times with ops to save."""
    names = [name for name, module in model.named_modules() if any(True for _ in module.parameters()) or rng.random() < 0.5]
    chosen = [name for name in names if rng.random() < rng.choice([0.15, 0.4])]
    # Container lists have no forward pass of their own.
    chosen = [name for name in chosen if not isinstance(model.get_submodule(name), nn.ModuleList)]
    units = {}
    for name in chosen:
        nested = any(other != name and (other.startswith(f"{name}." if name else "") or name.startswith(f"{other}." if other else "")) for other in chosen)
        of = ops.get(name, [])
        save = [] if nested or rng.random() < 0.4 else [entry for entry in of if rng.random() < 0.4]
        units[name] = save
    return units


def random_parts(rng, model, counts, units):
    """Parts of a module or two with nothing checkpointed around or inside."""
    parts = {}
    for name in rng.sample(sorted(counts), min(len(counts), rng.choice([1, 1, 2, 4]))):
        if counts[name] < 2 or any(_is_around(name, other) or _is_around(other, name) for other in [*units, *parts]):
            continue
        bounds = sorted(rng.sample(range(counts[name] + 1), min(counts[name] + 1, rng.choice([2, 2, 3, 4, 6]))))
        pairs = [list(pair) for pair in zip(bounds, bounds[1:]) if rng.random() < 0.7]
        if pairs:
            parts[name] = pairs
    return parts


def parts_beside(rng, places):
    """A part of a module and, where its last op was, another module that runs again, as a whole or in parts; or one begins in it after its first ops."""
    inner = rng.choice(sorted(name for name in places if name))
    outer = rng.choice(sorted(name for name in places if _is_around(name, inner) and name != inner))
    first, end = (place - places[outer][0] for place in places[inner])
    before = rng.choice([0, 0, rng.randrange(end - first)])
    if first + before == 0:
        return {}, {}
    pairs = [[max(0, first + before - rng.randint(1, 8)), first + before], [end, end + rng.randint(1, 4)]]
    if end + places[outer][0] >= places[outer][1] or rng.random() < 0.5:
        pairs.pop()
    if before == 0 and rng.random() < 0.6:
        return {inner: []}, {outer: pairs}
    return {}, {outer: pairs, inner: [[before, rng.randint(before + 1, end - first)]]}


def _is_around(name, other):
    return name in ("", other) or other.startswith(f"{name}.")


def forward_ops(file):
    """The events of the forward pass: its modules, and its ops but those that PyTorch makes by itself."""
    for event in file["events"]:
        if event.get("bw") or event.get("opt"):
            continue
        if event["e"] in ("pre_fw", "post_fw") or event["e"] == "op" and name_of(file, event) != "aten.detach.default":
            yield event


def name_of(file, event):
    return file["funcs"][event["f"]]["name"]


def module_of(file, event):
    root = file["module_tree"][0]["fqn"]
    return file["fqns"][event["m"]].removeprefix(root).removeprefix(".")


def call_places(file):
    """For each module, the range of each of its calls among the ops of the whole step (end exclusive)."""
    count, began, places = 0, {}, {}
    for event in forward_ops(file):
        if event["e"] == "op":
            count += 1
        elif event["e"] == "pre_fw":
            began[module_of(file, event)] = count
        else:
            fqn = module_of(file, event)
            places.setdefault(fqn, []).append((began.pop(fqn), count))
    return places


def savable(file):
    """For each module that is called once, the ops whose results selective checkpointing can save, with their occurrence
    among the module's ops of that name.
    """
    once = {fqn: calls[0] for fqn, calls in call_places(file).items() if len(calls) == 1}
    ops = [event for event in forward_ops(file) if event["e"] == "op"]
    inputs, outputs = ([storages_in(file, of(event)) for event in ops] for of in (lambda op: [op.get("a"), op.get("k", {})], lambda op: op["o"]))
    names = [name_of(file, event) for event in ops]
    written = set().union(*(made for name, made in zip(names, outputs) if name.split(".")[1].endswith("_")))
    return {
        fqn: [
            {"op": names[place], "ordinal": names[first:place].count(names[place])}
            for place in range(first, end)
            if outputs[place] and not outputs[place] & (inputs[place] | written)
        ]
        for fqn, (first, end) in once.items()
    }


def storages_in(file, encoded):
    return {storage for tensor in tensors_in(encoded) for storage in storages_of(file, tensor)}


def policy_of(model, units, parts):
    modules = {}
    for name in [*units, *parts]:
        module = model.get_submodule(name)
        modules[name] = {"type": type(module).__name__, "parameters": [list(p.shape) for p in module.parameters()], "save": units.get(name, [])}
        if name in parts:
            modules[name]["parts"] = parts[name]
    return {"format": "remat-pytorch-policy/4", "model": type(model).__name__, "fingerprint": "", "torch": torch.__version__, "modules": modules}


def measured_peak(seed, units, parts, build):
    """The result of `MemTracker` for the second step under the policy."""
    with FakeTensorMode():
        model, optimizer, step = build(seed)
        remat.apply(model, policy_of(model, units, parts))
        return tracked_peak(model, optimizer, step, by_module=False)["Total"]


def case(seed, policies, build=build, has_two_passes=None):
    """A step of `build(seed)` with random policies, none of which saves ops if `has_two_passes`."""
    if has_two_passes is None:
        has_two_passes = reads_twice(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.json"
        remat.export(lambda: build(seed), path, name=f"random {seed}", allocation_unit=1, also_in=None)
        file = json.loads(path.read_text())
    rng = random.Random(1000 + seed)
    ops = {} if has_two_passes else savable(file)
    with FakeTensorMode():
        model, _, _ = build(seed)
    calls = call_places(file)
    # For modules whose calls all have the same number of ops, that number.
    counts = {fqn: sizes.pop() for fqn, sizes in ((fqn, {end - first for first, end in of}) for fqn, of in calls.items()) if len(sizes) == 1}
    once = {fqn: of[0] for fqn, of in calls.items() if len(of) == 1 and of[0][0] < of[0][1]}
    drawn = [(random_policy(rng, model, ops), {}) for _ in range(policies)]
    for _ in range(policies):
        units = random_policy(rng, model, ops) if rng.random() < 0.3 else {}
        drawn.append((units, random_parts(rng, model, counts, units)))
    if any(once):
        drawn += [parts_beside(rng, once) for _ in range(policies)]
    answers = []
    for place, (units, parts) in enumerate(drawn):
        if place >= policies and not parts:
            continue
        answer = {"units": units, **({"parts": parts} if parts else {})}
        try:
            answers.append({**answer, "peak": measured_peak(seed, units, parts, build)})
        except RuntimeError as error:
            # A saved result was written into, which PyTorch rejects, for policies and for parts.
            if not any(text in str(error) for text in ("modified by an inplace operation", "has been mutated", "was overwritten after")):
                raise
            answers.append({**answer, "refused": True})
    return {"step": file, "plain": measured_peak(seed, {}, {}, build), "policies": answers}


if __name__ == "__main__":
    count, policies, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    cases = [case(seed, policies) for seed in range(count)]
    with gzip.GzipFile(out, "wb", 9, mtime=0) as file:
        file.write(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).encode())
