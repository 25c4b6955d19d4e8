/* log/traced.c -- which phase the frames and lines of code of a traceback tell, where no rule knows
 * its program: from the innermost outward, the innermost that tells one wins. */
#include "analysis/log/diagnose.h"
#include "analysis/phases/phases.h"

#include <string.h>

static bool take(struct mt_logdiag *d, const struct mt_cut_phase *cut, const char *by_name)
{
    if (d->phase == MT_PH_UNATTRIBUTED && cut->phase != MT_PH_NONE) {
        d->phase = cut->phase;
        d->cut = true;
        d->by_name = by_name;
    }
    if (d->sub == MT_PH_NONE && cut->sub != MT_PH_NONE)
        d->sub = cut->sub;
    return d->phase != MT_PH_UNATTRIBUTED;
}

/* What a rule says of one name; true = the phase is known. */
static bool of_one(struct mt_logdiag *d, const struct mt_phase_rules *rules, enum mt_cut_kind kind,
                   const char *file, const char *name)
{
    struct mt_cut_phase cut;
    if (name[0] != '\0' && mt_phase_of_cut(rules, kind, file, name, &cut))
        (void)take(d, &cut, NULL);
    return d->phase != MT_PH_UNATTRIBUTED;
}

/* One of these functions is further out than frame i. */
static bool is_within(const struct mt_log_stack *s, uint32_t i, const char *const *functions)
{
    while (functions != NULL && i-- > 0)
        if (mt_phase_is_one_of(s->frames.p[i].function, functions))
            return true;
    return false;
}

/* The same of frame i. */
static bool of_frame(struct mt_logdiag *d, const struct mt_log_stack *s, uint32_t i,
                     const struct mt_phase_rules *rules, enum mt_cut_kind kind)
{
    const struct mt_log_frame *f = &s->frames.p[i];
    struct mt_cut_phase cut;
    uint32_t row = 0;
    while (f->function[0] != '\0' &&
           mt_phase_next_cut(rules, kind, f->file, f->function, &row, &cut)) {
        if (is_within(s, i, cut.unless_in))
            continue;
        (void)take(d, &cut, kind == MT_CUT_NAME ? f->function : NULL);
        break;
    }
    return d->phase != MT_PH_UNATTRIBUTED;
}

/* A file of the program, not of an installed package or of Python. */
bool mt_logdiag_is_own(const char *file)
{
    static const char *const others[] = {"-packages", "/lib/python", "/torch/", "/absl/"};
    size_t n = strlen(file);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(file, others[i]) != NULL)
            return false;
    return n > 3 && strcmp(file + n - 3, ".py") == 0 && strncmp(file, "torch/", 6) != 0;
}

/* The innermost frame that is not PyTorch's; frames.n = there is none. */
static uint32_t own_frame(const struct mt_log_stack *s)
{
    for (uint32_t i = s->frames.n; i-- > 0;)
        if (strstr(s->frames.p[i].file, "/torch/") == NULL)
            return i;
    return s->frames.n;
}

/* What a model gave is worked on: a function of PyTorch's that is called there is no layer's. */
void mt_logdiag_results(struct mt_logdiag *d, const struct mt_log_stack *s,
                        const struct mt_phase_rules *rules)
{
    static const enum mt_cut_kind kinds[] = {MT_CUT_NAME, MT_CUT_FRAME};
    uint32_t at = own_frame(s);
    if (at == s->frames.n || (d->sub != MT_PH_NONE && d->sub != MT_PH_FORWARD))
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct mt_logdiag by_own = {.phase = MT_PH_UNATTRIBUTED, .sub = MT_PH_NONE};
        (void)of_frame(&by_own, s, at, rules, kinds[k]);
        if (by_own.sub == MT_PH_RESULTS)
            d->sub = MT_PH_RESULTS;
    }
}

/* The optimizer's step is no code of PyTorch's: it has no foreach form, and its states are its own.
 * torch/optim/optimizer.py has the wrapper around any optimizer's. */
bool mt_logdiag_steps_itself(const struct mt_logdiag *d, const struct mt_log_stack *s)
{
    bool steps = false;
    for (uint32_t i = 0; d->sub == MT_PH_OPTIMIZER && i < s->frames.n; i++) {
        const char *file = s->frames.p[i].file;
        if (strstr(file, "torch/optim/") == NULL)
            steps |= strcmp(s->frames.p[i].function, "step") == 0 ||
                     strstr(s->frames.p[i].function, "init_state") != NULL;
        else if (strstr(file, "/optimizer.py") == NULL && strstr(file, "/lr_scheduler.py") == NULL)
            return false;
    }
    return steps;
}

/* A module is called there, or what goes with a pass over one. */
static bool is_of_pass(const struct mt_log_frame *f)
{
    static const char *const names[] = {"forward", "_call_impl", "backward", "step", NULL};
    return strstr(f->file, "torch/nn/modules/") != NULL || mt_phase_is_one_of(f->function, names);
}

bool mt_logdiag_outside(const struct mt_logdiag *d, const struct mt_log_stack *s)
{
    uint32_t at = own_frame(s);
    if (d->sub == MT_PH_RESULTS)
        return true;
    if (at == s->frames.n || !mt_logdiag_is_own(s->frames.p[at].file) || s->is_deeper ||
        mt_phase_is(d->phase, MT_TRAINS | MT_SETS_UP | MT_INTERRUPTS | MT_OF_ENGINE) ||
        mt_phase_is(d->sub, MT_TRAINS) ||
        (d->cause != MT_CAUSE_HOST && (d->request == MT_LOG_NONE || d->capacity == MT_LOG_NONE ||
                                       d->request < d->capacity / MT_LOG_LARGE)))
        return false;
    for (uint32_t i = 0; i < s->frames.n; i++)
        if (is_of_pass(&s->frames.p[i]))
            return false;
    return true;
}

