"""Training steps as public programs have them, small: what is awkward in each is in its name."""

import torch
import torch.nn.functional as F
from torch import nn


def lbfgs_step():
    """As pytorch/examples' time_sequence_prediction: LSTM cells in double precision, and an optimizer that calls a closure several times."""
    cell, head = nn.LSTMCell(1, 12), nn.Linear(12, 1)
    model = nn.ModuleDict({"cell": cell, "head": head}).double()
    x, y = torch.randn(4, 9, dtype=torch.double), torch.randn(4, 8, dtype=torch.double)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=3)

    def closure():
        optimizer.zero_grad()
        h = c = torch.zeros(4, 12, dtype=torch.double)
        out = []
        for t in range(8):
            h, c = cell(x[:, t : t + 1], (h, c))
            out.append(head(h))
        loss = F.mse_loss(torch.cat(out, 1), y)
        loss.backward()
        return loss

    return model, optimizer, lambda: optimizer.step(closure)


def gan_step():
    """As DCGAN: two models and optimizers, three backward passes, the last of which runs through a pass of the generator that came before two of them."""
    # fmt: off
    g = nn.Sequential(nn.ConvTranspose2d(8, 16, 4, bias=False), nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())
    d = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 16, 4, 1), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True), nn.Flatten(), nn.Linear(16, 1), nn.Sigmoid())
    # fmt: on
    optimizers = [torch.optim.Adam(of.parameters(), lr=2e-4) for of in (d, g)]
    real, noise = torch.randn(4, 3, 8, 8), torch.randn(4, 8, 1, 1)
    ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)

    def step():
        d.zero_grad()
        F.binary_cross_entropy(d(real), ones).backward()
        fake = g(noise)
        F.binary_cross_entropy(d(fake.detach()), zeros).backward()
        optimizers[0].step()
        g.zero_grad()
        F.binary_cross_entropy(d(fake), ones).backward()
        optimizers[1].step()

    return nn.ModuleDict({"d": d, "g": g}), optimizers, step


def gradient_penalty_step():
    """As WGAN-GP: a gradient is part of the loss."""
    critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(critic.parameters())
    real, fake = torch.randn(16, 6), torch.randn(16, 6)

    def step():
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        loss = critic(fake).mean() - critic(real).mean() + 10 * ((gradient.norm(2, 1) - 1) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return critic, optimizer, step


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) / inputs**0.5)

    def forward(self, x, adjacency):
        return torch.spmm(adjacency, x @ self.weight)


class GraphNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(8, 16), GraphConvolution(16, 4)

    def forward(self, x, adjacency):
        return self.second(F.dropout(F.relu(self.first(x, adjacency)), 0.5, self.training), adjacency)


def sparse_step(layout=torch.sparse_coo):
    """As GCN: the graph is a sparse tensor."""
    model = GraphNetwork()
    adjacency = (torch.rand(40, 40) < 0.1).float() + torch.eye(40)
    adjacency = adjacency.to_sparse_coo().coalesce()
    if layout == torch.sparse_csr:
        rows = adjacency.to_sparse_csr()
        adjacency = torch.sparse_csr_tensor(rows.crow_indices().clone(), rows.col_indices().clone(), rows.values().clone(), (40, 40))
    x, y = torch.randn(40, 8), torch.randint(0, 4, (40,))
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        F.cross_entropy(model(x, adjacency), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


def sparse_gradient_step():
    """An embedding whose gradient is sparse, and an optimizer for those."""
    model = nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Flatten())
    head = nn.Linear(32, 2)
    x, y = torch.randint(0, 50, (6, 4)), torch.randint(0, 2, (6,))
    optimizers = [torch.optim.SparseAdam(model.parameters()), torch.optim.SGD(head.parameters(), lr=0.1)]

    def step():
        F.cross_entropy(head(model(x)), y).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    return nn.ModuleDict({"model": model, "head": head}), optimizers, step


def encoder_step():
    """As word_language_model's transformer: PyTorch's own encoder layers, with a mask made from a value."""
    embed, head = nn.Embedding(50, 16), nn.Linear(16, 50)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.2), 2)
    model = nn.ModuleDict({"embed": embed, "encoder": encoder, "head": head})
    x = torch.randint(0, 50, (12, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        mask = nn.Transformer.generate_square_subsequent_mask(12)
        loss = F.cross_entropy(head(encoder(embed(x), mask=mask)).flatten(0, 1), x.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss.item()

    return model, optimizer, step


def sampling_step():
    """As REINFORCE: what an action is, is drawn in each step of a loop, and the program reads it."""
    policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2), nn.Softmax(-1))
    optimizer = torch.optim.Adam(policy.parameters())

    def step():
        state, losses = torch.zeros(4), []
        for _ in range(5):
            of = torch.distributions.Categorical(policy(state))
            action = of.sample()
            losses.append(-of.log_prob(action) * (1 if action.item() == 1 else -1))
            state = state + 0.1
        torch.stack(losses).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return policy, optimizer, step


class _Centred(nn.Module):
    """Keeps a mean of what it saw by replacing its buffer."""

    def __init__(self, dim):
        super().__init__()
        self.inner = nn.Linear(dim, dim)
        self.register_buffer("mean", torch.zeros(dim))

    def forward(self, x):
        x = F.gelu(self.inner(x))
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean((0, 1))
        return torch.sigmoid(x) * x - self.mean


class _Moved(nn.Module):
    """Is given what its parent writes into afterwards, and saves none of it."""

    def __init__(self, dim):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, offset):
        return F.silu(self.inner(x) + offset)


class _States(nn.Module):
    def __init__(self, dim):
        super().__init__()
        of = nn.utils.parametrizations.spectral_norm
        self.spectral = nn.Sequential(of(nn.Linear(dim, 4 * dim)), nn.ReLU(), of(nn.Linear(4 * dim, dim)))
        self.centred = _Centred(dim)
        self.moved = _Moved(dim)
        self.register_buffer("offset", torch.ones(dim))

    def forward(self, x):
        x = self.moved(self.centred(self.spectral(x)), self.offset)
        torch.add(self.offset, 0.1, out=self.offset)
        return x


def states_step():
    """Modules that count in buffers as they run: spectral norms by `out=`, others by a buffer in place of the last one, or of another module."""
    model = nn.Sequential(nn.Linear(16, 16), _States(16), _States(16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 32, 16)

    def step():
        model(x).square().mean().backward()
        # Manually, after everything that may be recomputed.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step


def hooks_step():
    """Hooks that compute before and after a module's forward pass, as weight_norm has them: they are no part of it."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(3)))
    for block in model:
        block.register_forward_pre_hook(lambda _, given: (torch.tanh(given[0]) * given[0],))
        block.register_forward_hook(lambda _, given, out: out + torch.sigmoid(given[0]))
        block[2].register_forward_pre_hook(lambda _, given: (torch.sigmoid(given[0]) * given[0],))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 32, 16)

    def step():
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, optimizer, step
