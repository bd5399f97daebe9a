"""Modules that change state as they run, in every way that was thought of. A policy must not change what training computes with any of them."""

import random
import types

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 32


@torch.library.custom_op("remat_test::track", mutates_args={"m"})
def _track(m: torch.Tensor, x: torch.Tensor) -> None:
    m.mul_(0.9).add_(x.abs().max(), alpha=0.1)


@torch.library.custom_op("remat_test::track_two", mutates_args={"low", "high"})
def _track_two(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor | None = None) -> torch.Tensor:
    low.copy_(torch.minimum(low, x.min()))
    if high is not None:
        high.copy_(torch.maximum(high, x.max()))
    return x.mean()


@torch.library.custom_op("remat_test::track_list", mutates_args={"states"})
def _track_list(states: list[torch.Tensor], x: torch.Tensor) -> None:
    for number, state in enumerate(states):
        state.add_(x.mean(), alpha=number + 1)


_library = torch.library.Library("remat_test_lib", "DEF")
_library.define("declared(Tensor(a!) m, Tensor x) -> ()")
_library.define("undeclared(Tensor m, Tensor x) -> Tensor")
_library.define("silent(Tensor x) -> ()")
_library.impl("declared", lambda m, x: m.mul_(0.9).add_(x.abs().max(), alpha=0.1) and None, "CompositeExplicitAutograd")
_library.impl("undeclared", lambda m, x: m.mul_(0.9).add_(x.abs().max(), alpha=0.1).clone(), "CompositeExplicitAutograd")
_counted = []
_library.impl("silent", lambda x: _counted.append(float(x.mean())), "CompositeExplicitAutograd")

_global_tensor = torch.zeros(())
_global_number = 0.0
_global_list = []


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.zeros(()))


def _buffer(write):
    """A module that has `write(module, x)` write into its buffer `m`, on which its result depends."""

    class Writing(Stateful):
        def forward(self, x):
            with torch.no_grad():
                write(self, x)
            return x * (1 + self.m.clone())

    return Writing()


def _with(forward, **state):
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in state.items():
                setattr(self, name, value() if callable(value) else value)

    Plain.forward = forward
    return Plain()


class Norm(nn.Module):
    """Normalisation by the functions, on buffers of its own."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("var", torch.ones(WIDTH))

    def forward(self, x):
        return self.function(x, self.mean, self.var)


class Renorm(nn.BatchNorm1d):
    """Computes with its running statistics, although it is a BatchNorm."""

    def forward(self, x):
        return super().forward(x) * (1 + self.running_var.detach().mean())


class OwnMomentum(nn.BatchNorm1d):
    """Counts by itself, without the momentum of the class."""

    def forward(self, x):
        with torch.no_grad():
            self.running_mean.mul_(0.8).add_(x.mean(0), alpha=0.2)
        return (x - x.mean(0)) * (1 + self.running_mean)


class Activated(nn.BatchNorm1d):
    """A forward of its own, as batch normalisation with an activation has in model libraries."""

    def forward(self, x):
        self.num_batches_tracked.add_(1)
        return F.relu(F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps))


class Evaluated(Activated):
    """Computes as in evaluation on every second batch, as its counter says."""

    def forward(self, x):
        if self.num_batches_tracked.item() % 2:
            self.num_batches_tracked.add_(1)
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias)
        return super().forward(x)


class Remembering(Activated):
    """Keeps its average as it was, for whoever asks."""

    def forward(self, x):
        self.before = self.running_mean.clone()
        return super().forward(x)


class Scaled(nn.Module):
    """Averages what it is given, and computes without the average or with it."""

    def __init__(self, is_read):
        super().__init__()
        self.is_read = is_read
        self.register_buffer("running_mean", torch.zeros(WIDTH))
        self.register_buffer("running_var", torch.ones(WIDTH))

    def forward(self, x):
        with torch.no_grad():
            mean = self.running_mean * 0.9 + x.mean(0) * 0.1
            self.running_mean.copy_(mean)
            self.running_var.lerp_(self.running_mean.square(), 0.1)
        return x * (1 + self.running_mean if self.is_read else x.std(0))


class Observed(nn.Module):
    """The folding of quantisation-aware training, which reads the running statistics of a nested module."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return self.norm(x * self.norm.running_var.detach().sqrt())


class Images(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.view(3, -1, WIDTH).transpose(1, 2)).transpose(1, 2).reshape(-1, WIDTH)


def _numbers(module, x):
    module.calls += 1
    return x * (1 + 0.01 * module.calls)


def _tensor(module, x):
    module.m = module.m * 0.9 + x.detach().abs().max() * 0.1
    return x * (1 + module.m)


