"""Tests every class of `torch.nn`, and functions that have state or draw numbers, as modules with inputs: compares
training with a random policy and training without.

    python module_cases.py [--seed S] [--minutes N] [--only NAME]

Tries cases until the time is over, and prints for each failure the command that reproduces it. REMAT_CLI names the
command line, which reports the modules that it does not checkpoint.
"""

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from checkpoint_cases import policy_of
from recorded_files import CLI
from test_early_stop import is_same, unwritten_memory_is_nan
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils._pytree import tree_leaves, tree_map_only

import remat

R = torch.randn


def given(module, *inputs):
    return lambda: (module(), tuple(one() for one in inputs))


def pictures(module, *size):
    return given(module, lambda: R(2, 4, *(size or (8, 8))))


def rows(module, width=8):
    return given(module, lambda: R(4, width))


def loss(module, target, make=lambda: R(4, 5)):
    return given(module, make, target)


def classes(count=5):
    return lambda: torch.randint(0, count, (4,))


def signs():
    return torch.randint(0, 2, (4, 5)) * 2.0 - 1


SIZES = {1: (8,), 2: (8, 8), 3: (4, 8, 8)}

CASES = {
    "AdaptiveLogSoftmaxWithLoss": given(lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]), lambda: R(6, 8), lambda: torch.randint(0, 20, (6,))),
    "BCELoss": loss(lambda: nn.BCELoss(), lambda: torch.rand(4, 5), lambda: torch.rand(4, 5)),
    "BCEWithLogitsLoss": loss(nn.BCEWithLogitsLoss, lambda: torch.rand(4, 5)),
    "Bilinear": given(lambda: nn.Bilinear(4, 5, 6), lambda: R(3, 4), lambda: R(3, 5)),
    "CTCLoss": given(nn.CTCLoss, lambda: R(12, 2, 6).log_softmax(2), lambda: torch.randint(1, 6, (2, 4)), lambda: torch.tensor([12, 10]), lambda: torch.tensor([4, 3])),
    "ChannelShuffle": pictures(lambda: nn.ChannelShuffle(2)),
    "CosineEmbeddingLoss": given(nn.CosineEmbeddingLoss, lambda: R(4, 5), lambda: R(4, 5), lambda: torch.tensor([1, -1, 1, -1])),
    "CosineSimilarity": given(nn.CosineSimilarity, lambda: R(4, 5), lambda: R(4, 5)),
    "CrossEntropyLoss": loss(nn.CrossEntropyLoss, classes()),
    "CrossMapLRN2d": pictures(lambda: nn.CrossMapLRN2d(2)),
    "DataParallel": rows(lambda: nn.DataParallel(nn.Linear(8, 8))),
    "Embedding": given(lambda: nn.Embedding(10, 4), lambda: torch.randint(0, 10, (3, 5))),
    "EmbeddingBag": given(lambda: nn.EmbeddingBag(10, 4), lambda: torch.randint(0, 10, (3, 5))),
    "FeatureAlphaDropout": pictures(nn.FeatureAlphaDropout),
    "Flatten": pictures(nn.Flatten),
    "Fold": given(lambda: nn.Fold((4, 5), (2, 2)), lambda: R(2, 3 * 4, 12)),
    "FractionalMaxPool2d": pictures(lambda: nn.FractionalMaxPool2d(2, output_ratio=0.5)),
    "FractionalMaxPool3d": pictures(lambda: nn.FractionalMaxPool3d(2, output_ratio=0.5), 4, 8, 8),
    "GRU": given(lambda: nn.GRU(4, 5, 2, dropout=0.2), lambda: R(6, 3, 4)),
    "GRUCell": given(lambda: nn.GRUCell(4, 5), lambda: R(3, 4), lambda: R(3, 5)),
    "GaussianNLLLoss": given(nn.GaussianNLLLoss, lambda: R(4, 5), lambda: R(4, 5), lambda: torch.rand(4, 5) + 0.5),
    "GroupNorm": pictures(lambda: nn.GroupNorm(2, 4)),
    "HingeEmbeddingLoss": loss(nn.HingeEmbeddingLoss, signs),
    "HuberLoss": loss(nn.HuberLoss, lambda: R(4, 5)),
    "KLDivLoss": loss(lambda: nn.KLDivLoss(reduction="batchmean"), lambda: torch.rand(4, 5)),
    "L1Loss": loss(nn.L1Loss, lambda: R(4, 5)),
    "LSTM": given(lambda: nn.LSTM(4, 5, 2, dropout=0.2, bidirectional=True), lambda: R(6, 3, 4)),
    "LSTMCell": given(lambda: nn.LSTMCell(4, 5), lambda: R(3, 4)),
    "LayerNorm": rows(lambda: nn.LayerNorm(8)),
    "LazyLinear": rows(lambda: nn.LazyLinear(6)),
    "Linear": rows(lambda: nn.Linear(8, 6)),
    "LinearCrossEntropyLoss": given(lambda: nn.LinearCrossEntropyLoss(8, 5), lambda: R(4, 8), classes()),
    "LocalResponseNorm": pictures(lambda: nn.LocalResponseNorm(2)),
    "MSELoss": loss(nn.MSELoss, lambda: R(4, 5)),
    "MarginRankingLoss": given(nn.MarginRankingLoss, lambda: R(4), lambda: R(4), lambda: torch.tensor([1.0, -1, 1, -1])),
    "MultiLabelMarginLoss": loss(nn.MultiLabelMarginLoss, lambda: torch.randint(0, 5, (4, 5))),
    "MultiLabelSoftMarginLoss": loss(nn.MultiLabelSoftMarginLoss, lambda: torch.randint(0, 2, (4, 5)).float()),
    "MultiMarginLoss": loss(nn.MultiMarginLoss, classes()),
    "MultiheadAttention": given(lambda: nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True), *[lambda: R(2, 5, 8)] * 3),
    "NLLLoss": loss(nn.NLLLoss, classes()),
    "NLLLoss2d": given(nn.NLLLoss2d, lambda: R(2, 5, 3, 3), lambda: torch.randint(0, 5, (2, 3, 3))),
    "PReLU": rows(nn.PReLU),
    "PairwiseDistance": given(nn.PairwiseDistance, lambda: R(4, 5), lambda: R(4, 5)),
    "PixelShuffle": pictures(lambda: nn.PixelShuffle(2)),
    "PixelUnshuffle": pictures(lambda: nn.PixelUnshuffle(2)),
    "PoissonNLLLoss": loss(nn.PoissonNLLLoss, lambda: R(4, 5)),
    "RMSNorm": rows(lambda: nn.RMSNorm(8)),
    "RNN": given(lambda: nn.RNN(4, 5, 2, dropout=0.2), lambda: R(6, 3, 4)),
    "RNNBase": given(lambda: nn.RNNBase("GRU", 4, 5), lambda: R(6, 3, 4)),
    "RNNCell": given(lambda: nn.RNNCell(4, 5), lambda: R(3, 4)),
    "Sequential": rows(lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout(), nn.Linear(8, 8), nn.ReLU(inplace=True))),
    "SmoothL1Loss": loss(nn.SmoothL1Loss, lambda: R(4, 5)),
    "SoftMarginLoss": loss(nn.SoftMarginLoss, signs),
    "Softmax2d": pictures(nn.Softmax2d),
    "SyncBatchNorm": pictures(lambda: nn.SyncBatchNorm(4)),
    "Threshold": rows(lambda: nn.Threshold(0.1, 0.2)),
    "Transformer": given(lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), lambda: R(2, 4, 8), lambda: R(2, 3, 8)),
    "TransformerDecoder": given(lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2), lambda: R(3, 2, 8), lambda: R(4, 2, 8)),
    "TransformerDecoderLayer": given(lambda: nn.TransformerDecoderLayer(8, 2, 16), lambda: R(3, 2, 8), lambda: R(4, 2, 8)),
    "TransformerEncoder": given(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), lambda: R(2, 4, 8)),
    "TransformerEncoderLayer": given(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: R(2, 4, 8)),
    "TripletMarginLoss": given(nn.TripletMarginLoss, *[lambda: R(4, 5)] * 3),
    "TripletMarginWithDistanceLoss": given(nn.TripletMarginWithDistanceLoss, *[lambda: R(4, 5)] * 3),
    "Unflatten": rows(lambda: nn.Unflatten(1, (2, 4))),
    "Unfold": pictures(lambda: nn.Unfold(2)),
    "Upsample": pictures(lambda: nn.Upsample(scale_factor=2)),
    "UpsamplingBilinear2d": pictures(lambda: nn.UpsamplingBilinear2d(scale_factor=2)),
    "UpsamplingNearest2d": pictures(lambda: nn.UpsamplingNearest2d(scale_factor=2)),
}
for _dims, _size in SIZES.items():
    for _name, _args in [
        *((f"Adaptive{kind}Pool", (2,)) for kind in ("Avg", "Max")),
        *((f"{kind}Pool", (2,)) for kind in ("Avg", "Max")),
        ("LPPool", (2, 2)),
        *((f"{lazy}BatchNorm", () if lazy else (4,)) for lazy in ("", "Lazy")),
        *((f"{lazy}InstanceNorm", () if lazy else (4,)) for lazy in ("", "Lazy")),
        *((f"{lazy}{kind}", (3, 3) if lazy else (4, 3, 3)) for lazy in ("", "Lazy") for kind in ("Conv", "ConvTranspose")),
        *((f"{kind}Pad", (1,)) for kind in ("Circular", "Reflection", "Replication", "Zero")),
        ("ConstantPad", (1, 0.5)),
        ("Dropout", (0.3,)),
    ]:
        CASES[f"{_name}{_dims}d"] = pictures(lambda cls=getattr(nn, f"{_name}{_dims}d"), args=_args: cls(*args), *_size)
    CASES[f"MaxUnpool{_dims}d"] = (
        lambda dims=_dims, size=_size: (getattr(nn, f"MaxUnpool{dims}d")(2), getattr(F, f"max_pool{dims}d")(R(2, 4, *size), 2, return_indices=True))
    )
