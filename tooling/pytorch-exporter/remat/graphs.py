"""Exports the graphs that `torch.compile` creates from a model, in the form that Inductor's memory estimator sees."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterable

import torch

from .files import write_file

SCHEMA = "fx-graphs/2"


def export_graphs(model, path, *args, budgets=None, decompose=True, **kwargs):
    """Compiles `model(*args, **kwargs)` and writes its forward and backward graphs to `path`, for `remat memory` and
    `remat plan`.

    >>> remat.export_graphs(model, "graphs.json", x)
    >>> remat.export_graphs(model, "graphs.json.gz", x, budgets=(0.9, 0.7, 0.5, 0.3))

    `model`: a module or a function of tensors. If it breaks into several graphs, all are written.

    `budgets`: one or several values of `torch._functorch.config.activation_memory_budget`, from 0 to 1. The model is
    partitioned with each of them and with 1, the default of `torch.compile`. By default, the current setting is used.

    `decompose`: run Inductor's passes on the joint forward and backward graph, and decompose it into Inductor's ops.
    Dropout then saves a seed instead of a mask. If false, the graphs are those of the backend `aot_eager`.

    Nothing is compiled to machine code, and no backward pass is run. A path that ends in .gz is compressed.
    """
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch import config
    from torch._functorch.aot_autograd import make_boxed_func

    graphs = _Graphs([config.activation_memory_budget] if budgets is None else _checked(budgets))

    def partition(joint, inputs, **given):
        if decompose:
            joint = _as_inductor_has_it(joint, inputs)
        graphs.sets_its_own |= any(_sets_its_own_budget(node) for node in joint.graph.nodes)
        static = given.get("static_lifetime_input_indices") or ()
        pairs = []
        for budget in graphs.budgets:
            with config.patch(activation_memory_budget=budget):
                pairs.append(min_cut_rematerialization_partition(_copied(joint), inputs, **given))
        graphs.add(pairs, static)
        return pairs[0]

    def forward(graph, _inputs):
        return make_boxed_func(graphs.watched(graph))

    def backward(graph, _inputs):
        return make_boxed_func(graph.forward)

    def inference(graph, inputs):
        graphs.add([(graph, None)] * len(graphs.budgets))
        return forward(graph, inputs)

    decompositions = {}
    if decompose:
        from torch._inductor.decomposition import select_decomp_table

        decompositions = select_decomp_table()
    backend = aot_autograd(
        fw_compiler=forward, bw_compiler=backward, inference_compiler=inference, partition_fn=partition, decompositions=decompositions
    )
    with _without_caches():
        results = torch.compile(model, backend=backend, dynamic=False)(*args, **kwargs)
    if not graphs.pairs[0]:
        raise ValueError("remat: torch.compile compiled no part of the model, so there is no graph to export. Set TORCH_LOGS=graph_breaks to see why.")
    if graphs.sets_its_own and len(graphs.budgets) > 1:
        warnings.warn("remat: the model sets its own budgets (region_activation_memory_budget), so activation_memory_budget has no effect there", stacklevel=2)
    graphs.join()
    content = {
        "schema": SCHEMA,
        "source": f"torch {torch.__version__}",
        "name": _name_of(model),
        "storages": graphs.storages,
        "results": graphs.handed_to_caller(results),
        "added": graphs.added,
        "partitions": [{"budget": budget, "graphs": pairs} for budget, pairs in zip(graphs.budgets, graphs.pairs)],
    }
    write_file(path, content)


def _as_inductor_has_it(joint, inputs):
    """Returns the joint graph after the passes that Inductor runs before partitioning."""
    from torch._guards import detect_fake_mode
    from torch._inductor.fx_passes.joint_graph import joint_graph_passes
    from torch._inductor.virtualized import V

    with V.set_fake_mode(detect_fake_mode(inputs)):
        return joint_graph_passes(joint)


def _sets_its_own_budget(node):
    """Returns whether the partitioner takes the budget from the node instead of its setting: from
    `torch.autograd.graph.region_activation_memory_budget`, or its form in older versions.
    """
    custom = node.meta.get("custom")
    return "memory_budget" in node.meta or (isinstance(custom, dict) and "_region_activation_memory_budget" in custom)


def _copied(joint):
    """Copies a graph, because partitioning changes it. The values in the copy are the same objects, and so are their
    storages.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return torch.fx.GraphModule(joint, copy.deepcopy(joint.graph))


