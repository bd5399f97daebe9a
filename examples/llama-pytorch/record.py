"""Records a small Llama in PyTorch on fake tensors: at three lengths, at one of them with a batch of 8, and with its
layers under torch.utils.checkpoint: `python examples/llama-pytorch/record.py`.
"""

from pathlib import Path

import remat
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

DIM, HEADS, LAYERS, VOCABULARY, BATCH = 512, 8, 2, 4096, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (project(x).view(batch, length, HEADS, -1).transpose(1, 2) for project in (self.q, self.k, self.v))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / (DIM // HEADS) ** 0.5).masked_fill(later, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, DIM))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*sides, bias=False) for sides in ((DIM, 4 * DIM), (DIM, 4 * DIM), (4 * DIM, DIM)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.feed_forward_norm = nn.RMSNorm(DIM), nn.RMSNorm(DIM)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class CountingLayer(Layer):
    """Tracks how much the attention adds, and thereby keeps it alive."""

    def forward(self, x):
        self.added = self.attention(self.attention_norm(x))
        x = x + self.added
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    def __init__(self, layer=Layer, checkpoints=False):
        super().__init__()
        self.checkpoints = checkpoints
        self.embeddings = nn.Embedding(VOCABULARY, DIM)
        self.layers = nn.ModuleList(layer() for _ in range(LAYERS))
        self.norm, self.output = nn.RMSNorm(DIM), nn.Linear(DIM, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embeddings(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpoints else layer(x)
        return self.output(self.norm(x))


def trained(length, batch=BATCH, **options):
    def build():
        model = Llama(**options)
        optimizer = torch.optim.AdamW(model.parameters())
        tokens = torch.randint(0, VOCABULARY, (batch, length))

        def step():
            F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
            optimizer.step()
            optimizer.zero_grad()

        return model, optimizer, step

    return build


if __name__ == "__main__":
    here = Path(__file__).parent
    for length in (512, 1024, 2048):
        remat.export(trained(length), here / f"run-{length}.json.gz", name="Llama")
    remat.export(trained(512, batch=8), here / "run-512-batch-8.json.gz", name="Llama")
    remat.export(trained(1024, layer=CountingLayer, checkpoints=True), here / "run-checkpointed.json.gz", name="Llama, checkpointed")
