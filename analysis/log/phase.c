/* log/phase.c -- in which phase of the job a failure of a log was: by its kind, its traceback, the
 * memory lines before it, who wrote it. */
#include "analysis/log/diagnose.h"
#include "analysis/phases/phases.h"

#include <string.h>

/* "Before update_actor" without an "After": what was going on, by the words that verl, slime and
 * Relax print. */
static const struct {
    const char *word;
    enum mt_phase phase;
} going_on[] = {
    {"update_actor", MT_PH_TRAIN_ACTOR},
    {"update_policy", MT_PH_TRAIN_ACTOR},
    {"update_critic", MT_PH_TRAIN_CRITIC},
    {"ref_log_prob", MT_PH_LOGP_REF},
    {"log_prob", MT_PH_LOGP_OLD},
    {"compute_values", MT_PH_VALUES},
    {"wake_up", MT_PH_ROLLOUT_WAKE_SLEEP},
    {"update_weights", MT_PH_WEIGHT_SYNC},
    {"state_dict()", MT_PH_WEIGHT_SYNC},
    {"offload model", MT_PH_ONLOAD_OFFLOAD},
    /* DeepSpeed's see_memory_usage, from here on */
    {"DeepSpeedZeRoOffload initialize", MT_PH_INIT},
    {"creating fp", MT_PH_INIT},
    {"creating optimizer", MT_PH_INIT},
    {"initializing optimizer states", MT_PH_INIT},
    {"before forward", MT_PH_TRAIN},
    {"before backward", MT_PH_TRAIN},
    {"train", MT_PH_TRAIN},
    {"generate", MT_PH_ROLLOUT_GENERATE},
};

const struct mt_log_fact *mt_logdiag_mark(const struct mt_log *log, uint32_t before)
{
    const struct mt_log_fact *f = &log->facts.p[before];
    for (uint32_t i = before; i-- > 0;) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if (g->kind == MT_LOG_TORCH_USAGE && g->text[0] != '\0' &&
            (f->pid < 0 || g->pid < 0 || f->pid == g->pid) &&
            (f->rank < 0 || g->rank < 0 || f->rank == g->rank))
            return g;
    }
    return NULL;
}

/* Frames that actor, critic and reference share say only what is done; the process's name says for
 * whom: SkyRL's "FSDPRefWorkerBase", ROLL's "ActorWorker(reference-0)", Open-Reasoner-Zero's
 * "CriticRayActor". */
static enum mt_phase of_writer(enum mt_phase p, const char *who)
{
    static const struct {
        const char *word;
        enum mt_phase train, logp;
    } roles[] = {
        {"Critic", MT_PH_TRAIN_CRITIC, MT_PH_VALUES},
        {"critic", MT_PH_TRAIN_CRITIC, MT_PH_VALUES},
        {"Ref", MT_PH_TRAIN, MT_PH_LOGP_REF},
        {"reference", MT_PH_TRAIN, MT_PH_LOGP_REF},
        {"Reward", MT_PH_TRAIN, MT_PH_REWARD},
        {"reward", MT_PH_TRAIN, MT_PH_REWARD},
        {"Policy", MT_PH_TRAIN_ACTOR, MT_PH_LOGP_OLD},
        {"actor_train", MT_PH_TRAIN_ACTOR, MT_PH_LOGP_OLD},
    };
    if (p != MT_PH_TRAIN && p != MT_PH_LOGP && p != MT_PH_INFER)
        return p;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strstr(who, roles[i].word) != NULL)
            return p == MT_PH_TRAIN ? roles[i].train : roles[i].logp;
    return p;
}

/* The same by the object whose method the lines of code call: "self.ref.compute_logp(batch)". */
static enum mt_phase of_object(enum mt_phase p, const char *objects)
{
    static const char *const of_ref[] = {" ref", " ref_model", " ref_policy", " reference"};
    if (p != MT_PH_LOGP && p != MT_PH_LOGP_OLD)
        return p;
    for (size_t i = 0; i < sizeof of_ref / sizeof *of_ref; i++) {
        size_t n = strlen(of_ref[i]);
        for (const char *at = objects; (at = strstr(at, of_ref[i])) != NULL; at += n)
            if (at[n] == ' ' || at[n] == '\0')
                return MT_PH_LOGP_REF;
    }
    return p;
}

/* The innermost code that is not PyTorch's own computes log-probabilities or the entropy, and no
 * layer is called further in: then what it asks for is as wide as the vocabulary. A gather or a
 * backward is not. */
