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

/* An engine beside a trainer, or another job, has rarely the trainer's size, and under Ray one that
 * has may still be an engine: most of the others have it, and where Ray's workers or an engine
 * write, two. */
void mt_logdiag_tell_ranks(struct mt_logdiag *d, const struct mt_logs *logs,
                           const struct mt_log_fact *f, const struct mt_runconf *conf)
{
    d->are_ranks = d->n_alike >= (f->who[0] != '\0' || shows_engine(logs) ? 2 : 1) &&
                   d->n_alike * 2 >= d->n_others && shows_ranks(logs, f, conf);
}