for _name in "AlphaDropout CELU Dropout ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish RReLU ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink".split():  # fmt: skip
    CASES[_name] = rows(getattr(nn, _name))
for _name in "LogSoftmax Softmax Softmin".split():
    CASES[_name] = rows(lambda cls=getattr(nn, _name): cls(dim=-1))

#: Classes without a forward pass of their own.
WITHOUT_FORWARD = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNCellBase"}


class Function(nn.Module):
    """A function with a weight and two buffers, running statistics, to use."""

    def __init__(self, function, *size):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(R(*size))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("variance", torch.ones(4))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def function(call, *inputs, size=(1,)):
    return given(lambda: Function(call, *size), *inputs)


FUNCTIONS = {
    "F.rrelu": function(lambda m, x: F.rrelu(x * m.weight, training=True), lambda: R(4, 8)),
    "F.rrelu_": function(lambda m, x: F.rrelu_(x * m.weight, training=True), lambda: R(4, 8)),
    "F.dropout": function(lambda m, x: F.dropout(x * m.weight), lambda: R(4, 8)),
    "F.alpha_dropout": function(lambda m, x: F.alpha_dropout(x * m.weight, training=True), lambda: R(4, 8)),
    "F.feature_alpha_dropout": function(lambda m, x: F.feature_alpha_dropout(x * m.weight, training=True), lambda: R(2, 4, 3, 3)),
    "F.fractional_max_pool2d": function(lambda m, x: F.fractional_max_pool2d(x * m.weight, 2, output_ratio=0.5), lambda: R(2, 4, 8, 8)),
    "F.gumbel_softmax": function(lambda m, x: F.gumbel_softmax(x * m.weight, hard=True), lambda: R(4, 8)),
    "F.batch_norm": function(lambda m, x: F.batch_norm(x * m.weight, m.mean, m.variance, training=True), lambda: R(8, 4)),
    "F.instance_norm": function(lambda m, x: F.instance_norm(x * m.weight, m.mean, m.variance), lambda: R(2, 4, 8)),
    "F.embedding max_norm": function(lambda m, x: F.embedding(x, m.weight, max_norm=1.0), lambda: torch.randint(0, 10, (3, 5)), size=(10, 4)),
    "F.embedding_bag max_norm": function(lambda m, x: F.embedding_bag(x, m.weight, max_norm=1.0), lambda: torch.randint(0, 10, (3, 5)), size=(10, 4)),
    "F.scaled_dot_product_attention": function(lambda m, x: F.scaled_dot_product_attention(x * m.weight, x, x, dropout_p=0.2), lambda: R(2, 2, 5, 4)),
    "nn.Embedding max_norm": given(lambda: nn.Embedding(10, 4, max_norm=1.0), lambda: torch.randint(0, 10, (3, 5))),
    "nn.BatchNorm1d cumulative": given(lambda: nn.BatchNorm1d(8, momentum=None), lambda: R(4, 8)),
    "nn.InstanceNorm1d counting": given(lambda: nn.InstanceNorm1d(4, track_running_stats=True), lambda: R(2, 4, 8)),
    "spectral_norm": rows(lambda: parametrizations.spectral_norm(nn.Linear(8, 8))),
    "spectral_norm by hooks": rows(lambda: nn.utils.spectral_norm(nn.Linear(8, 8))),
    "weight_norm": rows(lambda: parametrizations.weight_norm(nn.Linear(8, 8))),
    "weight_norm by hooks": rows(lambda: nn.utils.weight_norm(nn.Linear(8, 8))),
    "orthogonal": rows(lambda: parametrizations.orthogonal(nn.Linear(8, 8))),
    "quantizable LSTM": given(lambda: torch.ao.nn.quantizable.LSTM(4, 5), lambda: R(6, 3, 4)),
    "quantizable attention": given(lambda: torch.ao.nn.quantizable.MultiheadAttention(8, 2), *[lambda: R(5, 2, 8)] * 3),
    "fake quantization": rows(lambda: nn.Sequential(nn.Linear(8, 8), torch.ao.quantization.default_fused_act_fake_quant())),
    "bernoulli_": function(lambda m, x: x * m.weight * torch.empty_like(x).bernoulli_(0.5), lambda: R(4, 8)),
    "normal": function(lambda m, x: (x * m.weight).exp() * torch.normal(0.0, 1.0, (4, 8)), lambda: R(4, 8)),
    "randperm": function(lambda m, x: (x * m.weight)[torch.randperm(4)].sin(), lambda: R(4, 8)),
}
ALL = CASES | FUNCTIONS

