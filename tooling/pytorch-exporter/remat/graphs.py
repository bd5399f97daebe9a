"""Exports the graphs that `torch.compile` makes of a model, as Inductor's estimator of memory sees them."""

from __future__ import annotations

import contextlib

import torch

from .files import write_file

SCHEMA = "fx-graphs/1"


def export_graphs(model, path, *args, decompose=True, **kwargs):
    """Compiles `model(*args, **kwargs)` and writes its forward and backward graphs to `path`, as `remat memory` reads them.

    >>> remat.export_graphs(model, "graphs.json", x)

    `model`: a module or a function of tensors; where it breaks into several graphs, all are written. `decompose`: as Inductor does, into its own ops. Partitioned
    as Inductor does, with `torch._functorch.config.activation_memory_budget` as it is set. Nothing is compiled to machine code, and no backward pass is run. One that ends in .gz is compressed.
    """
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    graphs = _Graphs()

    def partition(joint, inputs, **given):
        forward, backward = min_cut_rematerialization_partition(joint, inputs, **given)
        graphs.add(forward, backward)
        return forward, backward

    def compiled(graph, _inputs):
        return make_boxed_func(graph.forward)

    def inference(graph, inputs):
        graphs.add(graph, None)
        return compiled(graph, inputs)

    decompositions = {}
    if decompose:
        from torch._inductor.decomposition import select_decomp_table

        decompositions = select_decomp_table()
    backend = aot_autograd(
        fw_compiler=compiled, bw_compiler=compiled, inference_compiler=inference, partition_fn=partition, decompositions=decompositions
    )
    with _without_caches():
        torch.compile(model, backend=backend, dynamic=False)(*args, **kwargs)
    if not graphs.pairs:
        raise ValueError("remat: nothing of the model was compiled, so there is no graph to export; TORCH_LOGS=graph_breaks tells why")
    content = {
        "schema": SCHEMA,
        "source": f"torch {torch.__version__}",
        "name": type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", "graph"),
        "storages": graphs.storages,
        "graphs": graphs.pairs,
    }
    write_file(path, content)


@contextlib.contextmanager
def _without_caches():
    """A graph that comes from a cache is not partitioned again; and the model may have been compiled before."""
    torch._dynamo.reset()
    try:
        with torch._functorch.config.patch(enable_autograd_cache=False):
            yield
    finally:
        torch._dynamo.reset()


class _Graphs:
    """Nodes with the storages that their results lie on: one table of those for all graphs, so that forward and backward graphs meet in it."""

    def __init__(self):
        self.storages, self.pairs = [], []
        self._numbers, self._kept = {}, []

    def add(self, forward, backward):
        self.pairs.append({"forward": self._nodes(forward), "backward": None if backward is None else self._nodes(backward)})

    def _nodes(self, module):
        return [
            {"n": node.name, "op": node.op, "in": [one.name for one in node.all_input_nodes], "out": self._storages_of(node.meta.get("val"))}
            for node in module.graph.nodes
        ]

    def _storages_of(self, value):
        from torch.utils._pytree import tree_leaves

        return sorted({self._number(leaf) for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)})

    def _number(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._numbers:
            # Kept, or the address would be given again.
            self._kept.append(storage)
            self._numbers[key] = len(self.storages)
            self.storages.append([int(storage.nbytes()), str(tensor.device)])
        return self._numbers[key]