def _appended(module, x):
    module.seen.append(x.detach().mean())
    return x * (1 + sum(module.seen[-3:]))


def _entry(module, x):
    module.state["m"] = module.state.get("m", 0.0) * 0.9 + float(x.detach().abs().max()) * 0.1
    return x * (1 + module.state["m"])


def _nested(module, x):
    module.outer.inner.m = module.outer.inner.m * 0.5 + 0.5
    return x * (1 + module.outer.inner.m)


def _deep(module, x):
    module.state["a"][0][1].add_(x.detach().mean())
    return x * (1 + module.state["a"][0][1].clone())


class Reassigned(Stateful):
    def forward(self, x):
        self.m = self.m * 0.9 + x.detach().abs().max() * 0.1
        return x * (1 + self.m)


class OnlyNextStep(Stateful):
    """A step's write matters in the next step."""

    def forward(self, x):
        y = x * (1 + self.m.clone())
        with torch.no_grad():
            self.m.add_(x.abs().max(), alpha=0.1)
        return y


class WritesGlobals(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        global _global_number
        if self.kind == "number":
            _global_number = _global_number * 0.9 + 0.1
            return x * (1 + _global_number)
        if self.kind == "list":
            _global_list.append(float(x.detach().mean()))
            return x * (1 + sum(_global_list[-2:]))
        _global_tensor.mul_(0.9).add_(x.detach().abs().max(), alpha=0.1)
        return x * (1 + _global_tensor.clone())


def _closure():
    held, count = torch.zeros(()), 0

    class Closing(nn.Module):
        def forward(self, x):
            nonlocal count
            count += 1
            held.data.add_(x.detach().mean())
            return x * (1 + held.clone() + 0.01 * count)

    return Closing()


class ClassCounter(nn.Module):
    count = 0

    def forward(self, x):
        type(self).count += 1
        return x * (1 + 0.01 * ClassCounter.count)


class CustomFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, m):
        m.mul_(0.9).add_(x.abs().max(), alpha=0.1)
        ctx.save_for_backward(m.clone())
        return x * (1 + m)

    @staticmethod
    def backward(ctx, gradient):
        (m,) = ctx.saved_tensors
        return gradient * (1 + m), None


def _random(module, x):
    return x * (1 + random.random() * 0.1)


def _numpy(module, x):
    return x * float(1 + np.random.rand() * 0.1)


def _own_random(module, x):
    return x * (1 + module.draws.random() * 0.1)


def _own_numpy(module, x):
    return x * float(1 + module.draws.random() * 0.1)


def _own_generator(module, x):
    return x * torch.empty_like(x).bernoulli_(0.9, generator=module.draws)


def _rand_generator(module, x):
    return x * (torch.rand(x.shape, generator=module.draws) < 0.9)


def _array(module, x):
    module.state[:] = module.state * 0.9 + float(x.detach().abs().max()) * 0.1
    return x * (1 + float(module.state[0]))


def _shared_with_numpy(module, x):
    module.m.numpy()[...] += 0.01
    return x * (1 + module.m.clone())


def _layer_dropped(module, x):
    return x if random.random() < 0.5 else x * 1.5 + 0.1


def _set(module, x):
    module.m.set_(module.m * 0.9 + x.abs().max() * 0.1)


def _maximum(module, x):
    torch.maximum(module.m, x.abs().max(), out=module.m)


def _hooked():
    module = nn.LayerNorm(WIDTH)
    module.register_buffer("m", torch.zeros(()))

    def count(one, args, out):
        one.m.add_(out.detach().abs().max(), alpha=0.1)
        return out * (1 + one.m.clone())

    module.register_forward_hook(count)
    return module


def _hooked_number():
    module = nn.LayerNorm(WIDTH)
    module.calls = 0

    def count(one, args):
        one.calls += 1
        return (args[0] * (1 + 0.01 * one.calls),)

    module.register_forward_pre_hook(count)
    return module


def _fake_quantize(of, **more):
    import torch.ao.quantization as quantization

    made = getattr(quantization, of).with_args(observer=quantization.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **more)()
    return made


class Rows(nn.Module):
    """Writes into slices and through views of a buffer."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.register_buffer("rows", torch.zeros(8, WIDTH))

    def forward(self, x):
        with torch.no_grad():
            self.write(self.rows, x)
        return x * (1 + self.rows.mean(0))


class Quantised(nn.Module):
    """A codebook of moving averages."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.linspace(-1, 1, 8 * WIDTH).view(8, WIDTH))
        self.register_buffer("counts", torch.ones(8))

    def forward(self, x):
        nearest = torch.cdist(x, self.codes).argmin(1)
        with torch.no_grad():
            hot = F.one_hot(nearest, 8).float()
            self.counts.data.mul_(0.9).add_(hot.sum(0), alpha=0.1)
            self.codes.data.mul_(0.9).add_(hot.T @ x.detach() / (self.counts[:, None] + 1e-3), alpha=0.1)
        return x + (self.codes[nearest] - x).detach()


