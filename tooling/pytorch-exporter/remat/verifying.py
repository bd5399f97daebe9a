"""Checks that steps with a policy are bitwise identical to steps without one, and finds the modules responsible for a
difference.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from .plain_state import attributes, bindings_of, bits_of, classes_of, functions_of, global_generators, reached, token_of_leaf, walk
from .policy import apply, remove
from .ranks import Ranks
from .restoring import as_before, generators_restorer
from .tensors import tensors_in
from .used_by import used_by

#: A change in the first step may not show until the second.
_STEPS = 2


class StepNotRepeatable(RuntimeError):
    """Two runs of the same step from the same state differ, so a comparison is impossible."""


class TrainingDiffers(RuntimeError):
    """The results of training with a policy differ from those without it."""


class Difference(NamedTuple):
    what: str
    """Description, such as "the buffer 'encoder.m'" (with its name in the model) or "the loss"."""
    module: str | None
    """The module that it belongs to; None if there is none."""
    is_state: bool = False
    """True if it is state of that module itself, which only the module's own code changes."""

    def __str__(self):
        return self.what


class Guilty(NamedTuple):
    unit: str
    """A module named by the policy that changes training when it is recomputed."""
    owner: str
    """The module inside it whose state differs, or the module itself."""
    difference: Difference
    is_isolated: bool = True
    """True if the owner was found to change training by itself: its own state differs, or two calls of it with the same
    inputs differ. If not, the cause may be in any code of the unit, or before it.
    """