def _checked(budgets):
    """Returns the budgets from 1 down, each once."""
    budgets = [*budgets] if isinstance(budgets, Iterable) else [budgets]
    for budget in budgets:
        if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 <= budget <= 1:
            raise ValueError(f"remat: budgets must be numbers from 0 to 1, like activation_memory_budget, found {budget!r}")
    return sorted({1.0, *map(float, budgets)}, reverse=True)


@contextlib.contextmanager
def _without_caches():
    """Disables caches, since a cached graph is not partitioned again. The model may have been compiled before."""
    torch._dynamo.reset()
    try:
        with torch._functorch.config.patch(enable_autograd_cache=False):
            yield
    finally:
        torch._dynamo.reset()


class _Graphs:
    """Nodes with the storages of their results and the costs of their kernels. All graphs share one table of storages,
    so that a forward and a backward graph can refer to the same storage.
    """

    def __init__(self, budgets):
        from torch._functorch.partitioners import get_default_op_list

        self.budgets, self.storages, self.pairs = budgets, [], [[] for _ in budgets]
        self.sets_its_own, self.added = False, []
        self._numbers, self._kept, self._op_types = {}, [], get_default_op_list()
        self._real, self._same = {}, {}
        self._gradients = []

    def add(self, pairs, static=()):
        """Adds the forward and backward graphs of one graph for each budget. `static`: positions of inputs that are
        permanent: weights and buffers.
        """
        for written, (forward, backward) in zip(self.pairs, pairs):
            nodes = self._nodes(forward)
            given = {node["n"]: node for node in nodes if node["op"] == "placeholder"}
            # AOTAutograd numbers inputs from 1.
            for place in static:
                if f"primals_{place + 1}" in given:
                    given[f"primals_{place + 1}"]["static"] = True
            written.append({"forward": nodes, "backward": None if backward is None else self._nodes(backward)})
        forward, backward = pairs[0]
        self._gradients.append(([], {}, []) if backward is None else self._gradients_of(forward, backward))

    def watched(self, graph):
        """Returns the last added graph as a function that finds, from its inputs and outputs, storages shared between
        several graphs: outputs passed to the next graph, and shared weights. Each run after the first adds the graph
        again, as for layers that share one graph.
        """
        given = [_value(node) for node in graph.graph.find_nodes(op="placeholder")]
        handed = [_value(node) for node in graph.graph.find_nodes(op="output")[0].args[0]]
        place, has_run = len(self.pairs[0]) - 1, False

        def run(*args):
            nonlocal has_run
            numbers = self._added_again(place) if has_run else {}
            has_run = True
            self._meet(given, args, numbers)
            results = graph.forward(*args)
            self._meet(handed, results, numbers)
            return results

        return run

    def _added_again(self, place):
        """Adds the graph at an index again, with new storages except for constants. Returns the new storage numbers by
        the original ones.
        """
        numbers = {}

        def number(storage):
            if storage not in numbers:
                numbers[storage] = len(self.storages)
                self.storages.append(self.storages[storage])
            return numbers[storage]

        def again(nodes):
            numbers.update({storage: storage for node in nodes if node["op"] == "get_attr" for storage in node["out"]})
            return [{**node, "out": [number(storage) for storage in node["out"]]} for node in nodes]

        for pairs in self.pairs:
            pairs.append({part: nodes and again(nodes) for part, nodes in pairs[place].items()})
        of_outputs, of_inputs, taken = self._gradients[place]
        of_inputs = {number(given): number(gradient) for given, gradient in of_inputs.items()}
        self._gradients.append(([*map(number, of_outputs)], of_inputs, [*map(number, taken)]))
        return numbers

    def join(self):
        """Gives each storage a single number if several graphs refer to it: storages identified during a run, and a
        gradient that one graph passes to the graph that computed its input. Backward passes run from the last graph to
        the first. If several graphs return a gradient of a tensor, autograd adds the later ones to the first.
        """
        first, added = {}, []
        for later, (_, of_inputs, _) in reversed([*enumerate(self._gradients)]):
            for given, gradient in of_inputs.items():
                if self._numbered(given) in first:
                    added.append(gradient)
                    continue
                first[self._numbered(given)] = gradient
                for of_outputs, _, tangents in self._gradients[:later]:
                    if self._numbered(given) in map(self._numbered, of_outputs):
                        same = [each for each in tangents if self.storages[each] == self.storages[gradient] and each not in self._same]
                        self._same.update({each: self._numbered(gradient) for each in same[:1]})
        self.added = sorted({*map(self._numbered, added)} - {*map(self._numbered, first.values())})
        for pairs in self.pairs:
            for pair in pairs:
                for node in [*pair["forward"], *(pair["backward"] or ())]:
                    node["out"] = sorted({self._numbered(storage) for storage in node["out"]})

    def handed_to_caller(self, results):
        """Returns the storages of the model's outputs."""
        numbers = (self._real.get(each.untyped_storage()._cdata) for each in _tensors(results))
        return sorted({self._numbered(number) for number in numbers if number is not None})

    def _numbered(self, storage):
        return self._same.get(storage, storage)

    def _gradients_of(self, forward, backward):
        """Returns three things: the storages of a forward graph's outputs, the storages of its inputs' gradients by the
        storages of the inputs, and the storages of its outputs' gradients.
        """
        inputs, results = [[_value(node) for node in graph.graph.find_nodes(op="placeholder")] for graph in (forward, backward)]
        handed, gradients = [[_value(node) for node in graph.graph.find_nodes(op="output")[0].args[0]] for graph in (forward, backward)]
        of_outputs = [self._number(each) for each in handed if isinstance(each, torch.Tensor)]
        pairs = [pair for pair in zip(inputs, gradients) if all(isinstance(each, torch.Tensor) for each in pair)]
        of_inputs = {self._number(given): self._number(gradient) for given, gradient in pairs}
        taken = [self._number(each) for each in results if isinstance(each, torch.Tensor)]
        return of_outputs, of_inputs, [each for each in taken if each not in of_outputs]

    def _meet(self, fakes, reals, numbers):
        for fake, real in zip(fakes, reals):
            if not (isinstance(fake, torch.Tensor) and isinstance(real, torch.Tensor)):
                continue
            number, storage = self._number(fake), real.untyped_storage()
            number = numbers.get(number, number)
            self._kept.append(storage)
            met = self._real.setdefault(storage._cdata, number)
            if met != number and self.storages[met] == self.storages[number]:
                self._same[number] = met

    def _nodes(self, module):
        return [self._node(node) for node in module.graph.nodes]

    def _node(self, node):
        tensors = _tensors(node.meta.get("val"))
        told = {"n": node.name, "op": node.op, "in": [one.name for one in node.all_input_nodes], "out": sorted({self._number(each) for each in tensors})}
        held = sum(_spanned_bytes(each) for each in tensors)
        if held != sum(self.storages[storage][0] for storage in told["out"]):
            told["bytes"] = held
        if node.op == "call_function":
            flops = _flops(node)
            if flops:
                told.update(flops=flops, dtype=str(tensors[0].dtype).removeprefix("torch."))
            elif self._op_types.is_fusible(node):
                told["fusible"] = True
        return told

    def _number(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._numbers:
            # Kept alive, so that the address is not reused.
            self._kept.append(storage)
            self._numbers[key] = len(self.storages)
            self.storages.append([int(storage.nbytes()), str(tensor.device)])
        return self._numbers[key]


def _value(node):
    """Returns the fake tensor of a node, or None if it is not a node."""
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def _tensors(value):
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _spanned_bytes(tensor):
    """Returns the bytes read when all of a tensor is read. An expanded dimension counts once."""
    count = tensor.element_size()
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= int(size) if stride != 0 else 1
    return count


def _flops(node):
    """Returns the FLOPs as `torch.utils.flop_counter` counts them from the shapes, or None for an op that it does not
    count.
    """
    from torch.utils.flop_counter import flop_registry

    formula = flop_registry.get(_counted_as(node.target))
    if formula is None:
        return None
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda one: one.meta.get("val"))
    return int(formula(*args, **kwargs, out_val=node.meta["val"]))


def _counted_as(target):
    """Returns the op whose formula applies. Attention on the CPU has no formula, but takes the same arguments as
    attention on CUDA.
    """
    packet = getattr(target, "overloadpacket", target)
    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: aten._scaled_dot_product_flash_attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: aten._scaled_dot_product_flash_attention_backward,
    }.get(packet, packet)


def _name_of(model):
    if not isinstance(model, torch.nn.Module):
        return getattr(model, "__name__", "graph")
    # The result of torch.compile is named after the module that it wraps.
    return type(getattr(model, "_orig_mod", model)).__name__