WAYS = ("alone", "in a block", "twice in a block")
MODES = ("train", "eval", "twice differentiated", "autocast")


class Block(nn.Module):
    """A module between functions, with weights before and after it."""

    def __init__(self, inner, times):
        super().__init__()
        self.inner, self.times = inner, times
        self.scale, self.gain = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))

    def forward(self, *inputs):
        scaled = tuple(one * self.scale if one.is_floating_point() else one for one in inputs)
        results = [one for _ in range(self.times) for one in tree_leaves(self.inner(*scaled)) if isinstance(one, torch.Tensor) and one.is_floating_point()]
        return [(one * self.gain).sin() * one for one in results]


class Trained:
    """A module in its arrangement, ready to train, the same for each seed."""

    def __init__(self, name, way, mode, seed):
        torch.manual_seed(seed)
        module, self.inputs = ALL[name]()
        with torch.no_grad():
            # Lazy modules learn their shapes.
            if any(nn.parameter.is_lazy(one) for one in module.parameters()):
                module(*self.inputs)
        self.model = nn.Sequential(module) if way == "alone" else Block(module, 1 if way == "in a block" else 2)
        self.call = module if way == "alone" else self.model
        self.model.train(mode != "eval")
        self.mode = mode
        weights = list(self.model.parameters())
        self.optimizer = torch.optim.SGD(weights, 0.01, momentum=0.9) if weights else None

    def step(self):
        leaves = []

        def leaf(tensor):
            if not tensor.is_floating_point():
                return tensor
            leaves.append(tensor.detach().clone().requires_grad_())
            return leaves[-1] * 1

        inputs = tree_map_only(torch.Tensor, leaf, self.inputs)
        with torch.autocast("cpu", torch.bfloat16) if self.mode == "autocast" else contextlib.nullcontext():
            results = [one for one in tree_leaves(self.call(*inputs)) if isinstance(one, torch.Tensor) and one.requires_grad]
            loss = sum(one.float().square().mean() for one in results)
        weights = list(self.model.parameters())
        if self.mode == "twice differentiated":
            gradients = torch.autograd.grad(loss, [*leaves, *weights], create_graph=True, allow_unused=True)
            loss = loss + sum(one.square().sum() for one in gradients if one is not None)
        loss.backward()
        seen = [loss.detach(), *(one.grad for one in [*leaves, *weights])]
        if self.optimizer:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return seen

    def train(self, seed):
        torch.manual_seed(seed)
        seen = [one for _ in range(2) for one in self.step()]
        return [*seen, *self.model.state_dict().values(), torch.get_rng_state()]


