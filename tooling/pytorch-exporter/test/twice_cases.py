"""Recorded steps whose gradients have gradients, each with what PyTorch really holds under random checkpointing policies."""

import gzip
import json
import random
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from checkpoint_cases import case
from torch import nn
from torch.func import functional_call


class Attention(nn.Module):
    """With matrix products and a softmax, since fused attention has no second-order gradient."""

    def __init__(self, dim):
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return x + self.out(torch.softmax(q @ k.transpose(-1, -2), -1) @ v)


class Recurrent(nn.Module):
    """An LSTM from ops, since the fused one has no gradient of a gradient."""

    def __init__(self, dim):
        super().__init__()
        self.cell = nn.LSTMCell(dim, dim)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], x.shape[2])
        outputs = []
        for at in range(x.shape[1]):
            h, c = self.cell(x[:, at], (h, c))
            outputs.append(h)
        return torch.stack(outputs, 1)


def pictures(rng, norm):
    channels = 4
    blocks = [nn.Sequential(nn.Conv2d(3 if i == 0 else channels, channels, 3, padding=1), nn.LeakyReLU(0.2), norm(channels)) for i in range(rng.randint(2, 4))]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1)), torch.randn(4, 3, 12, 12)


def sequences(rng, part):
    dim = 12
    parts = [part(dim) for _ in range(rng.randint(1, 3))]
    return nn.Sequential(nn.Linear(dim, dim), *parts, nn.LayerNorm(dim), nn.Linear(dim, 1)), torch.randn(3, 5, dim)


MODELS = {
    "instance": lambda rng: pictures(rng, lambda c: nn.InstanceNorm2d(c, affine=rng.random() < 0.5)),
    "batch": lambda rng: pictures(rng, nn.BatchNorm2d),
    "group": lambda rng: pictures(rng, lambda c: nn.GroupNorm(2, c)),
    "layer": lambda rng: pictures(rng, lambda c: nn.LayerNorm([12, 12])),
    "plain": lambda rng: pictures(rng, lambda c: nn.Identity()),
    "attention": lambda rng: sequences(rng, Attention),
    "lstm": lambda rng: sequences(rng, Recurrent),
    "tanh": lambda rng: sequences(rng, lambda dim: nn.Sequential(nn.Linear(dim, 4 * dim), nn.Tanh(), nn.Linear(4 * dim, dim), nn.Dropout(0.1))),
    "rms": lambda rng: sequences(rng, lambda dim: nn.Sequential(nn.RMSNorm(dim), nn.Linear(dim, dim), nn.GELU())),
}


def wgan_gp(model, x):
    loss = F.softplus(-model(x)).mean()
    between = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(between).sum(), between, create_graph=True)
    return loss + 10 * (gradient.flatten(1).norm(dim=1) - 1).square().mean()


def r1(model, x):
    real = x.clone().requires_grad_()
    out = model(real)
    (gradient,) = torch.autograd.grad(out.sum(), real, create_graph=True)
    return F.softplus(-out).mean() + gradient.square().flatten(1).sum(1).mean()


def maml(model, x):
    weights = dict(model.named_parameters())
    for _ in range(2):
        loss = functional_call(model, weights, (x[::2],)).square().mean()
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True, allow_unused=True)
        weights = {name: weight if gradient is None else weight - 0.1 * gradient for (name, weight), gradient in zip(weights.items(), gradients)}
    return functional_call(model, weights, (x,)).square().mean()


def hessian_vector(model, x):
    weights = list(model.parameters())
    gradients = torch.autograd.grad(model(x).square().mean(), weights, create_graph=True)
    return sum((gradient * weight.detach()).sum() for gradient, weight in zip(gradients, weights))


def kept_graph(model, x):
    """A gradient without a graph of its own, and the backward pass through the same graph."""
    real = x.clone().requires_grad_()
    out = model(real)
    (gradient,) = torch.autograd.grad(out.sum(), real, retain_graph=True)
    return out.square().mean() + (out * gradient.flatten(1).mean(1).view(-1, *[1] * (out.dim() - 1))).mean()


LOSSES = [wgan_gp, r1, maml, hessian_vector, kept_graph]


def build(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    names = list(MODELS)
    model, x = MODELS[names[seed % len(names)]](rng)
    loss_of = LOSSES[(seed // len(names) + seed) % len(LOSSES)]
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        loss_of(model, x).backward()
        optimizer.step()
        optimizer.zero_grad()

    step.inputs = x
    return model, optimizer, step


if __name__ == "__main__":
    count, policies, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    cases = [case(seed, policies, build, has_two_passes=True) for seed in range(count)]
    with gzip.GzipFile(out, "wb", 9, mtime=0) as file:
        file.write(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).encode())
