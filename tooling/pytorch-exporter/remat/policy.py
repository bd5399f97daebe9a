"""Has a model follow the checkpointing policy that remat planned for it."""

from __future__ import annotations

import json

import torch

from .checkpointed import Unit, is_checkpointed, make_checkpointed, make_plain
from .models import as_one_model

POLICY_FORMATS = ("remat-pytorch-policy/1", "remat-pytorch-policy/2", "remat-pytorch-policy/3")


def apply(model, policy):
    """Has the modules that `policy` names run under `torch.utils.checkpoint` from now on; returns a function that undoes it, as `remove(model)` does.

    `model`: a module, or several in a list or by name, as they were recorded. `policy`: what `remat plan --pytorch-policy` or `toPyTorchPolicy` of
    @remat/pytorch wrote: a path, or the parsed JSON. Where no gradient is asked for, modules run as before. What is recomputed draws the same random numbers,
    and leaves running statistics and caches of keys and values alone. A module becomes one of a subclass of its class, so that copies (`copy.deepcopy`, `torch.save`)
    follow the policy by themselves, with weights of their own. A policy that was made for other modules is refused, and nothing is changed then.
    """
    if not isinstance(policy, dict):
        with open(policy) as file:
            policy = json.load(file)
    if policy.get("format") not in POLICY_FORMATS:
        raise ValueError(f"expected a policy of format {POLICY_FORMATS[-1]!r}, found {policy.get('format')!r}; write it with this version of remat")
    modules = dict(as_one_model(model).named_modules())
    units = {}
    for fqn, unit in policy["modules"].items():
        module = modules.get(fqn)
        if module is None:
            raise ValueError(f"the policy names module {fqn!r}, which the model has not; it was made for {policy.get('model')!r}")
        units[module] = _unit(fqn, module, unit, policy)
    for module, unit in units.items():
        make_checkpointed(module, unit)

    def undo():
        for module in units:
            make_plain(module)

    return undo


def remove(model):
    """Has every module of `model` run as before a policy was applied; a model without one stays as it is."""
    for module in as_one_model(model).modules():
        make_plain(module)


def _unit(fqn, module, unit, policy):
    """How a module is to run, once it is sure that the policy is of this module."""
    if is_checkpointed(module):
        raise ValueError(f"module {fqn!r} follows a policy already; undo that first")
    if "forward" in module.__dict__:
        raise ValueError(f"the forward of module {fqn!r} was replaced by another library, which would hide the policy's; apply the policy first")
    if isinstance(unit, list):  # remat-pytorch-policy/1, which tells nothing of the module
        return Unit([entry for entry in unit if entry["policy"].endswith("_SAVE")], [], None)
    shapes = [list(parameter.shape) for parameter in module.parameters()]
    # Sharding makes a subclass of a module's class.
    names = [one.__name__ for one in type(module).__mro__]
    found = {"type": unit["type"] if unit["type"] in names else names[0], "parameters": sorted(shapes)}
    expected = {"type": unit["type"], "parameters": sorted(unit["parameters"])}
    for what in expected:
        if expected[what] != found[what]:
            raise ValueError(
                f"the policy is of another model: its module {fqn!r} has {what} {expected[what]}, and this one {found[what]}. Record this model, and plan it."
            )
    # Which ops a module dispatches may change from one release to the next.
    made, here = (_release(version) for version in (policy["torch"], torch.__version__))
    if (unit["save"] or unit.get("parts")) and made != here:
        raise ValueError(f"the policy tells ops of PyTorch {made} one from the other, and this is {here}. Record the step with this PyTorch, and plan it.")
    return Unit([{**entry, "policy": "MUST_SAVE"} for entry in unit["save"]], [tuple(part) for part in unit.get("parts", [])], unit.get("ops"))


def _release(version):
    return ".".join(version.split(".")[:2])
