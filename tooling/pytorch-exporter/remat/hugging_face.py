"""Integration with the Trainer of Hugging Face's transformers."""

from __future__ import annotations

from torch.utils.data import DataLoader
from transformers import TrainerCallback

from .fitting import fit
from .restoring import generators_as_before


class FitCallback(TrainerCallback):
    """Makes the Trainer's model keep to a budget from the beginning of training.

    >>> Trainer(model, args, train_dataset=dataset, callbacks=[FitCallback(budget="20GiB")])

    The recorded step calls `model(**batch).loss` on the data set's first batch. It has one pass before the update, or
    two with gradient accumulation. Longer batches and the Trainer's own `compute_loss` are not covered. Options other
    than `budget` are those of `remat.fit`. `fitted` is the result of `remat.fit`.
    """

    def __init__(self, budget, **options):
        self.budget, self.options, self.fitted = budget, options, None

    def on_train_begin(self, args, state, control, model=None, optimizer=None, train_dataloader=None, **kwargs):
        if model.is_gradient_checkpointing:
            raise ValueError("remat: gradient_checkpointing is on, but the budget decides what to recompute. Remove gradient_checkpointing from the arguments.")
        # Does not use the Trainer's own loader, which counts its batches.
        loader = DataLoader(train_dataloader.dataset, batch_size=args.train_batch_size, collate_fn=train_dataloader.collate_fn)
        with generators_as_before():
            batch = next(iter(loader))
        batch = {key: value.to(args.device) if hasattr(value, "to") else value for key, value in batch.items()}
        passes = min(2, args.gradient_accumulation_steps)

        def step():
            for _ in range(passes):
                (model(**batch).loss / passes).backward()
            optimizer.step()
            optimizer.zero_grad()

        was_training = model.training
        model.train()
        try:
            self.fitted = fit(model, step, self.budget, inputs=batch, **self.options)
        finally:
            model.train(was_training)
