"""Recomputation stops once all saved tensors are complete: not before, and not later."""

import contextlib
import sys
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from daily import sampled
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.checkpoint import checkpoint

from remat.checkpointed import Unit, make_checkpointed
from remat.early_stop import EarlyStop, _node_names, _saves_complete_tensors
from remat.queries import QUERIES


@contextlib.contextmanager
def unwritten_memory_is_nan():
    """Fills what `torch.empty` and its like return, so that a value nobody wrote shows."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


class Call(nn.Module):
    """Calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, /, *args, **kwargs):
        return self.function(*args, **kwargs)


def checkpointed(module, save=()):
    make_checkpointed(module, Unit([{"op": op, "ordinal": 0, "policy": "MUST_SAVE"} for op in save], [], None))
    return module


def results_of(module, args, kwargs):
    """Returns the result of a call, and the gradients of its inputs and of the module's weights; None if nothing has a
    gradient.
    """
    leaves = []

    def leaf(tensor):
        own = tensor.detach().clone().requires_grad_(tensor.requires_grad)
        if not own.requires_grad:
            return own
        leaves.append(own)
        # Not a leaf, so that ops may write it.
        return own * 1

    args, kwargs = tree_map_only(torch.Tensor, leaf, (args, kwargs))
    module.zero_grad()
    torch.manual_seed(0)
    with unwritten_memory_is_nan():
        outputs = [one for one in tree_leaves(module(*args, **kwargs)) if isinstance(one, torch.Tensor) and one.requires_grad]
        if not outputs:
            return None
        sum((one.abs() if one.is_complex() else one).double().square().sum() for one in outputs).backward()
    return [one.detach() for one in outputs] + [one.grad for one in leaves] + [one.grad for one in module.parameters()]


def is_same(a, b):
    if a is None or b is None:
        return a is b
    return a.layout == b.layout and a.shape == b.shape and torch.equal(_bits(a), _bits(b))


def _bits(tensor):
    tensor = tensor.to_dense() if tensor.layout != torch.strided else tensor
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return torch.where(tensor.isnan(), torch.inf, tensor).double() if tensor.is_floating_point() else tensor


class WritesAfterSaving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = torch.empty_like(x)
        ctx.save_for_backward(mask)
        mask.bernoulli_(0.5)
        return x * mask

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


class RunsNoOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(mask)
        return x.view_as(x), mask

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0], None


def in_place_on_a_part(x):
    y = torch.zeros(2, *x.shape).add(x)
    nn.functional.rrelu(y[0], training=True, inplace=True)
    return y


def with_an_unused_end(x):
    y = x * 2
    nn.functional.rrelu(x, training=True)
    return y


def nested():
    inner = checkpointed(nn.Sequential(nn.Linear(8, 8), nn.RReLU()))
    return nn.Sequential(nn.Linear(8, 8), nn.RReLU(), inner)


CASES = {
    "alone": nn.RReLU,
    "in place": lambda: nn.Sequential(nn.Linear(8, 8), nn.RReLU(inplace=True)),
    "last": lambda: nn.Sequential(nn.Linear(8, 8), nn.RReLU()),
    "not last": lambda: nn.Sequential(nn.RReLU(), nn.Linear(8, 8)),
    "before views": lambda: nn.Sequential(nn.RReLU(), nn.Flatten(), nn.Unflatten(1, (4, 2)), nn.Identity()),
    "nested": nested,
    "in place on a part": lambda: Call(in_place_on_a_part),
    "whose result is not used": lambda: Call(with_an_unused_end),
    "among several results": lambda: Call(lambda x: {"a": [x * 3], "b": (nn.functional.rrelu(x, training=True), None)}),
    "in a function of its own": lambda: Call(WritesAfterSaving.apply),
    "in a function without an op": lambda: Call(lambda x: RunsNoOp.apply(x, torch.rand_like(x))),
}


