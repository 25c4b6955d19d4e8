/* log/trials.c -- what a text says is on already, was tried, or is refused by the program, so that
 * nobody is told to do it. What the things are called is data; how people say so is saying.c. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/log/saying.h"

#include <stddef.h>
#include <string.h>

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

static bool ends_sentence(char c) { return c == '.' || c == '!' || c == ';' || c == '?'; }

/* "32->8->4": a number that was changed, and the way it went: 1 down, 2 up; 0 = no arrow joins two
 * numbers. */
static int arrow(const char *s, size_t n)
{
    static const char *const arrows[] = {"->", "=>", "→", "⇒", NULL};
    for (size_t i = 1; i < n; i++) {
        bool may_be = s[i] == '-' || s[i] == '=' || (unsigned char)s[i] == 0xe2;
        size_t a = may_be ? mt_log_word_at(s + i, arrows) : 0, from = i;
        const char *end;
        double was, is;
        while (a != 0 && from > 0 && s[from - 1] == ' ')
            from--;
        if (a == 0 || from == 0 || !mt_log_is_digit(s[from - 1]))
            continue;
        while (from > 0 && (mt_log_is_digit(s[from - 1]) || s[from - 1] == '.'))
            from--;
        a += strspn(s + i + a, " ");
        if (!mt_log_is_digit(s[i + a]))
            continue;
        was = mt_logdiag_number_at(s + from, &end);
        is = mt_logdiag_number_at(s + i + a, &end);
        return is < was ? 1 : is > was ? 2 : 0;
    }
    return 0;
}

/* A change that arrows tell is said as a person would. */
static void normalise(struct mt_saying *t, const char *s, size_t n)
{
    static const char *const said[] = {"", "i reduced ", "i raised "};
    int way = arrow(s, n);
    size_t k = strlen(said[way]);
    memcpy(t->text, said[way], k);
    t->is_set |= way == 1; /* what was raised can go back */
    for (size_t i = 0; i < n && k + 1 < sizeof t->text; i++) {
        char c = s[i] == '_' || s[i] == '-' || s[i] == '\t' || s[i] == '|' ? ' ' : s[i];
        if (c == '`' || c == '*' || c == '"' || (c == ' ' && (k == 0 || t->text[k - 1] == ' ')))
            continue;
        t->text[k++] = mt_log_lower(c);
    }
    t->text[k] = '\0';
}

/* ---- patterns ---- */

/* The part ends the pattern or a '*' follows; a number is no part of a longer one, nor the start of
 * "16k". */
static bool ends_well(const char *end, char last)
{
    return !mt_log_is_digit(last) ||
           (!mt_log_is_digit(*end) && *end != 'k' && !(*end == '.' && mt_log_is_digit(end[1])));
}

/* The first n bytes of the pattern stand at s. */
static bool stands(const char *s, const char *pattern, size_t n)
{
    return n == 0 || (strncmp(s, pattern, n) == 0 && ends_well(s + n, pattern[n - 1]));
}

/* Behind what the pattern says somewhere in s; NULL = it does not stand there. The first place of a
 * part leaves most room for the parts behind it: no other has to be tried. */
static const char *behind(const char *s, const char *pattern)
{
    size_t n = strcspn(pattern, "*");
    while (*s != '\0' && !stands(s, pattern, n))
        s++;
    if (*s == '\0')
        return NULL;
    return pattern[n] == '\0' ? s + n : behind(s + n, pattern + n + 1);
}

static bool ends_in_number(const char *pattern)
{
    size_t n = strlen(pattern);
    return n != 0 && mt_log_is_digit(pattern[n - 1]);
}

