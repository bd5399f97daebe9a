"""Declarations of PyTorch's ops: which arguments they write into, which arguments share memory with results, and
whether they are random or have other effects.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch

#: Ops that write running statistics in training although their schemas do not say so. A test compares this list with
#: all schemas of the installed PyTorch.
UNDECLARED_STATISTICS = {
    "aten._batch_norm_impl_index", "aten.batch_norm", "aten.batch_norm_gather_stats", "aten.batch_norm_gather_stats_with_counts", "aten.batch_norm_update_stats",
    "aten.cudnn_batch_norm", "aten.instance_norm", "aten.miopen_batch_norm", "aten.native_batch_norm",
}  # fmt: skip
_STATISTICS = ("running_mean", "running_var")

#: Namespaces of ops that communicate with other processes or with the profiler. Schemas do not show this.
EFFECTFUL_NAMESPACES = {"_c10d_functional", "_c10d_functional_autograd", "_dtensor", "c10d", "c10d_functional", "profiler", "symm_mem"}

#: Namespaces whose ops without results are checks, which write only what they declare.
_OF_TORCH = {"aten", "prim", "prims"}

_TAGS = ("nondeterministic_seeded", "inplace_view")


class Argument(NamedTuple):
    place: int
    name: str
    is_keyword: bool

    def of(self, args, kwargs):
        """Returns the argument's value in a call, or None if it is left out."""
        return args[self.place] if self.place < len(args) else kwargs.get(self.name)

    @property
    def key(self):
        """The argument's key in a recording."""
        return self.name if self.is_keyword else self.place


class Declared(NamedTuple):
    """The declarations of an overload's schema and tags."""

    writes: tuple[Argument, ...]
    aliases: tuple[Argument, ...]
    """Arguments that a result may share memory with, and that are not written into."""
    statistics: tuple[Argument, ...]
    """Running statistics of normalisation."""
    training: Argument | None
    """For an op with running statistics: the argument that decides whether it writes into them."""
    generator: Argument | None
    tags: tuple[str, ...]
    effects: bool
    """True if the op does more than compute and write into its arguments."""

    @property
    def is_random(self):
        return "nondeterministic_seeded" in self.tags

    def written(self, args, kwargs):
        """Returns the tensors that a call writes into."""
        for argument in self.writes:
            if argument in self.statistics and self.leaves_statistics(args, kwargs):
                continue
            yield from _tensors(argument.of(args, kwargs))

    def leaves_statistics(self, args, kwargs):
        return self.training is not None and self.training.of(args, kwargs) is False

    def draws_from_own_generator(self, args, kwargs):
        """Returns whether a call draws from a generator other than its device's default."""
        given = None if self.generator is None else self.generator.of(args, kwargs)
        if given is None:
            return False
        defaults = [torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ())]
        return not any(given is one for one in defaults)

    def told(self):
        """Returns the declarations in the form that recordings have."""
        lists = {"writes": [one.key for one in self.writes], "aliases": [one.key for one in self.aliases], "tags": list(self.tags)}
        return {name: value for name, value in lists.items() if value} | ({"effects": 1} if self.effects else {})


@functools.cache
def declared(op) -> Declared:
    """Returns the declarations of an overload. A higher-order op has no schema and counts as an op with effects."""
    schema = getattr(op, "_schema", None)
    if schema is None:
        return Declared((), (), (), None, None, (), True)
    namespace, packet = schema.name.split("::")
    arguments = [(Argument(place, one.name, one.kwarg_only), one) for place, one in enumerate(schema.arguments)]
    by_name = {of.name: of for of, _ in arguments}
    statistics = tuple(by_name[name] for name in _STATISTICS if name in by_name)
    writes = [of for of, one in arguments if one.alias_info is not None and one.alias_info.is_write]
    if f"{namespace}.{packet}" in UNDECLARED_STATISTICS:
        writes += [one for one in statistics if one not in writes]
    returned = set().union(*(one.alias_info.before_set | one.alias_info.after_set for one in schema.returns if one.alias_info is not None))
    aliases = [of for of, one in arguments if one.alias_info is not None and not one.alias_info.is_write and _is_shared(one.alias_info, returned)]
    is_silent = not schema.returns and not writes
    return Declared(
        writes=tuple(writes),
        aliases=tuple(aliases),
        statistics=statistics,
        training=next((by_name[name] for name in ("training", "train", "use_input_stats") if name in by_name), None) if statistics else None,
        generator=by_name.get("generator"),
        tags=tuple(name for name in _TAGS if getattr(torch.Tag, name) in op.tags),
        effects=namespace in EFFECTFUL_NAMESPACES or (is_silent and namespace not in _OF_TORCH),
    )


def _is_shared(alias, returned):
    # A list of views has no alias set of its own. Its elements alias anything: `Tensor(a -> *)`.
    return bool(alias.before_set & returned) or alias.after_set != alias.before_set


def _tensors(given):
    for one in given if isinstance(given, (list, tuple)) else (given,):
        if isinstance(one, torch.Tensor):
            yield one
