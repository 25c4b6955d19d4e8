/* log/prose.c -- the lines of a short text that a person wrote: a ticket's words around its log.
 * They are kept as they are; what they tell is looked for where names are known. */
#include "parser/log/match.h"

#include <string.h>

static bool has_one(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(s, *words) != NULL)
            return true;
    return false;
}

/* Three words in a row at least, or letters that no ASCII has: those of people whose writing needs
 * no blanks. */
static bool reads_like_prose(const char *s)
{
    uint32_t words = 0, beyond = 0;
    for (const char *p = s; *p != '\0'; p++) {
        beyond += (unsigned char)*p >= 0xe0;
        words += p[0] == ' ' && p > s && p[-1] != ' ' && p[-1] != '\\' && p[1] != '\0' &&
                 p[1] != ' ' && p[1] != '-';
    }
    return words >= 2 || beyond >= 2;
}

void mt_log_prose_line(struct mt_log *l, uint64_t number, const char *line)
{
    static const char *const others[] = {"File \"", "WARNING", "INFO ",  "INFO:", "DEBUG",
                                         "ERROR",   "rror: ",  "^^^^",   "://",   "ried to alloc",
                                         "import ", "def ",    "class ", " = ",   " --",
                                         "return ", "====",    "):",     NULL};
    const char *p = line + strspn(line, " \t>*#[(");
    struct mt_log_prose *t;
    size_t n = strlen(p);
    if (number > MT_LOG_SAID_LINES || n == 0 || *p == '-' || *p == '$' || !reads_like_prose(p) ||
        has_one(line, others) || mt_log_command_at(line) != NULL)
        return;
    t = MT_VEC_PUSH(&l->prose);
    if (t == NULL) {
        l->no_memory = true;
        return;
    }
    n = n < sizeof t->text ? n : sizeof t->text - 1;
    memcpy(t->text, p, n);
    t->text[n] = '\0';
    t->line = number;
}