class EarlyStopTest(unittest.TestCase):
    def test_what_is_written_after_it_is_saved_is_complete(self):
        for name, make in CASES.items():
            x = torch.randn(4, 8, requires_grad=True)
            torch.manual_seed(1)
            plain = make()
            for save in ((), ("aten.addmm.default", "aten.mm.default")):
                if save and name == "in place":
                    continue  # PyTorch refuses to save what an op writes.
                torch.manual_seed(1)
                with self.subTest(name, save=save):
                    found = results_of(checkpointed(make(), save), (x,), {})
                    self.assertTrue(all(map(is_same, results_of(plain, (x,), {}), found)))

    def test_pytorch_alone_stops_too_early(self):
        # Else the tests here could not fail.
        x = torch.randn(4, 8, requires_grad=True)
        module = nn.RReLU()
        found = results_of(Call(lambda x: checkpoint(module, x, use_reentrant=False)), (x,), {})
        self.assertFalse(all(map(is_same, results_of(module, (x,), {}), found)))

    def test_all_other_regions_run_again_what_they_did_without(self):
        for make, shape in [
            (lambda: nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8)), (4, 8)),
            (lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(0.5)), (4, 8)),
            (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)), (2, 3, 8, 8)),
            (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 4, 8)),
            (lambda: nn.LSTM(8, 8), (3, 4, 8)),
            (lambda: nn.Sequential(nn.Linear(8, 8), checkpointed(nn.Sequential(nn.ReLU(), nn.Linear(8, 8)))), (4, 8)),
            (lambda: nn.Sequential(nn.RReLU(), nn.Linear(8, 8)), (4, 8)),
        ]:
            x = torch.randn(*shape, requires_grad=True)
            module = checkpointed(make())
            with mock.patch.multiple(EarlyStop, first_run=lambda *_: contextlib.nullcontext(lambda _: None), recomputation=lambda _: contextlib.nullcontext()):
                expected = ops_of_backward(module, x)
            self.assertEqual(ops_of_backward(module, x), expected)

    def test_a_call_that_ends_in_an_op_that_writes_late_runs_that_op(self):
        x = torch.randn(4, 8, requires_grad=True)
        self.assertIn("aten.rrelu_with_noise.default", ops_of_backward(checkpointed(nn.RReLU()), x))
        self.assertNotIn("aten.addmm.default", ops_of_backward(checkpointed(nn.Linear(8, 8)), x))

    def test_the_schemas_tell_of_every_node_which_it_is(self):
        nodes = {name: getattr(torch._C._functions, name) for name in dir(torch._C._functions) if "Backward" in name}
        known = _node_names()[True] | _node_names()[False]
        unknown = {name for name in nodes if not any(name.startswith(f"{one}Backward") for one in known)}
        self.assertLess(len(unknown), 12, unknown)
        self.assertFalse(_saves_complete_tensors(nodes["RreluWithNoiseBackward0"]))
        for name in ("AddmmBackward0", "NativeLayerNormBackward0", "ScaledDotProductFlashAttentionForCpuBackward0", "MulBackward0", "NativeBatchNormBackward0", "CudnnRnnBackward0"):
            self.assertTrue(_saves_complete_tensors(nodes[name]), name)

    def test_every_op_of_aten_has_the_same_gradients_when_it_runs_again(self):
        tried = 0
        ops = samples_of_ops()
        chosen = sampled(ops, 6)
        for op in chosen:
            for given in list(op.sample_inputs("cpu", torch.float32, requires_grad=True))[:2]:
                args = (given.input, *given.args)
                try:
                    plain, again = (results_of(Call(op.op), args, given.kwargs) for _ in range(2))
                except RuntimeError:
                    continue
                # A call that differs from itself, or has no gradient, proves nothing.
                if plain is None or not all(map(is_same, plain, again)):
                    continue
                with self.subTest(op.name):
                    tried += 1
                    try:
                        found = results_of(checkpointed(Call(op.op)), args, given.kwargs)
                    except RuntimeError as error:
                        # PyTorch refuses by itself to run again what writes its arguments; no policy names such a module.
                        self.assertIn("modified by an inplace operation", str(error))
                        continue
                    self.assertTrue(all(map(is_same, plain, found)))
        self.assertGreater(tried, 700 * len(chosen) / len(ops))


def samples_of_ops():
    """PyTorch's own tests of its ops, which need a package that only their assertions use."""
    stub = types.ModuleType("expecttest")
    stub.TestCase = unittest.TestCase
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if op.supports_autograd and op.supports_dtype(torch.float32, "cpu")]


def ops_of_backward(module, x):
    """The ops of a backward pass through a module, those that run again included."""

    class Ops(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if str(func).rsplit(".", 1)[0] not in QUERIES:
                self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    module.zero_grad()
    x.grad = None
    loss = tree_leaves(module(x * 1))[0].sum()
    with Ops() as ops:
        loss.backward()
    return ops.names


if __name__ == "__main__":
    unittest.main()
