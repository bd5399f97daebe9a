"""Reads the output of `torch.cuda.memory._dump_snapshot` for remat: the memory that PyTorch's CUDA allocator had in use
over time, and the lines that requested it.
"""

from __future__ import annotations

import os

from .files import write_file
from .plain_pickle import PickleRefused, load_plain, read_regular_file

SCHEMA = "cuda-snapshot/1"
# The effect of an event in the allocator's history, by its name in PyTorch. Others (a snapshot, a user mark) change
# nothing. An out-of-memory error is exported as a failure.
_ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"}


class SnapshotRefused(ValueError):
    """A file is not a snapshot of the CUDA allocator."""


def export_snapshot(path, output):
    """Writes the snapshot in the pickle `path` to `output` for `remat memory`, compressed if the name ends in .gz.

    >>> torch.cuda.memory._record_memory_history()
    >>> train_step()
    >>> torch.cuda.memory._dump_snapshot("snapshot.pickle")
    >>> remat.export_snapshot("snapshot.pickle", "snapshot.json.gz")

    The output of `torch.cuda.memory_snapshot()`, pickled, also works. It has no history and no settings.

    You need not trust the pickle, because no code in it is run. Raises `SnapshotRefused` for a file that is not a
    snapshot.
    """
    data, snapshot = _read(path)
    content = _Content(snapshot, os.fspath(path), len(data)).content()
    write_file(output, content)


def _read(path):
    name = os.fspath(path)
    try:
        data = read_regular_file(path)
        return data, load_plain(data)
    except PickleRefused as refused:
        raise SnapshotRefused(f"remat: {name}: not a snapshot of the CUDA allocator: {refused}. Write one with torch.cuda.memory._dump_snapshot.") from None
    except OSError as error:
        raise SnapshotRefused(f"remat: {name}: cannot be read ({error.strerror}). Check the path and its permissions.") from error


def _excerpt(value):
    """Returns a short text of a value. Values with shared parts can have a text of any length, so only plain ones are
    shown.
    """
    if isinstance(value, (int, float, str)) or value is None:
        text = repr(value if not isinstance(value, str) else value[:80])
        return text[:100]
    return f"a {type(value).__name__}"


class _Content:
    """A snapshot with each stack stored once. It visits at most as many items as the pickle has bytes, since more would
    be repetitions.
    """

    def __init__(self, snapshot, name, size):
        self.name = name
        self.left = size
        self.stack_of_frames = {}
        # torch.cuda.memory_snapshot() returns the segments alone.
        if isinstance(snapshot, list) and snapshot:
            snapshot = {"segments": snapshot}
        if not isinstance(snapshot, dict) or not isinstance(snapshot.get("segments"), list):
            found = "a dict without that list" if isinstance(snapshot, dict) else type(snapshot).__name__
            raise self._refused(f"a dict with a list 'segments', found {found}")
        self.snapshot = snapshot
        self.frames, self.stacks = {}, {}

    def content(self):
        snapshot = self.snapshot
        traces = self._list(snapshot, "device_traces")
        devices = {}
        for segment in self._visit(snapshot["segments"]):
            devices.setdefault(self._of(segment, "device", int, 0), []).append(self._segment(segment))
        for device, trace in enumerate(self._visit(traces)):
            if not isinstance(trace, (list, tuple)):
                raise self._refused(f"a list in 'device_traces', found {_excerpt(trace)}")
            if trace:
                devices.setdefault(device, [])
        settings = snapshot.get("allocator_settings") or {}
        if not isinstance(settings, dict):
            raise self._refused(f"a dict 'allocator_settings', found {_excerpt(settings)}")
        told = [self._device(device, segments, traces[device] if device < len(traces) else []) for device, segments in sorted(devices.items())]
        return {
            "schema": SCHEMA,
            "settings": self._of(settings, "PYTORCH_CUDA_ALLOC_CONF", str, "") or self._of(settings, "PYTORCH_ALLOC_CONF", str, ""),
            "devices": told,
            "stacks": [list(stack) for stack in self.stacks],
            "frames": [list(frame) for frame in self.frames],
        }

    def _device(self, device, segments, history):
        trace, failures = [], []
        for event in self._visit(history):
            action = self._of(event, "action", str)
            if action in _ACTIONS:
                trace.append(self._event(event))
            elif action == "oom":
                failures.append([len(trace), self._of(event, "size", int), self._of(event, "device_free", int, 0), self._of(event, "stream", int, 0), self._stack(event)])
        return {"device": device, "segments": segments, "trace": trace, **({"failures": failures} if failures else {})}

    def _segment(self, segment):
        blocks = self._of(segment, "blocks", list)
        address = self._of(segment, "address", int)
        told = []
        for block in self._visit(blocks):
            size = self._of(block, "size", int)
            # PyTorch writes addresses since 2.2. Before, each block began where the one before it ended.
            at = self._of(block, "address", int, address)
            is_active = self._of(block, "state", str, "").startswith("active")
            told.append([at, size, self._of(block, "requested_size", int, size), int(is_active), self._stack(block)])
            address = at + size
        # The memory of a CUDA graph or a torch.cuda.MemPool is in a private pool, which has another id than (0, 0).
        pool = self._list(segment, "segment_pool_id")
        return {
            "bytes": self._of(segment, "total_size", int),
            "stream": self._of(segment, "stream", int, 0),
            "blocks": told,
            **({"isPrivate": 1} if any(self._visit(pool)) else {}),
        }

    def _event(self, event):
        return [event["action"], self._of(event, "addr", int), self._of(event, "size", int), self._of(event, "stream", int, 0), self._stack(event)]

    def _stack(self, of):
        """Returns the number of a stack, innermost frame first, or -1 if none was recorded."""
        frames = self._list(of, "frames")
        for one in self._visit(self._list(of, "history")):
            if frames:
                break
            frames = self._list(one, "frames")
        if not frames:
            return -1
        # Blocks and events share their frames.
        known = self.stack_of_frames.get(id(frames))
        if known is None:
            stack = tuple(self._frame(frame) for frame in self._visit(frames))
            known = self.stack_of_frames[id(frames)] = self.stacks.setdefault(stack, len(self.stacks))
        return known

    def _frame(self, frame):
        told = (self._of(frame, "filename", str, ""), self._of(frame, "line", int, 0), self._of(frame, "name", str, ""))
        return self.frames.setdefault(told, len(self.frames))

    def _list(self, of, field):
        value = of.get(field) if isinstance(of, dict) else None
        if value is not None and not isinstance(value, (list, tuple)):
            raise self._refused(f"a list '{field}', found {_excerpt(value)}")
        return value or []

    def _visit(self, items):
        self.left -= len(items)
        if self.left < 0:
            raise self._refused("each part once, but the same parts are repeated")
        return items

    def _of(self, of, field, kind, default=None):
        value = of.get(field, default) if isinstance(of, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._refused(f"'{field}' of type {kind.__name__}, found {_excerpt(value)}")
        if kind is int and not 0 <= value < 2**63:
            raise self._refused(f"'{field}' of at most 63 bits, found {_excerpt(value)}")
        return value

    def _refused(self, expected):
        return SnapshotRefused(f"remat: {self.name}: not a snapshot of the CUDA allocator: expected {expected}. Write one with torch.cuda.memory._dump_snapshot.")
