"""Finds the running line of the user's program."""

from __future__ import annotations

import contextlib
import os
import sys

import torch

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_PASSED_OVER = (_OURS, _TORCH, contextlib.__file__, "<")
# A backward pass begins here. Its ops do not come from a line of the program.
_BEGINS_BACKWARD = os.path.join(_TORCH, "autograd") + os.sep

_named = {}


def line_of_program():
    """Returns the innermost running line outside of torch and the recorder, as `file:line`. None in a backward pass,
    except for recomputation.
    """
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = _named.get(code)
        if name is None:
            name = _named[code] = _name(code.co_filename)
        if name == "backward":
            return None
        if name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _name(path):
    if path.startswith(_BEGINS_BACKWARD) and os.path.basename(path) in ("graph.py", "__init__.py"):
        return "backward"
    if path.startswith(_PASSED_OVER):
        return ""
    here = os.getcwd() + os.sep
    if path.startswith(here):
        return path[len(here) :]
    _, _, package = path.rpartition(f"site-packages{os.sep}")
    return package
