"""Reports each region under `torch.utils.checkpoint`: when it runs, when it is recomputed, its inputs and outputs, and
what its policy saves.
"""

from __future__ import annotations

import sys
import weakref

import torch.utils.checkpoint as checkpointing

_OWN = checkpointing.__file__


def watch_regions(told, own):
    """Calls methods of `told` around regions.

    `told.begin_region(name, is_reentrant, given)` returns a number, which `told.begin_again(number)` and
    `told.end_region(number, returned)` receive. The result of `told.save_by_policy(tensor)` lives as long as the saved
    tensor. The reentrant and the non-reentrant form both look up their classes when they are called, and these classes
    are patched. It therefore does not matter under which name a program imported `checkpoint`. `own(undo)` receives
    functions that undo the patches.
    """
    numbers = weakref.WeakKeyDictionary()  # by frame of the non-reentrant form

    class FirstRun(checkpointing._checkpoint_hook):
        def __init__(self, frame):
            super().__init__(frame)
            self.frame = frame

        def __enter__(self):
            super().__enter__()
            of = _locals_of("_checkpoint_without_reentrant_generator")
            given = (of.get("args"), of.get("kwargs"))
            numbers[self.frame] = told.begin_region(_name(of.get("fn")), False, given)

        def __exit__(self, *error):
            super().__exit__(*error)
            of = _locals_of("checkpoint", "forward_hook")
            told.end_region(numbers[self.frame], of.get("ret", of.get("output")))

    class AnotherRun(checkpointing._recomputation_hook):
        def __init__(self, frame, *rest):
            super().__init__(frame, *rest)
            self.frame = frame

        def __enter__(self):
            super().__enter__()
            self.number = numbers.get(self.frame())
            if self.number is not None:
                told.begin_again(self.number)

        def __exit__(self, *error):
            super().__exit__(*error)
            if self.number is not None:
                told.end_region(self.number, None)

    class Cached(checkpointing._VersionWrapper):
        def __init__(self, value):
            super().__init__(value)
            self.told = told.save_by_policy(value)

    forward = checkpointing.CheckpointFunction.forward

    def forward_and_tell(ctx, function, *rest):
        number = None

        def run(*args):
            nonlocal number
            if number is None:
                number = told.begin_region(_name(function), True, args)
            else:
                told.begin_again(number)
            returned = None
            try:
                returned = function(*args)
                return returned
            finally:
                told.end_region(number, returned)

        return forward(ctx, run, *rest)

    def replace(owner, name, by):
        before = owner.__dict__[name]
        setattr(owner, name, by)
        own(lambda: setattr(owner, name, before))

    replace(checkpointing, "_checkpoint_hook", FirstRun)
    replace(checkpointing, "_recomputation_hook", AnotherRun)
    replace(checkpointing, "_VersionWrapper", Cached)
    replace(checkpointing.CheckpointFunction, "forward", staticmethod(forward_and_tell))


def _name(function):
    """Returns the name of a checkpointed function, or the class of a checkpointed module."""
    function = getattr(function, "func", function)
    return getattr(function, "__qualname__", type(function).__name__).replace(".<locals>", "")


def _locals_of(*functions):
    """Returns a local variable of the innermost call of one of torch's own functions."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in functions and "torch" in frame.f_code.co_filename:
            return frame.f_locals
        frame = frame.f_back
    return {}
