"""One process of a job: its model, its engine, and the phases that a script calls one after the other."""

from contextlib import contextmanager

from . import places as at
from . import places_rl
from .record import GIB, MIB, Counted, Counter, NoStacks, Run, Truth
from .shapes import SHAPES, fused_params, layer_ops, layer_params, outer_params

COMM = 139910000000  # the handle of a side stream
DEFAULTS = {
    "framework": "verl", "backend": "fsdp2", "engine": None, "shape": "qwen3_8b", "layers": 4,
    "bucket_elements": 0, "param_bytes": 4, "grad_bytes": 4, "state_bytes": 4, "dp": 8, "tp": 1,
    "micro": (4096,), "logp": (4096,), "cap": None, "steps": 2, "begin": ("init",), "step": ("train_actor",), "end": (),
    "checkpointing": True, "act_offload": False, "reshard": True, "defer_sync": False, "ckpt": "whole", "outputs": True, "stream_wait": 2,
    "fused_head": False, "entropy": True, "chunk": 0, "entropy_in_train": False, "entropy_checkpointing": False,
    "loss_chunk": 0, "loss_parts": 0, "optimizer": "foreach", "clip_copy": False, "lora": False,
    "param_offload": False, "optim_offload": False, "offload_policy": False, "zero_grad": True, "padding": 0,
    "weights_tp": 1, "engine_layers": None, "kv": 2 * GIB, "kv_step": None, "sleep": True, "graph_sizes": (), "batched": 8192,
    "running": 256, "prompt_logprobs": 0, "draft": 0, "experts": 0, "requests": 0, "weights_split": False, "prefill": 8192,
    "sync": "stream", "bucket": 512 * MIB, "buckets": 2, "leak": 0, "leak_where": "train_actor", "foreign": 0,
    "foreign_later": 0,
    "share": 0, "card": 0, "eval_batches": 4, "eval_keep": False, "eval_grad": False, "autocast": False, "scores": 0, "scores_by": "python", "ema": False, "tunes": 0, "first_stage": False, "reduce_bytes": 4, "full_load": False, "collective": 0, "skew": 1.0,
    "expandable": False, "conf": "", "mode": "all", "ring": 0, "free_stacks": True, "script": None, "seed": 7,
    "last_micro": None, "in_backward": False, "quantized": False, "reference": False, "one_unit": False,
}
POOLS = {"weights": (0, 1), "kv": (0, 2), "graph": (0, 3)}


