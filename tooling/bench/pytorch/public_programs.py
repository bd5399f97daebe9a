"""Steps of public programs, as in their training loops, with generated data. Their repositories are in a folder, as
cloned. This file contains none of their code. From a program that trains when imported, only imports, classes and
functions are read.
"""

import ast
import sys
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import nn, optim


def definitions(path, **constants):
    """Returns the imports, classes and functions of a file as a module with the given constants."""
    tree = ast.parse(path.read_text())
    kept = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    tree.body = [node for node in tree.body if isinstance(node, kept) and not _imports_missing(node)]
    module = ModuleType(path.stem)
    sys.modules.setdefault(path.stem, module)
    module.__dict__.update(constants)
    exec(compile(tree, str(path), "exec"), module.__dict__)
    return module


def _imports_missing(node):
    """Returns whether an import only draws, logs or downloads."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return any(name == "torch.utils.tensorboard" or name.split(".")[0] in ("matplotlib", "requests", "tarfile", "gymnasium") for name in names)


def trained(model, optimizer, loss_of):
    def step():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return model, optimizer, step


def nanogpt(root):
    of = definitions(root / "nanoGPT/model.py")
    model = of.GPT(of.GPTConfig(block_size=128, vocab_size=256, n_layer=6, n_head=6, n_embd=192, dropout=0.1, bias=False))
    x, y = torch.randint(0, 256, (8, 128)), torch.randint(0, 256, (8, 128))
    optimizer = model.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu")

    def step():
        _, loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return model, optimizer, step


def mingpt(root):
    sys.path.insert(0, str(root / "minGPT"))
    from mingpt.model import GPT
    from mingpt.utils import CfgNode

    config = GPT.get_default_config()
    config.model_type, config.vocab_size, config.block_size = "gpt-mini", 256, 128
    model = GPT(config)
    optimizer = model.configure_optimizers(CfgNode(weight_decay=0.1, learning_rate=1e-3, betas=(0.9, 0.95)))
    x, y = torch.randint(0, 256, (8, 128)), torch.randint(0, 256, (8, 128))
    return trained(model, optimizer, lambda: model(x, y)[1])


def vae(root):
    of = definitions(root / "examples/vae/main.py")
    model, x = of.VAE(), torch.rand(128, 1, 28, 28)

    def loss_of():
        recon, mu, logvar = model(x)
        return of.loss_function(recon, x, mu, logvar)

    return trained(model, optim.Adam(model.parameters(), lr=1e-3), loss_of)


def super_resolution(root):
    model = definitions(root / "examples/super_resolution/model.py").Net(upscale_factor=3)
    x, y = torch.rand(4, 1, 85, 85), torch.rand(4, 1, 255, 255)
    return trained(model, optim.Adam(model.parameters(), lr=1e-2), lambda: F.mse_loss(model(x), y))


def mnist(root):
    model = definitions(root / "examples/mnist/main.py").Net()
    x, y = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
    return trained(model, optim.Adadelta(model.parameters(), lr=1.0), lambda: F.nll_loss(model(x), y))


def mnist_rnn(root):
    model = definitions(root / "examples/mnist_rnn/main.py").Net()
    x, y = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
    return trained(model, optim.Adadelta(model.parameters(), lr=0.1), lambda: F.nll_loss(model(x), y))


def time_sequence(root):
    model = definitions(root / "examples/time_sequence_prediction/train.py").Sequence().double()
    x = torch.sin(torch.linspace(0, 20, 100, dtype=torch.double) + torch.rand(16, 1, dtype=torch.double) * 9)
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[:, :-1]), x[:, 1:])
        loss.backward()
        return loss

    return model, optimizer, lambda: optimizer.step(closure)


def word_transformer(root):
    model = definitions(root / "examples/word_language_model/model.py").TransformerModel(1000, 200, 2, 200, 2, 0.2)
    x = torch.randint(0, 1000, (36, 20))
    y = torch.randint(0, 1000, (35 * 20,))
    return trained(model, optim.SGD(model.parameters(), lr=1.0), lambda: F.nll_loss(model(x[:-1]).view(-1, 1000), y))


def word_lstm(root):
    model = definitions(root / "examples/word_language_model/model.py").RNNModel("LSTM", 1000, 200, 200, 2, 0.2, True)
    x, y = torch.randint(0, 1000, (35, 20)), torch.randint(0, 1000, (35 * 20,))
    return trained(model, optim.SGD(model.parameters(), lr=1.0), lambda: F.nll_loss(model(x, model.init_hidden(20))[0], y))


def fast_neural_style(root):
    model = definitions(root / "examples/fast_neural_style/neural_style/transformer_net.py").TransformerNet()
    x = torch.rand(2, 3, 96, 96)
    return trained(model, optim.Adam(model.parameters(), lr=1e-3), lambda: F.mse_loss(model(x), x))


def gat(root):
    model = definitions(root / "examples/gat/main.py").GAT(in_features=128, n_hidden=64, n_heads=8, num_classes=7)
    x, adjacency = torch.rand(300, 128), (torch.rand(300, 300) < 0.05).float().fill_diagonal_(1)
    y = torch.randint(0, 7, (300,))
    return trained(model, optim.Adam(model.parameters(), lr=5e-3), lambda: F.nll_loss(model(x, adjacency), y))


def gcn(root):
    model = definitions(root / "examples/gcn/main.py").GCN(128, 16, 7)
    x, adjacency = torch.rand(300, 128), (torch.rand(300, 300) < 0.05).float().fill_diagonal_(1).to_sparse()
    y = torch.randint(0, 7, (300,))
    return trained(model, optim.Adam(model.parameters(), lr=1e-2), lambda: F.nll_loss(model(x, adjacency), y))


def dcgan(root):
    of = definitions(root / "examples/dcgan/main.py", nz=100, ngf=32, ndf=32, nc=3)
    models = {"g": of.Generator(1), "d": of.Discriminator(1)}
    optimizers = {name: optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999)) for name, model in models.items()}
    real, ones, zeros = torch.rand(8, 3, 64, 64), torch.ones(8), torch.zeros(8)

    def step():
        g, d = models["g"], models["d"]
        d.zero_grad()
        F.binary_cross_entropy(d(real), ones).backward()
        fake = g(torch.randn(8, 100, 1, 1))
        F.binary_cross_entropy(d(fake.detach()), zeros).backward()
        optimizers["d"].step()
        g.zero_grad()
        F.binary_cross_entropy(d(fake), ones).backward()
        optimizers["g"].step()

    return models, optimizers, step


def siamese(root):
    model = definitions(root / "examples/siamese_network/main.py").SiameseNetwork()
    a, b, y = torch.rand(8, 1, 28, 28), torch.rand(8, 1, 28, 28), torch.rand(8).round()
    return trained(model, optim.Adadelta(model.parameters(), lr=1.0), lambda: F.binary_cross_entropy(model(a, b).squeeze(), y))


PUBLIC = {
    "nanoGPT": ("nanoGPT", nanogpt),
    "minGPT": ("minGPT", mingpt),
    **{
        f"examples/{name}": ("examples", program)
        for name, program in {
            "vae": vae,
            "super_resolution": super_resolution,
            "mnist": mnist,
            "mnist_rnn": mnist_rnn,
            "time_sequence_prediction (LBFGS)": time_sequence,
            "word_language_model (transformer)": word_transformer,
            "word_language_model (LSTM)": word_lstm,
            "fast_neural_style": fast_neural_style,
            "gat": gat,
            "gcn (sparse)": gcn,
            "dcgan": dcgan,
            "siamese_network": siamese,
        }.items()
    },
}
