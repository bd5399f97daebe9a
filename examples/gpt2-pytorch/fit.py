"""Trains a small GPT-2 within 70% of its memory: `python fit.py`.

Needs PyTorch, transformers and `pip install ../../tooling/pytorch-exporter`. Nothing is downloaded: the weights are random.
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import remat

model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=256, n_head=8, vocab_size=4096, bos_token_id=0, eos_token_id=0))
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 4096, (4, 256))


def step():
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


remat.fit(model, step, budget="70%")

for _ in range(3):
    print(f"loss {step().item():.3f}")
