/* log/phase.c -- in which phase of the job a failure of a log was: by its kind, its traceback, the
 * memory lines before it, who wrote it. */
#include "analysis/log/diagnose.h"
#include "analysis/log/whole_job.h"
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

/* The next fact back in time from i, which becomes it; false = there is none. */
static bool earlier(const struct mt_log *log, uint32_t *i)
{
    if (log->newest_first)
        return ++*i < log->facts.n;
    return (*i)-- > 0;
}

const struct mt_log_fact *mt_logdiag_mark(const struct mt_log *log, uint32_t before)
{
    const struct mt_log_fact *f = &log->facts.p[before];
    bool is_title = f->line == 1 && !log->newest_first; /* what came before stands below it */
    for (uint32_t i = is_title ? log->facts.n : before; earlier(log, &i);) {
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
    const char *loss = strstr(s->code, "cross_entropy(");
    if (strstr(s->code, "logits.float()") != NULL || strstr(s->code, "self.lm_head(") != NULL ||
        (loss != NULL && strstr(loss, ".float()") != NULL))
        return true;
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

static void tell_logits(struct mt_logdiag *d, const struct mt_log_stack *s)
{
    if ((d->sub == MT_PH_FORWARD || d->sub == MT_PH_LOSS) && makes_logits(s))
        d->sub = MT_PH_LOGITS;
}

/* The forward of a loss is no layer's: the innermost file is one of a loss, by its name. */
static void tell_loss(struct mt_logdiag *d, const struct mt_log_stack *s,
                      const struct mt_phase_rules *rules)
{
    const struct mt_log_frame *f = s->frames.n != 0 ? &s->frames.p[s->frames.n - 1] : NULL;
    struct mt_cut_phase cut;
    if (d->sub == MT_PH_FORWARD && f != NULL &&
        mt_phase_of_cut(rules, MT_CUT_FRAME, f->file, f->function, &cut) &&
        cut.phase == MT_PH_NONE && cut.sub == MT_PH_LOSS)
        d->sub = MT_PH_LOSS;
}

/* A word of a name, set apart by "_". */
static bool has_word(const char *name, const char *const *words)
{
    for (; *words != NULL; words++) {
        size_t n = strlen(*words);
        for (const char *p = name; (p = strstr(p, *words)) != NULL; p++)
            if ((p == name || p[-1] == '_') && (p[n] == '\0' || p[n] == '_'))
                return true;
    }
    return false;
}

/* Log-probabilities of a policy are those of reinforcement learning: a mixture model has some too.
 * Ray, a framework of that kind or the name of a role tells. */
static bool is_of_policy(const struct mt_log_fact *f, const struct mt_log_place *place)
{
    static const char *const roles[] = {"ref", "rollout", "actor", NULL};
    const struct mt_log_stack *s = place->stack;
    if (f->who[0] != '\0' || s->method[0] != '\0')
        return true;
    for (int fw = 1; fw < mt_framework_count(place->fw.rules); fw++)
        if (place->fw.frames[fw] != 0 && mt_framework_at(place->fw.rules, fw)->kind == MT_FWK_RL)
            return true;
    for (uint32_t i = 0; i < s->frames.n; i++)
        if (strstr(s->frames.p[i].file, "/ray/") != NULL ||
            has_word(s->frames.p[i].function, roles) ||
            strstr(s->frames.p[i].file, "actor") != NULL ||
            strstr(s->frames.p[i].file, "rollout") != NULL)
            return true;
    return strstr(s->objects, " ref") != NULL || strstr(s->objects, " actor") != NULL ||
           strstr(s->objects, " rollout") != NULL;
}

/* A trainer writes other lines meanwhile, but not for long. */
static bool of_save(struct mt_logdiag *d, const struct mt_log *log)
{
    enum { NEAR = 64 }; /* lines from the beginning to the kill */
    const struct mt_log_fact *f = &log->facts.p[d->fact];
    for (uint32_t i = d->fact; earlier(log, &i);) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if (g->kind == MT_LOG_SAVE_BEGUN) {
            uint64_t far = log->newest_first ? g->line - f->line : f->line - g->line;
            if (g->value[3] != MT_LOG_NONE || far > NEAR)
                return false;
            d->phase = MT_PH_CKPT_SAVE;
            d->begun = i + 1;
            return true;
        }
    }
    return false;
}

/* What the engine had begun, and no line says that it ended. */
static bool of_begun(struct mt_logdiag *d, const struct mt_log *log)
{
    const struct mt_log_fact *f = &log->facts.p[d->fact];
    if (of_save(d, log))
        return true;
    if (mt_logdiag_hint(d, log, MT_LH_LOAD) != 0 || mt_logdiag_hint(d, log, MT_LH_RESUME) != 0) {
        d->phase = mt_logdiag_hint(d, log, MT_LH_RESUME) != 0 ? MT_PH_CKPT_LOAD : MT_PH_INIT;
        return true;
    }
    for (uint32_t i = d->fact; earlier(log, &i);) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if ((f->pid >= 0 && g->pid >= 0 && f->pid != g->pid) ||
            (f->rank >= 0 && g->rank >= 0 && f->rank != g->rank))
            continue;
        switch ((int)g->kind) {
        case MT_LOG_VLLM_BEGUN:
        case MT_LOG_SGLANG_BEGUN:
            if (g->value[3] != MT_LOG_NONE)
                return false; /* it ended */
            d->phase = g->text[0] == 'l' ? MT_PH_ROLLOUT_LOAD : MT_PH_ROLLOUT_GRAPH;
            d->begun = i + 1;
            return true;
        case MT_LOG_VLLM_WEIGHTS:
        case MT_LOG_VLLM_GRAPHS:
        case MT_LOG_SGLANG_WEIGHTS:
        case MT_LOG_SGLANG_GRAPHS:
        case MT_LOG_TORCH_USAGE: return false; /* that went well, or the job went on */
        default: break;
        }
    }
    return false;
}

