"""Integration with the Trainer of Hugging Face's transformers."""

from __future__ import annotations

from torch.utils.data import DataLoader
from transformers import TrainerCallback

from .fitting import fit
from .restoring import generators_as_before


class FitCallback(TrainerCallback):
    """Makes the Trainer's model keep to a budget from the beginning of training.

    >>> Trainer(model, args, train_dataset=dataset, callbacks=[FitCallback(budget="20GiB")])

    The recorded step uses the data set's first batch, with as many passes before the update as there are gradient
    accumulation steps, at most two. Options other than `budget` are those of `remat.fit`. `fitted` is its result.
    """

    def __init__(self, budget, **options):
        self.budget, self.options, self.fitted = budget, options, None

    def on_train_begin(self, args, state, control, model=None, optimizer=None, train_dataloader=None, **kwargs):
        if model.is_gradient_checkpointing:
            raise ValueError("remat: the model checkpoints by itself; leave gradient_checkpointing out, since what is recomputed is what the budget decides")
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