/* kept: that it is to stay is asked, not whether it was done. */
static bool says_so(const struct mt_saying *t, const char *pattern, bool kept)
{
    size_t n = strcspn(pattern, "*");
    if (kept && strcmp(pattern, "*") == 0)
        return mt_saying_may_keep(t);
    for (const char *p = t->text; *p != '\0'; p++) {
        const char *end;
        if (n != 0 && *p != *pattern) /* most bytes begin none */
            continue;
        if ((p > t->text && is_letter(*pattern) && is_letter(p[-1])) || !stands(p, pattern, n))
            continue;
        end = pattern[n] == '\0' ? p + n : behind(p + n, pattern + n + 1);
        if (end == NULL) /* nor behind any place further on */
            return false;
        if (kept ? mt_saying_keeps(t, p, end) : mt_saying_is_so(t, p, end, ends_in_number(pattern)))
            return true;
    }
    return false;
}

/* ---- lines ---- */

/* A line that sets something for the job: of a shell, of Python's environment. */
static bool sets(const char *s)
{
    static const char *const words[] = {"export ", "os.environ", "ENV ", "env ", "set ", NULL};
    return mt_log_begins(s + strspn(s, " \t>$`"), words);
}

static bool in_name(char c)
{
    return is_letter((char)(c | 32)) || mt_log_is_digit(c) || c == '_' || c == '.';
}

/* The end of what may be a statement: no sentence ends so. */
static bool ends_code(const char *from, const char *end)
{
    return strchr("(),:]}\"'", end[-1]) != NULL || memchr(from, ' ', (size_t)(end - from)) == NULL;
}

/* A name, and right behind it a bracket or a value, to the end of the line: no sentence, and no
 * more than what is done there. */
static bool is_code(const char *s)
{
    static const char *const heads[] = {"def ",  "class ", "import ", "from ",
                                        "elif ", "if ",    "return ", NULL},
                             *const openers[] = {"with ", "@", NULL},
                             *const options[] = {"add_argument", "eval", "valid", "test_", NULL};
    const char *p = s + strspn(s, " \t>"), *end = s + strlen(s), *name;
    if (mt_log_begins(p, heads) || mt_log_has_one(p, options))
        return false;
    p += mt_log_word_at(p, openers);
    for (name = p; in_name(*p);)
        p++;
    while (end > p && strchr(" \t\r", end[-1]) != NULL)
        end--;
    if (p - name < 2 || mt_log_is_digit(*name) || p == end)
        return false;
    if (*p != '(') {
        p += strspn(p, " ");
        if (*p != '=' || p[1] == '=')
            return false;
        p += 1 + strspn(p + 1, " ");
    }
    return p < end && ends_code(p, end);
}

/* A line of a script that somebody shows does what it says; those of a traceback are somebody
 * else's. */
static bool is_statement(const struct mt_log *log, uint32_t i)
{
    const struct mt_log_prose *p = &log->prose.p[i];
    for (uint32_t k = i; k > 0 && k + 2 > i; k--)
        if (strstr(log->prose.p[k - 1].text, "File \"") != NULL)
            return false;
    return is_code(p->text);
}

/* What stands in a list below it is asked for or wished. */
static bool is_wish(const char *s)
{
    static const char *const words[] = {"uestion", "uggest",  "xpected", "TODO", "dea",  "ossible",
                                        "feature", "lternat", "建议",    "期望", "请问", NULL};
    return mt_log_has_one(s, words);
}

static bool heads(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && strchr(" \r*", s[n - 1]) != NULL)
        n--;
    return *s == '#' || (n > 0 && s[n - 1] == ':');
}

/* The line without the error that somebody quotes in the midst of it, between marks of code: what
 * stands around is a person's. */
static const char *unquoted(char buf[MT_SPOKEN_LINE], const char *line)
{
    const char *at = strstr(line, "ried to allocate"), *from = at, *to;
    while (from != NULL && from > line && *from != '`')
        from--;
    to = at != NULL && *from == '`' ? strchr(at, '`') : NULL;
    if (to == NULL || (size_t)(from - line) + strlen(to) >= MT_SPOKEN_LINE)
        return line;
    memcpy(buf, line, (size_t)(from - line));
    memcpy(buf + (from - line), to, strlen(to) + 1);
    return buf;
}