static bool makes_logits(const struct mt_log_stack *s)
{
    static const char *const words[] = {"logp",   "log_prob", "log_softmax",
                                        "logits", "entropy",  "vocab_parallel"};
    for (uint32_t i = s->frames.n; i-- > 0;) {
        const struct mt_log_frame *f = &s->frames.p[i];
        if (strstr(f->file, "/torch/") != NULL) {
            if (strstr(f->file, "/torch/nn/functional.py") == NULL &&
                strstr(f->file, "/torch/utils/_contextlib.py") == NULL)
                return false;
            continue;
        }
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strstr(f->function, words[k]) != NULL)
                return true;
        return false;
    }
    return false;
}

/* What the inner end of a cut traceback tells, else the method that Ray names, else a line of code:
 * from the innermost outward, what is not known yet. */
static void of_cut(struct mt_logdiag *d, const struct mt_log_stack *s,
                   const struct mt_phase_rules *rules)
{
    struct mt_cut_phase cut;
    for (uint32_t i = s->frames.n + 2; i-- > 0;) {
        bool in_frames = i >= 2;
        const char *name = in_frames ? s->frames.p[i - 2].function : i == 1 ? s->method : s->code;
        if (name[0] == '\0' ||
            !mt_phase_of_cut(rules,
                             in_frames ? MT_CUT_FRAME
                             : i == 1  ? MT_CUT_METHOD
                                       : MT_CUT_CODE,
                             in_frames ? s->frames.p[i - 2].file : "", name, &cut))
            continue;
        if (d->phase == MT_PH_UNATTRIBUTED && cut.phase != MT_PH_NONE) {
            d->phase = cut.phase;
            d->cut = true;
        }
        if (d->sub == MT_PH_NONE && cut.sub != MT_PH_NONE)
            d->sub = cut.sub;
        if (d->phase != MT_PH_UNATTRIBUTED)
            return;
    }
}

void mt_logdiag_phase(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f,
                      const struct mt_log_place *place, const struct mt_phase_rules *rules)
{
    const struct mt_log_fact *mark = mt_logdiag_mark(log, d->fact);
    d->phase = MT_PH_UNATTRIBUTED;
    d->sub = MT_PH_NONE;
    switch ((int)f->kind) {
    case MT_LOG_NCCL_OOM: d->sub = MT_PH_COMM; break;
    case MT_LOG_CUMEM_OOM:
    case MT_LOG_SAVER_OOM: d->phase = MT_PH_ROLLOUT_WAKE_SLEEP; return;
    case MT_LOG_VLLM_KV:
    case MT_LOG_VLLM_PROFILE:
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV: d->phase = MT_PH_ROLLOUT_KV_ALLOC; return;
    case MT_LOG_SGLANG_KV_FULL: d->phase = MT_PH_ROLLOUT_GENERATE; return;
    case MT_LOG_WORKSPACE:
        d->phase = MT_PH_ROLLOUT_GENERATE; /* unless frames say that graphs are captured */
        break;
    case MT_LOG_VLLM_WARMUP:
        d->phase = MT_PH_ROLLOUT_PROFILE;
        if (f->value[0] != MT_LOG_NONE) /* of the sampler; a pooler has no such number */
            d->sub = MT_PH_ROLLOUT_SAMPLE;
        return;
    case MT_LOG_VLLM_STARTUP:
    case MT_LOG_VLLM_MEASURE:
    case MT_LOG_POOL_REFUSED: d->phase = MT_PH_ROLLOUT_INIT; return;
    default: break;
    }
    if (place != NULL && place->at.sub != MT_PH_NONE && d->sub == MT_PH_NONE)
        d->sub = place->at.sub;
    if (place != NULL && (d->sub == MT_PH_FORWARD || d->sub == MT_PH_LOSS) &&
        makes_logits(place->stack))
        d->sub = MT_PH_LOGITS;
    if (place != NULL && place->at.phase != MT_PH_UNATTRIBUTED) {
        d->phase = of_object(of_writer(place->at.phase, f->who), place->stack->objects);
        return;
    }
    if (place != NULL && rules != NULL) {
        of_cut(d, place->stack, rules);
        d->phase = of_writer(d->phase, f->who);
        if (d->phase != MT_PH_UNATTRIBUTED)
            return;
    }
    if (mark == NULL || strstr(mark->text, "efore ") == NULL)
        return;
    for (size_t i = 0; i < sizeof going_on / sizeof *going_on; i++) {
        if (strstr(mark->text, going_on[i].word) != NULL) {
            d->phase = going_on[i].phase;
            return;
        }
    }
}
