/* log/cut.c -- a log that ends in a traceback, before the error's own line. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/phases/phases.h"

#include <stdio.h>
#include <string.h>

/* The line of code makes a tensor, or moves one to the card. */
static bool allocates(const char *code)
{
    static const char *const calls[] = {"torch.zeros(", "torch.empty(", "torch.ones(",
                                        "torch.full(",  "torch.randn(", "torch.cat(",
                                        "torch.stack(", ".cuda(",       ".to(device"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strstr(code, calls[i]) != NULL)
            return true;
    return false;
}

/* The log has an engine's own lines, and the traceback its files: it was being made, or worked. */
static bool of_engine(const struct mt_log *log, const struct mt_log_stack *s,
                      const struct mt_framework_rules *r)
{
    mt_fw told = MT_FW_NONE;
    for (uint32_t i = 0; i < log->facts.n && told == MT_FW_NONE; i++)
        told = mt_framework_of_log_line(r, mt_log_kind_name(log->facts.p[i].kind));
    for (uint32_t i = 0; told != MT_FW_NONE && i < s->frames.n; i++)
        if (mt_framework_of_path(r, s->frames.p[i].file, strlen(s->frames.p[i].file)) == told)
            return mt_framework_at(r, told)->kind == MT_FWK_ENGINE;
    return false;
}

bool mt_logdiag_settle_cut(struct mt_log *log, const struct mt_logs *l)
{
    for (uint32_t i = 0; i < log->facts.n; i++) {
        struct mt_log_place at;
        enum mt_conf conf;
        bool tells, part;
        if (log->facts.p[i].kind != MT_LOG_CUT)
            continue;
        if (!mt_logdiag_place(&at, l->rules, &log->stacks.p[log->facts.p[i].stack - 1], l->phases))
            return false;
        conf = mt_attr_conf(at.at);
        part = at.at.sub != MT_PH_NONE && at.at.sub != MT_PH_UNATTRIBUTED &&
               at.at.sub != MT_PH_FORWARD; /* an optimizer's step: that it trains is inferred */
        tells = allocates(at.stack->code) || of_engine(log, at.stack, l->rules) ||
                (conf == MT_CONF_MARKED && at.at.phase != MT_PH_UNATTRIBUTED) ||
                (part && (conf == MT_CONF_MARKED || conf == MT_CONF_INFERRED));
        mt_logdiag_place_done(&at);
        if (!tells) {
            log->facts.n--;
            memmove(&log->facts.p[i], &log->facts.p[i + 1],
                    (log->facts.n - i) * sizeof log->facts.p[i]);
        }
        return true; /* there is one at most */
    }
    return true;
}

void mt_logdiag_say_cut(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_log_fact *f)
{
    char who[64];
    (void)snprintf(who, sizeof who, f->rank >= 0 ? "Rank %d" : "A process", (int)f->rank);
    mt_words_add(t, "%s", f->who[0] != '\0' ? f->who : who);
    if (f->pid >= 0)
        mt_words_add(t, " (pid %lld)", (long long)f->pid);
    mt_words_add(t, " was");
    if (d->phase != MT_PH_UNATTRIBUTED || d->sub != MT_PH_NONE)
        mt_words_add(t, " in %s", MT_PHASE_WORDS(d->phase, d->sub));
    if (d->site != NULL)
        mt_words_add(t, "%s at %s",
                     d->phase != MT_PH_UNATTRIBUTED || d->sub != MT_PH_NONE ? "," : "", d->site);
    mt_words_add(t, " when it failed; the log ends before the error's own line, which alone says "
                    "what it was and how much was asked for");
}
