/* Parameters, gradients and optimizer of this rank: by the shape of the model and its division,
 * else from the parameters as they were measured. */
#include "analysis/expected/impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

/* Settings that are no numbers of a model may make more than 64 bits hold. */
static uint64_t whole(double bytes)
{
    return bytes < 1e18 ? (uint64_t)bytes : UINT64_C(1000000000000000000);
}
#define IN_BYTES(x) MT_BYTES(whole(x))

/* Bytes of the parameters of this rank by the shape of the model, and of these those of experts; 0
 * = not known, and why. */
static double by_shape(const struct mt_expect_work *k, double *experts, const char **why)
{
    const struct mt_run_shape *s = &k->s;
    double shards = s->sharded ? s->shards : 1;
    *why = s->no_params;
    *experts = 0;
    if (s->layout == MT_LAYOUT_UNKNOWN)
        return *why = s->no_layout, 0;
    if (s->params <= 0)
        return 0;
    if (s->elem <= 0)
        return *why = "the type of the parameters is not among the settings", 0;
    if (s->no_mine != NULL)
        return *why = s->no_mine, 0;
    if (s->sharded && s->shards <= 0)
        return *why = "over how many ranks the parameters are divided is not among the settings", 0;
    *experts = s->mine_experts * s->elem / shards;
    return s->mine * s->elem / shards + *experts;
}

/* The adapters of LoRA on this rank. PEFT keeps them in 32 bits; DeepSpeed and Megatron make them
 * the type of the model. */
static double adapter_elem(const struct mt_run_shape *s)
{
    return s->layout == MT_LAYOUT_SAME ? 4 : s->elem;
}

static double adapter_bytes(const struct mt_expect_work *k)
{
    const struct mt_run_shape *s = &k->s;
    if (s->mine_adapters <= 0 || s->model.no_adapters != NULL || (s->sharded && s->shards <= 0))
        return 0;
    return s->mine_adapters * adapter_elem(s) / (s->sharded ? s->shards : 1);
}

void mt_expect_params(struct mt_expect_work *k, unsigned phase)
{
    const struct mt_run_shape *s = &k->s;
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_PARAM, phase);
    const char *why;
    double bytes, experts, adapters = adapter_bytes(k);
    char stage[96] = "", lora[96] = "";
    if (e == NULL)
        return;
    bytes = by_shape(k, &experts, &why);
    if (bytes <= 0) {
        mt_expect_say(k, e, "%s", why);
        return;
    }
    if (s->params_on_host) {
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "none: they stay on the host while training");
        return;
    }
    mt_expect_set(k, e, bytes + adapters, s->lora);
    if (s->has_stage)
        (void)snprintf(stage, sizeof stage, " of pipeline stage %.0f of %.0f (layers %.0f to %.0f)",
                       s->stage + 1, s->pp, s->from + 1, s->to);
    if (adapters > 0)
        (void)snprintf(lora, sizeof lora, " + %s of LoRA's adapters", IN_BYTES(adapters));
    if (s->mine_experts > 0)
        mt_expect_say(k, e, "(%.0f parameters%s%s%s + %.0f of experts%s%s) x %.0f bytes%s",
                      s->mine * s->tp, s->model.named, stage, MT_OVER(s->tp, " (tensor parallel)"),
                      s->mine_experts * s->ep * s->etp, MT_OVER(s->ep, " (expert parallel)"),
                      MT_OVER(s->etp, ""), s->elem, lora);
    else
        mt_expect_say(k, e, "%.0f parameters%s%s x %.0f bytes%s%s%s", s->mine * s->tp,
                      s->model.named, stage, s->elem, MT_OVER(s->tp, " (tensor parallel)"),
                      MT_OVER(s->sharded ? s->shards : 1, " (shards)"), lora);
}

/* The part of this rank's parameters that is trained: gradients and states are as large as it. */
struct basis {
    double bytes, experts; /* 0 = not known: why. experts: of these bytes */
    double elem;           /* 0 = not known */
    const char *from, *why;
    bool at_most, measured;
};

