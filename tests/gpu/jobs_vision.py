"""Images and video."""
import torch
import torch.nn.functional as F
from torch import nn

from jobs_list import Scaled, change, job


@job(5, "a detector on images with ten thousand cells: anchors are compared with all boxes", dict(boxes=Scaled(10000), images=2),
     [change("crops with a quarter of the boxes", "P126 P110", boxes=Scaled(2500)), change("one image at a time", "P02", images=1)], libs=("torchvision", "torchvision.models.detection"))
def cell_detector(args, watch):
    from torchvision.models.detection import fasterrcnn_resnet50_fpn

    model = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=1024, max_size=1024).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    watch(model=model, optimizer=optimizer)
    for boxes in (200, args.boxes):
        corners = torch.rand(boxes, 2, device="cuda") * 1000
        targets = [{"boxes": torch.cat([corners, corners + 12], 1), "labels": torch.ones(boxes, dtype=torch.long, device="cuda")} for _ in range(args.images)]
        losses = model([torch.rand(3, 1024, 1024, device="cuda") for _ in range(args.images)], targets)
        sum(losses.values()).backward()
        optimizer.step()
        optimizer.zero_grad()


@job(27, "DeepLabV3 with 150 classes at 768 pixels in 32 bits", dict(batch=Scaled(36), amp=False),
     [change("half the batch", "P02", batch=Scaled(18)), change("bf16 autocast", "", amp=True)], libs=("torchvision", "torchvision.models.segmentation"), seconds=4,
     config=(".sh", "#!/bin/bash\npython3 train_segmentation.py --arch deeplabv3_resnet50 --classes 150 --crop-size 768 --batch-size 36\n"))
