"""The names that the package `remat` had when it was a single file."""

from remat import apply as apply_policy
from remat import context_fn, export, record, record_step

__all__ = ["apply_policy", "context_fn", "export", "record", "record_step"]
