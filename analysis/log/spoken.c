/* log/spoken.c -- the sentences of a text that somebody wrote. */
#include "analysis/log/spoken.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = MT_SPOKEN_LINE - 1 };

bool mt_spoken_starts(const char *s, const char *p)
{
    return p == s || strchr(" ,;:(", p[-1]) != NULL;
}

void mt_spoken_as_written(char *what, size_t n, const char *line)
{
    for (; *line != '\0'; line++)
        if (strncasecmp(line, what, n) == 0) {
            memcpy(what, line, n);
            return;
        }
}

/* Bytes of what ends a sentence at p; 0 = nothing does. */
static size_t end_at(const char *p)
{
    return strncmp(p, "\xe3\x80\x82", 3) == 0           ? 3
           : strchr(".!?", *p) != NULL && (p[1] == ' ') ? 1
           : strncmp(p, "\xef\xbc\x9f", 3) == 0         ? 3
                                                        : 0;
}

static const char *last_sentence(const char *s)
{
    const char *from = s;
    for (const char *p = s; *p != '\0'; p++)
        if (end_at(p) != 0)
            from = p + 1;
    return from;
}

static bool ends(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    return n == 0 || strchr(".!?`#:", s[n - 1]) != NULL;
}

/* An error's line that somebody quotes within a sentence: letters that no ASCII has stand around
 * it, or words of a sentence before it, and no class of an error. */
static bool is_quoting(const char *s)
{
    enum { WORDS = 5, LETTERS = 4 };
    const char *at = strstr(s, "out of memory");
    uint32_t words = 0, beyond = 0;
    if (at == NULL) /* PyTorch writes a capital, its allocator of the host names itself */
        at = strstr(s, "ried to allocate");
    if (at == NULL)
        return false;
    for (const char *p = s; *p != '\0'; p++) {
        beyond += (unsigned char)*p >= 0xe3 && (unsigned char)*p <= 0xe9;
        words += p < at && p > s && *p == ' ' && p[-1] >= 'a' && p[-1] <= 'z';
    }
    return beyond >= LETTERS || (strstr(s, "rror: ") == NULL &&
                                 (words >= WORDS || (*at == 'r' && at > s && at[-1] == 't' &&
                                                     strstr(s, "DefaultCPU") == NULL)));
}

static bool has(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(s, *words) != NULL)
            return true;
    return false;
}

bool mt_spoken_is_logged(const char *s)
{
    static const char *const words[] = {"pid=",  "WARN",    "INFO ", "DEBUG ",    ".py:",
                                        "ERROR", "File \"", "it/s]", "Traceback", NULL},
                             *const errors[] = {"ried to allocate", NULL};
    return has(s, words) || (has(s, errors) && !is_quoting(s));
}

/* "def f(x):", "if ready(x):"; not "My settings (what I changed):". */
static bool ends_call(const char *s)
{
    for (const char *p = s; (p = strstr(p, "):")) != NULL; p++) {
        const char *open = p;
        while (open > s && *open != '(')
            open--;
        if (open == s || (*open == '(' && open[-1] != ' '))
            return true;
    }
    return false;
}

bool mt_spoken_is_persons(const char *s)
{
    static const char *const others[] = {"File \"", "WARNING", "INFO ",  "INFO:",
                                         "DEBUG",   "ERROR",   "^^^^",   "://",
                                         "import ", "def ",    "class ", " = ",
                                         " --",     "return ", "====",   NULL},
                             *const errors[] = {"rror: ", "ried to alloc", NULL};
    uint32_t words = 0, beyond = 0;
    s += strspn(s, " \t>*#[(");
    for (const char *p = s; *p != '\0'; p++) {
        beyond += (unsigned char)*p >= 0xe0;
        words += p[0] == ' ' && p > s && p[-1] != ' ' && p[-1] != '\\' && p[1] != '\0' &&
                 p[1] != ' ' && p[1] != '-';
    }
    if (has(s, others) || ends_call(s) || (has(s, errors) && !is_quoting(s)))
        return false;
    return *s != '-' && *s != '$' && (words >= 2 || beyond >= 2);
}

bool mt_spoken_is_told(const char *line)
{
    char copy[MT_SPOKEN_LINE];
    size_t n = strlen(line) < sizeof copy - 1 ? strlen(line) : sizeof copy - 1;
    memcpy(copy, line, n);
    copy[n] = '\0';
    for (char *p = copy; (p = strstr(p, " --")) != NULL;)
        memcpy(p, "   ", 3);
    return mt_spoken_is_persons(copy);
}

