/* log/told.c -- which program runs, by a text of somebody's own, a ticket or a question, and by
 * lines in a form that one program alone has. It counts less than what a job's own lines show. */
#include "analysis/log/diagnose.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 2000 }; /* bytes of a line's file that are looked at */

/* The one of these kinds that the text names, most often where several stand side by side. */
static int among(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX],
                 enum mt_fw_kind kind)
{
    mt_fw f = mt_framework_top(r, n, mt_framework_kind(r, kind));
    return f != MT_FW_NONE ? (int)f : -1;
}

int mt_logs_told(const struct mt_logs *l)
{
    uint64_t n[MT_FW_MAX] = {0};
    mt_fw f;
    int one;
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.prose.n; k++)
            mt_framework_of_words(l->rules, l->files.p[i].log.prose.p[k].text, n);
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.facts.n; k++)
            if (l->files.p[i].log.facts.p[k].form != NULL)
                n[mt_framework_of_log_line(l->rules, l->files.p[i].log.facts.p[k].form)]++;
    f = mt_framework_program(l->rules, n);
    if (f != MT_FW_NONE)
        return (int)f;
    one = among(l->rules, n, MT_FWK_TRAINER);
    return one >= 0 ? one : among(l->rules, n, MT_FWK_ENGINE);
}

/* Of a frame its file counts: what a function is called, each script decides. */
static bool line_says(const char *line, const char *word)
{
    char file[LONGEST + 1];
    const char *end = strstr(line, "File \"") != NULL ? strstr(line, "\", line ") : NULL;
    if (end == NULL)
        return mt_framework_is_said(line, word);
    (void)snprintf(file, sizeof file, "%.*s", (int)(end - line < LONGEST ? end - line : LONGEST),
                   line);
    return mt_framework_is_said(file, word);
}

bool mt_logs_say(const void *logs, const char *word)
{
    const struct mt_logs *l = logs;
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.prose.n; k++)
            if (line_says(l->files.p[i].log.prose.p[k].text, word))
                return true;
    return false;
}
