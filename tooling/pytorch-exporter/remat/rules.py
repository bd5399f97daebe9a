"""Converts selective checkpointing policies that are functions to rules that remat reads."""

from __future__ import annotations

import inspect
import json
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .autocasting import run_dispatched


def save_rules(policy, run):
    """Returns the ops that `policy` saves in `run()`, a module's forward pass. Each is named `name#n`, with n earlier
    ops of that name: `["aten.mm.default#0", …]`.

    `policy`: as for `create_selective_checkpoint_contexts` of `torch.utils.checkpoint`, a function
    `(ctx, op, *args, **kwargs)` or a list of ops. `run`: calls the module, such as `lambda: layer(x)`. The results are
    discarded.

    Use the rules with `checkpoint_file`, or with
    `remat compare run.json --checkpoint 'layers.*(save=aten.mm.default#0+…)'`.

    >>> save_rules([torch.ops.aten.mm.default], lambda: layer(x))
    ['aten.mm.default#0']
    """
    asked = _Asked(policy)
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices), torch.no_grad(), asked:
        run()
    return asked.rules


def checkpoint_file(path, modules):
    """Writes the modules to checkpoint for `remat compare run.json --checkpoint PATH`. `modules` maps names or patterns
    (`layers.*`) to the rules of `save_rules`, or to None to recompute everything.
    """
    entries = [{"modules": [name], **({"save": list(rules)} if rules else {})} for name, rules in modules.items()]
    with open(path, "w") as file:
        json.dump({"schema": "checkpoint/1", "checkpoint": entries}, file, indent=2)


class _Asked(TorchDispatchMode):
    def __init__(self, policy):
        from torch.utils.checkpoint import SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext

        super().__init__()
        self._saves = (lambda ctx, op, *args, **kwargs: op in policy) if isinstance(policy, (list, tuple, set)) else policy
        self._saved = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        self._ignored = SAC_IGNORED_OPS
        # Newer versions also pass the result of the op to a policy.
        self._shows_result = "op_output" in inspect.signature(SelectiveCheckpointContext.__init__).parameters
        self._context = SelectiveCheckpointContext
        self._counts = Counter()
        self.rules = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = run_dispatched(func, args, kwargs)
        name = str(func)
        ordinal = self._counts[name]
        self._counts[name] += 1
        if func not in self._ignored:
            context = self._context(is_recompute=False, **({"op_output": out} if self._shows_result else {}))
            if self._saves(context, func, *args, **kwargs) in self._saved:
                self.rules.append(f"{name}#{ordinal}")
        return out