const char *mt_spoken_item(const char *line)
{
    const char *s = line + strspn(line, " \t>");
    size_t n;
    n = strspn(s, "0123456789");
    if (n != 0 && (s[n] == '.' || s[n] == ')') && (s[n + 1] == ' ' || s[n + 1] == '\t'))
        return s + n + 1;
    if ((*s == '-' || *s == '*' || *s == '+' || *s == '|') && (s[1] == ' ' || s[1] == '\t'))
        return s[2 + strspn(s + 2, " ")] == '[' ? NULL : s + 1;
    return strncmp(s, "•", 3) == 0 ? s + 3 : NULL;
}

void mt_spoken_line(struct mt_spoken *t, const struct mt_log *log, uint32_t i)
{
    const struct mt_log_prose *p = &log->prose.p[i], *up = i > 0 ? p - 1 : NULL;
    const char *from = up != NULL && up->line + 1 == p->line && !ends(up->text) &&
                               up->text[0] != '#' && p->text[0] != '#' &&
                               !mt_spoken_is_logged(p->text) && !mt_spoken_is_logged(up->text)
                           ? last_sentence(up->text)
                           : "";
    size_t n = 0;
    for (; *from != '\0' && n < LONGEST; from++)
        t->text[n++] = mt_log_lower(*from);
    if (n != 0 && n < LONGEST)
        t->text[n++] = ' ';
    from = p->text;
    if (n != 0 && up->text[strspn(up->text, " \t")] == '>')
        from += strspn(from, " \t>"); /* the sign of a quote is of no sentence */
    for (; *from != '\0' && n < LONGEST; from++)
        t->text[n++] = mt_log_lower(*from);
    t->text[n] = '\0';
    for (char *h = t->text; (h = strstr(h, "out-of-memory")) != NULL;)
        memcpy(h, "out of", 6), h[6] = ' ';
    t->rest = t->text;
    t->line = p->line;
    t->n = n;
}

const char *mt_spoken_written(const struct mt_spoken *t, const struct mt_log *log, uint32_t i,
                              const char *at)
{
    const char *line = log->prose.p[i].text;
    size_t behind = t->n - (size_t)(at - t->text), n = strlen(line);
    return t->n < LONGEST && behind <= n ? line + n - behind : NULL;
}

char *mt_spoken_sentence(struct mt_spoken *t)
{
    char *s = t->rest;
    t->rest = NULL;
    for (char *p = s; p != NULL && *p != '\0'; p++) {
        size_t n = end_at(p);
        if (n != 0 && p[n] != '\0') {
            t->rest = p + n;
            *p = '\0';
            return s;
        }
    }
    return s;
}

bool mt_spoken_fails(const char *sentence)
{
    char copy[MT_SPOKEN_LINE];
    size_t n = strlen(sentence);
    memcpy(copy, sentence, n + 1);
    n = strspn(copy, "#> *");
    return mt_log_tells_failure(copy + n);
}

/* A program's own line, which is read as one. */
static bool is_fact(const struct mt_log *log, uint64_t line)
{
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (log->facts.p[i].line == line)
            return true;
    return false;
}

/* The last of each: memory of a card, of a host; an error, grows. */
uint64_t mt_spoken_of(const struct mt_log *log)
{
    static const char *const memory[] =
        {"memory", "vram", " ram ", "oom", "\xe6\x98\xbe\xe5\xad\x98", "\xe5\x86\x85\xe5\xad\x98",
         NULL},
                             *const trouble[] = {
                                 "error",      "crash",        "killed",       "fail",    "leak",
                                 "grow",       "increas",      "spike",        "problem", "full",
                                 "not enough", "\xe9\x94\x99", "\xe5\xa2\x9e", NULL};
    struct mt_spoken t;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        int blanks = 0;
        mt_spoken_line(&t, log, i);
        for (const char *p = t.text; *p != '\0'; p++)
            blanks += *p == ' ' || (unsigned char)*p >= 0xe0;
        if (blanks >= 3 && !is_fact(log, t.line) && !mt_spoken_is_logged(log->prose.p[i].text) &&
            strpbrk(log->prose.p[i].text, "={}") == NULL && mt_log_has_one(t.text, memory) &&
            mt_log_has_one(t.text, trouble))
            return t.line;
    }
    return 0;
}