def random_policy(rng, trained):
    """Any modules as a whole, nested as they are; or a part of one."""
    names = [name for name, one in trained.model.named_modules() if type(one).forward is not nn.Module.forward and not (name == "" and trained.call is not trained.model)]
    if rng.random() < 0.3:
        begin = rng.randint(0, 6)
        return {}, {rng.choice(names): [[begin, begin + rng.randint(1, 12)]]}
    share = rng.choice([0.3, 0.7, 1])
    return {name: [] for name in names if rng.random() < share} or {rng.choice(names): []}, {}


def try_case(name, seed):
    """Trains with and without a random policy. Returns the problem, a sentence that starts with "refused", or None. Raises
    `Untrainable` if the module has no such gradient.
    """
    rng = random.Random(f"{name} {seed}")
    way, mode = rng.choice(WAYS), rng.choice(MODES)
    with warnings.catch_warnings(), unwritten_memory_is_nan():
        warnings.simplefilter("ignore")
        try:
            stock, again = (Trained(name, way, mode, seed).train(seed) for _ in range(2))
        except (RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError) as error:
            raise Untrainable(f"{way}, {mode}: {error}") from error
        if not all(map(is_same, stock, again)):
            raise Untrainable(f"{way}, {mode}: its own bits differ from run to run")
        trained = Trained(name, way, mode, seed)
        units, parts = random_policy(rng, trained)
        remat.apply(trained.model, policy_of(trained.model, units, parts))
        try:
            found = trained.train(seed)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            differing = [place for place, pair in enumerate(zip(stock, found)) if not is_same(*pair)]
            wrong = f"results {differing} of {len(stock)} differ" if differing else None
        if wrong is None:
            return None
        told = f"{way}, {mode}, {units or parts}: {wrong}"
        # A policy that names places among ops says nothing where it is of other ops; each says so by name.
        if "remat: " in wrong:
            return f"refused: {told}"
        reason = why_refused(Trained(name, way, mode, seed), seed, [*units, *parts])
        return f"refused ({reason}): {told}" if reason else told


