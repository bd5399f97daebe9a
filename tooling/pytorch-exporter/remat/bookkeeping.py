"""Measures the overhead of checkpointing apart from recomputed ops: hooks, frames and dispatch modes, all in Python."""

from __future__ import annotations

import statistics

import torch

from .checkpointed import Unit, make_checkpointed
from .clocks import wait_for_cuda
from .parts import PartsOfCall

# Numbers of ops per call, and number of repetitions. Two sizes separate the cost of a call from that of an op.
_FEW, _MANY, _TIMES = 1, 33, 15

# A real program evicts CPU caches between calls, so its overhead is this many times that of a loop. Measured with 71
# checkpointing strategies of six models on a GPU.
_IN_A_PROGRAM = 2


@torch.enable_grad()
def measure_bookkeeping(device, now):
    """Returns the overhead of checkpointing in a program on this machine in milliseconds, by cause.

    `frame`: starting or restarting a call. `selective`: the additional time for that with selective checkpointing.
    `save`: each tensor that is not saved, or is saved during recomputation. `dispatch`: each op under the modes of
    selective checkpointing. `count`: each op of a module of which only parts are recomputed. `rerun`: each op of a
    recomputed part.

    It is measured with very cheap ops on `device` and takes a quarter of a second. `now` returns the time in seconds.
    """
    x = torch.ones(1, device=device, requires_grad=True)
    took = {(way, count): [] for way in _WAYS for count in (_FEW, _MANY)}
    for _ in range(_TIMES):
        for (way, count), times in took.items():
            times.append(_time(_WAYS[way], x, count, now))
    # The first repetitions are warm-up.
    medians = {key: [statistics.median(passes) for passes in zip(*times[_TIMES // 5 :])] for key, times in took.items()}
    of_op = {way: [(many - few) / (_MANY - _FEW) for few, many in zip(medians[way, _FEW], medians[way, _MANY])] for way in _WAYS}
    of_call = {way: sum(medians[way, _FEW]) - sum(of_op[way]) * _FEW for way in _WAYS}
    forward, backward = of_op["plain"]
    # Each call begins twice, and each op runs twice.
    save = (sum(of_op["full"]) - 2 * forward - backward) / 2
    told = {
        "frame": (of_call["full"] - of_call["plain"]) / 2,
        "selective": (of_call["selective"] - of_call["full"]) / 2,
        "save": save,
        "dispatch": (sum(of_op["selective"]) - sum(of_op["full"])) / 2,
        "count": of_op["parts"][0] - forward - save,
        "rerun": of_op["parts"][1] - backward - forward,
    }
    return {name: round(_IN_A_PROGRAM * max(0.0, ms), 6) for name, ms in told.items()}


def _time(way, x, count, now):
    """Returns the time of the forward and the backward pass, in milliseconds."""
    wait_for_cuda(x.device)
    began = now()
    y = way(x, count)
    between = now()
    y.backward()
    ended = now()
    x.grad = None
    return (between - began) * 1e3, (ended - between) * 1e3


def _ops(x, count):
    for _ in range(count):
        x = x.sin()
    return x


def _in_parts(x, count):
    with PartsOfCall([(0, count)]):
        return _ops(x, count)


class _Ops(torch.nn.Module):
    def forward(self, x, count):
        return _ops(x, count)


def _checkpointed(save):
    module = _Ops()
    make_checkpointed(module, Unit(save, [], None))
    return module


_WAYS = {
    "plain": _ops,
    "full": _checkpointed([]),
    # Names an op that does not run, so nothing is saved.
    "selective": _checkpointed([{"op": "aten.mm.default", "ordinal": 0, "policy": "MUST_SAVE"}]),
    "parts": _in_parts,
}
