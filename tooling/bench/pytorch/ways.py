"""Memory reduction by hand or by PyTorch's own tools: kinds of strategies, each from the least recomputation to the most.
"""

import contextlib
import functools
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

ACTIVATION_BUDGETS = (0.9, 0.7, 0.5, 0.3, 0.0)


@dataclass(frozen=True)
class Way:
    """A strategy as plain data, so that another process can apply it to its own model. `of` is the input for that kind.
    """

    name: str
    kind: str
    of: Any

    def begin(self, model):
        """Applies the strategy to a model before its first step."""
        _BEGINNINGS[self.kind](model, self.of)


def first_blocks(model):
    """Checkpoints the first k blocks."""
    blocks = outermost_blocks(model)
    return [Way(f"first {k}", "blocks", blocks[:k]) for k in range(1, len(blocks) + 1)]


def ordinal(n: int) -> str:
    """2nd, 3rd, 4th."""
    return f"{n}{({2: 'nd', 3: 'rd'}).get(n, 'th')}"


def every_nth_block(model):
    """Checkpoints every nth block, and all blocks. For all, it uses the model's own `gradient_checkpointing_enable()` if
    it has one, as Hugging Face's do.
    """
    blocks = outermost_blocks(model)
    ways = [Way(f"every {ordinal(n)}", "blocks", blocks[::n]) for n in range(len(blocks) // 2, 1, -1)]
    if hasattr(model, "gradient_checkpointing_enable"):
        return [*ways, Way("HF", "own", {"use_reentrant": False})]
    return [*ways, Way("all blocks", "blocks", blocks)]


def activation_budgets(_model):
    """The min-cut partitioner of a compiled model, with a budget for the activations that its forward pass saves."""
    return [Way(f"{budget:.0%}", "compiled", budget) for budget in ACTIVATION_BUDGETS]


def outermost_blocks(model):
    names = [name for name, _ in model.named_modules() if re.search(r"(^|\.)\d+$", name)]
    return [name for name in names if not any(name.startswith(f"{other}.") for other in names if other != name)]


def _checkpoint_all(model, names):
    for name in names:
        block = model.get_submodule(name)
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)


def _compile_within(model, budget):
    from torch._dynamo.backends.debugging import aot_eager

    # A separate backend for each budget, since otherwise the code compiled for another one would be reused.
    def within(graph, inputs):
        with torch._functorch.config.patch(activation_memory_budget=budget):
            return aot_eager(graph, inputs)

    torch._dynamo.config.recompile_limit = 256
    model.compile(backend=within)


class MixedIntegerPrograms:
    """PyTorch's `sac_milp`: decides which modules to checkpoint, and how much of each, from its own trackers' view of a
    step. Its estimates need a GPU or fake tensors. Here it is given the measured time of each op.
    """

    def __init__(self, model, optimizer, step, tracker):
        from torch._subclasses import FakeTensorMode
        from torch.distributed._tools import runtime_estimator, sac_estimator
        from torch.distributed._tools.ilp_utils import aggregate_stats, parse_module_info

        fake_mode = FakeTensorMode()
        estimator = runtime_estimator.RuntimeEstimator
        runtime_estimator.active_fake_mode = sac_estimator.active_fake_mode = lambda: fake_mode
        estimator._benchmark_estimate = staticmethod(_clocked)
        runtimes, self.trade_offs = estimator(), sac_estimator.SACEstimator()
        with contextlib.redirect_stdout(None):
            for mode in (runtimes, self.trade_offs):
                with mode("operator-level-benchmark"):
                    step()
        self.graph = parse_module_info(aggregate_stats(model, tracker, runtimes, self.trade_offs, next(model.parameters()).device))
        # Memory that it does not count.
        self.state_bytes = sum(value.nbytes for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor))
        self.root = type(model).__name__

    def within(self, budget_bytes):
        """Returns its strategy for a budget, or None if it finds none."""
        from torch.distributed._tools.sac_ilp import get_optimal_checkpointing_policy_per_module, sac_milp

        decisions, _, peak = sac_milp(self.graph, (budget_bytes - self.state_bytes) / 2**30)
        if peak < 0:
            return None
        saved = {}
        for fqn, freed in decisions.items():
            stats = self.trade_offs.sac_mod_stats[fqn]
            saved[fqn.removeprefix(f"{self.root}.")] = (get_optimal_checkpointing_policy_per_module(stats, 1 - freed), stats.func_names)
        return Way(f"{len(saved)} modules", "saved", saved)

    def least(self, budget_bytes):
        """Returns the smallest budget for which it finds a strategy, to 2%."""
        best, fits, fails = None, 1.0, 0.0
        while fits - fails > 0.02:
            share = (fits + fails) / 2
            found = self.within(budget_bytes * share)
            best, fits, fails = (found, share, fails) if found is not None else (best, fits, share)
        return best


def _clocked(func, args, kwargs):
    import time

    began = time.perf_counter()
    out = func(*args, **(kwargs or {}))
    return out, (time.perf_counter() - began) * 1e3


def _save_some(model, saved):
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def contexts(decisions, names):
        """Identifies ops by name and occurrence, which is the same in both passes, whatever else the trackers count."""
        kept = set()
        counts = {}
        for decision, name in zip(decisions, names):
            counts[name] = counts.get(name, -1) + 1
            if decision:
                kept.add((name, counts[name]))
        seen = ({}, {})

        def policy(context, func, *args, **kwargs):
            of = seen[context.is_recompute]
            name = func._overloadpacket.__name__
            of[name] = of.get(name, -1) + 1
            return CheckpointPolicy.MUST_SAVE if (name, of[name]) in kept else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    for name, (decisions, names) in saved.items():
        module = model.get_submodule(name)
        module.forward = functools.partial(
            checkpoint, module.forward, use_reentrant=False, context_fn=functools.partial(contexts, decisions, names)
        )


def _checkpoint_own(model, kwargs):
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=kwargs)


def _follow(model, policy):
    import remat

    remat.apply(model, policy)


_BEGINNINGS = {"blocks": _checkpoint_all, "own": _checkpoint_own, "compiled": _compile_within, "saved": _save_some, "policy": _follow}
