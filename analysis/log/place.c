/* log/place.c -- where in the job a failure of a log was: the traceback above it as a trace of one
 * stack, which the phase rules know. */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"
#include "parser/model/builder.h"
#include "analysis/phases/phases.h"
#include "analysis/setup/keys.h"

#include <string.h>

/* The traceback's frames as a stack, innermost first. 1, or 0 = out of memory. */
static int build(struct mt_builder *b, const struct mt_log_stack *s, mt_stack_id *id)
{
    mt_frame_id *ids = mt_calloc(s->frames.n + 1, sizeof *ids);
    int ok = ids != NULL && mt_build_trace_begin(b, 0, false);
    for (uint32_t i = 0; ok && i < s->frames.n; i++) {
        const struct mt_log_frame *f = &s->frames.p[i];
        mt_str_id file, name;
        ok = mt_build_str(b, f->file, strlen(f->file), &file) &&
             mt_build_str(b, f->function, strlen(f->function), &name) &&
             mt_build_frame(b, name, file, f->line, &ids[s->frames.n - 1 - i]);
    }
    ok = ok && mt_build_stack(b, ids, s->frames.n, id) && mt_build_finish(b);
    mt_free(ids);
    return ok;
}

bool mt_logdiag_place(struct mt_log_place *out, const struct mt_framework_rules *fw,
                      const struct mt_log_stack *s, const struct mt_phase_rules *rules)
{
    static const struct mt_limits limits = MT_LIMITS_DEFAULT;
    struct mt_builder *b;
    struct mt_phaser *p = NULL;
    bool ok;
    memset(out, 0, sizeof *out);
    out->stack = s;
    out->at.phase = MT_PH_UNATTRIBUTED;
    out->at.sub = MT_PH_NONE;
    out->trace = mt_trace_new();
    b = out->trace != NULL ? mt_builder_new(out->trace, &limits) : NULL;
    ok = b != NULL && build(b, s, &out->id);
    mt_builder_free(b);
    ok = ok && mt_frameworks_detect(fw, out->trace, &out->fw);
    if (ok && rules != NULL) {
        ok = mt_phaser_new(&p, rules, out->trace, NULL) >= 0;
        if (ok)
            out->at = mt_phaser_stack(p, out->id);
        mt_phaser_free(p);
    }
    if (!ok)
        mt_logdiag_place_done(out);
    return ok;
}

void mt_logdiag_place_done(struct mt_log_place *p)
{
    mt_trace_free(p->trace);
    p->trace = NULL;
}

/* True where `file` is a Python script whose name `d` now holds. */
static bool take_program(struct mt_logdiag *d, const char *file)
{
    const char *end = file + strlen(file), *name;
    if (end - file <= 3 || strcmp(end - 3, ".py") != 0)
        return false;
    size_t n = mt_log_script_name(file, end, &name);
    if (n == 0 || n >= sizeof d->program)
        return false;
    memcpy(d->program, name, n);
    d->program[n] = '\0';
    return true;
}

/* "I run test.py", "when running `demo.py`": a verb of starting within a few words before it. */
static bool is_started(const char *s, const char *name)
{
    enum { FAR = 40 };
    static const char *const verbs[] = {"run",   "ran ", "execut", "launch",
                                        "start", "运行", "执行",   NULL};
    for (const char *p = name - s > FAR ? name - FAR : s; p < name; p++)
        if (mt_log_begins(p, verbs) && (p == s || ((p[-1] | 32) < 'a' || (p[-1] | 32) > 'z')))
            return true;
    return false;
}

/* The one script that a person's words say was started; two of them name none. */
static void told_program(struct mt_logdiag *d, const struct mt_log *log)
{
    static const char marks[] = " \t`'\"*(/";
    char one[sizeof d->program] = "";
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *s = log->prose.p[i].text;
        for (const char *p = s; mt_spoken_is_persons(s) && (p = strstr(p, ".py")) != NULL; p += 3) {
            const char *name = p;
            size_t n;
            while (name > s && strchr(marks, name[-1]) == NULL)
                name--;
            n = (size_t)(p + 3 - name);
            if (n <= 3 || n >= sizeof one || strchr(" \t`'\"*).,:;", p[3]) == NULL ||
                !is_started(s, name))
                continue;
            if (one[0] != '\0' && (strncmp(one, name, n) != 0 || one[n] != '\0'))
                return;
            memcpy(one, name, n);
            one[n] = '\0';
        }
    }
    memcpy(d->program, one, sizeof one);
}

/* Frames of launchers and of installed packages may lie around the script's own. */
void mt_logdiag_program(struct mt_logdiag *d, const struct mt_log *log,
                        const struct mt_log_stack *s, const struct mt_runconf *conf)
{
    d->serves = mt_runconf_serves(conf);
    for (uint32_t i = s != NULL ? s->frames.n : 0; i-- > 0;) {
        const char *file = s->frames.p[i].file;
        if (strcmp(s->frames.p[i].function, "<module>") == 0 && strstr(file, "-packages") == NULL &&
            take_program(d, file))
            return;
    }
    memcpy(d->program, log->program, sizeof d->program);
    for (uint32_t i = 0;
         d->program[0] == '\0' && conf != NULL && conf->foreign && i < conf->conf.started.n; i++)
        if (strchr(conf->conf.started.p[i], ' ') == NULL)
            (void)take_program(d, conf->conf.started.p[i]);
    if (d->program[0] == '\0' && s == NULL)
        told_program(d, log);
}

/* The copy in 32 bits that Megatron's wrapper or a line of code makes of all logits. */
static bool in_float(const struct mt_log_stack *s)
{
    static const char *const names[] = {"float16_to_fp32", "float_conversion", "convert_to_fp32"};
    for (uint32_t i = s->frames.n; i-- > 0 && s->frames.n - i <= 4;)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strstr(s->frames.p[i].function, names[k]) != NULL)
                return true;
    for (uint32_t i = s->frames.n; i-- > 0;) {
        const char *function = s->frames.p[i].function;
        if (strstr(s->frames.p[i].file, "/torch/") != NULL)
            continue;
        if (strncmp(function, "compute_log", 11) == 0 || strstr(function, "vocab_parallel") != NULL)
            return false; /* called for each chunk */
        break;
    }
    return (strstr(s->code, "logits") != NULL || strstr(s->code, "cross_entropy(") != NULL) &&
           (strstr(s->code, ".float()") != NULL || strstr(s->code, ".to(torch.float32)") != NULL);
}

void mt_logdiag_logits(struct mt_logdiag *d, const struct mt_log_place *place,
                       const struct mt_runconf *conf)
{
    if (d->sub != MT_PH_LOGITS || place == NULL)
        return;
    d->in_float = in_float(place->stack);
    if (conf != NULL && !(mt_run_number(conf, "tp") > 1)) /* which of them split it is not told */
        d->vocab = mt_run_number(conf, "vocab") > 0 ? mt_run_number(conf, "vocab") : 0;
}