/* Index + 1 of PyTorch's own wrapper of a function under no_grad or inference_mode, around every
 * module that is called: inside of one it is a helper's, of a loss that is trained on. 0 = there is
 * none, or it may be enable_grad's, which has the same name. */
static uint32_t gradients_off(const struct mt_log_stack *s)
{
    for (uint32_t i = 0; i < s->frames.n; i++) {
        if (strstr(s->frames.p[i].file, "torch/nn/modules/module.py") != NULL)
            return 0;
        if (strcmp(s->frames.p[i].function, "decorate_context") == 0 &&
            (strstr(s->frames.p[i].file, "torch/utils/_contextlib.py") != NULL ||
             strstr(s->frames.p[i].file, "torch/autograd/grad_mode.py") != NULL))
            return strstr(s->code, "enable_grad(") == NULL ? i + 1 : 0;
    }
    return 0;
}

static enum mt_phase of_script(const struct mt_phase_rules *rules, enum mt_cut_kind kind,
                               const char *path, const char **name)
{
    struct mt_cut_phase cut;
    const char *p = strrchr(path, '/');
    *name = p != NULL ? p + 1 : path;
    return **name != '\0' && mt_phase_of_cut(rules, kind, path, *name, &cut) ? cut.phase
                                                                             : MT_PH_NONE;
}

/* The program, or one of the n outermost frames, is called what people call a trainer, or a
 * function of the program's own is: train() of a main.py. */
static bool is_trainers(const struct mt_logdiag *d, const struct mt_log_stack *s, uint32_t n,
                        const struct mt_phase_rules *rules)
{
    const char *name;
    struct mt_cut_phase cut;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_log_frame *f = &s->frames.p[i];
        if (of_script(rules, MT_CUT_SCRIPT, f->file, &name) == MT_PH_TRAIN ||
            (mt_logdiag_is_own(f->file) &&
             mt_phase_of_cut(rules, MT_CUT_NAME, f->file, f->function, &cut) &&
             cut.phase == MT_PH_TRAIN))
            return true;
    }
    return of_script(rules, MT_CUT_SCRIPT, d->program, &name) == MT_PH_TRAIN;
}

/* What a function does that runs without gradients: optimizers and averages of the weights are
 * updated so, and a trainer's evaluation is no inference. A trainer asks a teacher so as well:
 * that stays untold. */
static enum mt_phase of_wrapped(const struct mt_logdiag *d, const char *name, bool trains)
{
    static const char *const updates[] = {"ema", "momentum", "clip", "closure", NULL},
                             *const steps[] = {"step", "update", NULL},
                             *const scores[] = {"eval",     "evaluate",   "evaluation", "valid",
                                                "validate", "validation", "val",        "test",
                                                "score",    "accuracy",   "metrics",    "sample",
                                                "predict",  "infer",      "inference",  NULL};
    if (has_word(name, updates) || strcmp(name, "step") == 0 || strcmp(name, "update") == 0 ||
        (trains && has_word(name, steps)))
        return MT_PH_TRAIN;
    if (d->sub != MT_PH_FORWARD)
        return MT_PH_UNATTRIBUTED;
    return !trains ? MT_PH_INFER : has_word(name, scores) ? MT_PH_EVAL : MT_PH_UNATTRIBUTED;
}

/* The same of the traceback s; false = its gradients may be on. */
static bool of_gradients(struct mt_logdiag *d, const struct mt_log_stack *s,
                         const struct mt_phase_rules *rules)
{
    uint32_t off = gradients_off(s);
    if (off != 0)
        d->phase = of_wrapped(d, off < s->frames.n ? s->frames.p[off].function : "",
                              is_trainers(d, s, off, rules));
    return off != 0;
}

