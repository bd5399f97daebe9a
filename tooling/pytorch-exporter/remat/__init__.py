"""Records training steps of PyTorch models for remat, and applies checkpointing policies that remat plans.

>>> import remat
>>> remat.fit(model, step, budget="20GiB")

Or step by step: `record`, `export` or `record_step`, then
`remat plan step.json --budget 60% --pytorch-policy policy.json`, then

>>> remat.apply(model, "policy.json")

Recordings are observed, not estimated: ops with their arguments, modules, saved tensors, and when each storage is
allocated and freed.
"""

from .checkpointed import context_fn
from .exporting import export, export_step
from .fitting import Fitted, fit
from .graphs import export_graphs
from .planner import BudgetNotMet, PlannerMissing
from .policy import apply, remove
from .recording import record, record_step
from .rules import checkpoint_file, save_rules
from .snapshots import SnapshotRefused, export_snapshot
from .verifying import StepNotRepeatable, TrainingDiffers

__all__ = [
    "BudgetNotMet", "Fitted", "PlannerMissing", "SnapshotRefused", "StepNotRepeatable", "TrainingDiffers", "apply", "checkpoint_file", "context_fn", "export", "export_graphs", "export_snapshot", "export_step", "fit", "record",
    "record_step", "remove", "save_rules",
]  # fmt: skip