class Parent(nn.Module):
    """Has a module in it that changes the state of this one."""

    class Child(nn.Module):
        def __init__(self, parent):
            super().__init__()
            self.parent = [parent]

        def forward(self, x):
            self.parent[0].calls += 1
            return x * (1 + 0.01 * self.parent[0].calls)

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.child = Parent.Child(self)

    def forward(self, x):
        return self.child(x).tanh()


class Weights(nn.Module):
    """Writes into a parameter in the forward pass, as renormalised embeddings do."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        with torch.no_grad():
            self.scale.clamp_(max=0.99).mul_(0.999)
        return x * self.scale


def _index_put(rows, x):
    rows.index_put_((torch.tensor([0, 3]),), x[:2].abs(), accumulate=True)


def _scatter(rows, x):
    rows.scatter_(0, torch.zeros(1, WIDTH, dtype=torch.long), x[:1].abs())


def _aten(module, x):
    torch.ops.aten.lerp_.Scalar(module.m, x.abs().max(), 0.1)


PROGRAMS = {
    # Ops that write what they are given
    "a fused observer": lambda: _fake_quantize("FusedMovingAvgObsFakeQuantize"),
    "an observer": lambda: _fake_quantize("FakeQuantize"),
    "a custom op": lambda: _buffer(lambda one, x: _track(one.m, x)),
    "a custom op with two written arguments": lambda: _with(lambda one, x: x * (1 + _track_two(x.detach(), one.m, one.n) + one.n.clone()), m=lambda: torch.zeros(()), n=lambda: torch.zeros(())),
    "a custom op without its optional argument": lambda: _with(lambda one, x: x * (1 + _track_two(x.detach(), one.m) + one.m.clone()), m=lambda: torch.zeros(())),
    "a custom op that writes a list": lambda: _with(lambda one, x: (_track_list([one.m, one.n], x.detach()), x * (1 + one.m.clone() + one.n.clone()))[1], m=lambda: torch.zeros(()), n=lambda: torch.zeros(())),
    "an op of a library": lambda: _buffer(lambda one, x: torch.ops.remat_test_lib.declared(one.m, x)),
    "an op that does not declare its write": lambda: _buffer(lambda one, x: torch.ops.remat_test_lib.undeclared(one.m, x)),
    "an op with no results": lambda: _with(lambda one, x: (torch.ops.remat_test_lib.silent(x.detach()), x.tanh())[1]),
    "an op of ATen by its name": lambda: _buffer(_aten),
    "lerp_": lambda: _buffer(lambda one, x: one.m.lerp_(x.abs().max(), 0.1)),
    "an out argument": lambda: _buffer(_maximum),
    "a foreach op": lambda: _buffer(lambda one, x: torch._foreach_lerp_([one.m], [x.abs().max()], 0.1)),
    "data": lambda: _buffer(lambda one, x: one.m.data.mul_(0.9).add_(x.abs().max(), alpha=0.1)),
    "set_": lambda: _buffer(_set),
    "an autograd function": lambda: _with(lambda one, x: CustomFunction.apply(x, one.m), m=lambda: torch.zeros(())),
    "a slice": lambda: Rows(lambda rows, x: rows[2:4].copy_(x[:2].abs())),
    "a view": lambda: Rows(lambda rows, x: rows.view(-1)[::3].add_(x.abs().max(), alpha=0.1)),
    "index_put_": lambda: Rows(_index_put),
    "scatter_": lambda: Rows(_scatter),
    "a codebook": Quantised,
    "a parameter": Weights,
    "a buffer that the next step reads": OnlyNextStep,
    "a buffer that is replaced": Reassigned,
    # Normalisation
    "batch_norm of a module's own": lambda: Norm(lambda x, mean, var: F.batch_norm(x, mean, var, training=True)),
    "native_batch_norm": lambda: Norm(lambda x, mean, var: torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)[0]),
    "_native_batch_norm_legit": lambda: Norm(lambda x, mean, var: torch.ops.aten._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5)[0]),
    "instance_norm of a module's own": lambda: Images(Norm(lambda x, mean, var: F.instance_norm(x, mean, var))),
    "InstanceNorm": lambda: Images(nn.InstanceNorm1d(WIDTH, track_running_stats=True)),
    "BatchNorm": lambda: nn.BatchNorm1d(WIDTH),
    "BatchNorm without momentum": lambda: nn.BatchNorm1d(WIDTH, momentum=None),
    "BatchNorm that computes with its statistics": lambda: Renorm(WIDTH),
    "BatchNorm that counts by itself": lambda: OwnMomentum(WIDTH),
    "BatchNorm with a forward of its own": lambda: Activated(WIDTH),
    "BatchNorm that counts and decides": lambda: Evaluated(WIDTH),
    "BatchNorm that keeps its average": lambda: Remembering(WIDTH),
    "averages that nothing reads": lambda: Scaled(False),
    "averages that are read": lambda: Scaled(True),
    "statistics that another module reads": Observed,
    "spectral norm": lambda: torch.nn.utils.parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH)),
    "spectral norm by hooks": lambda: torch.nn.utils.spectral_norm(nn.Linear(WIDTH, WIDTH)),
    # Attributes
    "a number": lambda: _with(_numbers, calls=0),
    "a tensor in an attribute": lambda: _with(_tensor, m=lambda: torch.zeros(())),
    "a list that grows": lambda: _with(_appended, seen=list),
    "an entry of a dict": lambda: _with(_entry, state=dict),
    "an object in an object": lambda: _with(_nested, outer=lambda: types.SimpleNamespace(inner=types.SimpleNamespace(m=0.0))),
    "a tensor deep in collections": lambda: _with(_deep, state=lambda: {"a": [(0, torch.zeros(()))]}),
    "an array": lambda: _with(_array, state=lambda: np.zeros(1)),
    "memory that NumPy writes": lambda: _with(_shared_with_numpy, m=lambda: torch.zeros(())),
    "the state of the module around": Parent,
    # Code
    "a global number": lambda: WritesGlobals("number"),
    "a global list": lambda: WritesGlobals("list"),
    "a global tensor": lambda: WritesGlobals("tensor"),
    "variables of a closure": _closure,
    "an attribute of the class": ClassCounter,
    "a hook that writes": _hooked,
    "a hook that counts": _hooked_number,
    # Random generators
    "Python's generator": lambda: _with(_random),
    "NumPy's generator": lambda: _with(_numpy),
    "a generator of Python of its own": lambda: _with(_own_random, draws=lambda: random.Random(0)),
    "a generator of NumPy of its own": lambda: _with(_own_numpy, draws=lambda: np.random.default_rng(0)),
    "a generator of PyTorch of its own": lambda: _with(_own_generator, draws=lambda: torch.Generator().manual_seed(0)),
    "rand by a generator of its own": lambda: _with(_rand_generator, draws=lambda: torch.Generator().manual_seed(0)),
    "a layer that is left out at random": lambda: _with(_layer_dropped),
    "dropout": lambda: nn.Dropout(0.1),
    # Nothing to see
    "no state": lambda: _with(lambda one, x: x.tanh()),
}

#: Programs whose state only a comparison can see, and no recording: names in code, and hooks that run beside their module.
SEEN_BY_COMPARISON = {"a global number", "a global list", "variables of a closure", "an attribute of the class"}

#: Programs that change what neither the step nor the modules can be asked for, as a log: a recording shows it, and a comparison does not.
BEYOND = {"an op with no results"}


class Block(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.norm, self.up, self.inner, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), make(), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(self.inner(F.gelu(self.up(self.norm(x)))))


def make(name, blocks=3):
    """A model of blocks that have the program's module in them, its optimizer and its step, always in the same state."""
    global _global_number
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    _global_tensor.zero_()
    _global_number = 0.0
    _global_list.clear()
    _counted.clear()
    ClassCounter.count = 0
    model = nn.Sequential(*[Block(PROGRAMS[name]) for _ in range(blocks)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(96, WIDTH)

    def step():
        loss = (model(x) - x.flip(0)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return model, optimizer, step


def state_of(model):
    """All that a model is: weights, buffers and plain attributes, in bits."""
    from remat.plain_state import attributes, bits_of, token_of_leaf, walk

    found = {name: bits_of(tensor) for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
    for name, module in model.named_modules():

        def visit(path, value, children, name=name):
            if children is None:
                found[name, path] = bits_of(value) if isinstance(value, torch.Tensor) else token_of_leaf(value)

        walk(attributes(module), visit)
    found["globals"] = (bits_of(_global_tensor), _global_number, tuple(_global_list), tuple(_counted), ClassCounter.count)
    found["random"] = (random.getstate(), str(np.random.get_state()), bits_of(torch.get_rng_state()))
    return found
