"""Finds the objects that a function uses: those that its code refers to by name, and their contents."""

from __future__ import annotations

import contextlib
import functools
import itertools
import types

_DEEPEST = 4
#: Maximum number of items of a collection, which may be a whole data set.
_MOST_ITEMS = 100


def used_by(function):
    """Returns the objects outside of a function that its code refers to by name, each once: its closure, globals,
    defaults, and the object it is a method of. For plain objects, collections and functions among them, it also returns
    their attributes, their items and the objects they use. Objects that the function gets in other ways are not found.
    """
    seen, found = set(), []

    def visit(value, depth):
        if id(value) in seen or depth > _DEEPEST or isinstance(value, (type, types.ModuleType, str, bytes, int, float)):
            return
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            visit_all(_named(value), depth)
        elif isinstance(value, types.MethodType):
            visit_all((value.__self__, value.__func__), depth)
        elif isinstance(value, functools.partial):
            visit_all((value.func, *value.args, *value.keywords.values()), depth)
        elif isinstance(value, dict):
            visit_all(value.values(), depth)
        elif isinstance(value, (list, tuple, set)):
            visit_all(value, depth)
        else:
            found.append(value)
            # A module or an optimizer restores its own contents.
            if not hasattr(value, "state_dict"):
                visit_all(getattr(value, "__dict__", {}).values(), depth)

    def visit_all(values, depth):
        for value in itertools.islice(list(values), _MOST_ITEMS):
            visit(value, depth + 1)

    visit(function, 0)
    return found


def _named(function):
    for cell in function.__closure__ or ():
        # An empty cell belongs to a name without a value yet.
        with contextlib.suppress(ValueError):
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