class Untrainable(Exception):
    """The module cannot be trained so, with or without a policy."""


def why_refused(trained, seed, names):
    """Returns why the command line does not checkpoint one of these modules; None if it does."""
    torch.manual_seed(seed)
    trained.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.json"
        try:
            with remat.record(path, trained.model, trained.optimizer, allocation_unit=1):
                trained.step()
        except RuntimeError as error:
            return str(error)
        for name in names:
            root = type(trained.model).__name__
            rule = f"{root}.{name}" if name else root
            done = subprocess.run([*CLI, "compare", str(path), "--checkpoint", rule], capture_output=True, text=True)
            if done.returncode != 0:
                return done.stderr.strip().splitlines()[-1]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--only", choices=sorted(ALL))
    parser.add_argument("--once", action="store_true", help="the seed alone")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    names = [asked.only] if asked.only else sorted(ALL)
    until = time.monotonic() + 60 * asked.minutes
    counts = {"right": 0, "refused": 0, "untrainable": 0, "wrong": 0}
    seed = asked.seed
    while not counts["right"] or time.monotonic() < until:
        for name in names:
            if counts["right"] and time.monotonic() > until:
                break
            try:
                told = try_case(name, seed)
            except Untrainable as error:
                told = f"untrainable {error}"
            kind = "right" if told is None else next((one for one in ("refused", "untrainable") if told.startswith(one)), "wrong")
            counts[kind] += 1
            if asked.once:
                print(told)
            if kind == "wrong":
                print(f"not ok {name}, {told}\n    python {sys.argv[0]} --once --seed {seed} --only '{name}'", flush=True)
        if asked.once:
            break
        seed += 1
    print(f"seeds {asked.seed} to {seed}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    sys.exit(1 if counts["wrong"] else 0)


if __name__ == "__main__":
    main()