class Job:
    def __init__(self, spec, capacity=None, dry=False):
        unknown = set(spec) - set(DEFAULTS)
        if unknown:
            raise KeyError("no such switch: " + ", ".join(sorted(unknown)))
        self.__dict__.update(DEFAULTS, **spec)
        self.places, self.shape_ = getattr(places_rl, self.framework, None) or getattr(at, self.framework), SHAPES[self.shape]
        self.eng = getattr(at, self.engine) if self.engine else None
        self.truth = Truth()
        extra = {"compile_context": "N/A", "user_metadata": ""} if self.mode == "all" else None
        self.run = Run(capacity or 0, self.seed, mode=self.mode, expandable=self.expandable, conf=self.conf, extra=extra,
                       ring=self.ring, free_stacks=self.free_stacks)
        if dry:
            self.run.stacks = NoStacks()
            self.run.call = self.run.stacks.call
            self.run.gpu = Counter(self.truth)
        else:
            self.run.gpu = Counted(self.truth, capacity, self.run.clock, expandable=self.expandable, extra=extra)
        self.run.gpu.capacity -= self.foreign
        self.thread = self.node = None
        self.params, self.grads, self.states, self.held, self.main = [], [], [], [], []
        self.weights, self.cache, self.extra_grads, self.away = [], [], [], []
        self.copies = {}  # of the weights in 16 bits, by group
        self.asleep = 0

    # -- allocation, on the main thread or on that of autograd
    def new(self, size, role, op="empty_memory_format", stream=0, pool=(0, 0)):
        size = int(size)
        if self.thread is None:
            block = self.run.new(size, op, stream, pool)
        else:
            block = self.run.grad(size, self.node, op, tuple(self.thread), stream)
        self.truth.add(block, size, role)
        return block

    def drop(self, *blocks):
        for block in blocks:
            if self.thread is None:
                self.run.drop(block)
            else:
                self.run.grad_drop(block, python=tuple(self.thread))

    def temp(self, size, role="temp", op="mm"):
        self.drop(self.new(size, role, op))

    def cross(self, block):
        """Used on another stream: its free completes some requests later."""
        self.run.gpu.record_stream(block, self.stream_wait)

    @contextmanager
    def call(self, *places):
        places = at.full(self.places["model"](p) if "model" in self.places else p for p in places)
        if self.thread is None:
            with self.run.call(*places):
                yield
        else:
            self.thread += places
            try:
                yield
            finally:
                del self.thread[len(self.thread) - len(places):]

    @contextmanager
    def autograd(self, node, *places):
        self.thread, self.node = list(at.full(places)), node
        try:
            yield
        finally:
            self.thread = None

    def empty_cache(self):
        if self.run.gpu.reserved:
            self.run.gpu.give_back(self.run.stacks.main("empty_cache"))

    def inside(self, where):
        self.truth.where = where

    # -- the script
    def play(self):
        if self.script:
            self.script(self)
            return
        for name in self.begin:
            self.phase(name)
        for step in range(self.steps):
            self.truth.step = step
            for name in self.step:
                self.phase(name)
            self.run.clock.idle(400000)
        for name in self.end:
            self.phase(name)

    def phase(self, name):
        self.inside(name)
        getattr(self, name)()

    # -- the trainer's model
    @property
    def sharded(self):
        return self.backend in ("fsdp2", "fsdp1", "zero3")

    def groups(self):
        """Elements of each weight by group: the outer ones, then one group a layer."""
        s = self.shape_
        inner = fused_params if self.backend == "megatron" else layer_params
        outer = outer_params(s)
        return [outer[:1] if self.first_stage else outer] + [inner(s)] * self.layers  # the head is in the last stage

    def shards(self):
        for number, group in enumerate(self.groups()):
            parts = [sum(group)] if self.backend == "fsdp1" else group
            for n in parts:
                if self.backend == "megatron":
                    n //= self.tp
                yield number, max(1, n // self.dp) if self.sharded else n

    def total(self):
        return sum(sum(g) for g in self.groups()) // (self.tp if self.backend == "megatron" else 1)

    def init(self):
        with self.call(*self.places["init"]):
            if self.full_load:  # every rank builds the whole model before it is sharded
                with self.call("transformers/modeling_utils.py:4264 from_pretrained", at.MODULE + ":942 _apply"):
                    whole = [self.new(n * self.param_bytes, "param", "_to_copy") for g in self.groups() for n in g]
            else:
                whole = []
            self.make_params()
            self.drop(*whole)
        if self.ema:
            with self.call(*self.places["init"][:1], *at.AVERAGED):
                self.held += [self.new(n * self.width(number, n), "param", "clone") for number, n in self.shards()]
        if self.reference:  # the same model, loaded once more by the next line of the script
            place = self.places["init"]
            with self.call(place[0].replace(":212 ", ":213 "), *place[1:]):
                policy = self.params
                self.make_params()
                self.reference, self.params = self.params, policy

    def make_params(self):
        if self.backend == "megatron":
            with self.call(*at.MCORE["buffer"]):
                with self.call(*at.MCORE["param_data"]):
                    self.params = [self.new(self.total() * 2, "param", "zeros")]
                with self.call(*at.MCORE["grad_data"]):
                    self.main_grad = self.new(self.total() * self.grad_bytes, "grad", "zeros")
            with self.call(*at.MCORE["main"]):
                if self.optimizer != "cpu":
                    self.main = [self.new(n // self.dp * 4, "optim_state", "clone") for _, n in self.shards()]
            return
        if self.offload_policy:
            return
        with self.call(*(at.SHARDING[self.backend]["init"] if self.sharded else ())):
            self.params = [self.new(n * self.width(number, n), "param", "zeros") for number, n in self.shards()]
        if self.bucket_elements:
            with self.call(at.ZERO3 + "stage3.py:702 _setup_for_real_optimizer"):
                self.bucket = self.new(self.bucket_elements * 2, "grad_reduce", "empty_memory_format")
            with self.call(at.ZERO3 + "stage3.py:711 _setup_for_real_optimizer"):
                self.own_grads = self.new(MIB, "grad", "zeros")

    def width(self, group, n):
        """Bytes of a weight. Quantized: matrices of the layers have 4 bits each, and one byte of scale for 64 of them, 4 for 256 scales."""
        is_matrix = self.quantized and group > 0 and n > self.shape_.inner
        return 0.5 + 1 / 64 + 4 / (64 * 256) if is_matrix else self.param_bytes

    def gather(self, group, role="unsharded_param"):
        """Full parameters of one group, gathered on another stream. Returns what has to go after use."""
        if not self.sharded or (self.one_unit and group):
            return []
        sizes = [2 * n for g in (self.groups() if self.one_unit else self.groups()[group:group + 1]) for n in g]
        if self.backend != "fsdp2":
            with self.call(*at.SHARDING[self.backend]["gather" if self.thread is None else "gather_in"]):
                flat = self.new(sum(sizes), role, "empty_memory_format", COMM)
            self.cross(flat)
            return [flat]
        with self.call(*(at.PRE_FORWARD if self.thread is None else at.HOOK_IN)):
            with self.call(*at.GATHER):
                packed = self.new(sum(sizes), role, "empty_memory_format", COMM)
            with self.call(*at.COPY_OUT):
                full = [self.new(n, role, "empty_memory_format") for n in sizes]
                self.cross(packed)
                self.drop(packed)
        return full

    def release(self, blocks):
        if blocks:
            with self.call(*at.SHARDING[self.backend]["done" if self.thread is None else "done_in"]):
                self.drop(*blocks)

    @contextmanager
    def model(self, place):
        with self.call(*at.NN, at.GPT if self.backend == "megatron" else place):
            yield

    def layer(self, tokens, keep, role):
        """Forward of one layer; keep: what is saved for the backward stays. Returns the blocks that live on."""
        left, loose = [], []
        mega = self.backend == "megatron"
        where = {
            "norm": (at.HF_MODEL + ":60 forward",), "attn": (at.HF_MODEL + ":216 forward",),
                "mlp": (at.HF_MODEL + ":82 forward",),
            "layer": (),
        } if not mega else {
            "norm": (at.CORE + "transformer/torch_norm.py:40 forward",),
                "attn": (at.CORE + "transformer/attention.py:700 forward",),
            "mlp": (at.CORE + "transformer/mlp.py:180 forward",), "layer": (),
        }
        with self.call(*at.NN, at.MCORE_LAYER if mega else at.HF_MODEL + ":270 forward"):
            for module, size, op, saved in layer_ops(self.shape_, tokens, self.tp):
                inner = (at.NN + where[module]) if where[module] else ()
                if self.lora and inner and not mega:
                    inner += at.NN + ("peft/tuners/lora/layer.py:780 forward",)
                with self.call(*inner):
                    block = self.new(size, role if saved and keep else "recompute" if self.thread is not None else "temp", op)
                if saved and keep:
                    left.append(block)
                elif saved:
                    loose.append(block)
                else:
                    self.drop(block)
                if self.scores and op == "_flash_attention_forward" and size > 64 * tokens:
                    with self.call(*inner, *(() if self.scores_by != "python" else (at.HF_MODEL + ":180 eager_attention_forward",))):
                        (left if keep else loose).append(self.written_scores(tokens, role if keep else "temp"))
                if module == "layer" and loose and not keep:
                    self.drop(*loose[:-1])
                    loose = loose[-1:]
        return left if keep else loose

    def written_scores(self, tokens, role):
        """An attention without a fused kernel: sequences of self.scores tokens, 32 bits. The softmax stays for the backward."""
        size = tokens * self.scores * self.shape_.heads * 4
        if self.scores_by == "sdpa":  # in C++, behind a function that any module may call
            raw, soft = (self.new(size, what, "_scaled_dot_product_attention_math") for what in ("temp", role))
            self.drop(raw)
            return soft
        if self.scores_by == "operations":  # q @ k, torch.softmax() in a module's own forward
            raw, soft = self.new(size, "temp", "bmm"), self.new(size, role, "_softmax")
            self.drop(raw, self.new(tokens * self.shape_.heads * 64 * 4, "temp", "bmm"))  # the values, weighed
            return soft
        raw = self.new(size, "temp", "mm")
        with self.call("torch/nn/functional.py:2140 softmax"):
            soft = self.new(size, role, "_softmax")
        self.drop(raw)
        return soft

    # -- one micro-batch
    def forward(self, tokens, train):
        """Returns (gathered outer parameters, embedding output, per layer what is gathered and saved)."""
        outer_full = []
        layers, role = [], "activation" if train else "temp"
        if self.tunes and train:
            with self.call(*at.TUNING):
                self.drop(*[self.new(self.tunes, "temp", "empty_strided") for _ in range(3)])
        with self.model(at.HF_MODEL + ":508 forward"):
            outer_full = self.gather(0)
            hidden = self.new(tokens * self.shape_.hidden * 2, role, "embedding")
            for index in range(1, self.layers + 1):
                full = self.gather(index)
                self.cast(index)
                if train and self.checkpointing:
                    kept = self.checkpointed(tokens)
                else:
                    kept = self.layer(tokens, train, role)
                    if train and self.act_offload:
                        self.away.append([b.requested for b in kept])
                        self.drop(*kept)
                        kept = []
                if train and not self.reshard:
                    layers.append((full, kept))
                else:
                    self.release(full)
                    layers.append(([], kept))
                if not train:
                    self.drop(hidden)
                    hidden = kept[0]
        return outer_full, hidden, layers

    def cast(self, group):
        """Autocast's copies of the matrices of a group: made at their first use, kept until its context is left."""
        if not self.autocast or group in self.copies:
            return
        with self.call(*at.NN, at.HF_MODEL + ":270 forward", *at.NN, at.LINEAR):
            made = self.copies[group] = []
            for n in self.groups()[group]:
                if n > self.shape_.inner:
                    made.append(self.new(n * 2, "param_cast", "cached_cast"))
                    self.temp(512)  # what is computed with it

    def leave_autocast(self):
        for blocks in self.copies.values():
            self.drop(*blocks)
        self.copies = {}

    def checkpointed(self, tokens):
        """The output of the layer stays, as the input of the next one; the rest goes and comes back in the backward."""
        with self.call(*(at.MCORE_CHECKPOINT if self.backend == "megatron" else at.CHECKPOINT)):
            kept = self.layer(tokens, False, "activation")
            out = self.new(tokens * self.shape_.hidden * 2, "activation", "add_Tensor")
            self.drop(*kept)
        if not self.act_offload:
            return [out]
        with self.call("verl/utils/activation_offload.py:120 tensor_push"):
            self.cross(out)
            self.drop(out)
        return []

    def head(self, tokens, train, place, critic=False):
        """Logits and what is made of them. Returns the blocks that the backward needs."""
        vocab = self.shape_.vocab // self.tp
        if critic:
            with self.model(at.HF_MODEL + ":600 forward"):
                return [self.new(tokens * 4, "activation" if train else "temp", "mm")]
        if self.fused_head:
            with self.call("verl/utils/experimental/torch_functional.py:90 forward"):
                for _ in range(4):
                    self.temp(1024 * vocab * 4, "logits", "mm")
            return []
        if train and self.loss_parts:
            for _ in range(self.loss_parts):
                self.inside(place + "/loss")
                self.drop(*self.loss(tokens // self.loss_parts, vocab, self.logits(tokens // self.loss_parts, vocab)))
            return []
        logits = self.logits(tokens, vocab)
        self.inside(place + "/loss" if train else place)
        if not train:
            self.logprobs(tokens, vocab, logits)
            return []
        return self.loss(tokens, vocab, logits)

    def logits(self, tokens, vocab):
        mega = self.backend == "megatron"
        with self.model(at.HF_MODEL + ":553 forward"), self.call(*(at.NN + ((at.MCORE_HEAD,) if mega else at.LM_HEAD))):
            return self.new(tokens * vocab * 2, "logits", "mm")

    def logprobs(self, tokens, vocab, logits):
        rows = self.chunk or tokens
        with self.call(*self.places["logprob"]):
            chosen = self.new(tokens * 4, "temp", "gather")
            if not self.entropy:
                for _ in range(0, tokens, self.loss_chunk or tokens):
                    wide = self.new(min(tokens, self.loss_chunk or tokens) * vocab * 4, "logits", "_to_copy")
                    soft = self.new(min(tokens, self.loss_chunk or tokens) * vocab * 4, "logits", "_log_softmax")
                    self.drop(wide, soft)
        if self.entropy:
            with self.call(*self.places["chunked" if self.chunk else "entropy"]):
                for _ in range(0, tokens, rows):
                    wide = self.new(min(rows, tokens) * vocab * 4, "logits", "_to_copy")
                    with self.call("torch/nn/functional.py:2140 softmax"):
                        soft = self.new(min(rows, tokens) * vocab * 4, "logits", "_softmax")
                    self.drop(soft, wide)
        self.drop(chosen, logits)

    def loss(self, tokens, vocab, logits):
        kept = [logits]
        with self.call(*self.places.get("loss", ())):
            with self.call(*self.places["logprob"]):
                wide = self.new(tokens * vocab * 4, "logits", "_to_copy")
                soft = self.new(tokens * vocab * 4, "logits", "_log_softmax")
                kept.append(self.new(tokens * 4, "temp", "gather"))
                self.drop(wide)
                kept.append(soft)
            if self.entropy_in_train:
                with self.call(*self.places["entropy"]), self.call("torch/nn/functional.py:2140 softmax"):
                    soft = self.new(tokens * vocab * 4, "logits", "_softmax")
                if self.entropy_checkpointing:
                    self.drop(soft)
                else:
                    kept.append(soft)
        return kept

    def backward_of_loss(self, tokens, vocab, kept):
        self.node = "GatherBackward0"  # zeros of the shape of its input, with the picked ones filled in
        picked = self.new(tokens * vocab * 4, "logits", "zeros")
        self.node = "LogSoftmaxBackward0"
        wide = self.new(tokens * vocab * 4, "logits", "_log_softmax_backward_data")
        self.drop(picked, *kept[1:])
        self.node = "ToCopyBackward0"
        narrow = self.new(tokens * vocab * 2, "logits", "_to_copy")
        self.drop(wide, kept[0])
        self.node = "MmBackward0"
        flow = self.new(tokens * self.shape_.hidden * 2, "temp", "mm")
        self.drop(narrow)
        return flow

    def backward(self, tokens, place, state, kept, last):
        outer_full, hidden, layers = state
        vocab = self.shape_.vocab // self.tp
        self.inside(place + "/backward")
        if self.backend == "megatron":
            with self.call(*self.places[place], SCHEDULE_BACKWARD, *at.ROOT_GRAD):
                root = self.new(4, "temp", "ones_like")
        else:
            with self.call(*self.places[place], *self.places.get("backward", ()), *at.ROOT_GRAD):
                root = self.new(4, "temp", "ones_like")
        with self.autograd("LogSoftmaxBackward0"):
            if len(kept) > 1:
                flow = self.backward_of_loss(tokens, vocab, kept)
            elif self.loss_parts and not self.fused_head:
                rows = tokens // self.loss_parts
                flow = self.new(tokens * self.shape_.hidden * 2, "temp", "mm")
                for _ in range(self.loss_parts):
                    self.drop(self.backward_of_loss(rows, vocab, self.loss(rows, vocab, self.logits(rows, vocab))))
            else:
                flow = self.new(tokens * self.shape_.hidden * 2, "temp", "mm")
                self.drop(*kept)
        for index in range(self.layers, 0, -1):
            flow = self.backward_layer(index, tokens, flow, layers, place, last)
        with self.autograd("EmbeddingBackward0"):
            self.weight_grads(0, place, last)
            self.drop(flow, hidden)
        if outer_full:
            with self.autograd("EmbeddingBackward0"):
                self.release(outer_full)
        with self.call(*self.places[place]):
            self.drop(root)

    def backward_layer(self, index, tokens, flow, layers, place, last):
        gathered, saved = layers.pop()
        if not gathered and self.sharded:
            with self.autograd("MmBackward0"):
                gathered = self.gather(index)
        if self.act_offload and not self.checkpointing:
            with self.autograd("MmBackward0", "torch/autograd/graph.py:330 unpack_from_cpu"):
                saved = [self.new(n, "activation", "_to_copy") for n in self.away.pop()]
        if self.checkpointing:
            if self.act_offload:
                with self.autograd("MmBackward0", "verl/utils/activation_offload.py:210 bulk_reload_group"):
                    saved = [self.new(tokens * self.shape_.hidden * 2, "activation", "_to_copy")]
            again = at.MCORE_RECOMPUTE if self.backend == "megatron" else at.RECOMPUTE
            with self.autograd("MmBackward0", *again):
                saved = saved + self.layer(tokens, True, "recompute")
        with self.autograd("MmBackward0"):
            for block in reversed(saved):
                step = self.new(block.requested, "temp", "mm")
                self.drop(flow, block)
                flow = step
            self.weight_grads(index, place, last)
            if gathered:
                self.release(gathered)
        return flow

    def weight_grads(self, index, place, last):
        """bf16 gradients of full weights; then what the backend makes of them."""
        if self.lora:
            return
        sizes = [n // (self.tp if self.backend == "megatron" else 1) for n in self.groups()[index]]
        if self.backend == "megatron":
            for n in sizes:
                self.temp(n * 2, "grad", "mm")
            return
        width = 2 if self.sharded else self.param_bytes
        fresh = [self.new(n * width, "grad", "mm") for n in sizes]
        if not self.sharded:
            if self.first_micro and not self.in_backward:
                self.grads += fresh
            else:
                self.drop(*fresh)
            return
        if self.defer_sync and not last:
            self.extra_grads += fresh
            return
        late, self.extra_grads = (self.extra_grads, []) if self.defer_sync and index == self.layers else ([],
        self.extra_grads)
        total = sum(sizes)
        with self.call(*at.SHARDING[self.backend]["out"]):
            bucket = self.new(total * self.reduce_bytes, "grad_reduce", "empty_memory_format", COMM)
        with self.call(*at.SHARDING[self.backend]["shard"]):
            if not self.offload_policy:
                parts = [n for number, n in self.shards() if number == index]
                shards = [self.new(n * self.grad_bytes, "grad", "empty_memory_format", COMM) for n in parts]
                if self.first_micro:
                    self.grads += shards
                else:
                    self.drop(*shards)
            self.drop(*fresh, *late)
            self.cross(bucket)
            self.drop(bucket)

    # -- training
    def train(self, place, tokens_list, critic=False):
        places = self.places[place]
        if self.param_offload or self.optim_offload:
            self.bring_back(place)
        self.first_micro = True
        for number, tokens in enumerate(tokens_list):
            last = number == len(tokens_list) - 1
            self.inside(place + "/forward")
            with self.call(*places, *self.places["micro"][place]):
                state = self.forward(tokens, True)
                kept = self.head(tokens, True, place, critic)
            if self.zero_grad == "late" and self.first_micro:
                self.forget_gradients(place, places)
            self.backward(tokens, place, state, kept, last)
            self.first_micro = False
        if self.backend == "megatron":
            with self.call(*places, *at.MCORE["reduce"]):
                self.inside(place + "/reduce")
                self.temp(min(self.total() // self.dp, 40000000) * 4, "grad_reduce", "reduce_scatter_tensor")
        self.optimizer_step(place)
        if self.leak and self.leak_where == place:
            with self.call(*places, at.ROOT + "recipe/metrics.py:41 append_metrics"):
                self.held.append(self.new(self.leak, "unknown", "stack"))
        if self.param_offload or self.optim_offload:
            self.put_away(place)

    def forget_gradients(self, place, places):
        """zero_grad is "late" where it is called between the forward and the backward of the next step."""
        self.inside(place + "/zero_grad")
        with self.run.annotate("Optimizer.zero_grad#AdamW.zero_grad"), self.call(*places, *at.ZERO):
            self.drop(*self.grads)
        self.grads = []

    def optimizer_step(self, place):
        places = self.places[place] if not self.places["step"][place][:1] == self.places[place][:1] else ()
        mega = self.backend == "megatron"
        step = self.places["step"][place] + (at.MCORE["step"] if mega else ())
        sizes = [max(1, n // self.dp) if mega else n for _, n in self.shards()]
        self.inside(place + "/clip")
        for block in self.run.gpu.delayed:  # the step waits for what the backward left on other streams
            block.wait = 0
        clip = at.MCORE["clip"] if mega else at.FLAT_CLIP if self.backend == "fsdp1" else self.places["clip"]
        outer = places if not clip[0] in self.places[place] else ()
        if self.framework in ("verl", "verl_new") and not mega:
            outer += self.places["step"][place]  # the norm is taken inside the step
        with self.call(*outer, *clip):
            if self.clip_copy:
                copies = [self.new(n * 4, "optim_temp", "_to_copy") for n in sizes]
                self.drop(*copies)
            else:
                self.drop(*[self.new(4, "temp", "linalg_vector_norm") for _ in sizes])
        self.inside(place + "/optimizer")
        with self.run.annotate("Optimizer.step#AdamW.step"), self.call(*places, *step, *at.ADAMW):
            self.update(sizes)
        if self.zero_grad is True and not mega:
            self.forget_gradients(place, places)

    def update(self, sizes):
        width = {"8bit": 1, "sgd": 0, "cpu": 0}.get(self.optimizer, self.state_bytes)
        if self.offload_policy or self.lora:
            width = 0
        if width and self.optimizer == "per_layer":  # states come from the host, one layer at a time
            per = len(sizes) // (self.layers + 1) or 1
            for first in range(0, len(sizes), per):
                with self.call(at.ROOT + "AReaL/areal/engine/fsdp_utils/optimizer.py:220 step",
                               at.ROOT + "AReaL/areal/engine/fsdp_utils/optimizer.py:180 _prefetch_layer"):
                    self.drop(*[self.new(n * width, "optim_state", "_to_copy") for n in sizes[first:first + per] for _ in (0,
                    1)])
            return
        if width and not self.states:
            with self.call(*at.INIT_GROUP):
                self.states = [self.new(n * width, "optim_state", "zeros_like") for n in sizes for _ in (0, 1)]
        if self.optimizer == "foreach" and width:
            with self.call(*at.FOREACH):
                self.drop(*[self.new(n * self.param_bytes, "optim_temp", "_foreach_sqrt") for n in sizes])

    def train_actor(self):
        if self.collective:
            self.inside("train_actor/comm")
            wrap = self.places.get("collective", ())
            with self.call(*self.places["train_actor"], *wrap,
                "torch/distributed/distributed_c10d.py:3800 all_gather_into_tensor"):
                self.temp(self.collective, "comm", "empty_memory_format")
        self.train("train_actor",
        self.budget(self.last_micro if self.last_micro and self.truth.step == self.steps - 1 else self.micro))

    def train_critic(self):
        self.train("train_critic", self.budget(self.micro), critic=True)

    def budget(self, tokens):
        """Micro-batches cut to the token budget, the way dynamic batching packs them."""
        out = []
        for n in tokens:
            n = int(n * self.skew)
            cap = self.cap or n
            while n > 0:
                out.append(min(n, cap))
                n -= cap
        return out

    def only_forward(self, place, critic=False):
        for tokens in self.budget(self.logp):
            self.inside(place)
            with self.call(*self.places[place]):
                outer_full, hidden, _ = self.forward(tokens, False)
                kept = self.head(tokens, False, place, critic)
                self.drop(hidden, *kept)
                self.release(outer_full)

    def logp_old(self):
        self.only_forward("logp_old")

    def logp_ref(self):
        self.only_forward("logp_ref")

    def logp_step(self):
        self.inside("logp")
        self.only_forward("logp")

    def values(self):
        self.only_forward("values", critic=True)

    # -- moving the model between phases
    def bring_back(self, place):
        self.inside(place + "/onload")
        with self.call(*self.places[place]):
            if self.param_offload and not self.params:
                with self.call(*self.places["onload"]["param"]):
                    if self.backend == "megatron":
                        self.params = [self.new(self.total() * 2, "param", "_to_copy")]
                        self.main_grad = self.new(self.total() * self.grad_bytes, "grad", "zeros")
                    else:
                        self.params = [self.new(n * self.param_bytes, "param", "_to_copy") for _, n in self.shards()]
            if self.optim_offload and self.away_states:
                with self.call(*self.places["onload"]["optim"]):
                    self.states = [self.new(n, "optim_state", "_to_copy") for n in self.away_states]
                    self.main = [self.new(n, "optim_state", "_to_copy") for n in self.away_main]

    away_states = away_main = ()

    def put_away(self, place):
        self.inside(place + "/offload")
        with self.call(*self.places[place]):
            if self.param_offload:
                with self.call(*self.places["offload"]["param"]):
                    self.drop(*self.params)
                    self.params = []
                    if self.backend == "megatron":  # verl's offload_megatron_model_to_cpu lets the gradient buffer go too
                        self.drop(self.main_grad)
            if self.optim_offload:
                with self.call(*self.places["offload"]["optim"]):
                    self.away_states = [b.requested for b in self.states]
                    self.away_main = [b.requested for b in self.main]
                    self.drop(*self.states, *self.main)
                    self.states, self.main = [], []
            self.empty_cache()


SCHEDULE_BACKWARD = at.CORE + "pipeline_parallel/schedules.py:455 backward_step"
