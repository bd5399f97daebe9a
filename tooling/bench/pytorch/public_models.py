"""Steps of public programs whose models are in packages of their own, or whose steps are unusual. See
`public_programs.py`.
"""

import contextlib
import copy
import random
import sys
from types import SimpleNamespace
from typing import Union

import torch
import torch.nn.functional as F
from public_programs import definitions, trained
from torch import nn, optim

from remat.devices import cpu_for_cuda


@contextlib.contextmanager
def _imports_from(folder):
    """A context in which a program finds imports in its own folder. They are forgotten afterwards, since other programs
    also have a `model.py`.
    """
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def vit(root):
    with _imports_from(root / "vit-pytorch"):
        from vit_pytorch import ViT
    model = ViT(image_size=64, patch_size=8, num_classes=10, dim=128, depth=4, heads=4, mlp_dim=256, dropout=0.1, emb_dropout=0.1)
    x, y = torch.rand(8, 3, 64, 64), torch.randint(0, 10, (8,))
    return trained(model, optim.Adam(model.parameters(), lr=3e-5), lambda: F.cross_entropy(model(x), y))


def max_vit(root):
    with _imports_from(root / "vit-pytorch"):
        from vit_pytorch.max_vit import MaxViT
    model = MaxViT(num_classes=10, dim=16, dim_conv_stem=16, dim_head=8, depth=(1, 1), window_size=4, mbconv_expansion_rate=4, mbconv_shrinkage_rate=0.25, dropout=0.1)
    x, y = torch.rand(2, 3, 32, 32), torch.randint(0, 10, (2,))
    return trained(model, optim.AdamW(model.parameters()), lambda: F.cross_entropy(model(x), y))


def dino(root):
    with _imports_from(root / "vit-pytorch"):
        from vit_pytorch import Dino, ViT
    # Building it also draws random crops.
    random.seed(0)
    encoder = ViT(image_size=64, patch_size=16, num_classes=10, dim=64, depth=3, heads=4, mlp_dim=128)
    learner = Dino(encoder, image_size=64, hidden_layer="to_latent", projection_hidden_size=64, projection_layers=2, num_classes_K=256)
    optimizer = optim.Adam(learner.parameters(), lr=3e-4)
    x = torch.rand(4, 3, 64, 64)

    def step():
        random.seed(0)
        loss = learner(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.update_moving_average()

    return learner, optimizer, step


def diffusion(root):
    with _imports_from(root / "denoising-diffusion-pytorch"):
        from denoising_diffusion_pytorch import GaussianDiffusion, Unet
    model = Unet(dim=16, dim_mults=(1, 2, 4), flash_attn=False)
    process = GaussianDiffusion(model, image_size=32, timesteps=100)
    optimizer = optim.Adam(process.parameters(), lr=8e-5, betas=(0.9, 0.99))
    ema = copy.deepcopy(process).requires_grad_(False)
    x = torch.rand(4, 3, 32, 32)

    def step():
        # Trainer.train(), which accumulates gradients.
        for _ in range(2):
            (process(x) / 2).backward()
        nn.utils.clip_grad_norm_(process.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for of_ema, of_model in zip(ema.parameters(), process.parameters()):
                of_ema.lerp_(of_model, 0.005)

    return process, optimizer, step


def improved_diffusion(root):
    with _imports_from(root / "improved-diffusion"):
        from improved_diffusion.script_util import create_model_and_diffusion, model_and_diffusion_defaults

    sizes = {"image_size": 64, "num_channels": 32, "num_res_blocks": 1, "dropout": 0.1, "diffusion_steps": 100, "learn_sigma": True}
    model, process = create_model_and_diffusion(**{**model_and_diffusion_defaults(), **sizes})
    x, t = torch.rand(2, 3, 64, 64), torch.tensor([3, 70])
    return trained(model, optim.AdamW(model.parameters(), lr=1e-4), lambda: process.training_losses(model, x, t)["loss"].mean())


def mamba(root):
    of = definitions(root / "mamba-minimal/model.py", Union=Union)
    model = of.Mamba(of.ModelArgs(d_model=64, n_layer=4, vocab_size=256))
    x = torch.randint(0, 256, (4, 65))
    return trained(model, optim.AdamW(model.parameters(), lr=1e-3), lambda: F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()))


def unet(root):
    with _imports_from(root / "Pytorch-UNet"):
        from unet import UNet
    dice_loss = definitions(root / "Pytorch-UNet/utils/dice_score.py").dice_loss
    model = UNet(n_channels=3, n_classes=2).to(memory_format=torch.channels_last)
    optimizer = optim.RMSprop(model.parameters(), lr=1e-5, weight_decay=1e-8, momentum=0.999, foreach=True)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    images, masks = torch.rand(1, 3, 64, 64).to(memory_format=torch.channels_last), torch.randint(0, 2, (1, 64, 64))

    def step():
        with torch.autocast("cpu", enabled=True):
            predicted = model(images)
            loss = F.cross_entropy(predicted, masks)
            loss += dice_loss(F.softmax(predicted, dim=1).float(), F.one_hot(masks, model.n_classes).permute(0, 3, 1, 2).float(), multiclass=True)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return model, optimizer, step


def makemore(kind):
    def program(root):
        of = definitions(root / "makemore/makemore.py")
        config = of.ModelConfig(vocab_size=64, block_size=32, n_layer=4, n_head=4, n_embd=64, n_embd2=64)
        model = {"transformer": of.Transformer, "gru": lambda config: of.RNN(config, cell_type="gru"), "mlp": of.MLP, "bow": of.BoW}[kind](config)
        x, y = torch.randint(0, 64, (32, 32)), torch.randint(0, 64, (32, 32))
        return trained(model, optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01, betas=(0.9, 0.99)), lambda: model(x, y)[1])

    return program


