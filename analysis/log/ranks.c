/* log/ranks.c -- whether the other processes on a card are ranks of the same job. */
#include "analysis/log/diagnose.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

/* Lines of several ranks, or a worker of Ray's, or settings that start more than one process. Where
 * a launcher starts one on each node, none of the others is. */
static bool shows_ranks(const struct mt_logs *logs, const struct mt_log_fact *f,
                        const struct mt_runconf *conf)
{
    if (mt_run_world(conf) == 1 || mt_run_number(conf, "node_ranks") == 1)
        return false;
    if (f->rank >= 0 || f->who[0] != '\0' || mt_run_world(conf) > 1 ||
        mt_run_number(conf, "node_ranks") > 1)
        return true;
    for (uint32_t i = 0; i < logs->files.n; i++)
        for (uint32_t k = 0; k < logs->files.p[i].log.facts.n; k++)
            if (logs->files.p[i].log.facts.p[k].rank >= 0)
                return true;
    return false;
}

static bool is_engine(const struct mt_framework_rules *r, mt_fw fw)
{
    return fw != MT_FW_NONE && mt_framework_at(r, fw)->kind == MT_FWK_ENGINE;
}

/* Lines of an inference engine, or its process in a table of the card's: it has processes of its
 * own on the trainer's cards. */
static bool shows_engine(const struct mt_logs *logs)
{
    const struct mt_framework_rules *r = logs->rules;
    for (uint32_t i = 0; i < logs->files.n; i++)
        for (uint32_t k = 0; k < logs->files.p[i].log.facts.n; k++) {
            const struct mt_log_fact *f = &logs->files.p[i].log.facts.p[k];
            if (is_engine(r, mt_framework_of_log_line(r, mt_log_kind_name(f->kind))) ||
                is_engine(
                    r, mt_framework_of_process(r, f->kind == MT_LOG_CARD_PROC ? f->text : f->who)))
                return true;
        }
    return false;
}

/* The numbers of the processes that the sentence names follow each other, three of them or more:
 * one launch started them one after the other. Whose numbers others took in between is not known,
 * so half of the span may be theirs. */
static bool follow_each_other(const struct mt_log *log, uint32_t fact)
{
    uint64_t low = UINT64_MAX, high = 0, line = log->facts.p[fact].line, n = 0;
    for (uint32_t k = fact + 1; k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC &&
                                log->facts.p[k].line == line;
         k++, n++) {
        uint64_t pid = log->facts.p[k].value[0];
        low = pid < low ? pid : low;
        high = pid > high ? pid : high;
    }
    return n >= 3 && high - low < 2 * n;
}

/* An engine beside a trainer, or another job, has rarely the trainer's size, and under Ray one that
 * has may still be an engine: most of the others have it, and where Ray's workers or an engine
 * write, two. */
void mt_logdiag_tell_ranks(struct mt_logdiag *d, const struct mt_logs *logs,
                           const struct mt_log_fact *f, const struct mt_runconf *conf)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    d->are_siblings = !shows_engine(logs) && follow_each_other(log, d->fact);
    d->are_ranks = d->n_alike >= (f->who[0] != '\0' || shows_engine(logs) ? 2 : 1) &&
                   d->n_alike * 2 >= d->n_others && (d->are_siblings || shows_ranks(logs, f, conf));
}
