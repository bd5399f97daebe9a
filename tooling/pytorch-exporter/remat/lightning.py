"""Integration with the Trainer of Lightning."""

from __future__ import annotations

import contextlib

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from .fitting import fit
from .restoring import generators_as_before


class FitCallback(Callback):
    """Makes the Trainer's module keep to a budget from the beginning of training.

    >>> Trainer(callbacks=[FitCallback(budget="20GiB")])

    The recorded step uses the first batch, with automatic optimization. Options other than `budget` are those of
    `remat.fit`. `fitted` is the result of `remat.fit`.
    """

    def __init__(self, budget, **options):
        self.budget, self.options, self.fitted = budget, options, None

    def on_train_start(self, trainer, pl_module):
        if not pl_module.automatic_optimization:
            raise ValueError("remat: manual optimization (automatic_optimization is False) is not supported. Call remat.fit with your own step.")
        with generators_as_before():
            batch = trainer.strategy.batch_to_device(next(iter(trainer.train_dataloader)), dataloader_idx=0)
        passes = min(2, trainer.accumulate_grad_batches)

        def step():
            for _ in range(passes):
                with trainer.precision_plugin.train_step_context():
                    out = pl_module.training_step(batch, 0)
                loss = out["loss"] if isinstance(out, dict) else out
                (loss / passes).backward()
            for optimizer in trainer.optimizers:
                optimizer.step()
                optimizer.zero_grad()

        with _logging_nothing(pl_module):
            self.fitted = fit(pl_module, step, self.budget, inputs=batch, **self.options)


@contextlib.contextmanager
def _logging_nothing(module):
    """A context in which steps are not logged, since they are not part of the run."""
    for name in ("log", "log_dict"):
        module.__dict__[name] = lambda *args, **kwargs: None
    try:
        yield
    finally:
        for name in ("log", "log_dict"):
            module.__dict__.pop(name, None)
