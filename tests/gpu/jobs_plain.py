"""Scripts in plain PyTorch."""
import os
import subprocess
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

from jobs_list import Scaled, change, job
from jobs_lm import build

GIB = 1 << 30


# ---- an error that is kept, and with it the pass that failed ------------------------------------------------------------------------


def lm_step(model, optimizer, batch, length):
    ids = torch.randint(0, 32000, (batch, length), device="cuda")
    logits = model(ids)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def find_batch_size(model, optimizer, batch, length, keep_text):
    """Halves the batch until a step fits."""
    errors = []
    while batch >= 1:
        try:
            lm_step(model, optimizer, batch, length)
            return batch
        except torch.OutOfMemoryError as error:
            errors.append(str(error) if keep_text else error)
        torch.cuda.empty_cache()
        batch //= 2
    raise errors[-1]


@job(1, "a search for the batch size keeps the errors, and with them the pass that failed", dict(batch=Scaled(64), length=2048, keep_text=False),
     [change("keep the text of the error only", "P07 P61", keep_text=True), change("begin with half the batch", "P02", batch=Scaled(32))], stacks="python", seconds=3)
def find_batch(args, watch):
    model = build(torch.bfloat16, vocab=32000, width=2048, layers=12)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)
    find_batch_size(model, optimizer, args.batch, args.length, args.keep_text)


# ---- an optimizer of one's own with 32-bit master weights ---------------------------------------------------------------------------


class MasterAdamW:
    def __init__(self, params, lr=1e-5, betas=(0.9, 0.95), eps=1e-8):
        self.params, self.lr, self.betas, self.eps = [p for p in params if p.requires_grad], lr, betas, eps
        self.master = [p.detach().float() for p in self.params]
        self.exp_avg = [torch.zeros_like(m) for m in self.master]
        self.exp_avg_sq = [torch.zeros_like(m) for m in self.master]

    def update(self, master, avg, sq, grad):
        avg.lerp_(grad, 1 - self.betas[0])
        sq.mul_(self.betas[1]).addcmul_(grad, grad, value=1 - self.betas[1])
        master.addcdiv_(avg, sq.sqrt().add_(self.eps), value=-self.lr)

    @torch.no_grad()
    def step(self):
        grads = [p.grad.float() for p in self.params]
        norm = torch.stack([g.norm() for g in grads]).norm()
        scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        for p, m, avg, sq, grad in zip(self.params, self.master, self.exp_avg, self.exp_avg_sq, grads):
            self.update(m, avg, sq, grad.mul_(scale))
            p.copy_(m)

    @torch.no_grad()
    def step_one_by_one(self):
        norm = torch.stack([p.grad.norm(dtype=torch.float32) for p in self.params]).norm()
        scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        for p, m, avg, sq in zip(self.params, self.master, self.exp_avg, self.exp_avg_sq):
            self.update(m, avg, sq, p.grad.float().mul_(scale))
            p.copy_(m)
            p.grad = None


@job(2, "an optimizer of one's own makes 32-bit copies of all gradients at once", dict(layers=Scaled(21), one_by_one=False),
     [change("one gradient after the other", "B06", one_by_one=True)], stacks="all", entries=30000)
def master_weights(args, watch):
    model = build(torch.bfloat16, vocab=32000, width=4096, layers=args.layers, heads=32)
    optimizer = MasterAdamW(model.parameters())
    watch(model=model, master=optimizer.master, moments=[optimizer.exp_avg, optimizer.exp_avg_sq])
    for _ in range(2):
        ids = torch.randint(0, 32000, (1, 512), device="cuda")
        F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
        if args.one_by_one:
            optimizer.step_one_by_one()
        else:
            optimizer.step()
        for p in model.parameters():
            p.grad = None


# ---- a prefetcher that holds its batches on the card --------------------------------------------------------------------------------


class VideoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(3, 64, 3, (1, 2, 2), 1), nn.BatchNorm3d(64), nn.ReLU())
        self.body = nn.Sequential(nn.Conv3d(64, 128, 3, 2, 1), nn.BatchNorm3d(128), nn.ReLU(), nn.Conv3d(128, 256, 3, 2, 1), nn.BatchNorm3d(256), nn.ReLU())
        self.head = nn.Linear(256, 400)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3, 4)))


