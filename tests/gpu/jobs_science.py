"""Less common kinds of models: scans, unrolled learning, rays, volumes, graphs, audio."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from jobs_list import Scaled, change, job


# ---- a selective scan by hand -------------------------------------------------------------------------------------------------------


class SelectiveSSM(nn.Module):
    def __init__(self, width, inner, states):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inp = nn.Linear(width, 2 * inner)
        self.bc = nn.Linear(inner, 2 * states)
        self.dt = nn.Linear(inner, inner)
        self.a = nn.Parameter(torch.zeros(inner, states))
        self.out = nn.Linear(inner, width)
        self.states = states

    def scan(self, u, delta, b, c):
        decay = torch.einsum("bld,dn->bldn", delta, -torch.exp(self.a)).cumsum(1)
        inputs = torch.einsum("bld,bln->bldn", delta * u, b)
        h = torch.cumsum(inputs * torch.exp(-decay.clamp(min=-20)), 1) * torch.exp(decay)
        return torch.einsum("bldn,bln->bld", h, c)

    def forward(self, x):
        u, gate = self.inp(self.norm(x)).chunk(2, -1)
        b, c = self.bc(u).chunk(2, -1)
        y = self.scan(u, F.softplus(self.dt(u)), b, c)
        return x + self.out(y * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self, layers=8, width=1024, inner=2048, states=16, vocab=32000):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(SelectiveSSM(width, inner, states) for _ in range(layers))
        self.head = nn.Linear(width, vocab)
        self.recompute = False

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recompute else layer(x)
        return self.head(x)


@job(11, "a selective scan written by hand keeps a state for every token", dict(batch=Scaled(8), length=1024, recompute=False),
     [change("recompute each layer", "P01", recompute=True), change("half the batch", "P02", batch=Scaled(4))], stacks="all", entries=20000)
def mamba_scan(args, watch):
    model = Mamba(layers=12).cuda()
    model.recompute = args.recompute
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        ids = torch.randint(0, 32000, (args.batch, args.length), device="cuda")
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- learning to learn: the inner steps are differentiated --------------------------------------------------------------------------


class FewShot(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(3 if i == 0 else ch, ch, 3, padding=1) for i in range(4))
        self.head = nn.Linear(ch * 25, 64)

    def forward(self, x):
        for conv in self.convs:
            x = F.avg_pool2d(F.softplus(conv(x)), 2)
        return self.head(x.flatten(1))


def adapt(model, params, images, labels, steps, first_order):
    for _ in range(steps):
        loss = F.cross_entropy(torch.func.functional_call(model, params, (images,)), labels)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=not first_order)
        params = {name: p - 0.01 * g for (name, p), g in zip(params.items(), grads)}
    return params


@job(12, "MAML: the graph of all inner steps is kept", dict(shots=Scaled(520), steps=20, first_order=False),
     [change("first order: no graph of the inner gradients", "", first_order=True), change("half the images of a task", "P02", shots=Scaled(260)), change("five inner steps", "", steps=5)])
def maml(args, watch):
    model = FewShot().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    watch(model=model, optimizer=optimizer)
    images, labels = torch.randn(args.shots, 3, 84, 84, device="cuda"), torch.zeros(args.shots, dtype=torch.long, device="cuda")
    for _ in range(2):
        adapted = adapt(model, dict(model.named_parameters()), images, labels, args.steps, args.first_order)
        F.cross_entropy(torch.func.functional_call(model, adapted, (images,)), labels).backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- all rays of an image at once ---------------------------------------------------------------------------------------------------


class Field(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(63, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def encode(self, x):
        parts = [x]
        for i in range(10):
            parts += [torch.sin(2 ** i * x), torch.cos(2 ** i * x)]
        return torch.cat(parts, -1)

    def forward(self, points):
        return self.layers(self.encode(points))


def render_rays(field, origins, directions, samples):
    depth = torch.linspace(2, 6, samples, device="cuda")
    points = origins[:, None] + directions[:, None] * depth[:, None]
    raw = field(points)
    alpha = 1 - torch.exp(-F.relu(raw[..., 3]) * (4 / samples))
    weights = alpha * torch.cumprod(1 - alpha + 1e-10, -1)
    return (weights[..., None] * raw[..., :3].sigmoid()).sum(1)


@torch.no_grad()
def render_image(field, side, samples, chunk):
    rays = torch.zeros(side * side, 3, device="cuda"), torch.ones(side * side, 3, device="cuda")
    if not chunk:
        return render_rays(field, *rays, samples)
    return torch.cat([render_rays(field, o, d, samples) for o, d in zip(rays[0].split(chunk), rays[1].split(chunk))])


@job(13, "a whole image of rays is rendered at once", dict(side=800, samples=Scaled(192), chunk=0, rays=4096),
     [change("32768 rays at a time", "P142 P09 P135", chunk=32768), change("half the side of the image", "P37 P126", side=400)], dump="observer")
def nerf_render(args, watch):
    field = Field().cuda()
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-4)
    watch(model=field, optimizer=optimizer)
    for _ in range(3):
        rays = torch.zeros(args.rays, 3, device="cuda"), torch.ones(args.rays, 3, device="cuda")
        F.mse_loss(render_rays(field, *rays, args.samples), torch.zeros(args.rays, 3, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
    render_image(field, args.side, args.samples, args.chunk)


# ---- one-hot volumes ----------------------------------------------------------------------------------------------------------------


class TinyUNet3d(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.inp = nn.Conv3d(1, 16, 3, padding=1)
        self.down = nn.Conv3d(16, 64, 4, 4)
        self.up = nn.ConvTranspose3d(64, 16, 4, 4)
        self.out = nn.Conv3d(16, classes, 1)

    def forward(self, x):
        h = F.relu(self.inp(x))
        return self.out(h + self.up(F.relu(self.down(h))))


def dice_loss(logits, labels, one_hot):
    probs = logits.softmax(1)
    if one_hot:
        target = F.one_hot(labels, logits.shape[1]).permute(0, 4, 1, 2, 3).float()
        overlap = (probs * target).sum((2, 3, 4))
        return 1 - (2 * overlap / (probs.sum((2, 3, 4)) + target.sum((2, 3, 4)) + 1)).mean()
    overlap = probs.gather(1, labels[:, None]).sum((1, 2, 3, 4))
    return 1 - (2 * overlap / (probs.sum((1, 2, 3, 4)) + labels[0].numel())).mean()


@job(14, "one-hot targets of 105 organs in 64-bit integers", dict(batch=Scaled(10), one_hot=True),
     [change("no one-hot: gather the probability of the label", "P142", one_hot=False), change("half the batch", "P02", batch=Scaled(5))])
def organs(args, watch):
    model = TinyUNet3d(105).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        volume = torch.randn(args.batch, 1, 160, 160, 160, device="cuda")
        labels = torch.zeros(args.batch, 160, 160, 160, dtype=torch.long, device="cuda")
        dice_loss(model(volume), labels, args.one_hot).backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- a Jacobian row by row, all rows at once ----------------------------------------------------------------------------------------


class Decoder(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.inp = nn.Linear(256, ch * 16 * 16)
        self.convs = nn.ModuleList(nn.Conv2d(ch, ch, 3, padding=1) for _ in range(3))
        self.out = nn.Conv2d(ch, 3, 3, padding=1)
        self.ch = ch

    def forward(self, z):
        x = self.inp(z).view(-1, self.ch, 16, 16)
        for conv in self.convs:
            x = F.interpolate(F.softplus(conv(x)), scale_factor=2 if x.shape[-1] < 64 else 1)
        return self.out(x).flatten()


@job(23, "the Jacobian of a decoder's 12288 outputs in one vmap", dict(ch=Scaled(160), chunk=0, forward=False),
     [change("512 rows at a time", "P142 P135", chunk=512), change("forward mode: 256 inputs instead of 12288 outputs", "", forward=True)], stacks="all", entries=10000)
def jacobian(args, watch):
    model = Decoder(args.ch).cuda()
    watch(model=model)
    z = torch.randn(256, device="cuda")
    model.requires_grad_(False)
    if args.forward:
        torch.func.jacfwd(model)(z)
    else:
        torch.func.jacrev(model, chunk_size=args.chunk or None)(z)


# ---- attention over a graph ---------------------------------------------------------------------------------------------------------


@job(15, "a graph attention network over all edges at once", dict(nodes=2_000_000, edges=Scaled(40_000_000), heads=8),
     [change("an eighth of the graph at a time", "P126 P02 P135", edges=Scaled(5_000_000), nodes=250_000), change("two heads", "", heads=2)], libs=("torch_geometric.nn",))
def graph_attention(args, watch):
    from torch_geometric.nn import GATConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = GATConv(64, 32, heads=args.heads, add_self_loops=False)
            self.conv2 = GATConv(32 * args.heads, 32, heads=1, add_self_loops=False)

        def forward(self, x, edge_index):
            return self.conv2(F.elu(self.conv1(x, edge_index)), edge_index)

    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x = torch.randn(args.nodes, 64, device="cuda")
    edge_index = torch.randint(0, args.nodes, (2, args.edges), device="cuda")
    watch(model=model, optimizer=optimizer, graph=[x, edge_index])
    for _ in range(2):
        out = model(x, edge_index)
        F.cross_entropy(out, torch.zeros(args.nodes, dtype=torch.long, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- speech: attention written out --------------------------------------------------------------------------------------------------


@job(16, "a Whisper encoder with eager attention", dict(batch=Scaled(16), attention="eager", checkpointing=False),
     [change("SDPA attention", "P15", attention="sdpa"), change("gradient checkpointing", "P01", checkpointing=True), change("half the batch", "P02", batch=Scaled(8))],
     libs=("transformers",), config=(".yaml", "model: whisper-medium\nattn_implementation: eager\nper_device_train_batch_size: 16\ngradient_checkpointing: false\n"))
def whisper_encoder(args, watch):
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=1024, encoder_layers=24, encoder_attention_heads=16, encoder_ffn_dim=4096, decoder_layers=2, decoder_attention_heads=16, decoder_ffn_dim=4096)
    config._attn_implementation = args.attention
    with torch.device("cuda"):
        model = WhisperModel(config)
    model.train()
    if args.checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        features = torch.randn(args.batch, 80, 3000, device="cuda")
        out = model(input_features=features, decoder_input_ids=torch.zeros(args.batch, 32, dtype=torch.long, device="cuda"), use_cache=False)
        out.last_hidden_state.float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        del out