static void of_all(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f,
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
    if (place != NULL && rules != NULL) {
        tell_loss(d, place->stack, rules);
        mt_logdiag_results(d, place->stack, rules);
    }
    if (place != NULL)
        tell_logits(d, place->stack);
    if (place != NULL && rules != NULL && place->at.phase == MT_PH_INFER &&
        mt_attr_conf(place->at) == MT_CONF_INFERRED && gradients_off(place->stack) != 0) {
        (void)of_gradients(d, place->stack, rules);
        return;
    }
    if (place != NULL && place->at.phase != MT_PH_UNATTRIBUTED) {
        d->phase = of_object(of_writer(place->at.phase, f->who), place->stack->objects);
        if (rules != NULL)
            mt_logdiag_inside(d, place->stack, rules);
        return;
    }
    if (place != NULL && rules != NULL) {
        mt_logdiag_traced(d, place->stack, rules);
        tell_logits(d, place->stack);
        if (d->phase == MT_PH_LOGP && d->by_name != NULL && !is_of_policy(f, place)) {
            d->phase = MT_PH_UNATTRIBUTED;
            d->by_name = NULL;
            d->cut = false;
        }
        d->phase = of_writer(d->phase, f->who);
        if (d->phase != MT_PH_UNATTRIBUTED)
            return;
    }
    if (of_begun(d, log))
        return;
    if (mark != NULL && strstr(mark->text, "fter creating fp") != NULL)
        d->phase = MT_PH_INIT; /* the optimizer's states come next */
    if (mark == NULL || strstr(mark->text, "efore ") == NULL)
        return;
    for (size_t i = 0; i < sizeof going_on / sizeof *going_on; i++) {
        if (strstr(mark->text, going_on[i].word) != NULL) {
            d->phase = going_on[i].phase;
            return;
        }
    }
}

/* What the program's files are called: the script that ran or the outermost file of its own; else
 * the folder of a server around it, unless a file further in trains. */
static void of_files(struct mt_logdiag *d, const struct mt_log_stack *s,
                     const struct mt_phase_rules *rules)
{
    const char *name, *inner;
    enum mt_phase p = of_script(rules, MT_CUT_SCRIPT, d->program, &name);
    uint32_t own = 0;
    while (own < s->frames.n && !mt_logdiag_is_own(s->frames.p[own].file))
        own++;
    if (p == MT_PH_NONE && own < s->frames.n)
        p = of_script(rules, MT_CUT_SCRIPT, s->frames.p[own].file, &name);
    if (p == MT_PH_NONE) {
        for (uint32_t i = 0; p == MT_PH_NONE && i < s->frames.n; i++)
            p = of_script(rules, MT_CUT_FOLDER, s->frames.p[i].file, &name);
        for (uint32_t i = 0; p != MT_PH_NONE && p != MT_PH_TRAIN && i < s->frames.n; i++)
            if (mt_logdiag_is_own(s->frames.p[i].file) &&
                of_script(rules, MT_CUT_SCRIPT, s->frames.p[i].file, &inner) == MT_PH_TRAIN) {
                p = MT_PH_TRAIN;
                name = inner;
            }
    }
    if (p == MT_PH_NONE)
        return;
    d->phase = p;
    d->by_name = name;
}

/* A pass that no function names: whether it trains, by gradients that are switched off, else by
 * what the program's files are called. Where nothing says that it is a pass, a trainer may be at
 * anything; a program that only uses or converts a model does little else. */
static void of_program(struct mt_logdiag *d, const struct mt_log_stack *s,
                       const struct mt_phase_rules *rules)
{
    if ((d->sub != MT_PH_FORWARD && d->sub != MT_PH_LOSS && d->sub != MT_PH_NONE) ||
        of_gradients(d, s, rules))
        return;
    of_files(d, s, rules);
    if (d->sub == MT_PH_NONE && d->phase != MT_PH_INFER && d->phase != MT_PH_INIT) {
        d->phase = MT_PH_UNATTRIBUTED;
        d->by_name = NULL;
    }
}

_Static_assert(sizeof((struct mt_log_step *)NULL)->pattern == MT_PHASE_LINE,
               "what rules may write, logs keep");

/* The log has an engine's lines, or the traceback files of reinforcement learning: a step of its
 * training is not all that such a job does between two of them. */
static bool does_more(const struct mt_log *log, const struct mt_log_place *place,
                      const struct mt_phase_rules *rules)
{
    const struct mt_framework_rules *r = mt_phase_rules_frameworks(rules);
    for (uint32_t i = 0; i < log->facts.n; i++) {
        mt_fw fw = mt_framework_of_log_line(r, mt_log_kind_name(log->facts.p[i].kind));
        if (fw != MT_FW_NONE && mt_framework_at(r, fw)->kind == MT_FWK_ENGINE)
            return true;
    }
    return place != NULL &&
           mt_framework_top(r, place->fw.frames, mt_framework_kind(r, MT_FWK_RL)) != MT_FW_NONE;
}