static struct basis base(struct mt_expect_work *k, unsigned phase)
{
    uint64_t measured = k->high[phase][MT_ROLE_PARAM].bytes,
             before = k->high[phase][MT_ROLE_BEFORE].bytes,
             grad = k->high[phase][MT_ROLE_GRAD].bytes;
    double adapters;
    struct basis b = {.elem = k->s.elem,
                      .from = k->s.model.named[0] != '\0'
                                  ? "by the shape that the model's name tells"
                                  : "by the model's shape"};
    b.bytes = by_shape(k, &b.experts, &b.why);
    if (k->s.layout == MT_LAYOUT_UNKNOWN)
        return b;
    if (k->s.lora) {
        b.bytes = adapter_bytes(k);
        b.experts = 0;
        b.elem = adapter_elem(&k->s);
        b.from = "LoRA's adapters, counted from their rank";
        b.at_most = true;
        b.why =
            k->s.model.no_adapters != NULL
                ? k->s.model.no_adapters
                : "only adapters are trained (LoRA), and how they are divided or kept is not known";
        return b;
    }
    adapters = mt_expect_measured_adapters(k, k->high[phase][MT_ROLE_PARAM].event);
    if (adapters > 0 &&
        (double)grad <=
            2 * adapters) { /* each adapter has one gradient, of twice its bytes at most; more
                               gradients mean that more than adapters is trained */
        b.bytes = adapters;
        b.elem = 0;
        b.from = "adapters of PEFT, measured";
        b.at_most = b.measured = true;
        return b;
    }
    if (b.bytes > 0)
        return b;
    b.from = "measured";
    b.at_most = b.measured = true;
    if (measured == 0)
        b.why = "the parameters are not in the recording";
    else if (before > measured / 20)
        b.why = "part of the parameters may be among what was there before recording";
    else if (k->s.layout == MT_LAYOUT_SAME && !k->s.sharded &&
             grad / 5 > measured / 2) /* each has one gradient, of 4 bytes at most */
        b.why = "more gradients than parameters were told apart, so part of the parameters has no "
                "role here";
    else
        b.bytes = (double)measured;
    return b;
}

void mt_expect_gradients(struct mt_expect_work *k, unsigned phase)
{
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_GRAD, phase);
    struct basis b;
    double times;
    if (e == NULL)
        return;
    b = base(k, phase);
    if (b.bytes <= 0) {
        mt_expect_say(k, e, "%s", b.why);
    } else if (k->s.layout == MT_LAYOUT_ZERO && k->s.zero >= 2 && k->s.kept <= 0) {
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "none: with its optimizer on the host ZeRO %u keeps them there",
                      k->s.zero);
    } else if (k->s.layout == MT_LAYOUT_SAME && k->s.params_on_host) {
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "none: FSDP's offload to the host takes each there when it is reduced");
    } else if (k->s.layout == MT_LAYOUT_ZERO && k->s.elem <= 0) {
        mt_expect_say(k, e, "whether DeepSpeed trains in 16 bits is not among the settings");
    } else if (k->s.layout == MT_LAYOUT_ZERO && k->s.zero == 2 && k->s.shards <= 0) {
        mt_expect_say(k, e, "over how many ranks ZeRO divides is not among the settings");
    } else if (k->s.layout == MT_LAYOUT_ZERO) {
        times = k->s.grad_bytes / k->s.elem;
        times *= k->s.kept < 1 && k->s.zero == 3 ? k->s.kept : 1;
        mt_expect_set(k, e, times * b.bytes / (k->s.zero == 2 ? k->s.shards : 1),
                      b.at_most || (k->s.kept < 1 && k->s.zero == 3));
        mt_expect_say(k, e, "ZeRO %u: %s, %.0f bytes each: %s%s (%s)%s%s", k->s.zero,
                      k->s.zero <= 1 ? "gradients of all parameters"
                                     : "this rank's part of the gradients",
                      k->s.grad_bytes, MT_TIMES(times), IN_BYTES(b.bytes), b.from,
                      MT_OVER(k->s.zero == 2 ? k->s.shards : 1, ""),
                      k->s.kept < 1 && k->s.zero == 3
                          ? "; the rest is on the host with its part of the optimizer"
                          : "");
    } else if (k->s.layout == MT_LAYOUT_MEGATRON) {
        times = k->s.grad_bytes / 2;
        mt_expect_set(k, e, times * b.bytes, b.at_most);
        mt_expect_say(k, e, "%.0f-bit gradients of 16-bit parameters: %s%s (%s)",
                      8 * k->s.grad_bytes, MT_TIMES(times), IN_BYTES(b.bytes), b.from);
    } else {
        mt_expect_set(k, e, b.bytes, b.at_most);
        mt_expect_say(k, e, "as many bytes as the parameters of this rank: %s (%s)",
                      IN_BYTES(b.bytes), b.from);
    }
}

