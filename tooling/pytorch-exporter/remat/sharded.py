"""Observes FSDP at the modules that `fully_shard` has wrapped: all-gather, resharding, and reduction of gradients."""

from __future__ import annotations

import functools

try:
    from torch.distributed.fsdp import FSDPModule
except ImportError:  # torch without torch.distributed, or older than FSDP2
    FSDPModule = None

_GATHER = "c10d._allgather_base_"
_REDUCE = "c10d._reduce_scatter_base_"


class ShardedModules:
    """Reports to `recorder` when each of FSDP's hooks in a model begins and ends. Does nothing for a model that is not
    sharded.
    """

    def __init__(self, recorder):
        self._recorder = recorder
        #: "gather" or "reduce" while FSDP works before a pass, or after a backward pass.
        self._work = None
        #: Storages of parameters and gradients, sharded and gathered. FSDP has this information, not the module.
        self.storages = set()
        #: Modules whose only pre-hooks are FSDP's. Earlier events are reported before those hooks.
        self.hooked = []
        #: Modules with other hooks after FSDP's. The end of FSDP's hook is reported after these other hooks have run.
        self._gathering = set()

    def watch(self, model):
        for module in model.modules() if FSDPModule is not None else ():
            if not isinstance(module, FSDPModule):
                continue
            state = module._get_fsdp_state()
            group = getattr(state, "_fsdp_param_group", None)
            if group is None:
                continue
            for parameter in group.fsdp_params:
                self._categorize(parameter.sharded_param, "Sharded Param", first=True)
                self._categorize(parameter.sharded_param.grad, "Sharded Grad", first=True)
            self._wrap_hooks(module, state, group)

    def _wrap_hooks(self, module, state, group):
        before, after = _hooks_of(module._forward_pre_hooks, state), _hooks_of(module._forward_hooks, state)
        is_alone = len(before) == len(module._forward_pre_hooks)
        for hooks, number in before:
            hooks[number] = self._restored(hooks, number, self._around("pre_fw", module, hooks[number], lambda: self._tell_gathered(group), ends=is_alone))
        for hooks, number in after:
            hooks[number] = self._restored(hooks, number, self._around("post_fw", module, hooks[number]))
        if is_alone:
            self.hooked.append(module)
        self._replace(group, "pre_backward", self._around("pre_bw", module, group.pre_backward))
        self._replace(group, "post_backward", self._around("post_bw", module, group.post_backward, lambda: self._tell_reduced(group), lambda: self._tell_unreduced(group)))

    def end_pre_forward(self, module):
        """Reports the end of FSDP's hook before the forward pass of a module that has other hooks."""
        if module in self._gathering:
            self._gathering.discard(module)
            self._recorder.fsdp_event("pre_fw", module, "end")

    def _around(self, kind, module, run, after=None, before=None, ends=True):
        """Calls `run` between two events. `before` and `after` record the tensors that are known before and after it.
        """
        recorder = self._recorder
        work = "gather" if kind.startswith("pre") else "reduce" if kind == "post_bw" else None

        @functools.wraps(run)
        def around(*args, **kwargs):
            recorder.fsdp_event(kind, module, "begin")
            if before is not None:
                before()
            if kind == "post_bw":
                recorder.fsdp_event(kind, module, "orig")
            outer, self._work = self._work, work
            try:
                return run(*args, **kwargs)
            finally:
                self._work = outer
                if after is not None:
                    after()
                if ends:
                    recorder.fsdp_event(kind, module, "end")
                else:
                    self._gathering.add(module)

        return around

    def _restored(self, hooks, number, wrapper):
        original = hooks[number]

        def restore():
            if hooks.get(number) is wrapper:
                hooks[number] = original

        self._recorder._own(restore)
        return wrapper

    def _replace(self, group, name, wrapper):
        setattr(group, name, wrapper)
        # Restores the method of its class.
        self._recorder._own(lambda: group.__dict__.pop(name, None))

    def _tell_gathered(self, group):
        for parameter in group.fsdp_params:
            self._categorize(getattr(parameter, "_unsharded_param", None), "Unsharded Param")

    def _tell_unreduced(self, group):
        for parameter in group.fsdp_params:
            unsharded = getattr(parameter, "_unsharded_param", None)
            self._categorize(None if unsharded is None else unsharded.grad, "Unsharded Grad")

    def _tell_reduced(self, group):
        for parameter in group.fsdp_params:
            self._categorize(parameter.sharded_param.grad, "Sharded Grad")

    def _categorize(self, tensor, category, first=False):
        self._recorder._ref(tensor, category, self._recorder.first if first else None)
        if tensor is not None:
            self.storages.update(self._recorder.tables.storages_of(tensor))

    def buffer_of(self, name, args):
        """Returns the buffer of a collective that FSDP has started, with its purpose. Returns nothing for other ops."""
        if self._work == "gather" and name.startswith(_GATHER):
            return args[0], "All Gather"
        if self._work == "reduce" and name.startswith(_REDUCE):
            return args[1], "Reduce Scatter"
        return None


def _hooks_of(hooks, state):
    """Returns the positions of the hooks that FSDP registered for `state`, or for a group of modules that contains it.
    """
    return [(hooks, number) for number, hook in hooks.items() if getattr(hook, "__self__", None) is state or state in _closed_over(hook)]


def _closed_over(hook):
    cells = [cell.cell_contents for cell in getattr(hook, "__closure__", None) or () if _is_filled(cell)]
    return [owner for cell in cells if (owner := getattr(cell, "__self__", None)) is not None]


def _is_filled(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True