def tcn(root):
    with _imports_from(root / "TCN"):
        of = definitions(root / "TCN/TCN/word_cnn/model.py")
    model = of.TCN(64, 500, [64] * 4, kernel_size=3, dropout=0.45, emb_dropout=0.25, tied_weights=True)
    x, y = torch.randint(0, 500, (8, 80)), torch.randint(0, 500, (8, 80))
    optimizer = optim.SGD(model.parameters(), lr=4)

    def step():
        optimizer.zero_grad()
        # For the words that have enough context.
        loss = F.cross_entropy(model(x)[:, 40:].contiguous().view(-1, 500), y[:, 40:].contiguous().view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.35)
        optimizer.step()

    return model, optimizer, step


def seq2seq(root):
    of = definitions(root / "seq2seq/model.py")
    encoder = of.Encoder(200, 64, 96, n_layers=2, dropout=0.5)
    model = of.Seq2Seq(encoder, of.Decoder(64, 96, 200, n_layers=1, dropout=0.5))
    optimizer = optim.Adam(model.parameters(), lr=1e-4)
    source, target = torch.randint(0, 200, (20, 16)), torch.randint(0, 200, (18, 16))

    def step():
        random.seed(0)
        optimizer.zero_grad()
        # It puts its results on CUDA.
        with cpu_for_cuda():
            output = model(source, target)
        loss = F.nll_loss(output[1:].view(-1, 200), target[1:].contiguous().view(-1), ignore_index=1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    return model, optimizer, step


def awd_lstm(root):
    with _imports_from(root / "awd-lstm-lm"):
        of = definitions(root / "awd-lstm-lm/model.py")
    model = of.RNNModel("LSTM", 500, 64, 96, 3, 0.4, 0.3, 0.4, 0.1, 0.5, True)
    optimizer = optim.SGD(model.parameters(), lr=1.0, weight_decay=1.2e-6)
    x, y = torch.randint(0, 500, (35, 16)), torch.randint(0, 500, (35 * 16,))

    def step():
        hidden = model.init_hidden(16)
        optimizer.zero_grad()
        output, hidden, rnn_hs, dropped = model(x, hidden, return_h=True)
        loss = F.cross_entropy(F.linear(output, model.decoder.weight, model.decoder.bias), y)
        loss = loss + sum(2 * one.pow(2).mean() for one in dropped[-1:])
        loss = loss + sum((one[1:] - one[:-1]).pow(2).mean() for one in rnn_hs[-1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()

    return model, optimizer, step


def mixture_of_experts(root):
    of = definitions(root / "mixture-of-experts/moe.py")
    model = of.MoE(100, 20, 8, 256, noisy_gating=True, k=4)
    x, y = torch.rand(64, 100), torch.randint(20, (64,))

    def loss_of():
        out, auxiliary = model(x.float())
        return F.cross_entropy(out, y) + auxiliary

    return trained(model, optim.Adam(model.parameters()), loss_of)


def simclr(root):
    with _imports_from(root / "SimCLR"):
        of = definitions(root / "SimCLR/models/resnet_simclr.py")
        trainer = definitions(root / "SimCLR/simclr.py")
    model = of.ResNetSimCLR("resnet18", 128)
    optimizer = optim.Adam(model.parameters(), 3e-4, weight_decay=1e-4)
    own = SimpleNamespace(args=SimpleNamespace(batch_size=4, n_views=2, device="cpu", temperature=0.07))
    images, scaler = torch.rand(8, 3, 64, 64), torch.amp.GradScaler("cpu", enabled=False)

    def step():
        logits, labels = trainer.SimCLR.info_nce_loss(own, model(images))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return model, optimizer, step


def spectral_gan(root):
    with _imports_from(root / "pytorch-spectral-normalization-gan"):
        of = definitions(root / "pytorch-spectral-normalization-gan/model.py", channels=3, leak=0.1, w_g=4)
    generator, discriminator = of.Generator(32), of.Discriminator()
    of_discriminator = optim.Adam([one for one in discriminator.parameters() if one.requires_grad], lr=2e-4, betas=(0.0, 0.9))
    of_generator = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.0, 0.9))
    data = torch.rand(4, 3, 32, 32)

    def step():
        of_discriminator.zero_grad()
        of_generator.zero_grad()
        loss = F.relu(1.0 - discriminator(data)).mean() + F.relu(1.0 + discriminator(generator(torch.randn(4, 32)))).mean()
        loss.backward()
        of_discriminator.step()
        of_discriminator.zero_grad()
        of_generator.zero_grad()
        (-discriminator(generator(torch.randn(4, 32))).mean()).backward()
        of_generator.step()

    return {"generator": generator, "discriminator": discriminator}, [of_generator, of_discriminator], step


def captioning(root):
    of = definitions(root / "pytorch-tutorial/tutorials/03-advanced/image_captioning/model.py")
    of.models = SimpleNamespace(resnet152=lambda pretrained: __import__("torchvision").models.resnet18())
    models = {"encoder": of.EncoderCNN(64), "decoder": of.DecoderRNN(64, 128, 500, 1)}
    encoder, decoder = models.values()
    optimizer = optim.Adam([*decoder.parameters(), *encoder.linear.parameters(), *encoder.bn.parameters()], lr=1e-3)
    images, captions, lengths = torch.rand(8, 3, 64, 64), torch.randint(0, 500, (8, 20)), [20, 18, 17, 15, 15, 12, 11, 9]

    def step():
        targets = nn.utils.rnn.pack_padded_sequence(captions, lengths, batch_first=True)[0]
        loss = F.cross_entropy(decoder(encoder(images), captions, lengths), targets)
        decoder.zero_grad()
        encoder.zero_grad()
        loss.backward()
        optimizer.step()

    return models, optimizer, step


def graph_convolution(root):
    with _imports_from(root / "pygcn"):
        from pygcn.models import GCN
    model = GCN(128, 64, 7, 0.5)
    x, adjacency = torch.rand(300, 128), (torch.rand(300, 300) < 0.05).float().fill_diagonal_(1).to_sparse()
    y, train = torch.randint(0, 7, (300,)), torch.arange(140)
    return trained(model, optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4), lambda: F.nll_loss(model(x, adjacency)[train], y[train]))


MODELS = {
    "vit-pytorch/ViT": ("vit-pytorch", vit),
    "vit-pytorch/MaxViT": ("vit-pytorch", max_vit),
    "vit-pytorch/Dino": ("vit-pytorch", dino),
    "denoising-diffusion-pytorch": ("denoising-diffusion-pytorch", diffusion),
    "improved-diffusion": ("improved-diffusion", improved_diffusion),
    "mamba-minimal": ("mamba-minimal", mamba),
    "Pytorch-UNet": ("Pytorch-UNet", unet),
    **{f"makemore/{kind}": ("makemore", makemore(kind)) for kind in ("transformer", "gru", "mlp", "bow")},
    "TCN/word_cnn": ("TCN", tcn),
    "seq2seq": ("seq2seq", seq2seq),
    "awd-lstm-lm": ("awd-lstm-lm", awd_lstm),
    "mixture-of-experts": ("mixture-of-experts", mixture_of_experts),
    "SimCLR": ("SimCLR", simclr),
    "pytorch-spectral-normalization-gan": ("pytorch-spectral-normalization-gan", spectral_gan),
    "pytorch-tutorial/image_captioning": ("pytorch-tutorial", captioning),
    "pygcn": ("pygcn", graph_convolution),
}