def street_segmentation(args, watch):
    from torchvision.models.segmentation import deeplabv3_resnet50

    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=150).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    watch(model=model, optimizer=optimizer)
    for _ in range(2):
        images, labels = torch.rand(args.batch, 3, 768, 768, device="cuda"), torch.zeros(args.batch, 768, 768, dtype=torch.long, device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=args.amp):
            loss = F.cross_entropy(model(images)["out"], labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@job(18, "ConvNeXt-L at 384 pixels with an averaged copy", dict(batch=Scaled(104), checkpointing=False, amp=False),
     [change("timm's set_grad_checkpointing()", "P01", checkpointing=True), change("half the batch", "P02", batch=Scaled(52)), change("bf16 autocast", "", amp=True)], libs=("timm",), seconds=5,
     config=(".sh", "#!/bin/bash\npython3 train.py --model convnext_large --img-size 384 --batch-size 104 --model-ema --model-ema-decay 0.9999\n"))
def convnext_ema(args, watch):
    import timm
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    model = timm.create_model("convnext_large", pretrained=False, num_classes=1000).cuda()
    model.set_grad_checkpointing(args.checkpointing)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watch(model=model, ema=ema, optimizer=optimizer)
    for _ in range(2):
        images = torch.rand(args.batch, 3, 384, 384, device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=args.amp):
            loss = F.cross_entropy(model(images), torch.zeros(args.batch, dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update_parameters(model)


# ---- super-resolution with a discriminator ------------------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1, self.conv2, self.act = nn.Conv2d(ch, ch, 3, padding=1), nn.Conv2d(ch, ch, 3, padding=1), nn.PReLU()

    def forward(self, x):
        return x + self.conv2(self.act(self.conv1(x)))


def generator():
    up = [layer for _ in range(2) for layer in (nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())]
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *[Residual(64) for _ in range(8)], *up, nn.Conv2d(64, 3, 3, padding=1))


def discriminator():
    layers, ch = [nn.Conv2d(3, 64, 3, padding=1), nn.LeakyReLU(0.2)], 64
    for _ in range(4):
        layers += [nn.Conv2d(ch, ch, 4, 2, 1), nn.BatchNorm2d(ch), nn.LeakyReLU(0.2), nn.Conv2d(ch, min(512, 2 * ch), 3, padding=1), nn.LeakyReLU(0.2)]
        ch = min(512, 2 * ch)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(ch, 1))


def features():
    layers, before = [], 3
    for ch in (64, 128, 256):
        layers += [nn.Conv2d(before, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        before = ch
    return nn.Sequential(*layers).requires_grad_(False)


@job(16, "a GAN: the discriminator's step keeps the generator's graph", dict(batch=Scaled(56), detach=False),
     [change("detach the generated image in the discriminator's step", "P05 P17", detach=True), change("half the batch", "P02", batch=Scaled(28))], stacks="all", entries=15000)
def super_resolution(args, watch):
    g, d, vgg = generator().cuda(), discriminator().cuda(), features().cuda()
    g_opt, d_opt = torch.optim.Adam(g.parameters(), lr=1e-4), torch.optim.Adam(d.parameters(), lr=1e-4)
    watch(generator=g, discriminator=d, perceptual=vgg, g_opt=g_opt, d_opt=d_opt)
    for _ in range(2):
        small, large = torch.rand(args.batch, 3, 128, 128, device="cuda"), torch.rand(args.batch, 3, 512, 512, device="cuda")
        fake = g(small)
        if args.detach:
            d_loss = F.softplus(-d(large)).mean() + F.softplus(d(fake.detach())).mean()
            d_loss.backward()
        else:
            d_real, d_fake = d(large), d(fake)
            d_loss = F.softplus(-d_real).mean() + F.softplus(d_fake).mean()
            d_loss.backward(retain_graph=True)
        d_opt.step()
        d_opt.zero_grad()
        for p in d.parameters():
            p.requires_grad_(False)
        g_loss = F.l1_loss(vgg(fake), vgg(large)) + 1e-3 * F.softplus(-d(fake)).mean()
        g_loss.backward()
        for p in d.parameters():
            p.requires_grad_(True)
        g_opt.step()
        g_opt.zero_grad()


# ---- video, with a mask of the padded frames ----------------------------------------------------------------------------------------


class VideoBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class VideoTransformer(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, frames=16):
        super().__init__()
        self.patch = nn.Linear(3 * 16 * 16, width)
        self.blocks = nn.ModuleList(VideoBlock(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, 174)
        self.recompute = False

    def forward(self, patches, mask):
        x = self.patch(patches)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, mask, use_reentrant=False) if self.recompute else block(x, mask)
        return self.head(x.mean(1))


@job(14, "a video transformer with a padding mask where only the math kernel is left on", dict(batch=Scaled(12), fused=False, mask=True, recompute=False),
     [change("the memory-efficient kernel is on again", "P45", fused=True), change("no mask: clips of one length", "P45", mask=False), change("recompute each block", "P01", recompute=True),
      change("half the batch", "P02", batch=Scaled(6))])
def video_mask(args, watch):
    if not args.fused:  # NaNs in the first epoch, see the ticket
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
            torch.backends.cuda.enable_cudnn_sdp(False)
    model = VideoTransformer().cuda().bfloat16()
    model.recompute = args.recompute
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model=model, optimizer=optimizer)
    for frames in (4, 16):
        tokens = frames * 196
        patches = torch.rand(args.batch, tokens, 768, device="cuda", dtype=torch.bfloat16)
        mask = torch.ones(args.batch, 1, 1, tokens, dtype=torch.bool, device="cuda").expand(-1, 12, tokens, -1) if args.mask else None
        F.cross_entropy(model(patches, mask).float(), torch.zeros(args.batch, dtype=torch.long, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- Lightning: validation outputs on the module ------------------------------------------------------------------------------------


@job(19, "a LightningModule keeps the logits of validation for the end of the epoch", dict(batches=Scaled(145), keep="logits"),
     [change("keep classes, on the host", "P42", keep="classes")], libs=("lightning",), seconds=6, limit=40, dump="observer",
     config=(".yaml", "trainer:\n  max_epochs: 1\n  precision: 32\ndata:\n  batch_size: 8\n"))
def lightning_validation(args, watch):
    import lightning.pytorch as pl

    class Segmenter(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 19, 1), nn.Upsample(scale_factor=4, mode="bilinear"))
            self.outputs = []

        def training_step(self, batch, _index):
            return F.cross_entropy(self.net(batch), torch.zeros(len(batch), 1024, 1024, dtype=torch.long, device=self.device))

        def validation_step(self, batch, _index):
            logits = self.net(batch)
            self.outputs.append(logits if args.keep == "logits" else logits.argmax(1).to(torch.uint8).cpu())

        def on_validation_epoch_end(self):
            if args.keep == "logits":
                self.log("val_max", torch.stack([x.max() for x in self.outputs]).mean())
            self.outputs.clear()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    class Images(torch.utils.data.Dataset):
        def __init__(self, count):
            self.count, self.image = count, torch.zeros(3, 256, 256)

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            return self.image

    model = Segmenter()
    watch(model=model, kept_outputs=model.outputs)
    trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(model, torch.utils.data.DataLoader(Images(16), batch_size=8), torch.utils.data.DataLoader(Images(8 * args.batches), batch_size=8))