class Verifier:
    """Runs steps of a model without a policy from its current state. Steps with a policy, from the same state, are
    compared with them.
    """

    def __init__(self, model, step, ranks=None):
        self._model, self._step = model, step
        self._ranks = ranks or Ranks(model)
        remove(model)
        self._is_strict = False
        self._changing = None
        self._plain = self._run()
        difference = self._found(_first_difference(self._plain, self._run()))
        if difference is not None and not torch.are_deterministic_algorithms_enabled():
            # Some kernels add in a non-deterministic order unless that is forbidden.
            self._is_strict = True
            self._plain = self._run()
            difference = self._found(_first_difference(self._plain, self._run()))
        stuck = reached(model, step).stuck if difference is not None else []
        if stuck:
            raise StepNotRepeatable(
                f"remat: step() is not repeatable: two runs without a policy, from the same state, differ in {difference}. remat cannot copy {_list_of(stuck)}, so the second run started from another state. "
                "Both runs have advanced this state. Everything else is unchanged. Use a counter, a list or one fixed batch instead, or pass verify=False."
            )
        if difference is not None:
            raise StepNotRepeatable(
                f"remat: step() is not repeatable: two runs without a policy, from the same state, differ in {difference}. remat therefore cannot check whether a policy changes training. The model is unchanged. "
                "Likely causes: step() takes its batch from an iterator, keeps state that remat does not see, or runs nondeterministic kernels. "
                "Let step() use one fixed batch, or pass verify=False."
            )

    def difference(self, policy):
        """Returns the first difference between steps with a policy and steps without, or None. Afterwards the model
        follows no policy.
        """
        undo = apply(self._model, policy)
        try:
            found = _first_difference(self._plain, self._run())
        except (RuntimeError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            found = Difference(f"a step that raises {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": "), None)
        finally:
            undo()
        return self._found(found)

    def _found(self, difference):
        """Returns the difference found by the first process that found one, so that all processes continue in the same
        way.
        """
        return next((one for one in self._ranks.all(difference) if one is not None), None)

    def guilty(self, policy, difference):
        """Returns the modules to remove from a policy so that training does not change. Each was found to change training
        by itself or together with those before it.
        """
        units, found = dict(policy["modules"]), []
        while units and difference is not None:
            one = self._one_guilty(policy, units, difference)
            alike = [name for name in units if name != one.unit and _type_of(units[name]) is not None and _type_of(units[name]) == _type_of(units[one.unit])]
            del units[one.unit]
            found.append(one)
            # Modules of one class usually behave alike. Each is tested alone, so that no module is blamed for another
            # one.
            for name in alike:
                seen = self._alone(policy, name)
                if seen is None:
                    break
                found.append(self._blame(name, seen))
                del units[name]
            difference = self.difference({**policy, "modules": units}) if units else None
        return found

    def _one_guilty(self, policy, units, difference):
        # A module whose own state differs is usually inside the responsible module.
        around = [name for name in units if difference.module is not None and _is_inside(difference.module, name)]
        for name in sorted(around, key=len, reverse=True):
            seen = self.difference({**policy, "modules": {name: units[name]}})
            if seen is not None:
                return self._blame(name, seen)
        names = list(units)
        low, high = 0, len(names)  # the first `low` of them change nothing, the first `high` do
        seen = difference
        while high - low > 1:
            middle = (low + high) // 2
            now = self.difference({**policy, "modules": {name: units[name] for name in names[:middle]}})
            if now is None:
                low = middle
            else:
                high, seen = middle, now
        return self._blame(names[high - 1], seen)

    def _blame(self, unit, difference):
        """Returns the module in a unit that changes training. A different gradient does not prove this, since it shows
        where a change arrives and not where it comes from.
        """
        if difference.is_state and difference.module is not None and _is_inside(difference.module, unit):
            return Guilty(unit, difference.module, difference)
        if self._changing is None:
            self._changing = list(dict.fromkeys(name for names in self._ranks.all(self._calls_that_change()) for name in names))
        inside = [name for name in self._changing if _is_inside(name, unit)]
        if inside:
            return Guilty(unit, inside[0], Difference("the result of a second call with the same inputs", inside[0]))
        return Guilty(unit, unit, difference, False)

    def _calls_that_change(self):
        """Returns the innermost modules whose result differs if they are called again immediately with the same inputs and
        random generator state.
        """
        changing, begun, is_again = [], [], False
        names = {id(module): name for name, module in self._model.named_modules()}

        def before(module, args, kwargs):
            if not is_again:
                begun.append((module, generators_restorer()))

        def after(module, args, kwargs, output):
            nonlocal is_again
            if is_again or not begun or begun[-1][0] is not module:
                return
            _, restore = begun.pop()
            name = names[id(module)]
            # An outer module differs because of the inner one that changes.
            if any(_is_inside(one, name) for one in changing):
                return
            first = [bits_of(one) for one in tensors_in(output)]
            at_end = generators_restorer()
            is_again = True
            try:
                restore()
                with torch.no_grad():
                    again = module.forward(*args, **kwargs)
                if first != [bits_of(one) for one in tensors_in(again)]:
                    changing.append(name)
            except Exception:  # noqa: BLE001 - a module that cannot be called twice gives no information here
                pass
            finally:
                is_again = False
                at_end()

        with as_before(self._model, self._step), _deterministic(self._is_strict), contextlib.ExitStack() as stack:
            for module in self._model.modules():
                stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(after, with_kwargs=True).remove)
            with contextlib.suppress(RuntimeError):
                self._step()
        return changing

    def _alone(self, policy, name):
        return self.difference({**policy, "modules": {name: policy["modules"][name]}})

    def _run(self):
        """Returns results and remaining state of steps, by label. Everything is restored at the end."""
        with as_before(self._model, self._step), _deterministic(self._is_strict):
            seen = {}
            with _watching(self._model, seen) as optimizers:
                for number in range(_STEPS):
                    place = f"step {number + 1}"
                    returned = self._step()
                    for path, token in _tokens(returned).items():
                        seen[place, "returned", path] = "the loss" if path == () else "what step() returns", None, token
                    _tell_state(seen, place, self._model, self._step, optimizers)
            return seen


def _list_of(paths):
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _type_of(unit):
    return unit.get("type") if isinstance(unit, dict) else None


def _is_inside(fqn, other):
    return other == "" or fqn == other or fqn.startswith(f"{other}.")


def _first_difference(plain, other):
    # State identifies the responsible module best, so it comes before losses and gradients of the same step.
    for number in range(_STEPS):
        place = f"step {number + 1}"
        for kinds in (("attribute", "buffer"), ("forward", "returned", "gradient", "parameter", "optimizer", "generator", "name")):
            keys = [key for key in {**plain, **other} if key[0] == place and key[1] in kinds]
            for key in keys:
                mine, its = plain.get(key), other.get(key)
                if mine is None or its is None or mine[2] != its[2]:
                    what, module, _ = mine or its
                    return Difference(f"{what} after {number + 1} step{'s' if number else ''}", module, key[1] in ("attribute", "buffer"))
    return None


@contextlib.contextmanager
def _watching(model, seen):
    """A context that records each gradient and the results of root modules. Yields the optimizers that are found."""
    optimizers, counts = [], {}

    def count(*key):
        counts[key] = counts.get(key, 0) + 1
        return counts[key]

    def meet(optimizer, args, kwargs):
        if not any(one is optimizer for one in optimizers):
            optimizers.append(optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    told(parameter, parameter.grad)

    names = {id(parameter): name for name, parameter in model.named_parameters()}

    def told(parameter, gradient):
        name = names.get(id(parameter))
        if name is not None:
            number = count("gradient", name)
            module = name.rpartition(".")[0]
            # Each step has the same number of gradients.
            seen[f"step {steps()}", "gradient", (name, number)] = f"the gradient of {name!r}", module, bits_of(gradient)

    def steps():
        return 1 + sum(1 for key in seen if key[1] == "end")

    def forward(module, args, output):
        for place, tensor in enumerate(tensors_in(output)):
            seen[f"step {steps()}", "forward", (count("forward"), place)] = "what the model returns", None, bits_of(tensor)

    with contextlib.ExitStack() as stack:
        for parameter in model.parameters():
            if parameter.requires_grad:
                stack.callback(parameter.register_post_accumulate_grad_hook(lambda one: told(one, one.grad) if one.grad is not None else None).remove)
        roots = list(model.children()) if type(model) in (torch.nn.ModuleList, torch.nn.ModuleDict) else [model]
        for root in roots:
            stack.callback(root.register_forward_hook(forward).remove)
        stack.callback(register_optimizer_step_pre_hook(meet).remove)
        yield optimizers


def _tell_state(seen, place, model, step, optimizers):
    """Records the state after a step: everything that another step could depend on."""
    everything = reached(model, step, (one for one in used_by(step) if isinstance(one, torch.nn.Module)))
    for number, (name, prefix, module) in enumerate(everything.modules):
        of_model = (*([name] if name else []), *prefix)
        for path, token in _tokens(attributes(module)).items():
            if path:
                seen[place, "attribute", (number, path)] = f"the attribute {_written((*of_model, *path))!r}", name, token
        for kind, of in (("buffer", module.named_buffers), ("parameter", module.named_parameters)):
            for own, tensor in of(recurse=False):
                seen[place, kind, (number, own)] = f"the {kind} {_written((*of_model, own))!r}", name, bits_of(tensor)
                if kind == "parameter" and tensor.grad is not None:
                    seen[place, "gradient", (number, own)] = f"the gradient of {_written((*of_model, own))!r}", name, bits_of(tensor.grad)
    optimizers = list({id(one): one for one in [*optimizers, *(one for _, _, one in everything.others if isinstance(one, torch.optim.Optimizer))]}.values())
    for number, optimizer in enumerate(optimizers):
        for path, token in _tokens(list(optimizer.state.values())).items():
            seen[place, "optimizer", (number, path)] = "the optimizer's state", None, token
        for path, token in _tokens([{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]).items():
            seen[place, "optimizer", (number, "groups", path)] = "the optimizer's options", None, token
    python, numpy = global_generators()
    states = {"Python": hash(python), "NumPy": numpy, "PyTorch": bits_of(torch.get_rng_state())}
    if torch.cuda.is_initialized():
        states |= {f"CUDA {device}": bits_of(state) for device, state in enumerate(torch.cuda.get_rng_state_all())}
    for name, token in states.items():
        seen[place, "generator", name] = f"the state of {name}'s random generator", None, token
    for number, binding in enumerate(bindings_of(functions_of(model, step), classes_of(model))):
        for path, token in _tokens(binding.get()).items():
            seen[place, "name", (binding.label, number, path)] = binding.label + (f" at {_written(path)}" if path else ""), None, token
    for number, used in enumerate({id(one): one for one in [*used_by(step), *(one for _, _, one in everything.others)]}.values()):
        if isinstance(used, (torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)):
            for path, token in _tokens(used.state_dict()).items():
                seen[place, "optimizer", ("used", number, path)] = f"the state of {type(used).__name__}", None, token
    seen[place, "end", None] = "", None, None


def _tokens(value):
    """Returns a token for each path. Tokens are equal if the bits are equal."""
    found = {}

    def visit(path, one, children):
        if isinstance(one, torch.Tensor):
            found[path] = bits_of(one)
        elif children is None:
            found[path] = token_of_leaf(one)
        else:
            found[path] = type(one).__name__, len(children)

    walk(value, visit)
    return found


def _written(path):
    return ".".join(map(str, path))


@contextlib.contextmanager
def _deterministic(is_strict):
    if not is_strict:
        yield
        return
    before, fills = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.utils.deterministic.fill_uninitialized_memory = fills
