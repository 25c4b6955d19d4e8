/* log/told_cause.c -- why memory ran out, as somebody says in a text of their own. */
#include "analysis/base/words.h"
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"
#include "analysis/phases/phases.h"

#include <string.h>

/* Who asks whether it is the cause does not say so. The last: a question mark of Chinese. */
static bool is_asked(const char *at)
{
    while (*at != '\0' && strncmp(at, "\xe3\x80\x82", 3) != 0 &&
           strncmp(at, "\xef\xbc\x9f", 3) != 0 &&
           (strchr(".!?", *at) == NULL || (at[1] != ' ' && at[1] != '\0')))
        at++;
    return *at == '?' || *at == '\xef';
}

/* PyTorch's own advice against fragmentation stands in every sentence of its own; code, frames,
 * what others are quoted with. */
static bool is_own_words(const char *s)
{
    return strstr(s, "to avoid fragmentation") != NULL || strstr(s, "tried to allocate") != NULL ||
           strstr(s, "file \"") != NULL || *s == '>';
}

/* The first cause that the i-th line names; NULL = none. */
const char *mt_logdiag_told_cause(const struct mt_log *log, uint32_t i,
                                  const struct mt_phase_rules *rules, struct mt_spoken *t)
{
    mt_spoken_line(t, log, i);
    for (uint32_t k = 0; k < mt_phase_cut_rows(rules) && !is_own_words(t->text); k++) {
        const char *cause, *at = mt_phase_told_cause(rules, k, t->text, &cause);
        if (at != NULL && !mt_log_is_denied(t->text, at) && !is_asked(at))
            return cause;
    }
    return NULL;
}

bool mt_logdiag_told_pieces(const struct mt_log *log, const struct mt_phase_rules *rules)
{
    struct mt_spoken t;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *cause = mt_logdiag_told_cause(log, i, rules, &t);
        if (cause != NULL && strstr(cause, "(fragmentation)") != NULL)
            return true;
    }
    return false;
}

/* What runs, and the run that fails has something else. */
static void say_runs(struct mt_sentence *s, const struct mt_log *log)
{
    static const char *const verbs[] = {"", "", " runs", " went through"},
                             *const matters[] = {"", "the run that fails has in its place",
                                                 "the run that fails has beyond it",
                                                 "grows, or is larger later,"};
    char thing[MT_LOG_CONTRAST];
    uint64_t line;
    enum mt_log_runs kind = mt_logdiag_runs(thing, &line, log);
    if (kind != MT_LOG_RUNS_NONE)
        mt_words_add(s, "%sBy line %llu %s\"%s\"%s: what %s is the first to look at.",
                     s->n != 0 ? " " : "", (unsigned long long)line,
                     kind == MT_LOG_RUNS_WITH ? "it runs with " : "", thing, verbs[kind],
                     matters[kind]);
}

void mt_logdiag_say_told(struct mt_sentence *s, const struct mt_logdiag *d,
                         const struct mt_log *log, const struct mt_phase_rules *rules)
{
    struct mt_spoken t;
    char thing[MT_LOG_CONTRAST];
    uint64_t line = mt_logdiag_contrast(thing, log);
    mt_logdiag_say_tried(s, d);
    if (line != 0)
        mt_words_add(s,
                     "%sBy line %llu it runs without \"%s\": what that brings is the first to look "
                     "at.",
                     s->n != 0 ? " " : "", (unsigned long long)line, thing);
    else
        say_runs(s, log);
    if (d->after_line != 0 && d->after != d->phase)
        mt_words_add(s,
                     "%sBy line %llu it came after %s: what that left on the card is the first to "
                     "look at.",
                     s->n != 0 ? " " : "", (unsigned long long)d->after_line,
                     MT_PHASE_WORDS(d->after, MT_PH_NONE));
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *cause = mt_logdiag_told_cause(log, i, rules, &t);
        if (cause == NULL)
            continue;
        mt_words_add(s, "%sThe text itself, line %llu, names a cause: %s.", s->n != 0 ? " " : "",
                     (unsigned long long)t.line, cause);
        return;
    }
}
