"""Reads what `torch.cuda.memory._dump_snapshot` wrote, for remat: what PyTorch's allocator of CUDA really held, when, and which lines asked for it."""

from __future__ import annotations

import os
import pickle

from .files import write_file

SCHEMA = "cuda-snapshot/1"
# What an event of the allocator's history does, by its name in PyTorch; others (an error, a snapshot, a mark of the user) change nothing.
_ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"}


class SnapshotRefused(ValueError):
    """A file is no snapshot of the CUDA allocator."""


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, texts, lists, tuples and dicts, which is all that a snapshot has: nothing is imported or called."""

    def find_class(self, module, name):
        raise SnapshotRefused(f"the pickle asks for {module}.{name}, and a snapshot of the CUDA allocator holds plain data only. It was not read: do not open it with pickle.load.")

    def persistent_load(self, pid):
        raise SnapshotRefused(f"the pickle refers to {pid!r} outside of it, which a snapshot of the CUDA allocator does not")


def export_snapshot(path, output):
    """Writes the snapshot in the pickle `path` to `output`, as `remat memory` reads it; one that ends in .gz is compressed.

    >>> torch.cuda.memory._record_memory_history()
    >>> train_step()
    >>> torch.cuda.memory._dump_snapshot("snapshot.pickle")
    >>> remat.export_snapshot("snapshot.pickle", "snapshot.json.gz")

    The pickle may come from anywhere: nothing in it is run. Raises `SnapshotRefused` for a file that is none.
    """
    content = _Content(_read(path), os.fspath(path)).content()
    write_file(output, content)


def _read(path):
    with open(path, "rb") as file:
        try:
            return _PlainUnpickler(file).load()
        except SnapshotRefused as refused:
            raise SnapshotRefused(f"remat: {os.fspath(path)}: {refused}") from None
        except Exception as error:
            raise SnapshotRefused(f"remat: {os.fspath(path)}: no pickle, or a damaged one ({error}). Expected what torch.cuda.memory._dump_snapshot writes.") from error


class _Content:
    """A snapshot with its stacks told once."""

    def __init__(self, snapshot, name):
        self.name = name
        if not isinstance(snapshot, dict) or not isinstance(snapshot.get("segments"), list):
            raise self._refused(f"a dict with 'segments', found {type(snapshot).__name__}")
        self.snapshot = snapshot
        self.frames, self.stacks = {}, {}

    def content(self):
        snapshot = self.snapshot
        traces = snapshot.get("device_traces") or []
        devices = {}
        for segment in snapshot["segments"]:
            devices.setdefault(self._of(segment, "device", int, 0), []).append(self._segment(segment))
        for device, trace in enumerate(traces):
            if trace:
                devices.setdefault(device, [])
        settings = snapshot.get("allocator_settings") or {}
        told = [
            {
                "device": device,
                "segments": segments,
                "trace": [self._event(event) for event in (traces[device] if device < len(traces) else []) if event.get("action") in _ACTIONS],
            }
            for device, segments in sorted(devices.items())
        ]
        return {
            "schema": SCHEMA,
            "settings": str(settings.get("PYTORCH_CUDA_ALLOC_CONF") or settings.get("PYTORCH_ALLOC_CONF") or ""),
            "devices": told,
            "stacks": [list(stack) for stack in self.stacks],
            "frames": [list(frame) for frame in self.frames],
        }

    def _segment(self, segment):
        blocks = self._of(segment, "blocks", list)
        address = self._of(segment, "address", int)
        told = []
        for block in blocks:
            size = self._of(block, "size", int)
            # Since 2.2; before, blocks followed one another without it.
            at = self._of(block, "address", int, address)
            is_active = str(block.get("state", "")).startswith("active")
            told.append([at, size, self._of(block, "requested_size", int, size), int(is_active), self._stack(block)])
            address = at + size
        return {"bytes": self._of(segment, "total_size", int), "stream": self._of(segment, "stream", int, 0), "blocks": told}

    def _event(self, event):
        return [event["action"], self._of(event, "addr", int), self._of(event, "size", int), self._of(event, "stream", int, 0), self._stack(event)]

    def _stack(self, of):
        """The number of a stack, innermost frame first; -1 where none was recorded."""
        frames = of.get("frames") or next((one.get("frames") for one in of.get("history") or []), None)
        if not frames:
            return -1
        stack = tuple(
            self.frames.setdefault((str(frame.get("filename")), self._of(frame, "line", int, 0), str(frame.get("name"))), len(self.frames)) for frame in frames
        )
        return self.stacks.setdefault(stack, len(self.stacks))

    def _of(self, of, field, kind, default=None):
        value = of.get(field, default) if isinstance(of, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._refused(f"'{field}' of type {kind.__name__}, found {value!r}")
        return value

    def _refused(self, expected):
        return SnapshotRefused(f"remat: {self.name}: no snapshot of the CUDA allocator: expected {expected}. Write it by torch.cuda.memory._dump_snapshot.")