/* No traceback: a script whose name says that it only uses or scores a model, or writes it anew,
 * does little else. One that trains does most of its work so, but where it generates as well. */
static void of_command(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f,
                       const struct mt_phase_rules *rules)
{
    const char *name;
    enum mt_phase p;
    if (d->program[0] == '\0' || d->sub != MT_PH_NONE)
        return;
    p = of_script(rules, MT_CUT_SCRIPT, d->program, &name);
    if (p != MT_PH_INFER && p != MT_PH_INIT && p != MT_PH_EVAL &&
        (p != MT_PH_TRAIN || does_more(log, NULL, rules) || mt_whole_job_in(log, f, d->program)))
        return;
    d->phase = p;
    d->by_name = d->program;
}

/* The step of the failure f, or of the same one printed again: a person's sentence has its numbers
 * from the error's own line. */
static const struct mt_log_step *step_of(const struct mt_log *log, const struct mt_log_fact *f)
{
    uint32_t step = f->step;
    for (uint32_t i = 0; step == 0 && i < log->facts.n; i++) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if (g->kind == f->kind && g->gpu == f->gpu && g->rank == f->rank && g->pid == f->pid &&
            g->value[0] != MT_LOG_NONE && memcmp(g->value, f->value, sizeof g->value) == 0)
            step = g->step;
    }
    return step != 0 ? &log->kept_steps.p[step - 1] : NULL;
}

/* What the job last said that it is at: *cut. A line that tells a part of a pass is one of code: it
 * holds for what stands right below it. Its line; 0 = it says nothing that holds. */
static uint64_t of_step(struct mt_cut_phase *cut, const struct mt_log *log,
                        const struct mt_log_fact *f, const struct mt_log_place *place,
                        const struct mt_phase_rules *rules)
{
    enum { BELOW = 3 };
    const struct mt_log_step *s = step_of(log, f);
    if (s == NULL || (log->newest_first && s->line != f->line) ||
        (place != NULL && gradients_off(place->stack) != 0) ||
        !mt_phase_of_cut(rules, MT_CUT_LINE, "", s->pattern, cut) ||
        (cut->sub != MT_PH_NONE && f->line - s->line > BELOW) ||
        (cut->sub == MT_PH_NONE && cut->phase == MT_PH_TRAIN && does_more(log, place, rules)))
        return 0;
    return s->line;
}

/* By the line in which the job says what it is at, and by what somebody says in words: of a failure
 * whose phase is known, what it came after alone. */
static void of_words(struct mt_logdiag *told, const struct mt_log *log, const struct mt_log_fact *f,
                     const struct mt_log_place *place, const struct mt_phase_rules *rules)
{
    struct mt_logdiag *d = told, known = *told;
    struct mt_cut_phase cut = {.phase = MT_PH_NONE};
    uint64_t step = 0;
    if (told->phase == MT_PH_UNATTRIBUTED)
        step = of_step(&cut, log, f, place, rules);
    else
        d = &known;
    if (step != 0 && cut.phase == MT_PH_NONE) { /* a part of a pass, of whichever phase */
        if (d->sub == MT_PH_NONE)
            d->sub = cut.sub;
        d->step = step;
        step = 0;
    }
    mt_logdiag_told_phase(d, log, f, step != 0 ? &cut : NULL, step, rules);
    told->after = d->after;
    told->after_line = d->after_line;
}

void mt_logdiag_phase(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f,
                      const struct mt_log_place *place, const struct mt_phase_rules *rules)
{
    of_all(d, log, f, place, rules);
    d->never_ran = d->phase == MT_PH_UNATTRIBUTED && f->kind == MT_LOG_KILLED &&
                   strcmp(f->text, "Ray") == 0 && mt_logdiag_never_ran(log);
    if (d->never_ran)
        d->phase = MT_PH_INIT;
    if (rules != NULL)
        of_words(d, log, f, place, rules);
    if (d->phase == MT_PH_UNATTRIBUTED && f->kind == MT_LOG_CUT) {
        d->phase = mt_logdiag_engine_starts(log);
        d->cut = d->phase != MT_PH_UNATTRIBUTED;
    }
    if (d->phase == MT_PH_UNATTRIBUTED && place != NULL && rules != NULL)
        of_program(d, place->stack, rules);
    else if (d->phase == MT_PH_UNATTRIBUTED && rules != NULL &&
             (f->kind == MT_LOG_TORCH_OOM || f->kind == MT_LOG_CUDA_OOM))
        of_command(d, log, f, rules);
}
