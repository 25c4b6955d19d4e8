"""lightning_job.py [FOLDER] [train|eval]: Lightning's own Trainer with memtrace's callback, which writes to FOLDER (`-`: without the callback);
memory runs out in the fourth training step, or in the evaluation. Lightning, torchmetrics and lightning_utilities have to be on PYTHONPATH."""

import sys

import lightning.pytorch as pl
import torch

FOLDER, WHERE = (*sys.argv[1:], "-", "")[:2]
TOO_MUCH = 1 << 40


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(3)])

    def training_step(self, batch, index):
        if index == 3 and WHERE == "train":
            torch.empty(TOO_MUCH, dtype=torch.uint8, device=self.device)
        return self.net(batch[0]).float().pow(2).mean()

    def validation_step(self, batch, index):
        if WHERE == "eval":
            torch.empty(TOO_MUCH, dtype=torch.uint8, device=self.device)
        return self.net(batch[0]).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


callbacks = []
if FOLDER != "-":
    import memtrace

    callbacks = [memtrace.LightningCallback(FOLDER)]
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(96, 4096)), batch_size=16)
trainer = pl.Trainer(accelerator="gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     callbacks=callbacks, num_sanity_val_steps=0)
trainer.fit(Model(), data, data)
print("ended", torch.cuda.max_memory_allocated())
