/* log/steps.c -- lines in which a job says what it is at: bars and lines of steps, by patterns that
 * are handed in. A failure keeps the last one of its own writer. */
#include "parser/log/match.h"

#include <string.h>

/* One that names no process may be of each. */
static bool of_one(const struct mt_log_step *s, int64_t pid, int32_t rank)
{
    return (s->writer.pid < 0 || pid < 0 || s->writer.pid == pid) &&
           (s->writer.rank < 0 || rank < 0 || s->writer.rank == rank);
}

static struct mt_log_step *step_for(struct mt_log *l, struct mt_log_writer who)
{
    struct mt_log_step *oldest = &l->at[0];
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_step *s = &l->at[i];
        if (s->line != 0 && s->writer.pid == who.pid && s->writer.rank == who.rank)
            return s;
        if (s->line < oldest->line)
            oldest = s;
    }
    return oldest;
}

static void keep(struct mt_log *l, struct mt_log_fact *f, const struct mt_log_step *s)
{
    struct mt_log_step *kept = MT_VEC_PUSH(&l->kept_steps);
    l->no_memory |= kept == NULL;
    if (kept == NULL)
        return;
    *kept = *s;
    f->step = l->kept_steps.n;
}

/* A bar that is closed by the failure, or was printed by another thread: right below a failure that
 * has none above it. Titles and sentences that tell of the same stand further up. */
static void closed_below(struct mt_log *l, const struct mt_log_step *s)
{
    enum { BELOW = 4 };
    struct mt_log_fact *f = NULL;
    for (uint32_t i = 0; f == NULL && i < l->facts.n; i++)
        if (mt_log_has_stack(l->facts.p[i].kind) && l->facts.p[i].kind != MT_LOG_RETRIED &&
            l->facts.p[i].line < s->line && s->line - l->facts.p[i].line <= BELOW)
            f = &l->facts.p[i];
    if (f != NULL && f->step == 0 && of_one(s, f->pid, f->rank))
        keep(l, f, s);
}

void mt_log_step_line(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_got g;
    for (const char *const *p = l->steps; p != NULL && *p != NULL; p++) {
        const char *end = mt_log_find(s, *p, &g);
        struct mt_log_writer who;
        struct mt_log_step *at;
        if (end == NULL || strlen(*p) >= sizeof at->pattern)
            continue;
        who = mt_log_writer(s, end);
        at = step_for(l, who);
        memset(at, 0, sizeof *at);
        if (strstr(s, "100%|") != NULL || strstr(s, ": 100% ") != NULL)
            return; /* a bar that is full: it ended */
        memcpy(at->pattern, *p, strlen(*p));
        at->writer = who;
        at->line = number;
        closed_below(l, at);
        return;
    }
}

void mt_log_step_take(struct mt_log *l, struct mt_log_fact *f)
{
    const struct mt_log_step *last = NULL;
    for (int i = 0; i < MT_LOG_OPEN; i++)
        if (l->at[i].line != 0 && of_one(&l->at[i], f->pid, f->rank) &&
            (last == NULL || l->at[i].line > last->line))
            last = &l->at[i];
    if (last != NULL && l->kept_steps.n < MT_LOG_MAX_STACKS)
        keep(l, f, last);
}