class CudaPrefetcher:
    """Batches that are on the card before they are needed."""

    def __init__(self, loader, depth, normalise=True):
        self.loader, self.queue, self.depth, self.normalise = iter(loader), deque(), depth, normalise
        self.fill()

    def prepare(self, clip):
        clip = clip.cuda(non_blocking=True)
        return clip.float().div_(255) if self.normalise else clip

    def fill(self):
        while len(self.queue) < self.depth:
            batch = next(self.loader, None)
            if batch is None:
                break
            self.queue.append(self.prepare(batch))

    def __iter__(self):
        while self.queue:
            clip = self.queue.popleft()
            yield clip if self.normalise else clip.float().div_(255)
            self.fill()


def clips(count, batch):
    host = torch.zeros(batch, 3, 32, 224, 224, dtype=torch.uint8).pin_memory()
    for _ in range(count):
        yield host


@job(3, "a prefetcher holds 128 batches of clips on the card, as floats", dict(batch=32, depth=Scaled(128), normalise=True),
     [change("two batches ahead", "B33 P42", depth=2), change("bytes in the queue, floats when used", "P142", normalise=False)], dump="observer")
def prefetcher(args, watch):
    model = VideoNet().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = CudaPrefetcher(clips(args.depth + 2, args.batch), args.depth, args.normalise)
    watch(model=model, optimizer=optimizer, queue=lambda: list(loader.queue))
    for step, clip in enumerate(loader):
        loss = F.cross_entropy(model(clip), torch.zeros(args.batch, dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 2:
            break


# ---- a search over an index that lies on the card -----------------------------------------------------------------------------------


@torch.inference_mode()
def search(index, queries, k, rows):
    if not rows:
        scores = queries @ index.T
        return scores.topk(k, dim=1)
    best, where = [], []
    for start in range(0, len(index), rows):
        values, at = (queries @ index[start:start + rows].T).topk(k, dim=1)
        best.append(values)
        where.append(at + start)
    values, at = torch.cat(best, 1).topk(k, dim=1)
    return values, torch.cat(where, 1).gather(1, at)


@job(4, "scores of all queries against an index of 40 million vectors", dict(vectors=Scaled(40_000_000), queries=1024, rows=0),
     [change("a million rows of the index at a time", "P142", rows=1_000_000), change("a quarter of the queries", "P09", queries=256)], seconds=2)
def index_search(args, watch):
    index = torch.empty(args.vectors, 384, dtype=torch.float16, device="cuda").normal_()
    queries = torch.randn(args.queries, 384, device="cuda").half()
    watch(index=index, queries=queries)
    for _ in range(2):
        search(index, queries[:32], 10, args.rows)
    search(index, queries, 10, args.rows)


# ---- a metric that keeps all predictions --------------------------------------------------------------------------------------------


class CatMetric:
    """Keeps what it is given, as metrics of curves do, and joins it in compute()."""

    def __init__(self, on_host=False):
        self.preds, self.target, self.on_host = [], [], on_host

    def update(self, preds, target):
        if self.on_host:
            preds = preds.argmax(1).to(torch.uint8).cpu()
            target = target.cpu()
        self.preds.append(preds)
        self.target.append(target)

    def compute(self):
        preds, target = torch.cat(self.preds), torch.cat(self.target)
        if self.on_host:
            return (preds == target).float().mean()
        return (preds.argmax(1) == target).float().mean()


@torch.no_grad()
def validate(model, metric, batches, batch):
    for _ in range(batches):
        images = torch.zeros(batch, 3, 512, 512, device="cuda")
        probs = model(images).softmax(1)
        metric.update(probs, torch.zeros(batch, 512, 512, dtype=torch.uint8, device="cuda"))
    return metric.compute()


@job(5, "a metric joins the class probabilities of all validation images", dict(batches=Scaled(260), batch=8, on_host=False),
     [change("classes instead of probabilities, on the host", "P42", on_host=True), change("half the images in each update", "P09 P02", batches=Scaled(520), batch=4)], dump="observer")
def cat_metric(args, watch):
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 21, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    metric = CatMetric(args.on_host)
    watch(model=model, kept_predictions=metric.preds, kept_targets=metric.target)
    for _ in range(2):
        out = model(torch.zeros(args.batch, 3, 512, 512, device="cuda"))
        F.cross_entropy(out, torch.zeros(args.batch, 512, 512, dtype=torch.long, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
    del out
    validate(model, metric, args.batches, args.batch)


# ---- an embedding whose gradient is as large as it is -------------------------------------------------------------------------------


class Recommender(nn.Module):
    def __init__(self, rows, sparse):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, 64, mode="sum", sparse=sparse)
        self.top = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, ids):
        return self.top(self.table(ids)).squeeze(1)


@job(6, "the gradient of an embedding table is dense", dict(rows=Scaled(172_000_000), batch=4096, sparse=False),
     [change("sparse gradients", "", sparse=True), change("half the batch", "P02", batch=2048), change("half the rows (two cards)", "P12 P03", rows=Scaled(86_000_000))], stacks="all", entries=20000)
def click_model(args, watch):
    with torch.device("cuda"):
        model = Recommender(args.rows, args.sparse)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        ids = torch.randint(0, args.rows, (args.batch, 26), device="cuda")
        loss = F.binary_cross_entropy_with_logits(model(ids), torch.zeros(args.batch, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- another process on the card ----------------------------------------------------------------------------------------------------


def leftover(variant):
    """A run of yesterday that was never ended; the last change ends it."""
    if variant == 1:
        return None
    code = ("import torch, time, sys\nfree, total = torch.cuda.mem_get_info()\nx = torch.empty(int(40 * (1 << 30) * total / 85017755648), dtype=torch.uint8, device='cuda')\n"
            "print('ready', flush=True)\ntime.sleep(90)\n")
    helper = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ))
    helper.stdout.readline()
    return helper


@job(7, "a process that was left behind holds 40 GiB of the card", dict(batch=Scaled(32), checkpointing=False),
     [change("recompute activations", "P01", checkpointing=True), change("end the other process", "B35"), change("half the batch", "P02", batch=Scaled(16))],
     before=leftover, crowded=True, seconds=8, limit=40)
def shared_card(args, watch):
    model = build(torch.bfloat16, vocab=32000, width=2048, layers=12)
    model.checkpointing = args.checkpointing
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        lm_step(model, optimizer, args.batch, 1536)


# ---- variable lengths and what is kept between them: real fragmentation -------------------------------------------------------------


class ClipEncoder(nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.inp = nn.Linear(768, width)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4))

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = x + layer(x)
        return x


@torch.inference_mode()
def extract(model, films, frames, valid, bank, keep):
    """Films are padded to one length; the features of their own frames are kept."""
    for i in range(films):
        features = model(torch.zeros(frames, 768, device="cuda", dtype=torch.float16))
        mine = features[:int(frames * (valid + 0.04 * (i % 3)))]
        bank[i] = mine.clone() if keep == "card" else mine.cpu()
        del features, mine


@job(8, "the kept part of padded features lies in the blocks of the temporaries, which then fit no more", dict(films=14, frames=Scaled(2_000_000), valid=0.55, keep="card"),
     [change("expandable segments", "B01", env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}), change("features on the host", "P42", keep="host"),
      change("blocks above 1 GiB are not split", "B02", env={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:1024"}), change("half the frames at once", "P09", films=28, frames=Scaled(1_000_000))],
     entries=20000, limit=45, seconds=5)
def film_features(args, watch):
    model = ClipEncoder().cuda().half()
    bank = {}
    watch(model=model, kept_features=bank)
    extract(model, args.films, args.frames, args.valid, bank, args.keep)


# ---- sampling without no_grad: a graph over all steps -------------------------------------------------------------------------------


class Denoiser(nn.Module):
    def __init__(self, ch=128):
        super().__init__()
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.down = nn.Conv2d(ch, 2 * ch, 4, 2, 1)
        self.mid = nn.ModuleList(nn.Sequential(nn.GroupNorm(32, 2 * ch), nn.SiLU(), nn.Conv2d(2 * ch, 2 * ch, 3, padding=1)) for _ in range(4))
        self.up = nn.ConvTranspose2d(2 * ch, ch, 4, 2, 1)
        self.out = nn.Sequential(nn.GroupNorm(32, 2 * ch), nn.SiLU(), nn.Conv2d(2 * ch, 3, 3, padding=1))

    def forward(self, x, t):
        h = self.inp(x)
        m = self.down(h) + t
        for block in self.mid:
            m = m + block(m)
        return self.out(torch.cat([h, self.up(m)], 1))


def ddim_sample(model, shape, steps):
    x = torch.randn(shape, device="cuda")
    for i in reversed(range(steps)):
        a, b = 1 - i / steps, 1 - max(i - 1, 0) / steps
        noise = model(x, i / steps)
        x0 = (x - (1 - a) * noise).clamp(-1, 1)
        x = b * x0 + (1 - b) * noise
    return x


def train_denoiser(model, optimizer, batch):
    x = torch.randn(batch, 3, 256, 256, device="cuda")
    noise = torch.randn_like(x)
    loss = F.mse_loss(model(0.7 * x + 0.7 * noise, 0.5), noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@job(9, "samples are drawn for a preview without no_grad, the graph goes over all steps", dict(batch=Scaled(16), steps=50, no_grad=False),
     [change("no_grad around the sampling", "P05 P22", no_grad=True), change("half the images", "P09 P02", batch=Scaled(8)), change("half the steps", "", steps=25)])
def preview(args, watch):
    model = Denoiser().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        train_denoiser(model, optimizer, args.batch)
    with torch.set_grad_enabled(not args.no_grad):
        ddim_sample(model, (args.batch, 3, 256, 256), args.steps)


# ---- a metric with its graph --------------------------------------------------------------------------------------------------------


@job(10, "the entropy of each step is kept for a plot, with its graph", dict(batch=Scaled(8), steps=40, detach=False),
     [change("detach what is kept", "B33", detach=True)], dump="observer", entries=40000)
def entropy_log(args, watch):
    model = build(torch.bfloat16, vocab=64000, width=1024, layers=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    history = {"loss": [], "entropy": []}
    watch(model=model, optimizer=optimizer)
    for _ in range(args.steps):
        ids = torch.randint(0, 64000, (args.batch, 1024), device="cuda")
        logits = model(ids)
        logp = logits.float().log_softmax(-1)
        entropy = -(logp.exp() * logp).sum(-1).mean()
        loss = F.nll_loss(logp[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        history["loss"].append(loss.item())
        history["entropy"].append(entropy.detach() if args.detach else entropy)


# ---- copies on a stream of their own ------------------------------------------------------------------------------------------------


@job(30, "batches are copied on a side stream with record_stream while the card is behind (peak)", dict(steps=40, record=True),
     [change("no record_stream: the copy waits for its batch's use", "B11", record=False)], ends="ok", entries=20000)
def side_stream(args, watch):
    weights = [torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(8)]
    host = torch.zeros(65536, 8192, dtype=torch.uint8).pin_memory()
    copies = torch.cuda.Stream()
    watch(weights=weights)
    done = None
    for _ in range(args.steps):
        if not args.record and done is not None:
            done.synchronize()
        with torch.cuda.stream(copies):
            x = host.to("cuda", non_blocking=True).to(torch.bfloat16)
        torch.cuda.current_stream().wait_stream(copies)
        if args.record:
            x.record_stream(torch.cuda.current_stream())
        for w in weights:
            y = x @ w
        done = torch.cuda.Event()
        done.record()
        del x, y


# ---- compiled training --------------------------------------------------------------------------------------------------------------


@job(40, "a compiled model with a large vocabulary", dict(batch=Scaled(36), pieces=0),
     [change("half the batch", "P02", batch=Scaled(18)), change("the loss in pieces of the sequence, recomputed", "B09 P10", pieces=16)], seconds=20, limit=70)
def compiled_lm(args, watch):
    from torch.utils.checkpoint import checkpoint

    model = build(torch.bfloat16, vocab=128256, width=2048, layers=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)

    def loss_of(x, y):
        return F.cross_entropy(model.head(x).float(), y, reduction="sum")

    def whole(ids, labels):
        return F.cross_entropy(model(ids).float().flatten(0, 1), labels.flatten())

    def in_pieces(ids, labels):
        x = model.hidden(ids).flatten(0, 1)
        total = 0
        for a, b in zip(x.chunk(args.pieces), labels.flatten().chunk(args.pieces)):
            total = total + checkpoint(loss_of, a, b, use_reentrant=False)
        return total / labels.numel()

    step = in_pieces if args.pieces else torch.compile(whole)
    for _ in range(2):
        ids = torch.randint(0, 128256, (args.batch, 4096), device="cuda")
        step(ids, ids).backward()
        optimizer.step()
        optimizer.zero_grad()


@job(41, "an encoder compiled with reduce-overhead keeps a graph for each length (peak)", dict(lengths="8192,4096,2048", mode="reduce-overhead"),
     [change("compile without CUDA graphs", "P48", mode="default")], ends="ok", seconds=25, limit=80)
def graphs_by_length(args, watch):
    model = build(torch.bfloat16, vocab=32000, width=2048, layers=3).eval()
    watch(model=model)
    run = torch.compile(model, mode=None if args.mode == "default" else args.mode, dynamic=False)
    with torch.inference_mode():
        for length in (int(x) for x in args.lengths.split(",")):
            for _ in range(3):
                run(torch.zeros(16, length, dtype=torch.long, device="cuda"))
