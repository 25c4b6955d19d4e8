/* log/prose.c -- the lines of a text that somebody wrote, a ticket or a question, as they stand:
 * what its words name is looked up by rules, which the parser does not know. */
#include "parser/base/mem.h"
#include "parser/log/match.h"

#include <string.h>

enum { LONGEST = 1000 }; /* bytes that are kept of a line */

void mt_log_prose_line(struct mt_log *l, uint64_t number, const char *line)
{
    struct mt_log_prose *p;
    size_t n = strlen(line);
    if (number > MT_LOG_SAID_LINES || l->prose.n >= MT_LOG_SAID_LINES ||
        line[strspn(line, " \t")] == '\0')
        return;
    p = MT_VEC_PUSH(&l->prose);
    if (p != NULL)
        p->text = mt_strndup(line, n < LONGEST ? n : LONGEST);
    if (p == NULL || p->text == NULL) {
        l->prose.n -= p != NULL;
        l->no_memory = true;
        return;
    }
    p->line = number;
}

void mt_log_settings_lines(struct mt_log *l, struct mt_log_settings *s, uint32_t from, uint32_t to)
{
    uint64_t line = l->prose.p[from].line;
    for (uint32_t i = from; i < to; i++) {
        const char *text = l->prose.p[i].text;
        for (; line < l->prose.p[i].line; line++) /* also the empty ones */
            mt_log_settings_add(l, s, "\n", 1);
        mt_log_settings_add(l, s, text, strlen(text));
    }
}

bool mt_log_is_loggers(const struct mt_log *l, uint64_t line)
{
    for (uint32_t i = 0; i < l->prose.n && l->prose.p[i].line <= line; i++) {
        const char *text = l->prose.p[i].text, *level = strstr(text, "ERROR");
        if (l->prose.p[i].line == line)
            return level != NULL && level > text && level[5] != '_' &&
                   strstr(text, "Error:") == NULL;
    }
    return false;
}

void mt_log_prose_done(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->prose.n; i++)
        mt_free(l->prose.p[i].text);
    MT_VEC_DONE(&l->prose);
}

/* A longer text is a job's log, whose first lines say nothing of its end; but for one with a title
 * in Markdown, which is a ticket with a log in it. */
void mt_log_prose_end(struct mt_log *l)
{
    bool titled = l->prose.n != 0 && strncmp(l->prose.p[0].text, "# ", 2) == 0;
    if (l->n_lines > MT_LOG_SAID_LINES && !titled)
        mt_log_prose_done(l);
}
