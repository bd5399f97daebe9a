"""Steps of small models recorded at several lengths or batches, on fake tensors: `python length_cases.py FILE`. A row of
sizes for each model; the last is only for comparison.
"""

import gzip
import json
import sys
import tempfile
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import remat

DIM, HEADS, VOCABULARY = 16, 2, 40


class Block(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.attend = attend
        self.norm, self.qkv, self.out = nn.LayerNorm(DIM), nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (p.view(batch, length, HEADS, -1).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(batch, length, DIM))
        return x + self.down(F.gelu(self.up(x)))


class Language(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.ModuleList(Block(attend) for _ in range(1))
        self.head = nn.Linear(DIM, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def with_scores(q, k, v):
    length = q.shape[-2]
    causal = torch.ones(length, length, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-1, -2) * DIM**-0.5).masked_fill(causal, -1e9)
    return torch.softmax(scores, -1) @ v


def fused(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def next_tokens(model, length, batch=2):
    tokens = torch.randint(0, VOCABULARY, (batch, length))

    def step():
        # Every token but the last has a next one: sides of one less.
        out = model(tokens)[:, :-1]
        F.cross_entropy(out.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1)).backward()

    return step


def trained(model, step):
    optimizer = torch.optim.Adam(model.parameters())

    def whole():
        step()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, whole


def attention(length):
    model = Language(with_scores)
    return trained(model, next_tokens(model, length))


def fused_attention(length):
    model = Language(fused)
    return trained(model, next_tokens(model, length))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(VOCABULARY, DIM), nn.LSTM(DIM, DIM, batch_first=True), nn.Linear(DIM, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.lstm(self.embed(tokens))[0])


def lstm_batch(batch):
    model = Recurrent()
    return trained(model, next_tokens(model, 5, batch))


def lstm_length(length):
    model = Recurrent()
    return trained(model, next_tokens(model, length))


class Unrolled(Recurrent):
    """A loop of the program's own: more ops in a longer sequence."""

    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(DIM, DIM)

    def forward(self, tokens):
        state, states = None, []
        for x in self.embed(tokens).unbind(1):
            state = self.cell(x, state)
            states.append(state)
        return self.head(torch.stack(states, 1))


def unrolled(length):
    model = Unrolled()
    return trained(model, next_tokens(model, length))


def convolutions(size, batch=2):
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    x = torch.randn(batch, 3, size, size)
    return trained(model, lambda: F.cross_entropy(model(x), torch.zeros(batch, dtype=torch.long)).backward())


def convolutions_batch(batch):
    return convolutions(16, batch)


def experts(length):
    """Which rows an expert takes follows from data."""
    model = Language(with_scores)
    model.expert = nn.Linear(DIM, DIM)
    tokens = torch.randint(0, VOCABULARY, (2, length))

    def step():
        x = model.embed(tokens)
        taken = x[torch.rand(x.shape[:-1]) > 0.5]
        model.head(F.gelu(model.expert(taken))).sum().backward()

    return trained(model, step)


def switching(length):
    """A kernel that is another one for long sequences."""
    model = Language(lambda q, k, v: (with_scores if q.shape[-2] < 48 else fused)(q, k, v))
    return trained(model, next_tokens(model, length))


FAKE = {
    "attention": (attention, [32, 64, 128, 200]),
    "fused_attention": (fused_attention, [32, 64, 128, 200]),
    "lstm_batch": (lstm_batch, [2, 4, 7]),
    "lstm_length": (lstm_length, [4, 6, 8, 13]),
    "unrolled": (unrolled, [3, 4]),
    "convolutions": (convolutions, [16, 32, 64, 96]),
    "convolutions_batch": (convolutions_batch, [2, 4, 9]),
    "switching": (switching, [32, 40, 64]),
}
REAL = {"experts": (experts, [32, 64, 128, 256])}


def recorded(build, size, is_fake):
    torch.manual_seed(size)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "step.json"
        if is_fake:
            remat.export(lambda: build(size), path, name=build.__name__)
        else:
            model, optimizer, step = build(size)
            step()
            with remat.record(path, model, optimizer, name=build.__name__):
                step()
        return json.loads(path.read_text())


def write(path):
    cases = {
        name: [{"size": size, "file": recorded(build, size, of is FAKE)} for size in sizes]
        for of in (FAKE, REAL)
        for name, (build, sizes) in of.items()
    }
    with open(path, "wb") as file:
        file.write(gzip.compress(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).encode(), 9, mtime=0))


if __name__ == "__main__":
    write(sys.argv[1])
