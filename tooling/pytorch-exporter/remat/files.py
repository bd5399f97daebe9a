"""Writes files that remat reads."""

from __future__ import annotations

import gzip
import json
import os


def write_file(path, content):
    """Writes content as JSON, compressed if the name ends in .gz. Renames a temporary file, so that the file is never
    incomplete.
    """
    partial = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with gzip.open(partial, "wt") if os.fspath(path).endswith(".gz") else open(partial, "w") as file:
            json.dump(content, file, separators=(",", ":"), allow_nan=False)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
