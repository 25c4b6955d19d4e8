"""Trainer of transformers, and adapters of PEFT."""
import dataclasses

import torch

from jobs_list import Scaled, change, job


class Texts(torch.utils.data.Dataset):
    """Token ids with labels, as a data set of instructions is after its preparation."""

    def __init__(self, count, length, vocab):
        self.count, self.ids = count, torch.randint(10, vocab, (length,))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"input_ids": self.ids, "labels": self.ids, "attention_mask": torch.ones_like(self.ids)}


def training_arguments(**settings):
    from transformers import TrainingArguments

    settings = dict(dict(output_dir="out", max_steps=2, logging_strategy="no", save_strategy="no", report_to="none", disable_tqdm=True, learning_rate=1e-5, lr_scheduler_type="constant",
                         dataloader_pin_memory=True), **settings)
    known = {f.name for f in dataclasses.fields(TrainingArguments)}
    return TrainingArguments(**{k: v for k, v in settings.items() if k in known})


def llama(layers, vocab=32000, hidden=2048, ffn=5632, heads=16, kv_heads=16, dtype=torch.float32):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=vocab, hidden_size=hidden, intermediate_size=ffn, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                         max_position_embeddings=8192, tie_word_embeddings=False, use_cache=False)
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(dtype)
    try:
        with torch.device("cuda"):
            model = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    return model.to(dtype)


@job(3, "Trainer: fine-tuning with bf16 and without gradient checkpointing", dict(batch=Scaled(18), accumulation=1, checkpointing=False),
     [change("gradient_checkpointing=True", "P01", checkpointing=True), change("half the batch, accumulated twice", "P02", batch=Scaled(9), accumulation=2)], libs=("transformers", "accelerate"),
     seconds=6, limit=45, config=(".yaml", "per_device_train_batch_size: 18\ngradient_accumulation_steps: 1\nmax_length: 2048\nbf16: true\noptim: adamw_torch_fused\ngradient_checkpointing: false\n"))
def sft(args, watch):
    from transformers import Trainer

    model = llama(22, kv_heads=4)
    trainer = Trainer(model=model, train_dataset=Texts(4096, 2048, 32000),
                      args=training_arguments(per_device_train_batch_size=args.batch, gradient_accumulation_steps=args.accumulation, bf16=True, gradient_checkpointing=args.checkpointing,
                                              optim="adamw_torch_fused"))
    watch(model=model)
    trainer.train()


@job(4, "Trainer: the evaluation's batch is 32 times that of the training", dict(eval_batch=Scaled(64)),
     [change("per_device_eval_batch_size=2", "P81 P09", eval_batch=2), change("half the evaluation's batch", "P81 P09", eval_batch=Scaled(32))], libs=("transformers", "accelerate"), seconds=6, limit=45,
     config=(".yaml", "per_device_train_batch_size: 2\nper_device_eval_batch_size: 64\neval_strategy: steps\neval_steps: 2\nmax_length: 1024\nbf16: true\n"))
def sft_eval(args, watch):
    from transformers import Trainer

    model = llama(12, vocab=128256, kv_heads=8)
    trainer = Trainer(model=model, train_dataset=Texts(64, 1024, 128256), eval_dataset=Texts(args.eval_batch * 2, 1024, 128256),
                      args=training_arguments(per_device_train_batch_size=2, per_device_eval_batch_size=args.eval_batch, bf16=True, eval_strategy="steps", eval_steps=2, optim="adamw_torch_fused"))
    watch(model=model)
    trainer.train()


@job(6, "Trainer: all weights in 32 bits, AdamW's states do not fit", dict(layers=Scaled(27), optim="adamw_torch", bits=32),
     [change("optim=adafactor", "B08", optim="adafactor"), change("weights in 16 bits", "P11 P50", bits=16), change("half the layers (two cards)", "P12 P03", layers=Scaled(13.5))],
     libs=("transformers", "accelerate"), seconds=8, limit=45, dump="observer",
     config=(".yaml", "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\noptim: adamw_torch\nbf16: false\nmax_length: 256\n"))
def full_finetune(args, watch):
    from transformers import Trainer

    model = llama(args.layers, hidden=4096, ffn=11008, heads=32, kv_heads=32, dtype=torch.float32 if args.bits == 32 else torch.bfloat16)
    trainer = Trainer(model=model, train_dataset=Texts(64, 256, 32000),
                      args=training_arguments(per_device_train_batch_size=1, gradient_accumulation_steps=2, optim=args.optim, max_grad_norm=0.0))
    watch(model=model)
    trainer.train()


@job(9, "PEFT: adapters on frozen weights that were loaded in 32 bits", dict(batch=Scaled(8), bits=32, checkpointing=False),
     [change("frozen weights in 16 bits", "P11 P50", bits=16), change("gradient_checkpointing=True", "P01", checkpointing=True), change("half the batch", "P02", batch=Scaled(4))],
     libs=("transformers", "accelerate", "peft"), seconds=8, limit=45,
     config=(".yaml", "per_device_train_batch_size: 8\nmax_length: 1024\nbf16: true\ngradient_checkpointing: false\nlora_r: 16\nlora_target_modules: all-linear\n"))
def lora_fp32(args, watch):
    from peft import LoraConfig, get_peft_model
    from transformers import Trainer

    model = llama(28, hidden=4096, ffn=11008, heads=32, kv_heads=8, dtype=torch.float32 if args.bits == 32 else torch.bfloat16)
    if args.checkpointing:
        model.enable_input_require_grads()
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"], task_type="CAUSAL_LM"))
    trainer = Trainer(model=model, train_dataset=Texts(512, 1024, 32000),
                      args=training_arguments(per_device_train_batch_size=args.batch, bf16=True, gradient_checkpointing=args.checkpointing, gradient_checkpointing_kwargs={"use_reentrant": False}, learning_rate=1e-4))
    watch(model=model)
    trainer.train()