/* The function of the frame that the line of code is in. */
static const char *innermost(const struct mt_log_stack *s)
{
    return s->frames.n != 0 && !s->is_deeper ? s->frames.p[s->frames.n - 1].function : "";
}

static bool of_code(struct mt_logdiag *d, const struct mt_log_stack *s,
                    const struct mt_phase_rules *rules)
{
    return of_one(d, rules, MT_CUT_CODE, innermost(s), s->code);
}

static bool of_frames(struct mt_logdiag *d, const struct mt_log_stack *s,
                      const struct mt_phase_rules *rules, enum mt_cut_kind kind)
{
    for (uint32_t i = s->frames.n; i-- > 0;)
        if (of_frame(d, s, i, rules, kind))
            return true;
    return false;
}

/* It trains or uses a model, and what it was at in doing so is not told: a loop around all else. */
static bool is_broad(const struct mt_logdiag *d)
{
    return (d->phase == MT_PH_TRAIN || d->phase == MT_PH_INFER) && d->sub == MT_PH_NONE;
}

/* Names, and the line of code before the name of a loop around it. */
static bool of_names(struct mt_logdiag *d, const struct mt_log_stack *s,
                     const struct mt_phase_rules *rules)
{
    struct mt_logdiag by_code = *d;
    bool named = of_frames(d, s, rules, MT_CUT_NAME);
    if ((!named || is_broad(d)) && of_code(&by_code, s, rules) &&
        (!named || by_code.sub != MT_PH_ROLLOUT_SAMPLE)) { /* trainers draw samples, too */
        *d = by_code;
        return true;
    }
    if (d->sub == MT_PH_NONE) /* what a line says of a pass, whose phase the names tell */
        d->sub = by_code.sub;
    return named;
}

/* The frames train, and Ray's method generates, sends or loads: it is that of another process,
 * whose line stands near. */
static bool trains_instead(const struct mt_logdiag *by_name, const struct mt_logdiag *by_method)
{
    return by_name->phase == MT_PH_TRAIN && by_method->phase != MT_PH_TRAIN &&
           by_method->phase != MT_PH_TRAIN_ACTOR && by_method->phase != MT_PH_TRAIN_CRITIC;
}

/* fit() is at what it calls of its workers: the innermost of those that tell another phase than
 * that it trains. */
static bool of_calls(struct mt_logdiag *d, const struct mt_log_stack *s,
                     const struct mt_phase_rules *rules)
{
    char name[sizeof s->calls];
    for (size_t end = strlen(s->calls), at; end > 0; end = at) {
        struct mt_logdiag by_call = *d;
        for (at = end; at > 0 && s->calls[at - 1] != ' ';)
            at--;
        memcpy(name, s->calls + at, end - at);
        name[end - at] = '\0';
        at -= at > 0;
        if (of_one(&by_call, rules, MT_CUT_METHOD, "", name) &&
            by_call.phase != MT_PH_UNATTRIBUTED && by_call.phase != MT_PH_TRAIN) {
            *d = by_call;
            return true;
        }
    }
    return false;
}

/* What the inner end of a cut traceback tells, else the method that Ray names, else the name of a
 * function in whatever file, else a line of code: from the innermost outward, what is not known
 * yet. The failing process's own frames win where both cannot be. A program's loop, by its file,
 * leaves room for what the frames further in say. */
void mt_logdiag_traced(struct mt_logdiag *d, const struct mt_log_stack *s,
                       const struct mt_phase_rules *rules)
{
    struct mt_logdiag by_file = *d, by_name = *d, by_method = *d, by_call = *d;
    bool in_loop = of_frames(&by_file, s, rules, MT_CUT_FRAME);
    if (in_loop && !is_broad(&by_file)) {
        *d = by_file;
        return;
    }
    d->sub = by_name.sub = by_method.sub = by_call.sub = by_file.sub;
    if (of_one(&by_method, rules, MT_CUT_METHOD, "", s->method) &&
        !(of_names(&by_name, s, rules) && trains_instead(&by_name, &by_method)))
        *d = by_method;
    else if (of_names(d, s, rules) && d->phase == MT_PH_TRAIN && of_calls(&by_call, s, rules))
        *d = by_call;
    if (in_loop && (d->phase == MT_PH_UNATTRIBUTED || d->phase == MT_PH_INFER))
        *d = by_file;
}

/* The program is known by its loop, and the line of code that its traceback ends in says what of a
 * pass it was at. */
void mt_logdiag_inside(struct mt_logdiag *d, const struct mt_log_stack *s,
                       const struct mt_phase_rules *rules)
{
    struct mt_cut_phase cut;
    if (d->sub == MT_PH_NONE && s->code[0] != '\0' &&
        mt_phase_of_cut(rules, MT_CUT_CODE, innermost(s), s->code, &cut) &&
        (cut.phase == MT_PH_NONE ||
         (mt_phase_is(cut.phase, MT_TRAINS) && mt_phase_is(d->phase, MT_TRAINS))))
        d->sub = cut.sub;
}
