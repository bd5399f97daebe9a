"""Applies a checkpointing policy from remat to a model."""

from __future__ import annotations

import contextlib
import json
import os

import torch

from .checkpointed import Unit, is_checkpointed, make_checkpointed, make_plain
from .models import as_one_model
from .plain_pickle import read_regular_file

POLICY_FORMATS = ("remat-pytorch-policy/1", "remat-pytorch-policy/2", "remat-pytorch-policy/3", "remat-pytorch-policy/4")


def apply(model, policy, *, verify=None):
    """Makes the modules named in `policy` run under `torch.utils.checkpoint` from now on. Returns a function that
    undoes this. `remove(model)` does the same.

    `model`: a module, or several in a list or by name, as recorded. `policy`: the output of `remat plan
    --pytorch-policy` or of `toPyTorchPolicy` of @remat/pytorch, as a path or parsed JSON. A policy made for other
    modules is rejected without changing anything.

    If no gradient is needed, modules run as before. Recomputation draws the same random numbers and does not change
    running statistics or key-value caches. Each module gets a subclass of its own class. Copies (`copy.deepcopy`,
    `torch.save`) therefore also follow the policy, with their own weights.

    `verify`: a training step, `step()`. It runs several times from the current state, with and without the policy. It
    compares losses, gradients, weights, buffers, optimizer state, random generators, plain attributes of modules, and
    the globals and closures that the code uses. All must be bitwise identical. Everything is restored afterwards. If
    something differs, `TrainingDiffers` names the module, and the policy is not applied. If two runs without a policy
    differ, `StepNotRepeatable` is raised.
    """
    policy = _checked(policy)
    if verify is not None:
        return _apply_verified(model, policy, verify)
    modules = dict(as_one_model(model).named_modules())
    following = next((fqn for fqn, module in modules.items() if is_checkpointed(module)), None)
    if following is not None:
        raise ValueError(f"remat: module {following!r} already follows a policy; call remat.remove(model) first")
    count = policy.get("moduleCount", len(modules))
    if count != len(modules):
        raise ValueError(f"remat: the policy is for a model with {count} modules, and this model has {len(modules)}. Record and plan this model.")
    units = {}
    for fqn, unit in policy["modules"].items():
        module = modules.get(fqn)
        if module is None:
            raise ValueError(f"remat: the policy names module {fqn!r}, which is not in this model; the policy was planned for {policy.get('model')!r}. Record and plan this model.")
        units[module] = _unit(fqn, module, unit, policy)
    for module, unit in units.items():
        make_checkpointed(module, unit)

    def undo():
        for module in units:
            make_plain(module)

    return undo


def _apply_verified(model, policy, step):
    from .verifying import TrainingDiffers, Verifier

    whole = as_one_model(model)
    # A policy for another model is rejected before any step runs.
    apply(whole, policy)()
    verifier = Verifier(whole, step)
    difference = verifier.difference(policy)
    if difference is not None:
        named = verifier.guilty(policy, difference)[0]
        raise TrainingDiffers(
            f"remat: the policy changes training, so it was not applied: when module {named.unit or '(the model itself)'!r} runs again, {named.difference} differs from a step without the policy. "
            "Likely causes: hidden state that the recording cannot see, or a change since it was recorded. "
            "Record the current model and plan again, or call remat.fit(model, step, budget), which leaves such modules out."
        )
    return apply(whole, policy)


def remove(model):
    """Removes the policy from every module of `model`. A model without one does not change."""
    for module in as_one_model(model).modules():
        make_plain(module)


@contextlib.contextmanager
def without_policy(model):
    """A context that removes `model`'s policy. If its body raises, the earlier policy is restored."""
    before = {module: module.__dict__["_remat_unit"] for module in model.modules() if is_checkpointed(module)}
    remove(model)
    try:
        yield
    except BaseException:
        remove(model)
        for module, unit in before.items():
            make_checkpointed(module, unit)
        raise


def _checked(policy):
    """Returns the given policy, read from a file if it is a path. Raises an error if it is not a policy."""
    given = "the policy" if isinstance(policy, dict) else os.fspath(policy)
    how = "Write one with `remat plan step.json --pytorch-policy policy.json`."
    if not isinstance(policy, dict) and not os.path.exists(policy):
        raise FileNotFoundError(f"remat: {given}: no such file")
    if not isinstance(policy, dict):
        try:
            policy = json.loads(read_regular_file(policy))
        except ValueError as error:
            raise ValueError(f"remat: {given} is not a policy: not JSON ({error}). {how}") from error
    if not isinstance(policy, dict):
        raise ValueError(f"remat: {given} is not a policy: it contains a {type(policy).__name__}. {how}")
    if policy.get("format") not in POLICY_FORMATS:
        raise ValueError(f"remat: {given}: expected a policy of format {POLICY_FORMATS[-1]!r}, found {policy.get('format')!r}. Write it with this version of remat.")
    is_first = policy["format"] == POLICY_FORMATS[0]
    lacking = [key for key in ("modules", *(() if is_first else ("torch",))) if key not in policy]
    units = policy.get("modules", {})
    if not isinstance(units, dict):
        raise ValueError(f"remat: {given}: `modules` is a {type(units).__name__}, expected an object. {how}")
    if not is_first:
        lacking += [f"{key} of {fqn!r}" for fqn, unit in units.items() for key in ("type", "parameters", "save") if key not in unit]
    if lacking:
        raise ValueError(f"remat: {given} is incomplete: it lacks {', '.join(lacking)}. {how}")
    return policy


def _unit(fqn, module, unit, policy):
    """Returns the treatment of a module, after checking that the policy belongs to it."""
    if isinstance(module, torch.jit.ScriptModule):
        raise ValueError(f"remat: module {fqn!r} is a TorchScript module, which is not supported; apply the policy before torch.jit.script or torch.jit.trace")
    if "forward" in module.__dict__:
        raise ValueError(f"remat: another library replaced the forward of module {fqn!r}, which would hide the policy's forward; apply the policy first")
    if isinstance(unit, list):  # remat-pytorch-policy/1, which does not describe the module
        return Unit([entry for entry in unit if entry["policy"].endswith("_SAVE")], [], None)
    shapes = [list(parameter.shape) for parameter in module.parameters()]
    # Sharding creates a subclass of a module's class.
    names = [one.__name__ for one in type(module).__mro__]
    found = {"type": unit["type"] if unit["type"] in names else names[0], "parameters": sorted(shapes)}
    expected = {"type": unit["type"], "parameters": sorted(unit["parameters"])}
    for what in expected:
        if expected[what] != found[what]:
            raise ValueError(
                f"remat: the policy is for another model: module {fqn!r} has {what} {expected[what]} in the policy and {found[what]} in this model. Record and plan this model."
            )
    # The ops that a module dispatches may change between releases.
    made, here = (_release(version) for version in (policy["torch"], torch.__version__))
    if (unit["save"] or unit.get("parts")) and made != here:
        raise ValueError(f"remat: the policy names ops of PyTorch {made}, but this is PyTorch {here}. Record the step with this PyTorch and plan again.")
    return Unit([{**entry, "policy": "MUST_SAVE"} for entry in unit["save"]], [tuple(part) for part in unit.get("parts", [])], unit.get("ops"), _path_of(unit), fqn)


def _path_of(unit):
    return [unit["names"][place] for place in unit["path"]] if "path" in unit else None


def _release(version):
    return ".".join(version.split(".")[:2])