/* States in the type of the parameters, or of a fixed size: plain PyTorch, DDP, FSDP. */
static void same_states(struct mt_expect_work *k, struct mt_expect *e, const struct basis *b)
{
    const struct mt_optim *o = &k->s.optim;
    const struct mt_model *m = &k->s.model;
    double shards = k->s.sharded ? k->s.shards : 1, hidden, count;
    if (o->managed) {
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "%s", o->words);
    } else if (o->factored) {
        if (k->s.sharded || b->measured || k->s.lora || m->factors <= 0) {
            mt_expect_say(k, e,
                          "Adafactor's rows and columns follow the shape of each matrix, which is "
                          "not known here");
            return;
        }
        mt_expect_set(k, e, m->factors * b->elem, false);
        mt_expect_say(k, e, "%s: %.0f values x %.0f bytes", o->words, m->factors, b->elem);
    } else if (o->bytes > 0) {
        if (b->elem <= 0 || (o->kept32 > 0 && !k->s.lora && !m->known)) {
            mt_expect_say(
                k, e,
                b->elem <= 0
                    ? "the type of the parameters is not among the settings"
                    : "the size of the embedding, whose state stays in 32 bits, is not known");
            return;
        }
        count = b->bytes / b->elem;
        hidden = o->kept32 > 0 && !k->s.lora ? m->embed / shards : 0; /* of the embedding */
        mt_expect_set(k, e, count * o->bytes + hidden * (o->kept32 - o->bytes), b->at_most);
        mt_expect_say(k, e, "%s: %.4g bytes x %.0f parameters (%s)%s", o->words, o->bytes, count,
                      b->from, hidden > 0 ? ", the embedding's in 32 bits" : "");
    } else if (o->hidden < o->tensors && !b->measured && !k->s.lora && m->experts <= 0) {
        hidden = m->layers * (m->attention + m->mlp - 2 * m->hidden) * b->elem / shards;
        mt_expect_set(k, e, o->hidden * hidden + o->tensors * (b->bytes - hidden), true);
        mt_expect_say(k, e, "%s: %s%s + %s%s (%s)", o->words, MT_TIMES(o->hidden), IN_BYTES(hidden),
                      MT_TIMES(o->tensors), IN_BYTES(b->bytes - hidden), b->from);
    } else {
        mt_expect_set(k, e, o->tensors * b->bytes, b->at_most || o->at_most);
        mt_expect_say(k, e, "%s: %s%s (%s)", o->words, MT_TIMES(o->tensors), IN_BYTES(b->bytes),
                      b->from);
    }
}

/* A 32-bit copy of the parameters beside the states, divided over the data-parallel ranks:
 * DeepSpeed's ZeRO, Megatron's distributed optimizer. */
static void divided_states(struct mt_expect_work *k, struct mt_expect *e, const struct basis *b)
{
    const struct mt_run_shape *s = &k->s;
    bool zero = s->layout == MT_LAYOUT_ZERO, copy = !zero || s->zero > 0 || s->elem < 4,
         some = s->kept < 1;
    /* in stage 3 the parameters are this rank's part already; without stage nothing is divided */
    double shards = zero && (s->zero == 3 || s->zero == 0) ? 1 : s->shards;
    double times = s->elem > 0 ? s->state_bytes / s->elem : 0, dense = b->bytes - b->experts;
    const char *rest = some ? "; so much of it is not set to be on the host" : "";
    times *= some ? s->kept : 1;
    if (shards <= 0) {
        mt_expect_say(k, e,
                      zero ? "over how many ranks ZeRO divides is not among the settings"
                           : "over how many data-parallel ranks the state is divided is not among "
                             "the settings");
    } else if (times <= 0) {
        mt_expect_say(k, e,
                      s->elem <= 0 ? "whether DeepSpeed trains in 16 bits is not among the settings"
                                   : "the layout of this optimizer's state is not computed");
    } else if (!zero && b->measured && s->model.experts > 0) {
        mt_expect_say(
            k, e, "how many of the parameters are experts, which other ranks divide, is not known");
    } else if (b->experts > 0 && s->expert_shards < 1) {
        mt_expect_say(
            k, e, "over how many ranks the state of experts is divided is not among the settings");
    } else if (b->experts > 0) {
        mt_expect_set(k, e, times * (dense / shards + b->experts / s->expert_shards),
                      b->at_most || some);
        mt_expect_say(k, e,
                      "32-bit parameters and two moments, %.3g x the 16-bit parameters: %s(%s%s + "
                      "%s of experts%s)%s",
                      times, MT_TIMES(times), IN_BYTES(dense), MT_OVER(shards, ""),
                      IN_BYTES(b->experts), MT_OVER(s->expert_shards, ""), rest);
    } else {
        mt_expect_set(k, e, times * b->bytes / shards, b->at_most || some);
        if (zero)
            mt_expect_say(
                k, e,
                "ZeRO %u: %s%s's states, %.4g bytes for each parameter of %.0f: %s%s (%s)%s%s",
                s->zero, copy ? "a 32-bit copy and " : "", s->optim.name, s->state_bytes, s->elem,
                MT_TIMES(times), IN_BYTES(b->bytes), b->from, MT_OVER(shards, ""), rest);
        else
            mt_expect_say(
                k, e, "32-bit parameters and %s, %.3g x the 16-bit parameters: %s%s (%s)%s%s",
                s->state_bytes < 12 ? "states" : "two moments", times, MT_TIMES(times),
                IN_BYTES(b->bytes), b->from, MT_OVER(shards, " data-parallel ranks"), rest);
    }
}

