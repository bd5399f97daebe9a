"""Graphs of small compiled models under several activation budgets, with the saved bytes and the peak of each compiled
step: `python compiled_cases.py FILE`. Needs transformers.
"""

import gzip
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from missing_ops import define_missing_torchvision_ops
from small_models import Transformer
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import aot_eager, boxed_nop
from torch._functorch import config
from torch._guards import detect_fake_mode
from torch._inductor.compile_fx import partition_fn
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.virtualized import V
from torch.distributed._tools.mem_tracker import MemTracker

import remat

BUDGETS = (1.0, 0.75, 0.5, 0.25, 0.0)


class Images(nn.Module):
    """Running statistics, and a loss inside."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
        )

    def forward(self, x):
        return nn.functional.cross_entropy(self.features(x), torch.zeros(len(x), dtype=torch.long))


class Broken(nn.Module):
    """Several graphs: the second reads what the first made, and the loss is of a third. Returns what the last reads, too, if asked to."""

    def __init__(self, returns_all=False):
        super().__init__()
        self.returns_all = returns_all
        self.first, self.second = nn.Linear(32, 64), nn.Linear(64, 500)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        logits = self.second(nn.functional.gelu(hidden))
        torch._dynamo.graph_break()
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        return (loss, logits) if self.returns_all else loss


class Block(nn.Module):
    """Two graphs, which all blocks of a model have in common."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        hidden = nn.functional.gelu(self.first(x))
        torch._dynamo.graph_break()
        return x + self.second(hidden)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        return nn.functional.cross_entropy(self.linear(x), torch.zeros(len(x), dtype=torch.long))


class Blocks(nn.Module):
    """Blocks that run in a loop that is not compiled, since they break: those but the first, whose input has no gradient, run the same graphs."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks, self.classifier = nn.ModuleList(blocks), Classifier()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def layers():
    return nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1)))), (torch.randn(128, 64),)


def transformer():
    return Transformer(vocabulary=300, blocks=2), (torch.randint(0, 300, (4, 32)),)


def images():
    return Images(), (torch.randn(8, 3, 32, 32),)


def broken():
    return Broken(), (torch.randn(256, 32),)


def broken_and_all_returned():
    return Broken(returns_all=True), (torch.randn(256, 32),)


def blocks_with_graphs_in_common():
    return Blocks([Block() for _ in range(4)]), (torch.randn(128, 64, requires_grad=True),)


def block_that_runs_twice():
    return Blocks([Block()] * 2), (torch.randn(128, 64, requires_grad=True),)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 64, "vocab_size": 500, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(use_cache=False, **sizes)), (torch.randint(0, 500, (4, 64)),)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 500, "hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 2, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(use_cache=False, max_position_embeddings=64, **sizes)), (torch.randint(0, 500, (4, 64)),)


class WithLabels(nn.Module):
    """Returns loss and logits."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(input_ids=x, labels=x)


def gpt2_with_labels():
    model, args = gpt2()
    return WithLabels(model), args


def bert_with_labels():
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"vocab_size": 500, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    return WithLabels(BertForMaskedLM(BertConfig(max_position_embeddings=64, **sizes))), (torch.randint(0, 500, (4, 64)),)


CASES = [layers, transformer, images, broken, broken_and_all_returned]
PUBLIC_CASES = [gpt2, llama, gpt2_with_labels, bert_with_labels]


class Tracker(MemTracker):
    """Sees what compiled code does, too; its random ops are of higher order."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True


def exported(case, decompose):
    """The file of a case."""
    torch.manual_seed(0)
    model, args = case()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graphs.json"
        remat.export_graphs(model, path, *args, budgets=BUDGETS, decompose=decompose)
        return json.loads(path.read_text())


def measured(case, decompose, budget):
    """Returns the bytes that the compiled step of a case keeps from its forward to its backward pass, and its peak by
    PyTorch's tracker.
    """
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, args = case()
    compiled = torch.compile(model, backend=_backend(decompose, budget), dynamic=False)

    def outputs():
        results = compiled(*args)
        return results, (results if isinstance(results, torch.Tensor) else results[0])

    results, first = outputs()
    saved = _saved_bytes(first, [*model.parameters(), *model.buffers(), *args])
    first.sum().backward()
    model.zero_grad(set_to_none=True)
    del results, first
    tracker = Tracker()
    tracker.track_external(model, *args)
    with tracker:
        results, first = outputs()
        first.backward(torch.ones_like(first))
    [snapshot] = tracker.get_tracker_snapshot("peak").values()
    return {"budget": budget, "savedBytes": saved, "peakBytes": {getattr(key, "value", key): value for key, value in snapshot.items()}["Total"]}


def model_bytes(case):
    """Returns the bytes of a case's weights and buffers, including those that no graph reads."""
    model, _ = case()
    storages = [value.untyped_storage() for value in [*model.parameters(), *model.buffers()]]
    return sum({storage._cdata: storage.nbytes() for storage in storages}.values())


def _backend(decompose, budget):
    """Inductor's own way to partition, or that of `aot_eager`, whose kernels both then run."""

    def partition(graph, inputs, **given):
        with V.set_fake_mode(detect_fake_mode(inputs)):
            return partition_fn(graph, inputs, **given)

    as_inductor = aot_autograd(fw_compiler=boxed_nop, bw_compiler=boxed_nop, partition_fn=partition, decompositions=select_decomp_table())

    def within(graph, inputs):
        with config.patch(activation_memory_budget=budget, enable_autograd_cache=False):
            return (as_inductor if decompose else aot_eager)(graph, inputs)

    return within


def _saved_bytes(result, own):
    """Bytes of storages that compiled functions saved, but those of the caller."""
    seen, waiting = set(), [result.grad_fn]
    storages = {}
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [before for before, _ in node.next_functions]
        if type(node).__name__.startswith("CompiledFunction"):
            storages.update({value.untyped_storage()._cdata: value.untyped_storage().nbytes() for value in node.saved_tensors})
    given = {value.untyped_storage()._cdata for value in own}
    return sum(size for storage, size in storages.items() if storage not in given)


if __name__ == "__main__":
    define_missing_torchvision_ops()
    cases = [
        {
            "name": f"{case.__name__.replace('_', ' ')}, {'as Inductor' if decompose else 'as aot_eager'}",
            "file": exported(case, decompose),
            "modelBytes": model_bytes(case),
            "measured": [measured(case, decompose, budget) for budget in BUDGETS],
        }
        for case in [*CASES, *PUBLIC_CASES]
        for decompose in (True, False)
    ]
    with open(sys.argv[1], "wb") as file:
        file.write(gzip.compress(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).encode(), 9, mtime=0))
