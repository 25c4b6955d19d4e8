/* log/grows.c -- a text in which nothing failed yet, or in which memory ran out of what grew: in
 * which words somebody says so is a row of phases.json (cut.cause.kept). */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"

#include <string.h>

/* The line says that memory is kept from step to step; t: the line. */
static bool line_grows(const struct mt_log *log, uint32_t i, const struct mt_phase_rules *rules,
                       struct mt_spoken *t)
{
    const char *cause = mt_logdiag_told_cause(log, i, rules, t);
    return cause != NULL && strstr(cause, "kept from step to step") != NULL;
}

bool mt_logdiag_told_growth(const struct mt_log *log, const struct mt_phase_rules *rules)
{
    struct mt_spoken t;
    for (uint32_t i = 0; i < log->prose.n; i++)
        if (line_grows(log, i, rules, &t))
            return true;
    return false;
}

/* It is over, or is the title of a change; a guide's or a list's words are nobody's job. */
static bool is_nobodys(const char *s, bool is_title)
{
    static const char *const overs[] = {"fix", "resolve", "solved", "avoid", "prevent", NULL},
                             *const jobs[] = {"train", "step",    "epoch", "iteration",
                                              "infer", "rollout", "each ", "every ",
                                              " i ",   " my ",    " we ",  "\xe8\xae\xad",
                                              NULL};
    return mt_log_has_one(s, overs) || (!is_title && !mt_log_has_one(s, jobs));
}

static bool is_hosts(const char *s)
{
    static const char *const cards[] =
        {"gpu", "cuda", "vram", "nvidia-smi", "\xe6\x98\xbe\xe5\xad\x98", NULL},
                             *const hosts[] = {"host mem",
                                               "cpu mem",
                                               "system mem",
                                               "system ram",
                                               "cpu ram",
                                               "ram mem",
                                               " ram ",
                                               " rss ",
                                               "main memory",
                                               "host's mem",
                                               "\xe5\x86\x85\xe5\xad\x98",
                                               NULL};
    return mt_log_has_one(s, hosts) && !mt_log_has_one(s, cards);
}

/* A line that is a failure, or somebody's words about one. */
static bool fails(const struct mt_log *log)
{
    for (uint32_t i = 0; i < log->facts.n; i++) {
        if (mt_log_is_talk(&log->facts.p[i]) || mt_log_is_failure(log->facts.p[i].kind))
            return true;
    }
    return false;
}

bool mt_logdiag_settle_grows(struct mt_log *log, const struct mt_logs *l)
{
    struct mt_spoken t;
    if (log->n_lines > MT_LOG_SAID_LINES || fails(log))
        return true;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        struct mt_log_fact *f;
        if (!line_grows(log, i, l->phases, &t) || is_nobodys(t.text, i == 0))
            continue;
        f = MT_VEC_PUSH(&log->facts);
        if (f == NULL)
            return false;
        memset(f, 0, sizeof *f);
        f->kind = is_hosts(t.text) ? MT_LOG_HOST_OOM : MT_LOG_TORCH_OOM;
        f->line = log->prose.p[i].line;
        f->rank = f->gpu = -1;
        f->pid = -1;
        for (int k = 0; k < MT_LOG_VALUES; k++)
            f->value[k] = MT_LOG_NONE;
        memcpy(f->text, "talk", sizeof "talk");
        f->platform = MT_LOG_GROWS;
        return true;
    }
    return true;
}
