"""Decides whether the recomputation of a region may stop when the last tensor is saved."""

from __future__ import annotations

import contextlib
import functools
import re

import torch
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import _StopRecomputationError


class EarlyStop:
    """One call under `torch.utils.checkpoint`.

    PyTorch stops the recomputation inside the op that saves the last tensor. A few ops save a tensor before they write
    it: `rrelu_with_noise` saves `noise`, and its kernel fills it afterwards. If the last op that saves is of this kind,
    or if it is unknown, the call runs to its end. All other calls stop where PyTorch stops: an op that saves its
    inputs, such as a matrix multiplication, does not run again.
    """

    def __init__(self):
        #: Sequence number of the autograd node whose op saved last, or None if the last save was the arguments of a
        #: nested call.
        self._number = None
        self._runs_to_end = True

    @contextlib.contextmanager
    def first_run(self, saves_arguments):
        """A context around the call in the forward pass. `saves_arguments()` returns whether `torch.utils.checkpoint`
        itself is saving now. Yields a function to which you pass the outputs of the call.
        """
        # The hooks of `torch.utils.checkpoint`, which has just entered them.
        pack, unpack = torch._C._autograd._top_saved_tensors_default_hooks(False)

        def numbering(tensor):
            # An op creates its node before it saves anything.
            self._number = None if saves_arguments() else torch.autograd._get_sequence_nr() - 1
            return pack(tensor)

        def end(outputs):
            self._runs_to_end = self._number is not None and not _has_saved_what_is_complete(outputs, self._number)

        with saved_tensors_hooks(numbering, unpack):
            yield end

    @contextlib.contextmanager
    def recomputation(self):
        """A context around the recomputation of the call."""
        if not self._runs_to_end:
            yield
            return
        pack, unpack = torch._C._autograd._top_saved_tensors_default_hooks(False)
        has_stopped = False

        def going_on(tensor):
            nonlocal has_stopped
            if not has_stopped:
                try:
                    return pack(tensor)
                except _StopRecomputationError:
                    has_stopped = True
            return tensor.detach()

        with saved_tensors_hooks(going_on, unpack):
            yield


def _has_saved_what_is_complete(outputs, number):
    """Returns whether an op saves nothing that it writes later. The op is given by the sequence number of its autograd
    node, which is searched for behind `outputs`. Nodes created earlier have lower numbers.
    """
    nodes = [leaf.grad_fn for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None]
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        if node._sequence_nr() == number:
            return _saves_complete_tensors(type(node))
        for other, _ in node.next_functions:
            if other is not None and other not in seen and other._sequence_nr() >= number and other.name() != "torch::autograd::AccumulateGrad":
                seen.add(other)
                nodes.append(other)
    return False


@functools.cache
def _saves_complete_tensors(node):
    # An autograd function in Python saves tensors after its forward has ended.
    if issubclass(node, BackwardCFunction):
        return True
    name, _, end = node.__name__.rpartition("Backward")
    return re.fullmatch(r"(?:Autograd[A-Za-z]+)?\d*(?:_copy)?", end) is not None and name in _node_names()[True]


@functools.cache
def _node_names():
    """Returns a dict by the names of ATen's autograd nodes, without the `Backward0` at the end. The value is False for
    ops that write no argument other than their in-place target, and True for all others.
    """
    dispatched = set(torch._C._dispatch_get_all_op_names())
    writing = {}
    for schema in torch._C._jit_get_all_schemas():
        space, name = schema.name.split("::")
        # TorchScript has ops on lists, which do not belong to an autograd node.
        if space == "aten" and ".".join(filter(None, (schema.name, schema.overload_name))) in dispatched:
            # Follows the naming of autograd's code generator.
            prefix = "".join(part.title() for part in name.split("_")).removesuffix("Forward")
            writing[prefix] = writing.get(prefix, False) or _writes_beside(schema)
    names = {True: set(), False: set()}
    for prefix, writes in writing.items():
        names[not writes].add(prefix)
    return names


def _writes_beside(schema):
    """Returns whether an op's schema declares a write to an argument that is neither its in-place target nor an output
    argument.
    """
    written = [place for place, argument in enumerate(schema.arguments) if argument.alias_info is not None and argument.alias_info.is_write and not argument.is_out]
    return written not in ([], [0]) or (written == [0] and not schema.name.endswith("_"))
