/* log/said.c -- the method that a line names before the error: "Error in Worker.update_weights:
 * CUDA out of memory". */
#include "parser/log/match.h"

#include <string.h>

static void keep(struct mt_log *l, uint64_t number, const char *p, size_t n)
{
    struct mt_log_said *s = l->n_said < MT_LOG_MAX_SAID ? &l->said[l->n_said] : NULL;
    if (s == NULL || n == 0)
        return;
    memset(s, 0, sizeof *s);
    mt_printable(s->text, sizeof s->text, p, n);
    s->line = number;
    l->n_said++;
}

/* The last part of "a.B.update_weights" before ": ... out of memory". */
void mt_log_said_line(struct mt_log *l, uint64_t number, const char *line)
{
    const char *p = strstr(line, "rror in "), *end;
    if (number > MT_LOG_SAID_LINES || p == NULL || strstr(p, "out of memory") == NULL)
        return;
    p += 8;
    for (end = p;
         mt_log_is_letter(*end) || *end == '_' || *end == '.' || (*end >= '0' && *end <= '9');
         end++)
        p = *end == '.' ? end + 1 : p;
    if (*end == ':' && end > p)
        keep(l, number, p, (size_t)(end - p));
}

bool mt_log_may_say(uint64_t number, const char *line)
{
    static const char *const words[] = {"uring ",   "hen ",     "hile ",
                                        "tarting ", "rror in ", "OOM",
                                        "oom",      "emory",    "\xe5\x86\x85\xe5\xad\x98",
                                        NULL};
    return number <= MT_LOG_SAID_LINES && mt_log_has_one(line, words);
}
