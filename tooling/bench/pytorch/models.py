"""The models of `pnpm bench:pytorch`: unmodified from their libraries, with random weights, small enough that a step takes
at most a second on a CPU.
"""

import torch
import torch.nn.functional as F
from missing_ops import define_missing_torchvision_ops
from torch import nn


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=6, n_embd=384, n_head=6, vocab_size=2000, n_positions=256, bos_token_id=0, eos_token_id=0, use_cache=False, loss_type="ForCausalLM")
    return language_model(GPT2LMHeadModel(config), 2000, 4, 256)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(num_hidden_layers=6, hidden_size=384, intermediate_size=1024, num_attention_heads=6, num_key_value_heads=2, vocab_size=2000, max_position_embeddings=256, use_cache=False)
    return language_model(LlamaForCausalLM(config), 2000, 4, 256)


def bert():
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(num_hidden_layers=6, hidden_size=384, intermediate_size=1536, num_attention_heads=6, vocab_size=2000, max_position_embeddings=256)
    return language_model(BertForMaskedLM(config), 2000, 4, 256)


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(ViTConfig(num_hidden_layers=6, hidden_size=384, intermediate_size=1536, num_attention_heads=6, image_size=128, patch_size=8, num_labels=100))
    x, y = torch.randn(4, 3, 128, 128), torch.randint(0, 100, (4,))
    return model, lambda: model(pixel_values=x, labels=y).loss


def resnet50():
    define_missing_torchvision_ops()
    from torchvision.models import resnet50 as build

    model = build(num_classes=100)
    x, y = torch.randn(8, 3, 128, 128), torch.randint(0, 100, (8,))
    return model, lambda: F.cross_entropy(model(x), y)


class LSTMLanguageModel(nn.Module):
    """The model of pytorch/examples, with the cells' steps in Python."""

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.cell, self.drop = nn.LSTMCell(width, width), nn.Dropout(0.2)

        def forward(self, x):
            h = c = x.new_zeros(x.shape[0], x.shape[2])
            out = []
            for t in range(x.shape[1]):
                h, c = self.cell(x[:, t], (h, c))
                out.append(h)
            return self.drop(torch.stack(out, 1))

    def __init__(self, vocabulary=2000, width=384, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([self.Layer(width) for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def lstm():
    model = LSTMLanguageModel()
    x = torch.randint(0, 2000, (32, 48))
    return model, lambda: F.cross_entropy(model(x).flatten(0, 1), x.flatten())


def language_model(model, vocabulary, batch, length):
    x = torch.randint(0, vocabulary, (batch, length))
    return model, lambda: model(input_ids=x, labels=x).loss


MODELS = {"gpt2": gpt2, "llama": llama, "bert": bert, "vit": vit, "resnet50": resnet50, "lstm": lstm}


def build(name):
    """Returns the model, its optimizer and a step, with the same random numbers each time."""
    define_missing_torchvision_ops()
    torch.manual_seed(0)
    model, loss_of = MODELS[name]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return model, optimizer, step