/* Muon under Megatron: of a matrix of the layers a 32-bit copy and a momentum, of the rest what
 * Adam keeps. */
static void muon_states(struct mt_expect_work *k, struct mt_expect *e, const struct basis *b)
{
    const struct mt_run_shape *s = &k->s;
    double rest = s->mine - s->mine_matrices, bytes = 8 * s->mine_matrices + 12 * rest,
           experts = 8 * s->mine_experts;
    double largest = s->tp > 0 ? 12 * s->model.embed / s->tp : 0;
    if (b->measured || s->lora) {
        mt_expect_say(k, e,
                      "which of the parameters are matrices of the layers, whose state Muon keeps, "
                      "is not known");
    } else if (s->dealt && (s->shards < 1 || (experts > 0 && s->expert_shards < 1))) {
        mt_expect_say(
            k, e,
            "over how many data-parallel ranks the state is divided is not among the settings");
    } else if (s->dealt) {
        mt_expect_set(k, e,
                      bytes / s->shards + (experts > 0 ? experts / s->expert_shards : 0) + largest,
                      true);
        mt_expect_say(k, e,
                      "Muon: 8 bytes for each of %.0f parameters in the layers' matrices and 12 "
                      "for each of %.0f others, dealt out "
                      "in whole tensors over the data-parallel ranks; so one rank may have the "
                      "largest, %s, more than its part",
                      s->mine_matrices + s->mine_experts, rest, IN_BYTES(largest));
    } else {
        mt_expect_set(k, e, bytes + experts, false);
        mt_expect_say(k, e,
                      "Muon: a 32-bit copy and a momentum of %.0f parameters in the layers' "
                      "matrices, and a copy and two moments "
                      "of %.0f others: 8 and 12 bytes each, on every data-parallel rank",
                      s->mine_matrices + s->mine_experts, rest);
    }
}

void mt_expect_optimizer(struct mt_expect_work *k, unsigned phase)
{
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_OPTIM_STATE, phase);
    struct basis b;
    if (e == NULL)
        return;
    b = base(k, phase);
    if (k->s.kept >= 0 && k->s.kept <= 0) {
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "none: %s is set to keep the optimizer on the host",
                      k->s.layout == MT_LAYOUT_ZERO       ? "DeepSpeed"
                      : k->s.layout == MT_LAYOUT_MEGATRON ? "Megatron"
                                                          : "FSDP");
    } else if (b.bytes <= 0) {
        mt_expect_say(k, e, "%s", b.why);
    } else if (k->s.kept < 0) {
        mt_expect_say(
            k, e,
            "part of the optimizer's state is on the host, and how much is not among the settings");
    } else if (k->s.optim.why != NULL || k->s.no_states != NULL) {
        mt_expect_say(k, e, "%s", k->s.optim.why != NULL ? k->s.optim.why : k->s.no_states);
    } else if (k->s.layout == MT_LAYOUT_MEGATRON && strcmp(k->s.optim.name, "Muon") == 0) {
        muon_states(k, e, &b);
    } else if (k->s.layout == MT_LAYOUT_MEGATRON || k->s.layout == MT_LAYOUT_ZERO) {
        divided_states(k, e, &b);
    } else {
        same_states(k, e, &b);
    }
}
