"""Compares recordings on CUDA with CUDA's own figures; needs a GPU."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from recorded_files import Folder, ops_of
from torch import nn

import remat


def language_model():
    model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), nn.Linear(256, 1000))
    return model, torch.randint(0, 1000, (8, 256), device="cuda")


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(1000, 256), nn.LSTM(256, 256, 2, batch_first=True), nn.Linear(256, 1000)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def recurrent():
    return Recurrent(), torch.randint(0, 1000, (16, 64), device="cuda")


@unittest.skipUnless(torch.cuda.is_available(), "no CUDA")
class Cuda(Folder):
    def test_the_recorded_peak_is_that_of_the_allocator_and_ops_are_timed_where_they_run(self):
        for make in (language_model, recurrent):
            torch.manual_seed(0)
            model, x = make()
            model.cuda().train()
            optimizer = torch.optim.AdamW(model.parameters())

            def step():
                F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
                optimizer.step()
                optimizer.zero_grad()

            with self.subTest(make=make.__name__):
                took = remat.record_step(step, self.folder / "step.json", model, optimizer, repeats=3)
                torch.cuda.reset_peak_memory_stats()
                step()
                measured = torch.cuda.max_memory_allocated()
                with remat.record(self.folder / "again.json", model, optimizer) as recorder:
                    step()
                self.assertLess(abs(recorder.peak_bytes(512) / measured - 1), 0.01)
                file = self.read("step.json")
                times = [event["ms"] for event in file["events"] if event["e"] == "op"]
                self.assertGreater(file["config"]["host_ms"], 0)
                self.assertGreater(min(times), 0)
                self.assertLess(abs(sum(times) / took - 1), 0.1)
                self.assertEqual(ops_of(file), ops_of(self.read("again.json")))


if __name__ == "__main__":
    unittest.main()
