"""The inference engine, the hand-over of weights to it, checkpoints: the phases around training."""

from . import places as at
from .job import POOLS, Job
from .record import MIB, up
from .shapes import fused_params, outer_params


class Whole(Job):
    """A job with everything."""

    def pool(self, name):
        """Sleep mode keeps each kind in a pool of its own; without it there is only the common one. Graphs always have one."""
        return POOLS[name] if name == "graph" or (self.sleep and self.engine == "vllm") else (0, 0)

    def engine_weights(self, role="engine_weights", pool=None):
        s, tp = self.shape_, self.weights_tp
        n_layers = self.engine_layers or self.layers
        where = self.pool("weights") if pool is None else pool
        return [self.new(n * 2 // tp, role, "empty", pool=where)
                for group in [outer_params(s)] + [fused_params(s)] * n_layers for n in group]

    def within_engine(self, *places):
        outer = self.places["rollout"] if self.places.get("rollout") else ()
        return self.call(*outer, *self.eng["outer"], *places)

    def rollout_load(self):
        self.inside("rollout.load")
        with self.within_engine(*self.eng["load"]):
            self.weights = self.engine_weights()
        if self.draft:  # bytes of a draft model
            with self.within_engine(*self.eng["draft"]):
                self.held += [self.new(self.draft // 4, "engine_weights", "empty") for _ in range(4)]

    def rollout_profile(self):
        self.inside("rollout.profile")
        s, tokens = self.shape_, self.batched
        if self.experts:  # bytes for each token, in a workspace that stays
            with self.within_engine(*self.eng["profile"], *at.NN, *self.eng["experts"]):
                self.held.append(self.new(tokens * self.experts, "workspace", "empty"))
        with self.within_engine(*self.eng["profile"]):
            for index in range(3):
                with self.call(*at.NN, self.eng["model"] + ":%d forward" % (210 + index)):
                    self.drop(self.new(tokens * s.hidden * 2, "temp", "mm"),
                              self.new(tokens * 2 * s.inner // self.weights_tp * 2, "temp", "mm"),
                              self.new(tokens * s.inner // self.weights_tp * 2, "temp", "mul_Tensor"))
        with self.within_engine(*self.eng["profile_sampler"]):
            self.temp(self.running * s.vocab * 4, "temp", "_to_copy")

    def rollout_kv(self):
        self.inside("rollout.kv_alloc")
        layers = self.engine_layers or self.layers
        parts = layers * (2 if self.engine == "sglang" else 1)
        if self.share:  # of the card, and what the weights leave of it
            self.kv = int(self.share * self.card) - sum(b.requested for b in self.weights)
        if self.requests:  # a row of 32768 tokens for each
            with self.within_engine(*self.eng["table"]):
                self.held.append(self.new(self.requests * 32768 * 4, "kv_cache", "zeros"))
        with self.within_engine(*self.eng["kv"]):
            self.cache = [self.new(self.kv // parts, "kv_cache", "zeros", pool=self.pool("kv")) for _ in range(parts)]

    def rollout_graph(self):
        """The largest size first; smaller ones find room in the pool. What a graph needs at replay stays."""
        self.inside("rollout.graph")
        s = self.shape_
        with self.within_engine(*self.eng["graph"]):
            for size in sorted(self.graph_sizes, reverse=True):
                with self.call(*at.NN, self.eng["model"] + ":214 forward"):
                    kept = [self.new(size * s.hidden * 2, "graph_pool", "mm", pool=POOLS["graph"])]
                    kept += [self.new(size * s.inner // self.weights_tp * 4, "graph_pool", "mm", pool=POOLS["graph"])
                             for _ in range(self.engine_layers or self.layers)]
                    self.held += kept

    def rollout_init(self):
        self.rollout_load()
        self.rollout_profile()
        self.rollout_kv()
        if self.graph_sizes:
            self.rollout_graph()

    def generate(self):
        self.inside("rollout.generate")
        s = self.shape_
        outer = self.places["generate"] or ()
        for index in range(4):
            tokens, kind = (self.prefill, "prefill") if index == 0 else (self.running, "decode")
            with self.call(*outer, *self.eng["run"], *self.eng[kind]):
                hidden = self.new(tokens * s.hidden * 2, "temp", "mm")
                with self.call(*at.NN, self.eng["model"] + ":214 forward"):
                    gate = self.new(tokens * 2 * s.inner // self.weights_tp * 2, "temp", "mm")
                    after = self.new(tokens * s.inner // self.weights_tp * 2, "temp", "mul_Tensor")
                    self.drop(gate, after)
                if self.prompt_logprobs and index == 0:
                    with self.call(*self.eng["prompt_logprobs"]):
                        wide = self.new(self.prompt_logprobs * s.vocab * 4, "logits", "_to_copy")
                        soft = self.new(self.prompt_logprobs * s.vocab * 4, "logits", "_log_softmax")
                        self.drop(wide, soft)
                with self.call(*self.eng["logits"]):
                    logits = self.new(self.running * s.vocab * 4, "logits", "_to_copy")
                with self.call(*self.eng["sample"]):
                    probs = self.new(self.running * s.vocab * 4, "logits", "_softmax")
                    self.drop(probs)
                self.drop(logits, hidden)
            self.run.clock.idle(20000)

    def sleep_engine(self):
        """The driver unmaps the pools. PyTorch does not see it: its segments stay in the snapshot, the card has room."""
        self.inside("rollout.wake_sleep")
        if not self.sleep or self.asleep:
            return
        self.asleep = sum(up(b.requested, 2 * MIB) for b in self.weights + self.cache)
        if self.run.gpu.reserved:
            self.asleep = sum(s.size for s in self.run.gpu.segments if s.pool in (POOLS["weights"], POOLS["kv"]))
        self.run.gpu.capacity += self.asleep
        self.truth.rounded -= self.asleep
        self.truth.asleep = sum(b.requested for b in self.weights + self.cache)
        with self.call(*(self.places["sleep"] or self.eng["run"][:2]), *self.eng["sleep"]):
            self.temp(64 * 1024, "temp", "empty")
            self.empty_cache()

    def wake_engine(self):
        self.inside("rollout.wake_sleep")
        if self.asleep:
            self.run.gpu.capacity -= self.asleep
            self.truth.rounded += self.asleep
            self.asleep = self.truth.asleep = 0
        with self.call(*(self.places["wake"] or self.eng["run"][:2]), *self.eng["wake"]):
            self.temp(64 * 1024, "temp", "empty")

    def others_wake(self):
        """Another process takes its share of the card, and does not give it back in time."""
        self.run.gpu.capacity -= self.foreign_later
        self.inside("others")
        self.truth.rounded += self.foreign_later
        self.truth.note()
        self.foreign += self.foreign_later
        self.foreign_later = 0

    # -- weights to the engine
    def weight_sync(self):
        self.inside("weight_sync")
        if self.sync in ("receive_full", "receive_bucket", "receive_packed"):
            self.receive()
            return
        with self.call(*self.places["sync"]):
            getattr(self, "send_" + self.sync)()
        if self.leak and self.leak_where == "weight_sync":
            with self.call(*self.places["sync"], *self.places["bucket"]):
                self.held.append(self.new(self.leak, "weight_sync", "empty"))

    def full_weights(self):
        for group in self.groups():
            for n in group:
                yield n

    def send_stream(self):
        for n in self.full_weights():
            with self.call(*self.places["send"]):
                full = self.new(n * self.param_bytes, "weight_sync", "_allgather_base_")
                cast = self.new(n * 2, "weight_sync", "_to_copy")
                self.drop(full, cast)

    def send_bucket(self):
        with self.call(*self.places["bucket"]):
            held = [self.new(self.bucket, "weight_sync", "empty") for _ in range(self.buckets)]
        self.send_stream()
        self.drop(*held)

    def send_chunks(self):
        """Full tensors are collected up to the size of a bucket; `buckets` of them are under way together."""
        under_way, chunk, filled = [], [], 0
        for n in self.full_weights():
            with self.call(*self.places["send"]):
                chunk.append(self.new(n * 2, "weight_sync", "_allgather_base_"))
            filled += n * 2
            if filled >= self.bucket:
                under_way.append(chunk)
                chunk, filled = [], 0
            if len(under_way) >= self.buckets:
                self.drop(*under_way.pop(0))
        for rest in under_way + [chunk]:
            self.drop(*rest)

    def send_full(self):
        """The whole state dict at once, before anything is sent."""
        with self.call("torch/distributed/checkpoint/state_dict.py:1100 get_model_state_dict",
                       "torch/distributed/tensor/_api.py:640 full_tensor"):
            whole = [self.new(n * self.param_bytes, "weight_sync", "_allgather_base_") for n in self.full_weights()]
        self.drop(*whole)

    def receive(self):
        outer = self.places["generate"] or ()
        if self.sync == "receive_packed":
            with self.call(*outer, *self.eng["packed"]):
                self.receive_packed()
            return
        with self.call(*outer, *self.eng["update"]):
            if self.sync == "receive_full":
                self.drop(*self.engine_weights("weight_sync", pool=(0, 0)))
            else:
                for _ in range(4):
                    self.temp(self.bucket, "weight_sync", "empty")

    def receive_packed(self):
        """A buffer ends with the weight that fills it, and is made before the one whose place it takes is let go."""
        held, chunk = [], 0
        for n in list(self.full_weights()) + [0]:
            chunk += n * 2
            if chunk > self.bucket or (n == 0 and chunk):
                held.append(self.new(chunk, "weight_sync", "empty"))
                chunk = 0
                if len(held) > self.buckets:
                    self.drop(held.pop(0))
        self.drop(*held)

    # -- checkpoints and evaluation
    def ckpt_save(self):
        self.inside("ckpt_save")
        with self.call(*self.places["save"], "torch/distributed/checkpoint/state_dict.py:1100 get_model_state_dict",
                       "torch/distributed/tensor/_api.py:640 full_tensor"):
            if self.ckpt == "whole":
                self.drop(*[self.new(n * self.param_bytes, "checkpoint", "_allgather_base_") for n in self.full_weights()])
            elif self.ckpt == "host":
                for n in self.full_weights():
                    self.temp(n * self.param_bytes, "temp", "_allgather_base_")
            else:  # each rank its shards, which it has
                self.temp(64 * 1024, "temp", "empty")

    def ckpt_load(self):
        """Resuming puts the optimizer's states on the card before the first forward."""
        self.inside("ckpt_load")
        mega = self.backend == "megatron"
        with self.call(*self.places["load"]):
            sizes = [max(1, n // self.dp) if mega else n for _, n in self.shards()]
            self.states = [self.new(n * self.state_bytes, "optim_state", "_to_copy") for n in sizes for _ in (0, 1)]

    def ckpt_read(self):
        """The whole file on the card, until each weight is copied from it."""
        self.inside("ckpt_load")
        with self.call("torch/serialization.py:1471 load", "torch/serialization.py:1812 persistent_load"):
            if self.ckpt == "whole":
                self.drop(*[self.new(n * self.param_bytes, "checkpoint", "_to_copy") for n in self.full_weights()])
            else:
                self.temp(64 * 1024, "temp", "empty")

    def evaluate(self):
        self.inside("eval")
        kept = self.held
        for _ in range(self.eval_batches):
            with self.call(*self.places["eval"]):
                outer_full, hidden, layers = self.forward(self.logp[0], self.eval_grad)
                with self.model(at.HF_MODEL + ":553 forward"), self.call(*at.NN, *at.LM_HEAD):
                    kept.append(self.new(self.logp[0] * self.shape_.vocab * 2, "logits", "mm"))
                if self.eval_grad:  # what no backward ever asks for
                    self.drop(*[b for _, saved in layers for b in saved])
                self.drop(hidden)
                self.release(outer_full)
                if not self.eval_keep:
                    self.drop(kept.pop())
            if self.eval_keep == "joined" and len(kept) > 1:  # the Trainer's: what there is and the new batch go into a tensor of both
                outer = self.places["eval"][:self.places["eval"].index(at.HT + ":4500 evaluation_loop") + 1]
                with self.call(*outer, "transformers/trainer_pt_utils.py:318 add", "transformers/trainer_pt_utils.py:144 nested_concat",
                               "transformers/trainer_pt_utils.py:89 torch_pad_and_concatenate"):
                    both = self.new(sum(b.requested for b in kept), "logits", "cat")
                    self.drop(*kept)
                    kept[:] = [both]
        self.leave_autocast()
        if self.eval_keep:
            self.drop(*kept)
            self.held = []