/* What was done before it came to nothing. */
static bool was_in_vain(const char *s)
{
    static const char *const words[] = {"none worked",
                                        "none helped",
                                        "none of these",
                                        "none of them",
                                        "nothing worked",
                                        "nothing helped",
                                        "nothing changed",
                                        "persist",
                                        "without effect",
                                        "without success",
                                        "stays the same",
                                        "to no avail",
                                        NULL};
    return mt_log_has_one(s, words);
}

static bool line_says(const struct mt_log *log, uint32_t i, struct mt_saying *t,
                      const char *pattern, bool kept, bool wished)
{
    char buf[MT_SPOKEN_LINE];
    const char *line = unquoted(buf, log->prose.p[i].text), *item = mt_spoken_item(line);
    const bool is_set = (item != NULL && !wished) || sets(line) || is_statement(log, i);
    const bool is_error = !is_set && !mt_spoken_is_told(line);
    if ((strstr(line, "ried to allocate") != NULL && mt_spoken_is_logged(line)) ||
        strstr(line, "File \"") != NULL)
        return false;
    for (const char *p = item != NULL ? item : line; *p != '\0';) {
        size_t n = 0;
        while (p[n] != '\0' && !(ends_sentence(p[n]) && (p[n + 1] == ' ' || !p[n + 1])) &&
               strncmp(p + n, "。", 3) != 0 && strncmp(p + n, "？", 3) != 0)
            n++;
        t->is_asked = p[n] == '?' || strncmp(p + n, "？", 3) == 0;
        t->is_set = is_set;
        normalise(t, p, n);
        t->is_error = is_error && !t->is_set;
        t->is_set |= was_in_vain(t->text);
        if (strstr(t->text, "to avoid fragmentation") == NULL && says_so(t, pattern, kept))
            return true;
        p += n + (p[n] != '\0');
    }
    return false;
}

static bool log_says(const struct mt_log *log, const char *pattern, bool kept)
{
    struct mt_saying t;
    bool wished = false;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *line = log->prose.p[i].text;
        if (line_says(log, i, &t, pattern, kept, wished))
            return true;
        if (heads(line))
            wished = is_wish(line);
    }
    return false;
}

static bool logs_say(const struct mt_logs *l, const char *pattern, bool kept)
{
    for (uint32_t i = 0; i < l->files.n; i++)
        if (log_says(&l->files.p[i].log, pattern, kept))
            return true;
    return false;
}

/* A run that fails with less in its pass shows that more than the pass fills the card. What no
 * batch changes is said where nothing else says it. */
void mt_logdiag_say_tried(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const char *sep = t->n != 0 ? " " : "";
    const bool is_summed = d->model.budget.most > 0 || d->model.served.frozen > 0 ||
                           d->model.estimate.bytes > 0 || d->model.held > 0;
    if (!d->tried_batch || is_summed || d->grows || d->growth_told || mt_logdiag_more_to_come(d) ||
        mt_logdiag_too_much(d) != 0 ||
        (d->cause != MT_CAUSE_CAPACITY && d->cause != MT_CAUSE_UNKNOWN))
        return;
    if (d->tried_length)
        mt_words_add(t,
                     "%sBy the text a smaller batch and a smaller input were tried, or cannot be: "
                     "what stays on the card whatever they are (weights, gradients and states, "
                     "another process) is the first to look at.",
                     sep);
    else
        mt_words_add(t,
                     "%sBy the text a smaller batch was tried, or cannot be: what is left is the "
                     "size of one sample, and what follows no batch (weights, gradients and "
                     "states, another process).",
                     sep);
}

bool mt_logs_tried(const void *logs, const char *pattern) { return logs_say(logs, pattern, false); }

bool mt_logs_kept(const void *logs, const char *pattern) { return logs_say(logs, pattern, true); }
