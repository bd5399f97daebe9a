"""Models for the exporter's tests: small, with what is awkward in large ones."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Attention with dropout (a random op and in-place ones on the CPU), a residual stream, and a feed-forward part."""

    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / (dim // self.heads) ** 0.5, -1)
        mixed = (self.dropout(weights) @ v).transpose(1, 2).reshape(batch, length, dim)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, vocabulary=100, dim=64, blocks=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList([Block(dim) for _ in range(blocks)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary)

    def forward(self, x):
        x = self.embeddings(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Convolutions(nn.Module):
    """Buffers (running statistics), an in-place activation, and a layer that runs twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.twice = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.twice(self.twice(self.first(x)))
        return self.head(x.mean((2, 3)))


def transformer_step(model=None, optimizer=torch.optim.Adam):
    model = model or Transformer()
    optimizer = optimizer(model.parameters())
    x = torch.randint(0, 100, (4, 32))

    def step():
        loss = F.cross_entropy(model(x).view(-1, 100), x.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    step.inputs = x
    return model, optimizer, step


def convolution_step(optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)):
    model = Convolutions()
    optimizer = optimizer(model.parameters())
    x = torch.randn(4, 3, 16, 16)

    def step():
        model(x).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step.inputs = x
    return model, optimizer, step
