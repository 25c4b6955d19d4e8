/* log/said.c -- what a person says of when it failed, in a ticket's own words: "OOM when saving the
 * checkpoint", "the error appears during validation"; and the method that a line names before the
 * error: "Error in Worker.update_weights: CUDA out of memory". */
#include "parser/log/match.h"

#include <string.h>

/* Somebody's sentence about a failure: no line of a logger, no warning, no code. */
static bool tells_of_failure(const char *s)
{
    static const char *const failures[] = {"rror",  "emory", "OOM",  "oom", "crash",
                                           "illed", " fail", "died", NULL},
                             *const others[] = {"arning", "INFO", "File \"", "raise ", "==", NULL};
    return mt_log_has_one(s, failures) && !mt_log_has_one(s, others);
}

static void keep(struct mt_log *l, uint64_t number, const char *p, size_t n, bool is_method)
{
    struct mt_log_said *s = l->n_said < MT_LOG_MAX_SAID ? &l->said[l->n_said] : NULL;
    if (s == NULL || n == 0)
        return;
    memset(s, 0, sizeof *s);
    mt_printable(s->text, sizeof s->text, p, n);
    s->line = number;
    s->is_method = is_method;
    l->n_said++;
}

/* The last part of "a.B.update_weights" before ": ... out of memory". */
static void method(struct mt_log *l, uint64_t number, const char *line)
{
    const char *p = strstr(line, "rror in "), *end;
    if (p == NULL || strstr(p, "out of memory") == NULL)
        return;
    p += 8;
    for (end = p;
         mt_log_is_letter(*end) || *end == '_' || *end == '.' || (*end >= '0' && *end <= '9');
         end++)
        p = *end == '.' ? end + 1 : p;
    if (*end == ':' && end > p)
        keep(l, number, p, (size_t)(end - p), true);
}

bool mt_log_may_say(uint64_t number, const char *line)
{
    static const char *const words[] = {"uring ",   "hen ",     "hile ",
                                        "tarting ", "rror in ", "OOM",
                                        "oom",      "emory",    "\xe5\x86\x85\xe5\xad\x98",
                                        NULL};
    return number <= MT_LOG_SAID_LINES && mt_log_has_one(line, words);
}

/* "during", "When", "while" as a word of its own, whose first letter stands before `at`, and
 * nothing in its sentence before it that denies a failure: "it works when". */
static bool is_told(const char *line, const char *at)
{
    static const char *const denials[] = {" not ",   "n't ",    "never ",  " no ",
                                          " fine ",  "works ",  "worked ", "without ",
                                          "only ok", "success", NULL};
    char before[256];
    const char *from = at - 1;
    size_t n;
    if (at == line || strchr("dDwW", at[-1]) == NULL || (at - 1 > line && mt_log_is_letter(at[-2])))
        return false;
    while (from > line && strchr(".!?", from[-1]) == NULL && at - from < 255)
        from--;
    n = (size_t)(at - 1 - from);
    memcpy(before, from, n);
    before[n] = '\0';
    return !mt_log_has_one(before, denials);
}

void mt_log_said_line(struct mt_log *l, uint64_t number, const char *line)
{
    static const char *const words[] = {"uring ", "hen ", "hile ", NULL};
    if (!mt_log_may_say(number, line))
        return;
    method(l, number, line);
    if (!tells_of_failure(line))
        return;
    for (const char *p = line; *p != '\0'; p++)
        for (const char *const *w = words; *w != NULL; w++) {
            size_t n = strlen(*w);
            if (strncmp(p, *w, n) == 0 && is_told(line, p))
                keep(l, number, p + n, strcspn(p + n, ",.;:!?()"), false);
        }
}
