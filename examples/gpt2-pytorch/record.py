"""Records a training step of GPT-2 on fake tensors: `python record.py gpt2.json.gz`.

Needs PyTorch, transformers and `pip install ../../tooling/pytorch-exporter`. Nothing is downloaded, computed or allocated: the weights have no values.
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import remat


def build():
    model = GPT2LMHeadModel(GPT2Config(use_cache=False))  # GPT-2 124M
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 50257, (8, 1024))

    def step():
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


if __name__ == "__main__":
    remat.export(build, sys.argv[1])
