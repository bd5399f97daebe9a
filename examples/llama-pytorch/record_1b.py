"""Records a training step of a Llama of 1.5 billion parameters, without computing anything: `python record_1b.py run-1b.json.gz [LENGTH]`.

Needs PyTorch and `pip install ../../tooling/pytorch-exporter`.
"""
import sys

import remat
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu

WIDTH, LAYERS, HEADS, GROUPS, INNER, WORDS = 2048, 16, 32, 8, 8192, 128_256


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = WIDTH // HEADS
        self.wq = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wk = nn.Linear(WIDTH, GROUPS * self.head, bias=False)
        self.wv = nn.Linear(WIDTH, GROUPS * self.head, bias=False)
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape

        def heads(y, count):
            return y.view(batch, length, count, self.head).transpose(1, 2)

        def turned(y):
            a, b = y.chunk(2, dim=-1)
            return y * cos + torch.cat([-b, a], dim=-1) * sin

        q, k, v = turned(heads(self.wq(x), HEADS)), turned(heads(self.wk(x), GROUPS)), heads(self.wv(x), GROUPS)
        k, v = (y.repeat_interleave(HEADS // GROUPS, dim=1) for y in (k, v))
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(batch, length, WIDTH))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(WIDTH, INNER, bias=False)
        self.w2 = nn.Linear(INNER, WIDTH, bias=False)
        self.w3 = nn.Linear(WIDTH, INNER, bias=False)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.ffn_norm = nn.RMSNorm(WIDTH)
        self.feed_forward = FeedForward()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.output = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, cos, sin):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.output(self.norm(x))


def build(length):
    model = Llama()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(0, WORDS, (1, length))
    angles = torch.outer(torch.arange(length), 1e4 ** -torch.linspace(0, 1, WIDTH // HEADS // 2)).repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()

    def step():
        words = model(tokens, cos, sin)
        nn.functional.cross_entropy(words.flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


if __name__ == "__main__":
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
    remat.export(lambda: build(length), sys.argv[1])
